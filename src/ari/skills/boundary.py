"""The boundary of every tool: its schema, the way numbers cross it, and how a refusal reads.

A tool is a plain function. `tool` turns it into an MCP tool: the description and those of its arguments come
from the docstring, an argument that the caller does not choose is filled in, and unknown or unusable
arguments are refused by name. Promises, in both directions:

- Only strict JSON crosses. A number that is not finite is written as `null`, and what it was stands in
  `_non_finite` at the top: `{"rate": null, "_non_finite": {"/rate": "+inf"}}` (`ari.formats.jsonio`).
- Arguments may come in the same form, so that an answer can be handed on. A bare `NaN` is refused.
- An error that the caller can act on (`AriError`, `SRError`, `OSError`) comes back as text; the trace of any
  other goes to the server's log and the caller learns the tool's name only.
"""

from __future__ import annotations

import difflib
import inspect
import re
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import Annotated, Any, NamedTuple, cast, get_type_hints

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.tools import Tool
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase
from mcp_types import ToolAnnotations
from pydantic import ConfigDict, Field, ValidationError

from ari.errors import AriError, FormatError
from ari.formats.jsonio import NON_FINITE_KEY, decode_document, encode_document, strict_dumps
from sr_harness.errors import SRError

Function = Callable[..., Mapping[str, Any]]
"""A tool's function: keywords of JSON types in, a JSON object out."""

SERVER_PREFIX = "ari-skill-"

_HEADING = re.compile(r"(Args|Returns|Raises|Yields|Attributes|Examples?):\s*")
_ENTRY = re.compile(r"(\w+)(?: \([^)]*\))?:\s*(.*)")


class Doc(NamedTuple):
    """What a docstring of Google style says to the caller of a tool.

    Attributes:
        text: What the tool does and returns; arguments and errors left out.
        arguments: Name to description.
    """

    text: str
    arguments: dict[str, str]


def read_docstring(function: Callable[..., object]) -> Doc:
    """Take a docstring of Google style apart."""
    sections: dict[str, list[str]] = {"": []}
    current = ""
    for line in inspect.cleandoc(function.__doc__ or "").splitlines():
        heading = _HEADING.fullmatch(line)
        if heading:
            current = str(heading[1])
            sections[current] = []
        else:
            sections[current].append(line)
    text = "\n".join(sections[""]).strip()
    returned = _paragraph(sections.get("Returns", ()))
    if returned:
        text = f"{text}\n\nReturns: {returned}"
    return Doc(text, _entries(sections.get("Args", ())))


def _paragraph(lines: Sequence[str]) -> str:
    return " ".join(" ".join(lines).split())


def _entries(lines: Sequence[str]) -> dict[str, str]:
    """Descriptions by name; a line indented further goes on with the one before."""
    text = inspect.cleandoc("\n".join(["", *lines]))
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        entry = None if line.startswith(" ") else _ENTRY.fullmatch(line)
        if entry:
            found[entry[1]] = [entry[2]]
        elif found:
            found[list(found)[-1]].append(line)
    return {name: _paragraph(part) for name, part in found.items()}


def tool(
    function: Function,
    *,
    name: str | None = None,
    given: Mapping[str, object] | None = None,
    read_only: bool | None = None,
) -> Tool:
    """Make a tool of a function.

    Args:
        function: What it does. Its docstring describes the tool and every argument, with units.
        name: Its name; default: the function's.
        given: Arguments that the caller does not choose, and their values.
        read_only: Whether it leaves every file as it was; None: not said.

    Returns:
        The tool, for a `SkillServer`.
    """
    fixed = dict(given or {})
    doc = read_docstring(function)
    signature = inspect.signature(function)
    hints = get_type_hints(function)

    def call(**arguments: Any) -> dict[str, Any]:  # noqa: ANN401 - the arguments are those of the function
        try:
            return encode_document(function(**fixed, **arguments))
        except (AriError, SRError) as error:
            raise ToolError(str(error)) from error
        except OSError as error:
            raise ToolError(_system_error(error)) from error

    parameters = [
        p.replace(
            annotation=Annotated[hints.get(p.name, Any), Field(description=doc.arguments.get(p.name))],
            kind=inspect.Parameter.KEYWORD_ONLY,
        )
        for p in signature.parameters.values()
        if p.name not in fixed
    ]
    call.__name__ = name or str(getattr(function, "__name__", "tool"))
    call.__signature__ = signature.replace(parameters=parameters, return_annotation=dict[str, Any])  # type: ignore[attr-defined]
    call.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": dict[str, Any]}
    hints_for_client = None if read_only is None else ToolAnnotations(read_only_hint=read_only)
    return _strict(Tool.from_function(call, description=doc.text, annotations=hints_for_client))


