from __future__ import annotations

import json
import math

import pytest

from sr_harness.engine import parse
from sr_harness.search import Candidate, ParetoFront
from sr_harness.search.candidate import measured
from sr_harness.search.selection import description_length, plain_cost


def candidate(text: str, nmse: float, rows: int = 50) -> Candidate:
    return measured(parse(text), nmse, variance=2.0, origin="test", rows=rows)


def test_a_candidate_that_is_beaten_leaves_the_front() -> None:
    front = ParetoFront([candidate("x + 1", 0.5), candidate("x*y*2 + 1", 0.1)])
    assert front.add(candidate("x*y", 0.05))
    assert [kept.formula() for kept in front.candidates] == ["x*y"]


def test_an_equal_newcomer_does_not_displace_the_older() -> None:
    front = ParetoFront([candidate("x + y", 0.5)])
    assert not front.add(candidate("y + x", 0.5))
    assert front.candidates[0].formula() == "x + y"


def test_among_exact_formulas_rounding_does_not_count() -> None:
    front = ParetoFront([candidate("x + y", 3e-31)])
    assert not front.add(candidate("x + y + 0*x", 1e-33))


def test_a_formula_that_is_not_finite_never_enters() -> None:
    front = ParetoFront()
    assert not front.add(candidate("log(x)", math.inf))
    assert front.best() is None


def test_interpolation_loses_against_a_short_law() -> None:
    """Ten rows: eight free constants leave less than the law does, and are still not believed."""
    law = candidate("a**1.5", 1e-8, rows=10)
    wiggle = candidate(" + ".join(f"{0.12345678 + k}*a**{k}" for k in range(1, 9)), 1e-14, rows=10)
    assert ParetoFront([law, wiggle]).best() is law


def test_noise_is_not_described() -> None:
    line = candidate("2.5*x", 1.0e-2, rows=200)
    longer = candidate("2.5013*x + 0.00712*sin(31.7*x) + 0.01231*x**3", 0.97e-2, rows=200)
    assert ParetoFront([line, longer]).best() is line


def test_a_better_fit_is_worth_its_length() -> None:
    line = candidate("2.5*x", 1.0e-2, rows=200)
    curve = candidate("2.5*x + 0.3*x**2", 1.0e-4, rows=200)
    assert ParetoFront([line, curve]).best() is curve


@pytest.mark.parametrize("value", [0.0, 1.0, -2.0, 0.5, 1 / 3, math.pi, 2 * math.pi, 9.81, 1e-3])
def test_plain_numbers_are_cheap(value: float) -> None:
    cost = plain_cost(value)
    assert cost is not None
    assert cost < 12


@pytest.mark.parametrize("value", [0.123456, 2.0000001, math.sqrt(2), math.inf, 1.2345678e308, 5e-324])
def test_other_numbers_are_not_plain(value: float) -> None:
    assert plain_cost(value) is None


def test_description_of_a_formula_without_finite_error_is_infinite() -> None:
    assert description_length(math.inf, 3, [], 10) == math.inf


def test_rows_are_strict_json() -> None:
    front = ParetoFront([candidate("x", 0.5), candidate("x*y + 1", 1e-30)])
    text = json.dumps(front.to_rows(), allow_nan=False)
    assert [row["formula"] for row in json.loads(text)] == ["x", "x*y + 1"]


def test_a_quotient_with_many_constants_is_no_exact_law() -> None:
    long = "(" + " + ".join(f"{0.1234567 * k}*x**{k}" for k in range(1, 7)) + ")"
    imitation = candidate(f"{long}/(1 + {long})", 1e-27, rows=500)
    law = candidate("0.1234567*cos(x)/x**2", 1e-27, rows=500)
    assert law.exact
    assert not imitation.exact


def test_several_constants_must_leave_rounding_only() -> None:
    imitation = "1.43*sin(1.4412345*x**2 + 0.4698765) + 0.4068612*x**2 + 0.8068855"
    assert not candidate(imitation, 1e-14, rows=500).exact
    assert candidate(imitation, 1e-24, rows=500).exact
    assert candidate("1.4312345*sin(1.4412345*x**2)", 1e-14, rows=500).exact
