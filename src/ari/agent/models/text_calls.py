"""Tool calls in plain text: how they are asked for, written into a history, and read from a reply.

Endpoints without native tool calls, and models that write their calls as text all the same, use many forms:
JSON bare or in a fence, one object or a list, `{"name": …, "arguments": …}` and its relatives, and elements
such as `<tool_call>`, `<function=…>`, `<invoke name=…>`. All of them are read; trailing commas and Python's
quotes are forgiven; what is cut off is never completed by guessing.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from ari.formats.jsonio import strict_dumps

_NAMES = ("name", "tool", "tool_name", "function", "action", "recipient_name")
_ARGUMENTS = ("arguments", "parameters", "args", "input", "action_input", "tool_input", "params")

_THOUGHTS = re.compile(r"<(think|thinking|thought|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_BLOCK = re.compile(
    r"<(tool_call|tool_calls|tool_use|function_call|function_calls|tool)>(.*?)(?:</\1>|\Z)", re.DOTALL
)
_FUNCTION = re.compile(r"<function\s*=\s*\"?([\w.-]+)\"?\s*>(.*?)</function>", re.DOTALL)
_INVOKE = re.compile(r"<invoke\s+name\s*=\s*[\"']([^\"']+)[\"']\s*>(.*?)</invoke>", re.DOTALL)
_PARAMETER = re.compile(
    r"<parameter\s*(?:=\s*\"?([\w.-]+)\"?|\s+name\s*=\s*[\"']([^\"']+)[\"'])\s*>(.*?)</parameter>", re.DOTALL
)
_ELEMENT = re.compile(r"<([A-Za-z_][\w.-]*)>(.*?)</\1>", re.DOTALL)
_STRINGS_AND_COMMAS = re.compile(r"\"(?:\\.|[^\"\\])*\"|,(?=\s*[}\]])", re.DOTALL)
_OPENING = re.compile(r"\{\s*[\"']|\[\s*\{")
"""How an object or a list of objects begins, unlike brackets of prose (`[0, 1)`, `{x : x > 0}`)."""

_CLOSING = {"{": "}", "[": "]"}


class Tool(NamedTuple):
    """A tool as a model is told of it.

    Attributes:
        name: Its name.
        description: What it does.
        schema: JSON Schema of its arguments.
    """

    name: str
    description: str
    schema: Mapping[str, Any]

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Schemas of the single arguments, by name."""
        found = self.schema.get("properties", {})
        return found if isinstance(found, Mapping) else {}


class TextCall(NamedTuple):
    """A call that was read from text."""

    tool: str
    arguments: dict[str, Any]


# --- asking ----------------------------------------------------------------------------------------------


def explain(tools: Sequence[Tool], *, may_finish: bool) -> str:
    """What tells a model how to call tools in plain text.

    Args:
        tools: The tools there are.
        may_finish: Whether a reply without a call is a possible end.
    """
    example = '```json\n{"name": "<tool>", "arguments": {"<argument>": <value>}}\n```'
    end = (
        "When everything is done, reply in plain words, without any JSON."
        if may_finish
        else "Every reply has to be exactly one such call; words around it are ignored."
    )
    described = "\n".join(
        f"- `{tool.name}`: {' '.join(tool.description.split())}\n"
        f"  arguments (JSON Schema): {strict_dumps(dict(tool.schema)).decode()}"
        for tool in tools
    )
    return (
        "You work with tools. To call one, reply with a fenced block of JSON and nothing after it:\n\n"
        f"{example}\n\nThe result comes with the next message. {end}\n\nThe tools:\n{described}"
    )


def call_text(tool: str, arguments: Mapping[str, Any]) -> str:
    """A call as the model is to write it; earlier calls of a conversation are shown so."""
    return f"```json\n{json.dumps({'name': tool, 'arguments': dict(arguments)}, ensure_ascii=False)}\n```"


# --- reading ---------------------------------------------------------------------------------------------


def read_calls(text: str, tools: Sequence[Tool], *, answer: Tool | None = None) -> list[TextCall]:
    """Read the tool calls of a reply.

    Args:
        text: The reply.
        tools: The tools there are; calls of others are read too where they are unmistakable.
        answer: The tool whose arguments a bare JSON object is taken for, if there is one.

    Returns:
        The calls in order; empty when the text holds none that is whole.
    """
    known = {tool.name: tool for tool in tools}
    text = _THOUGHTS.sub("", text)
    calls = list(_marked_calls(text, known))
    if calls:
        return calls
    values = list(json_values(text))
    for value in values:
        calls += _from_value(value, known)
    if not calls and answer is not None:
        calls = [TextCall(answer.name, v) for v in values if _fits(v, answer)][-1:]
    return calls


def _fits(value: object, tool: Tool) -> bool:
    """Whether an object has every argument that the tool requires (others may stand beside them)."""
    required = tool.schema.get("required") or list(tool.parameters)
    return isinstance(value, dict) and bool(required) and all(name in value for name in required)


def _marked_calls(text: str, known: Mapping[str, Tool]) -> Iterator[TextCall]:
    """Calls that are written as elements."""
    blocks = [match.group(2) for match in _BLOCK.finditer(text)]
    for block in blocks or [text]:
        found = list(_elements(block, known))
        if blocks and not found:
            found = [call for value in json_values(block) for call in _from_value(value, known)]
        yield from found