def _strict(made: Tool) -> Tool:
    """The same tool, refusing unknown arguments and numbers that are not finite."""
    base = made.fn_metadata.arg_model
    config = ConfigDict(extra="forbid", allow_inf_nan=False)
    made_class = types.new_class(
        base.__name__, (base,), exec_body=lambda body: body.update(model_config=config)
    )
    strict = cast(type[ArgModelBase], made_class)
    metadata = made.fn_metadata.model_copy(update={"arg_model": strict})
    schema = strict.model_json_schema(by_alias=True)
    return made.model_copy(update={"fn_metadata": metadata, "parameters": schema})


def _system_error(error: OSError) -> str:
    where = f"{error.filename}: " if error.filename is not None else ""
    return f"{where}{error.strerror or error}"


class SkillServer(MCPServer[Any]):
    """The MCP server of one skill.

    Args:
        skill: Its name; the server is called `ari-skill-<name>`.
        tools: Its tools, as `tool` makes them.
        instructions: What a client is told about the skill.
    """

    def __init__(self, skill: str, tools: Iterable[Tool], *, instructions: str = "") -> None:
        self._offered = {item.name: item for item in tools}
        super().__init__(
            f"{SERVER_PREFIX}{skill}",
            instructions=instructions or None,
            version=version("ari-research"),
            tools=list(self._offered.values()),
            log_level="WARNING",
        )

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:  # noqa: ANN401 - as the base class
        """Call a tool; what is wrong with the arguments comes back as one readable line."""
        offered = self._offered.get(name)
        if offered is None:
            raise ToolError(f"there is no tool {name!r}{_nearest(name, self._offered)}")
        try:
            strict_dumps(arguments)
        except FormatError as error:
            raise ToolError(f"{name}: {error.message}") from error
        decoded = decode_document(arguments) if NON_FINITE_KEY in arguments else arguments
        try:
            return await super().call_tool(name, decoded, context)
        except ToolError as error:
            cause = error.__cause__
            if isinstance(error, UnexpectedToolError) or not isinstance(cause, ValidationError):
                raise
            raise ToolError(_refusal(offered, cause)) from cause


def _refusal(offered: Tool, error: ValidationError) -> str:
    """What is wrong with the arguments of a call, and what the tool takes."""
    known = offered.parameters.get("properties", {})
    faults = []
    for detail in error.errors(include_url=False, include_context=False):
        place = ".".join(str(part) for part in detail["loc"])
        if detail["type"] == "extra_forbidden":
            faults.append(f"it takes no argument {place!r}{_nearest(place, known)}")
        elif detail["type"] == "missing":
            faults.append(f"it needs the argument {place!r}")
        else:
            message = detail["msg"].removeprefix("Value error, ")
            faults.append(f"{place} is {detail['input']!r:.80}: {message[:1].lower()}{message[1:]}")
    needed = offered.parameters.get("required", ())
    takes = ", ".join(key if key in needed else f"{key} (optional)" for key in known) or "no arguments"
    return f"{offered.name}: {'; '.join(dict.fromkeys(faults))}. It takes: {takes}."


def _nearest(word: str, known: Iterable[str]) -> str:
    names = list(known)
    near = difflib.get_close_matches(word, names, n=1)
    return f"; did you mean {near[0]!r}?" if near else f"; there are: {', '.join(names) or 'none'}"
