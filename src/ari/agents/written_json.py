"""JSON as models write it: among prose, in fences, with trailing commas, in Python's quotes, cut off."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from typing import Any

MOST_FAILURES = 60
"""Brackets of a text that turn out to begin no JSON before the rest is taken for prose."""


def documents(text: str) -> Iterator[Any]:
    """The JSON objects and arrays in a text, outermost only; trailing commas and the like are forgiven."""
    return (document for _, _, document in objects(text))


def objects(text: str) -> Iterator[tuple[int, int, Any]]:
    """Start, end and content of each object, or array of objects, that can be read."""
    at, failures = 0, 0
    while failures < MOST_FAILURES:
        starts = [place for place in (text.find("{", at), text.find("[", at)) if place >= 0]
        if not starts:
            return
        at = min(starts)
        end = _closing(text, at)
        document = _loads(text[at:end])
        if isinstance(document, dict) or _holds_objects(document):
            yield at, end, document
            at = end
        else:
            at, failures = at + 1, failures + 1


def _holds_objects(document: object) -> bool:
    return isinstance(document, list) and any(isinstance(item, dict) for item in document)


def _closing(text: str, start: int) -> int:
    """Position behind the bracket that closes the one at `start`; the text's end where it is cut off."""
    depth, quoted, escaped = 0, False, False
    for at in range(start, len(text)):
        char = text[at]
        if quoted:
            if escaped:
                escaped = False
            elif char == "\\":
                escaped = True
            elif char == '"':
                quoted = False
        elif char == '"':
            quoted = True
        elif char in "{[":
            depth += 1
        elif char in "}]":
            depth -= 1
            if depth == 0:
                return at + 1
    return len(text)


def _loads(text: str) -> Any:  # noqa: ANN401 - any JSON value
    """Read JSON; else mend what models usually get wrong; None where that does not help."""
    for attempt in (text, _mended(text)):
        try:
            return json.loads(attempt, strict=False)
        except (ValueError, RecursionError):
            continue
    try:
        return ast.literal_eval(text)  # single quotes, True and None
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None


def _mended(text: str) -> str:
    """Without comments and trailing commas; what was cut off at the end is closed."""
    text = re.sub(r"(?m)^\s*//.*$", "", text)
    text = re.sub(r",(\s*[}\]])", r"\1", text)
    return text + _missing_end(text)


def _missing_end(text: str) -> str:
    stack, quoted, escaped = [], False, False
    for char in text:
        if quoted:
            if escaped:
                escaped = False
            elif char == "\\":
                escaped = True
            elif char == '"':
                quoted = False
        elif char == '"':
            quoted = True
        elif char in "{[":
            stack.append("}" if char == "{" else "]")
        elif char in "}]" and stack:
            stack.pop()
    return ('"' if quoted else "") + "".join(reversed(stack))
