"""From metrics to the one number the search compares."""

from __future__ import annotations

import math

import pytest

from ari.evaluation.score import metric_score, symbolic_score


def test_a_simple_law_beats_a_slightly_closer_but_longer_formula():
    assert symbolic_score(1e-4, 3) > symbolic_score(5e-5, 15)


def test_an_exact_formula_beats_a_simple_imitation():
    assert symbolic_score(1e-14, 25) > symbolic_score(1e-3, 3)


@pytest.mark.parametrize("bad", [None, math.nan, math.inf])
def test_what_cannot_be_measured_scores_nothing(bad: float | None):
    assert symbolic_score(bad, 3) == 0.0
    assert metric_score(bad, higher_is_better=True, reference=1.0) == 0.0


@pytest.mark.parametrize(
    ("value", "higher", "expected"), [(2.0, True, 2 / 3), (2.0, False, 1 / 3), (1.0, True, 0.5)]
)
def test_the_root_scores_one_half_and_twice_as_good_two_thirds(value: float, higher: bool, expected: float):
    assert metric_score(value, higher_is_better=higher, reference=1.0) == pytest.approx(expected)


def test_a_measured_ceiling_sets_the_scale():
    assert metric_score(3.0, higher_is_better=True, reference=1.0, ceiling=4.0) == 0.75
    assert metric_score(5.0, higher_is_better=True, reference=1.0, ceiling=4.0) == 1.0


@pytest.mark.parametrize("higher", [True, False])
def test_negative_values_keep_their_order(higher: bool):
    scores = [metric_score(v, higher_is_better=higher, reference=-1.0) for v in (-3.0, -2.0, -1.0, 0.0, 5.0)]
    assert scores == sorted(scores, reverse=not higher)
    assert all(0.0 <= score <= 1.0 for score in scores)
