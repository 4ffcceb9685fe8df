"""Strict JSON and the one encoding of non-finite numbers.

A file of the checkpoint is strict JSON: UTF-8, no `NaN`, no `Infinity`. A metric that is not finite is
written as `null`, and what it was stands beside it as `non_finite`: `"nan"`, `"+inf"` or `"-inf"`
(`metrics_with_metadata.<name>.non_finite`). A whole document (a tool result, a list of measurements) uses
the same three words in one map from JSON pointers, under the key `_non_finite` of its top level. The sign
of zero is kept. A metric is never a boolean.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import orjson

from ari.errors import FormatError

Json = Any
"""A parsed JSON value: its shape is known only after validation."""

NonFinite = Literal["nan", "+inf", "-inf"]
"""What a number was that JSON cannot hold."""

NON_FINITE_KEY = "_non_finite"
"""Top-level key under which `encode_document` keeps what became `null`."""

_VALUES: dict[NonFinite, float] = {"nan": math.nan, "+inf": math.inf, "-inf": -math.inf}


def pointer(*parts: str | int) -> str:
    """Write a JSON pointer (RFC 6901).

    Args:
        *parts: Keys and list positions from the top of the document.

    Returns:
        The pointer; the empty string for the whole document.
    """
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def _kind(value: float) -> NonFinite | None:
    if math.isfinite(value):
        return None
    if math.isnan(value):
        return "nan"
    return "+inf" if value > 0 else "-inf"


def _plain(value: object) -> object:
    """Turn NumPy scalars and arrays (anything with `tolist`) into Python values."""
    convert = getattr(value, "tolist", None)
    return convert() if callable(convert) else value


def encode_metric(value: object) -> tuple[int | float | None, NonFinite | None]:
    """Bring one measured value into the form that a file may hold.

    Args:
        value: An int, a float, a NumPy scalar, text that is a number (`"1e400"`), or None.

    Returns:
        The finite value and None, or None and what the value was. None itself gives two None.

    Raises:
        FormatError: If the value is a boolean, a container or text that is no number.
    """
    plain = _plain(value)
    if plain is None:
        return None, None
    if isinstance(plain, bool) or not isinstance(plain, (int, float, str)):
        raise FormatError(
            f"a metric must be a number, not {type(plain).__name__}",
            cure="Report flags and texts outside the metrics.",
        )
    if isinstance(plain, int) and abs(plain) < 2**63:
        return plain, None
    try:
        number = float(plain)
    except OverflowError:
        number = math.inf if int(plain) > 0 else -math.inf
    except ValueError:
        raise FormatError(
            f"a metric must be a number, not the text {plain!r:.60}",
            cure="Print the bare number, without its unit.",
        ) from None
    kind = _kind(number)
    return (number, None) if kind is None else (None, kind)


def decode_metric(value: float | None, non_finite: NonFinite | None) -> float | None:
    """Read back what `encode_metric` wrote.

    Args:
        value: The stored value.
        non_finite: The stored word, if any.

    Returns:
        The number, non-finite ones included, or None where nothing was measured.
    """
    return _VALUES[non_finite] if value is None and non_finite is not None else value


def encode_metrics(
    metrics: Mapping[str, object], metadata: Mapping[str, Mapping[str, Any]] | None = None
) -> tuple[dict[str, int | float | None], dict[str, dict[str, Any]]]:
    """Encode a whole dictionary of metrics and note the non-finite ones in its metadata.

    Args:
        metrics: Name to value, as for `encode_metric`.
        metadata: The `metrics_with_metadata` known so far.

    Returns:
        The finite metrics, and the metadata with `value` and `non_finite` kept in step.

    Raises:
        FormatError: If a metric is no number; the message names it.
    """
    clean: dict[str, int | float | None] = {}
    notes = {name: dict(note) for name, note in (metadata or {}).items()}
    for name, note in notes.items():
        if "value" in note:
            note["value"], kind = _encode_named(name, note["value"])
            if kind is not None:
                note["non_finite"] = kind
    for name, value in metrics.items():
        clean[name], kind = _encode_named(name, value)
        if kind is not None:
            notes.setdefault(name, {}).update(value=None, non_finite=kind)
    return clean, notes


def _encode_named(name: str, value: object) -> tuple[int | float | None, NonFinite | None]:
    try:
        return encode_metric(value)
    except FormatError as error:
        raise FormatError(f"metric {name!r}: {error.message}", cure=error.cure) from None


def encode_document(document: Mapping[str, Any]) -> dict[str, Any]:
    """Copy a document, writing every non-finite number in it as `null` plus an entry of `_non_finite`.

    Args:
        document: Nested mappings, lists, NumPy values and JSON scalars.

    Returns:
        A document of plain Python values that `strict_dumps` accepts.
    """
    found: dict[str, NonFinite] = {}

    def copy(value: object, place: str) -> Json:
        plain = _plain(value)
        if isinstance(plain, float):
            kind = _kind(plain)
            if kind is None:
                return plain
            found[place] = kind
            return None
        if isinstance(plain, Mapping):
            return {key: copy(item, place + pointer(key)) for key, item in plain.items()}
        if isinstance(plain, (list, tuple)):
            return [copy(item, place + pointer(i)) for i, item in enumerate(plain)]
        return plain

    result: dict[str, Any] = copy(document, "")
    if found:
        result[NON_FINITE_KEY] = {**result.get(NON_FINITE_KEY, {}), **found}
    return result


def decode_document(document: Mapping[str, Any]) -> dict[str, Any]:
    """Read back what `encode_document` wrote, without the key `_non_finite`.

    Args:
        document: A document as read from a file.

    Returns:
        A copy with the non-finite numbers in their places.
    """
    kinds: Mapping[str, NonFinite] = document.get(NON_FINITE_KEY, {})

    def copy(value: Json, place: str) -> Json:
        if value is None and place in kinds:
            return _VALUES[kinds[place]]
        if isinstance(value, Mapping):
            return {key: copy(item, place + pointer(key)) for key, item in value.items()}
        if isinstance(value, list):
            return [copy(item, place + pointer(i)) for i, item in enumerate(value)]
        return value

    result: dict[str, Any] = copy({k: v for k, v in document.items() if k != NON_FINITE_KEY}, "")
    return result


def _non_finite_places(value: object, place: str = "") -> Iterator[str]:
    stack: list[tuple[object, str]] = [(value, place)]
    while stack:
        item, where = stack.pop()
        plain = item if isinstance(item, (str, dict, list, int)) else _plain(item)
        if isinstance(plain, float):
            if not math.isfinite(plain):
                yield where
        elif isinstance(plain, Mapping):
            stack.extend((inner, where + pointer(str(key))) for key, inner in plain.items())
        elif isinstance(plain, (list, tuple)):
            stack.extend((inner, where + pointer(i)) for i, inner in enumerate(plain))


def _is_finite(value: object) -> bool:
    """Whether every number is finite; the quick way, without places."""
    stack: list[object] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, (str, int)) or item is None:
            continue
        if isinstance(item, float):
            if not math.isfinite(item):
                return False
        elif isinstance(item, Mapping):
            stack.extend(item.values())
        elif isinstance(item, (list, tuple)):
            stack.extend(item)
        elif (plain := _plain(item)) is not item:
            stack.append(plain)
    return True


def strict_dumps(value: object, *, indent: bool = False) -> bytes:
    """Write strict JSON.

    NumPy scalars and arrays are written as their Python values; the sign of zero is kept.

    Args:
        value: What to write.
        indent: Two spaces a level and a final newline, for files that people read.

    Returns:
        UTF-8 bytes.

    Raises:
        FormatError: If the value holds a non-finite number or something JSON has no form for.
    """
    if not _is_finite(value):
        place = next(_non_finite_places(value))
        raise FormatError(
            f"a number at {place or 'the top'!r} is not finite and strict JSON cannot hold it",
            cure="Encode it with encode_metric or encode_document.",
        )
    options = orjson.OPT_SERIALIZE_NUMPY
    if indent:
        options |= orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    try:
        return orjson.dumps(value, option=options)
    except TypeError as error:
        raise FormatError(f"the value cannot be written as JSON: {error}") from error


def strict_loads(data: bytes) -> Json:
    """Read strict JSON.

    Args:
        data: UTF-8 bytes without a byte-order mark.

    Returns:
        The value.

    Raises:
        FormatError: If the bytes are not strict JSON; the message says where.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise FormatError(f"not strict JSON: {error}") from None
