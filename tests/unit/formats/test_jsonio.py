"""One encoding of non-finite numbers, and JSON that any strict parser accepts."""

from __future__ import annotations

import json
import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ari.errors import FormatError
from ari.formats.jsonio import (
    decode_document,
    decode_metric,
    encode_document,
    encode_metric,
    encode_metrics,
    pointer,
    strict_dumps,
    strict_loads,
)
from ari.formats.node_results import has_non_finite, loads_lenient


def strictly(data: bytes) -> object:
    """A second, strict parser: the standard library's, with its extensions off."""

    def refuse(word: str) -> object:
        raise AssertionError(f"{word} is no JSON")

    return json.loads(data, parse_constant=refuse)


def _empty_mean() -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.mean(np.array([]))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, (1, None)),
        (2**53 + 1, (2**53 + 1, None)),
        (0.5, (0.5, None)),
        (math.nan, (None, "nan")),
        (math.inf, (None, "+inf")),
        (-math.inf, (None, "-inf")),
        ("1e400", (None, "+inf")),
        ("-1e400", (None, "-inf")),
        ("312.4", (312.4, None)),
        (10**400, (None, "+inf")),
        (-(10**400), (None, "-inf")),
        (2**70, (float(2**70), None)),
        (np.float32("nan"), (None, "nan")),
        (np.float64(0.25), (0.25, None)),
        (np.int32(7), (7, None)),
        (np.array(3.5), (3.5, None)),
        (_empty_mean(), (None, "nan")),
        (None, (None, None)),
    ],
)
def test_a_metric_is_finite_or_null_with_its_kind(value: object, expected: tuple) -> None:
    encoded = encode_metric(value)
    assert encoded == expected
    assert type(encoded[0]) is type(expected[0])


def test_the_sign_of_zero_is_kept() -> None:
    value, kind = encode_metric(-0.0)
    assert value is not None and kind is None
    assert strict_dumps({"a": value}) == b'{"a":-0.0}'
    assert math.copysign(1, strict_loads(b"-0.0")) == -1


@pytest.mark.parametrize(
    "value", [True, False, np.bool_(True), [1], {"a": 1}, "12 ms", b"1", Fraction(1, 2), 1j]
)
def test_what_is_no_number_is_no_metric(value: object) -> None:
    with pytest.raises(FormatError, match="a metric must be a number"):
        encode_metric(value)


@given(st.floats() | st.integers(-(2**62), 2**62))
def test_a_metric_survives_a_round_trip(value: float) -> None:
    stored, kind = encode_metric(value)
    document = strictly(strict_dumps({"value": stored, "non_finite": kind}))
    back = decode_metric(document["value"], document["non_finite"])
    assert back == value or (math.isnan(value) and math.isnan(back))
    assert math.copysign(1, back) == math.copysign(1, value) or math.isnan(value)


def test_metrics_and_their_notes_are_kept_in_step() -> None:
    metrics, notes = encode_metrics(
        {"a": math.nan, "b": 1.5, "c": math.inf},
        {"a": {"value": math.nan, "confidence": 0.9}, "b": {"value": np.float64(1.5), "extractor": "x"}},
    )
    assert metrics == {"a": None, "b": 1.5, "c": None}
    assert notes == {
        "a": {"value": None, "confidence": 0.9, "non_finite": "nan"},
        "b": {"value": 1.5, "extractor": "x"},
        "c": {"value": None, "non_finite": "+inf"},
    }
    with pytest.raises(FormatError, match="metric 'ok': a metric must be a number, not bool"):
        encode_metrics({"ok": True})


def test_a_document_keeps_what_was_not_finite_under_one_key() -> None:
    document = {
        "a": [1.0, math.nan, [math.inf]],
        "b/c": {"~d": -math.inf},
        "e": np.array([1.5, np.nan]),
        "f": (2,),
    }
    encoded = encode_document(document)
    assert encoded == {
        "a": [1.0, None, [None]],
        "b/c": {"~d": None},
        "e": [1.5, None],
        "f": [2],
        "_non_finite": {"/a/1": "nan", "/a/2/0": "+inf", "/b~1c/~0d": "-inf", "/e/1": "nan"},
    }
    back = decode_document(strictly(strict_dumps(encoded)))
    assert math.isnan(back["a"][1]) and back["a"][2] == [math.inf]
    assert back["b/c"] == {"~d": -math.inf} and math.isnan(back["e"][1]) and "_non_finite" not in back


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.text().filter(lambda key: key != "_non_finite"), JSON))
def test_any_document_survives_a_round_trip(document: dict) -> None:
    written = strict_dumps(encode_document(document))
    strictly(written)
    assert repr(decode_document(strict_loads(written))) == repr(document)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": {"b/c": [0, math.nan]}}, "'/a/b~1c/1' is not finite"),
        (np.array([1.0, np.inf]), "'/1' is not finite"),
        ({"a": np.float32("-inf")}, "'/a' is not finite"),
        ({1: 2}, "cannot be written as JSON"),
        ({"a": object()}, "cannot be written as JSON"),
        ({"a": "\ud800"}, "cannot be written as JSON"),
        ({"a": 2**70}, "cannot be written as JSON"),
    ],
)
def test_what_strict_json_cannot_hold_is_refused(value: object, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        strict_dumps(value)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"NaN",
        b'{"a": Infinity}',
        b"\xef\xbb\xbf{}",
        b"{}\0",
        b"{'a': 1}",
        b"1e400",
        b"\xff",
        b"[" * 3000,
    ],
)
def test_what_is_not_strict_json_is_refused(data: bytes) -> None:
    with pytest.raises(FormatError, match="not strict JSON"):
        strict_loads(data)


def test_what_programs_print_is_read_leniently() -> None:
    document = loads_lenient(b'\xef\xbb\xbf{"a": NaN, "b": [1, Infinity], "c": 1e400, "d": 2}')
    assert has_non_finite(document)
    assert not has_non_finite({"a": [1, {"b": 2.5}]})
    assert document["c"] == math.inf
    for data in (b"", b"{", b"\xff", b"[" * 100_000):
        with pytest.raises(FormatError, match="not JSON"):
            loads_lenient(data)


def test_pointers_escape_their_parts() -> None:
    assert pointer() == ""
    assert pointer("a/b", "c~d", 0, "") == "/a~1b/c~0d/0/"
