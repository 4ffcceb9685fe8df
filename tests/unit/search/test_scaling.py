"""Scaling takes powers and combinations of inputs out of a problem; quadratic equations give roots."""

from __future__ import annotations

import numpy as np
import pytest

from sr_harness.engine import equivalent, parse, render, variables
from sr_harness.search import Budget, Problem, discover
from sr_harness.search.scaling import scalings, smaller_views
from sr_harness.search.view import View, whole


def inputs(seed: int = 3, rows: int = 300) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.uniform(0.6, 3.0, rows) for name in ("a", "b", "c", "d")}


def smallest(law: str, data: dict[str, np.ndarray]) -> View:
    y = eval(law, {**data, "sqrt": np.sqrt, "tanh": np.tanh, "cos": np.cos, "log": np.log})
    return scalings(whole(data, y), lambda _units: None)[0]


@pytest.mark.parametrize(
    "law",
    ["3*a**0.2*b**0.4/c**1.25", "-2*(a*b/d)**(1/3)", "5*sqrt(b)/(c*d)**2"],
)
def test_products_of_any_powers_leave_no_input(law: str):
    view = smallest(law, inputs())
    assert view.inputs == ()
    assert np.ptp(view.target) < 1e-9 * np.max(np.abs(view.target))


@pytest.mark.parametrize(
    ("law", "left"),
    [
        ("a*tanh(b*a**2)", "b*a**2"),
        ("c**0.5*b/log(2 + a*d)", "d*a"),
        ("c/(2 + cos(a - b))", "a - b"),
    ],
)
def test_what_occurs_only_together_becomes_one_input(law: str, left: str):
    view = smallest(law, inputs())
    assert [render(item.expression) for item in view.inputs] in ([left], [render(parse(left))])


def test_a_negative_input_keeps_its_fractional_power():
    data = inputs()
    data["a"] = -data["a"]
    view = scalings(whole(data, data["b"] * (-data["a"]) ** 0.25), lambda _units: None)[0]
    assert view.inputs == ()


def test_a_target_that_vanishes_somewhere_has_no_logarithm():
    data = inputs()
    view = whole(data, np.where(data["a"] > 1, data["a"], 0.0))
    assert scalings(view, lambda _units: None) == []
    assert smaller_views(view, lambda _units: None)[-1] is view


@pytest.mark.parametrize(
    "law",
    [
        "b - sqrt(b**2 - c + 9*a)",
        "a + cos(d)*sqrt(1 + a)",
        "a*log((b + sqrt(b**2 + 4*c**2))/(2*c))",
        "a/log(b + sqrt(b**2 + 1))",
    ],
)
def test_roots_of_quadratic_equations_are_found(law: str):
    data = {name: values for name, values in inputs().items() if name in variables(parse(law))}
    y = eval(law, {**data, "sqrt": np.sqrt, "cos": np.cos, "log": np.log})
    problem = Problem.from_arrays(data, y)
    found = discover(problem, budget=Budget(40_000), strategies=["root"])
    assert found.stop_reason == "exact"
    ranges = dict.fromkeys(data, (0.6, 3.0))
    verdict = equivalent(found.best.expression, parse(law), ranges=ranges, time_limit=60).verdict
    assert verdict == "equivalent"
