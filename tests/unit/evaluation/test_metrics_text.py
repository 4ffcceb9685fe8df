"""Which printed lines are metrics."""

from __future__ import annotations

import math

import pytest

from ari.evaluation.metrics_text import parse_metrics


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("GFlops/s: 312.4", {"GFlops/s": 312.4}),
        ("accuracy = 0.93", {"accuracy": 0.93}),
        ("wall time: 1.5 s", {"wall time": 1.5}),
        ("err: 1e-9", {"err": 1e-9}),
        ("x: 1\nx: 2", {"x": 2.0}),
        ('{"loss": 0.5, "ok": true, "name": "a", "n": 3}', {"loss": 0.5, "n": 3.0}),
        ("step 1 of 10", {}),
        ("12:30: started", {}),
        ("ratio: about 3", {}),
        ("flag: true", {}),
        ("", {}),
        ("{broken", {}),
    ],
)
def test_lines_that_count(text: str, expected: dict[str, float]):
    assert parse_metrics(text) == expected


def test_a_value_that_is_not_finite_is_kept_as_it_was_printed():
    found = parse_metrics("a: nan\nb: inf\nc: -inf\nd: 1e400")
    assert math.isnan(found["a"])
    assert (found["b"], found["c"], found["d"]) == (math.inf, -math.inf, math.inf)


def test_a_flag_called_timeout_is_no_number():
    assert parse_metrics('{"ok": true, "timeout": true, "error": 0.0}') == {"error": 0.0}
