"""What a model's reply asks for, in whatever shape it comes: tool calls and formulas.

Read are native tool calls; JSON in fences, bare, or with the usual slips; `<tool_call>`, `<function=…>` and
`<invoke …>` elements; Python code, and calls written as code; `y = …` lines, quoted formulas and displayed
mathematics. A reply in none of these shapes is a reply without proposals, never an error.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart

from ari.agents.symbolic_regression.formulas import returned
from ari.agents.written_json import documents, objects

MOST_TEXT = 200_000
"""Characters of a reply that are read."""

CALL_NAMES = ("name", "tool", "tool_name", "function", "action")
CALL_ARGUMENTS = ("arguments", "args", "parameters", "params", "input", "action_input")
FORMULA_KEYS = frozenset(
    {
        "formula",
        "formulas",
        "expression",
        "expressions",
        "equation",
        "equations",
        "candidate",
        "candidates",
        "answer",
        "best",
        "hypothesis_formula",
    }
)

_THINKING = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"```[ \t]*([\w+-]*)[^\n]*\n(.*?)(?:```|\Z)", re.DOTALL)
_TOOL_ELEMENT = re.compile(
    r"<(tool_call|function_call|tool_use)>(.*?)(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE
)
_FUNCTION_ELEMENT = re.compile(
    r"<(?:function=|invoke\s+name=|function\s+name=)[\"']?(\w+)[\"']?\s*>(.*?)</(?:function|invoke)>",
    re.DOTALL,
)
_PARAMETER = re.compile(
    r"<(?:parameter=|parameter\s+name=)[\"']?(\w+)[\"']?\s*>\n?(.*?)\n?</parameter>", re.DOTALL
)
_FORMULA_ELEMENT = re.compile(r"<(formula|equation|expression|answer)>(.*?)</\1>", re.DOTALL | re.IGNORECASE)
_DISPLAYED = re.compile(r"\$\$(.+?)\$\$|\\\[(.+?)\\\]|\\\((.+?)\\\)|\$([^$\n]+)\$", re.DOTALL)
_QUOTED = re.compile(r"(?<!`)`([^`\n]{3,})`(?!`)")
_EQUATION = re.compile(
    r"^[\s*>#\d.)-]*(?:\w[\w ]{0,40}:\s*)?([\w\\{}()_, ]{1,60}\s*(?:=|≈)\s*[^=\n]{1,2000})$"
)
_NAMED = re.compile(
    r"^[\s*>#-]*(?:\**)(?:\w+ )?(?:formula|equation|expression)\**\s*:\**\s*(\S.*)$", re.IGNORECASE
)


@dataclass(frozen=True)
class Call:
    """A tool call; `id` is set where the reply made it natively and expects an answer."""

    tool: str
    arguments: dict[str, Any]
    id: str | None = None
    fault: str | None = None


@dataclass(frozen=True)
class Reply:
    """What was found in a reply.

    Attributes:
        calls: Tool calls in order.
        formulas: Formulas that the model plainly proposed.
        mentions: Pieces of prose that may be formulas; most are not.
    """

    calls: tuple[Call, ...] = ()
    formulas: tuple[str, ...] = ()
    mentions: tuple[str, ...] = ()


@dataclass
class _Found:
    """What has been found so far."""

    tools: Collection[str]
    calls: list[Call] = field(default_factory=list)
    formulas: dict[str, None] = field(default_factory=dict)
    mentions: dict[str, None] = field(default_factory=dict)

    def formula(self, text: object) -> None:
        if isinstance(text, str) and text.strip():
            self.formulas.setdefault(text.strip())

    def call(self, name: str, arguments: object) -> None:
        if isinstance(arguments, str):
            arguments = next(iter(documents(arguments)), {})
        self.calls.append(Call(name, dict(arguments) if isinstance(arguments, dict) else {}))


def read_reply(response: ModelResponse, tools: Collection[str]) -> Reply:
    """Read a reply.

    Args:
        response: The reply.
        tools: Names of the tools that may be called.
    """
    found = _Found(tools)
    for part in response.parts:
        if isinstance(part, ToolCallPart):
            found.calls.append(_native(part))
        elif isinstance(part, TextPart):
            _read_text(part.content[:MOST_TEXT], found)
    return Reply(tuple(found.calls), tuple(found.formulas), tuple(found.mentions))


def _native(part: ToolCallPart) -> Call:
    if part.args is None or isinstance(part.args, dict):
        return Call(part.tool_name, dict(part.args or {}), part.tool_call_id)
    arguments = next((found for found in documents(_once(part.args)) if isinstance(found, dict)), None)
    if arguments is None and part.args.strip():
        fault = "the arguments are not a JSON object"
        return Call(part.tool_name, {}, part.tool_call_id, fault)
    return Call(part.tool_name, arguments or {}, part.tool_call_id)


def _once(text: str) -> str:
    """JSON that was encoded twice, encoded once."""
    try:
        inner = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return inner if isinstance(inner, str) else text


def _read_text(text: str, found: _Found) -> None:
    """Read the plainest shapes first, and cut out what has been read."""
    text = _THINKING.sub(" ", text)
    for pattern, read in (
        (_TOOL_ELEMENT, _tool_element),
        (_FUNCTION_ELEMENT, _function_element),
        (_FORMULA_ELEMENT, _formula_element),
        (_FENCE, _fence),
    ):
        for match in pattern.finditer(text):
            read(match, found)
        text = pattern.sub("\n", text)
    spans = list(objects(text))
    for _, _, document in spans:
        _interpret(document, found)
    for start, end, _ in reversed(spans):
        text = f"{text[:start]}\n{text[end:]}"
    _prose(text, found)


def _tool_element(match: re.Match[str], found: _Found) -> None:
    inside = match.group(2)
    for function in _FUNCTION_ELEMENT.finditer(inside):
        _function_element(function, found)
    for document in documents(inside):
        _interpret(document, found)


def _function_element(match: re.Match[str], found: _Found) -> None:
    name, inside = match.group(1), match.group(2)
    arguments = {key: _value(text) for key, text in _PARAMETER.findall(inside)}
    if not arguments:
        arguments = next((one for one in documents(inside) if isinstance(one, dict)), {})
    found.call(name, arguments)


def _value(text: str) -> object:
    """A parameter written as text: a number or a list is meant as such, anything else is text."""
    try:
        return json.loads(text)
    except ValueError:
        return text.strip()


def _formula_element(match: re.Match[str], found: _Found) -> None:
    found.formula(match.group(2))


def _fence(match: re.Match[str], found: _Found) -> None:
    language, inside = match.group(1).lower(), match.group(2)
    read = list(documents(inside)) if language not in ("python", "py") else []
    if read:
        for document in read:
            _interpret(document, found)
        return
    calls = list(_code_calls(inside, found.tools))
    if calls:
        for call in calls:
            found.calls.append(call)
        return
    computed = returned(inside)
    for formula in computed or [line for line in inside.splitlines() if line.strip()]:
        found.mentions.setdefault(formula)


def _code_calls(code: str, tools: Collection[str]) -> Iterator[Call]:
    """Calls of tools that are written as code: `evaluate_formula(formula="x**2")`."""
    try:
        tree = ast.parse(code.strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in tools:
            arguments = {
                k.arg: k.value.value for k in node.keywords if k.arg and isinstance(k.value, ast.Constant)
            }
            if node.args and isinstance(node.args[0], ast.Constant) and not arguments:
                arguments = {"formula": node.args[0].value}
            yield Call(node.func.id, arguments)


def _interpret(document: object, found: _Found) -> None:
    """Calls and formulas in a JSON document, wherever they stand in it."""
    waiting = [document]
    while waiting:
        item = waiting.pop(0)
        if isinstance(item, list):
            waiting = [*item, *waiting]
        elif isinstance(item, dict) and not _is_call(item, found):
            for key, value in item.items():
                if str(key).lower() in FORMULA_KEYS:
                    values = value if isinstance(value, list) else [value]
                    for text in values:
                        found.formula(text)
                    waiting += [one for one in values if isinstance(one, dict)]
                elif isinstance(value, (dict, list)):
                    waiting.append(value)


def _is_call(item: dict[str, Any], found: _Found) -> bool:
    for key in CALL_NAMES:
        name = item.get(key)
        if isinstance(name, dict):  # {"function": {"name": …, "arguments": …}}
            return _is_call(name, found)
        if isinstance(name, str) and (name in found.tools or any(k in item for k in CALL_ARGUMENTS)):
            found.call(name, next((item[k] for k in CALL_ARGUMENTS if k in item), {}))
            return True
    if len(item) == 1:
        [(name, arguments)] = item.items()
        if name in found.tools and isinstance(arguments, dict):
            found.call(name, arguments)
            return True
    return False


def _prose(text: str, found: _Found) -> None:
    """Formulas in running text: named ones are proposals, the others may be."""
    for match in _DISPLAYED.finditer(text):
        found.mentions.setdefault(next(group for group in match.groups() if group).strip())
    for match in _QUOTED.finditer(text):
        found.mentions.setdefault(match.group(1).strip())
    for line in text.splitlines():
        named, equation = _NAMED.match(line), _EQUATION.match(line)
        if named:
            found.mentions.setdefault(named.group(1).strip())
        if equation:
            found.mentions.setdefault(equation.group(1).strip())
