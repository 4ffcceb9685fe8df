"""From text to tokens: numbers, names, quoted names and operators, each with its position.

Promises: linear time, no regular expression that can backtrack, and a `ParseError` with the position for
every character that has no meaning in the language.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from ..errors import ParseError

MAX_LENGTH: Final = 1_000_000
_TWO: Final = ("**",)
_ONE: Final = frozenset("+-*/()[],={}:")
_DIGITS: Final = frozenset("0123456789")
_HINTS: Final = {
    "^": "'^' has no meaning here; write ** for a power",
    ".": "'.' has no meaning here: attributes cannot be read, and a number needs a digit",
    ";": "one formula only; ';' has no meaning here",
    "<": "comparisons are not part of the language",
    ">": "comparisons are not part of the language",
    "%": "'%' has no meaning here",
    "@": "'@' has no meaning here",
    "−": "this is a typographic minus sign; write '-'",
    "×": "this is a typographic multiplication sign; write '*'",
    "·": "this is a typographic multiplication sign; write '*'",
    "÷": "this is a typographic division sign; write '/'",
    "²": "write **2 for a square",
    "³": "write **3 for a cube",
}


class Token(NamedTuple):
    """A piece of the text. `kind` is `number`, `name`, `quoted`, `string`, `end` or the operator itself."""

    kind: str
    text: str
    position: int


def tokenize(text: str) -> list[Token]:
    """Cut `text` into tokens, the last of which has the kind `end`.

    Raises:
        ParseError: the text is too long or contains something that is no token.
    """
    if len(text) > MAX_LENGTH:
        raise ParseError(f"the text has {len(text)} characters, the limit is {MAX_LENGTH}", text, MAX_LENGTH)
    tokens: list[Token] = []
    at = 0
    while at < len(text):
        char = text[at]
        if char.isspace():
            at += 1
            continue
        token, at = _next(text, at, char)
        tokens.append(token)
    tokens.append(Token("end", "", len(text)))
    return tokens


def _next(text: str, at: int, char: str) -> tuple[Token, int]:
    if char in _DIGITS or (char == "." and text[at + 1 : at + 2] in _DIGITS):
        return _number(text, at)
    if char.isidentifier():
        return _name(text, at)
    if char == "`":
        return _delimited(text, at, "`", "quoted", "a name in backticks")
    if char in "'\"":
        return _delimited(text, at, char, "string", "a text in quotes")
    if text[at : at + 2] in _TWO:
        return Token("**", "**", at), at + 2
    if char in _ONE:
        return Token(char, char, at), at + 1
    raise ParseError(_HINTS.get(char, f"{char!r} has no meaning here"), text, at)


def _run_of_digits(text: str, at: int) -> int:
    """End of a run of digits; single underscores between digits are allowed."""
    while at < len(text) and (
        text[at] in _DIGITS
        or (text[at] == "_" and text[at - 1] in _DIGITS and text[at + 1 : at + 2] in _DIGITS)
    ):
        at += 1
    return at


def _number(text: str, start: int) -> tuple[Token, int]:
    at = _run_of_digits(text, start)
    if text[at : at + 1] == ".":
        at += 1
        if text[at : at + 1] in _DIGITS:
            at = _run_of_digits(text, at)
    if text[at : at + 1] in ("e", "E"):
        digits = at + 1 + (text[at + 1 : at + 2] in ("+", "-"))
        if text[digits : digits + 1] in _DIGITS:
            at = _run_of_digits(text, digits)
    if at < len(text) and (text[at] == "." or ("a" + text[at]).isidentifier()):
        raise ParseError("a number runs into a name; put an operator such as * between them", text, at)
    return Token("number", text[start:at], start), at


def _name(text: str, start: int) -> tuple[Token, int]:
    at = start + 1
    while at < len(text) and ("a" + text[at]).isidentifier():
        at += 1
    return Token("name", text[start:at], start), at


def _delimited(text: str, start: int, mark: str, kind: str, what: str) -> tuple[Token, int]:
    """Text up to the next `mark`; a doubled mark stands for itself."""
    parts: list[str] = []
    at = start + 1
    while True:
        end = text.find(mark, at)
        if end < 0:
            raise ParseError(f"{what} is not closed", text, start)
        parts.append(text[at:end])
        if text[end + 1 : end + 2] != mark:
            break
        parts.append(mark)
        at = end + 2
    content = "".join(parts)
    if not content:
        raise ParseError(f"{what} is empty", text, start)
    return Token(kind, content, start), end + 1
