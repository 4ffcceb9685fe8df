"""Reading manifest.json strictly: what RFC 8259 forbids or leaves open is a named fault.

Promise: `parse_json` never raises on any bytes. It refuses a byte order mark, wrong UTF-8, `NaN` and
`Infinity`, duplicate keys, lone surrogates, numbers that float64 cannot hold, and excessive nesting; each
fault says where.
"""

from __future__ import annotations

import codecs
import json
import re
from typing import Any, NamedTuple

from sr_harness.core.names import is_text, spoken

MAX_DEPTH = 64
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)
_LONGEST_INTEGER = 400


class Parsed(NamedTuple):
    """A parsed document and its faults; `value` is None where nothing usable could be read."""

    value: Any
    faults: list[str]


class _Object(dict[str, Any]):
    """A JSON object that remembers the members which a duplicate key displaced."""

    displaced: list[tuple[str, Any]]


def parse_json(raw: bytes) -> Parsed:
    """Parse `raw` as strict JSON and list every fault that can be found in one pass."""
    if raw.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return _nothing("starts with a byte order mark (BOM); save it as UTF-8 without BOM")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return _nothing(f"is not UTF-8: byte {error.start} is 0x{raw[error.start]:02x}; save it as UTF-8")
    depth = _depth(text)
    if depth > MAX_DEPTH:
        return _nothing(f"is nested {depth} levels deep; a manifest needs 4, the limit is {MAX_DEPTH}")
    faults: list[str] = []
    try:
        value = _decoder(faults).decode(text)
    except json.JSONDecodeError as error:
        return _nothing(f"is not JSON: {error.msg} at line {error.lineno}, column {error.colno}", faults)
    faults += _walk(value, "")
    return Parsed(value, faults)


def _nothing(fault: str, earlier: list[str] | None = None) -> Parsed:
    return Parsed(None, [*(earlier or []), fault])


def _depth(text: str) -> int:
    deepest = depth = 0
    for token in _TOKEN.finditer(text):
        if token[0] in {"[", "{"}:
            depth += 1
            deepest = max(deepest, depth)
        elif token[0] in {"]", "}"}:
            depth -= 1
    return deepest


def _decoder(faults: list[str]) -> json.JSONDecoder:
    def constant(literal: str) -> None:
        faults.append(f"holds the literal {literal}, which is not JSON; leave such a value out")

    def integer(digits: str) -> int:
        if len(digits) > _LONGEST_INTEGER:
            faults.append(f"holds an integer of {len(digits)} digits, which no number type here can keep")
            return 0
        return int(digits)

    def real(digits: str) -> float:
        value = float(digits)
        if value in {float("inf"), float("-inf")}:
            faults.append(f"holds the number {digits[:40]}, which is too large for a float64")
        return value

    return json.JSONDecoder(
        object_pairs_hook=_object, parse_constant=constant, parse_int=integer, parse_float=real
    )


def _object(pairs: list[tuple[str, Any]]) -> _Object:
    result = _Object()
    result.displaced = []
    for key, value in pairs:
        if key in result:
            result.displaced.append((key, result[key]))
        result[key] = value
    return result


def _walk(value: object, where: str) -> list[str]:
    """Faults that need the place of a value: duplicate keys and text that is no Unicode."""
    faults: list[str] = []
    if isinstance(value, _Object):
        for key, earlier in value.displaced:
            faults.append(f"{where or 'root'}: duplicate key {key!r}; keep one of them")
            faults += _walk(earlier, _join(where, key))
        for key, member in value.items():
            if not is_text(key):
                faults.append(f"{where or 'root'}: key {key!r} holds half of a surrogate pair")
            faults += _walk(member, _join(where, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            if isinstance(item, str | list | dict):
                faults += _walk(item, f"{where}[{index}]")
    elif isinstance(value, str) and not is_text(value):
        faults.append(f"{where or 'root'}: the text holds half of a surrogate pair, which is no character")
    return faults


def _join(where: str, key: str) -> str:
    return f"{where}.{spoken(key)}" if where else spoken(key)