def _elements(text: str, known: Mapping[str, Tool]) -> Iterator[TextCall]:
    named = [*_FUNCTION.finditer(text), *_INVOKE.finditer(text)]
    for match in sorted(named, key=lambda match: match.start()):
        yield TextCall(match.group(1), _arguments_of(match.group(2), known.get(match.group(1))))
    if named:
        return
    parts = {match.group(1): match.group(2) for match in _ELEMENT.finditer(text)}
    name = parts.get("name", parts.get("tool_name", "")).strip()
    if name and (inner := parts.get("arguments", parts.get("parameters"))) is not None:
        yield TextCall(name, _arguments_of(inner, known.get(name)))
        return
    for tool in (known[name] for name in parts if name in known):
        yield TextCall(tool.name, _arguments_of(parts[tool.name], tool))


def _arguments_of(inner: str, tool: Tool | None) -> dict[str, Any]:
    """Arguments inside an element: parameters, a JSON object, or an element each."""
    parameters = [(a or b, value) for a, b, value in _PARAMETER.findall(inner)]
    if not parameters:
        whole = next((value for value in json_values(inner) if isinstance(value, dict)), None)
        if whole is not None:
            return whole
        parameters = _ELEMENT.findall(inner)
    return {name: _typed(value.strip("\n"), name, tool) for name, value in parameters}


def _typed(text: str, name: str, tool: Tool | None) -> Any:  # noqa: ANN401 - any JSON value
    """A value that was written as text: as it is where a string is wanted, else as the JSON it may be."""
    plain = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    wanted = (tool.parameters.get(name) or {}) if tool is not None else {}
    if isinstance(wanted, Mapping) and wanted.get("type") == "string":
        return plain
    try:
        return lenient_loads(plain.strip())
    except ValueError:
        return plain


def _from_value(value: Any, known: Mapping[str, Tool]) -> list[TextCall]:  # noqa: ANN401 - any JSON value
    """The calls that a JSON value stands for."""
    if isinstance(value, list):
        return [call for item in value for call in _from_value(item, known)]
    if not isinstance(value, dict):
        return []
    if isinstance(value.get("tool_calls"), list):
        return _from_value(value["tool_calls"], known)
    if isinstance(value.get("function"), dict):
        return _from_value(value["function"], known)
    name_key = next((key for key in _NAMES if isinstance(value.get(key), str)), None)
    if name_key is not None:
        name = value[name_key].removeprefix("functions.")
        arguments = _stated_arguments(value)
        if arguments is not None:
            return [TextCall(name, arguments)]
        if name in known:
            return [TextCall(name, {key: item for key, item in value.items() if key != name_key})]
    if len(value) == 1:
        [(name, arguments)] = value.items()
        if name in known and isinstance(arguments, dict):
            return [TextCall(name, arguments)]
    return []


def _stated_arguments(value: Mapping[str, Any]) -> dict[str, Any] | None:
    """The arguments of a call, given as an object or as the text of one."""
    for key in _ARGUMENTS:
        arguments = value.get(key)
        if isinstance(arguments, str):
            try:
                arguments = lenient_loads(arguments)
            except ValueError:
                continue
        if isinstance(arguments, dict):
            return arguments
    return None


# --- JSON, leniently -------------------------------------------------------------------------------------


def json_values(text: str) -> Iterator[Any]:
    """Every outermost JSON object and list in a text; what cannot be read is passed over as a whole."""
    start = 0
    while (opening := _OPENING.search(text, start)) is not None:
        end = _end_of_value(text, opening.start())
        if end is None:
            return  # cut off: whatever it was to be is not there
        with suppress(ValueError):  # it only looked like JSON
            yield lenient_loads(text[opening.start() : end])
        start = end


def _end_of_value(text: str, start: int) -> int | None:
    """Where the bracket that opens at `start` is closed again, strings passed over; None: nowhere."""
    waiting: list[str] = []
    in_string = escaped = False
    for place in range(start, len(text)):
        character = text[place]
        if in_string:
            if escaped or character == "\\":
                escaped = not escaped
            elif character == '"':
                in_string = False
        elif character == '"':
            in_string = True
        elif character in _CLOSING:
            waiting.append(_CLOSING[character])
        elif character in "}]":
            if not waiting or character != waiting.pop():
                return place + 1  # brackets that do not match: certainly no JSON
            if not waiting:
                return place + 1
    return None


def lenient_loads(text: str) -> Any:  # noqa: ANN401 - any JSON value
    """Parse JSON as models write it, with trailing commas, line breaks in strings, or Python's literals.

    Raises:
        ValueError: When it is no such value.
    """
    try:
        return _loads(text)
    except ValueError:
        pass
    tidied = _STRINGS_AND_COMMAS.sub(lambda match: match.group() if match.group() != "," else "", text)
    try:
        return _loads(tidied)
    except ValueError:
        pass
    try:
        value = ast.literal_eval(tidied)
        return json.loads(strict_dumps(value))  # tuples become lists; what JSON cannot hold is refused
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from None


def _loads(text: str) -> Any:  # noqa: ANN401 - any JSON value
    try:
        return json.loads(text, strict=False, parse_constant=_no_number)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")
