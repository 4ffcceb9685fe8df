from __future__ import annotations

import numpy as np
import pytest
from dynamics_data import hunt

from sr_harness.engine import parse
from sr_harness.errors import ProblemError
from sr_harness.evaluator.dynamics import Limits, TrajectorySet, integrate, trajectory_error

TIMES = np.linspace(0, 5, 21)
ONE = np.ones(1)
LAW = {"x": parse("1.2*x - 0.8*x*y"), "y": parse("0.5*x*y - y")}


def test_a_decay_is_integrated_to_eight_digits() -> None:
    found = integrate(lambda _t, y: -y, ONE, TIMES, scale=ONE)
    assert found.outcome == "done"
    np.testing.assert_allclose(found.states[:, 0], np.exp(-TIMES), atol=1e-8)


def test_a_stiff_equation_is_followed() -> None:
    found = integrate(lambda t, y: -1e5 * (y - np.cos(t)), np.zeros(1), TIMES, scale=ONE)
    assert found.outcome == "done"
    assert found.states[-1, 0] == pytest.approx(np.cos(5), abs=1e-4)


@pytest.mark.parametrize(
    ("slope", "outcomes"),
    [
        (lambda _t, y: y**2, {"blow-up"}),
        (lambda t, y: np.log(2.5 - t) * y, {"no step", "undefined"}),
        (lambda t, y: np.full_like(y, 1e6 * np.cos(1e8 * t)), {"evaluations"}),
        (lambda t, y: np.full_like(y, np.nan), {"no step", "undefined"}),
    ],
)
def test_what_cannot_be_integrated_ends_and_says_why(slope, outcomes: set[str]) -> None:
    found = integrate(slope, ONE, TIMES, scale=ONE, limits=Limits(evaluations=3000))
    assert found.outcome in outcomes
    assert found.evaluations <= 3001
    assert np.isnan(found.states[-1]).all()
    assert found.states[0, 0] == 1.0


def test_a_ceiling_in_seconds_ends_an_integration() -> None:
    found = integrate(lambda _t, y: -y, ONE, TIMES, scale=ONE, limits=Limits(seconds=0.0))
    assert found.outcome == "time"


def test_the_law_follows_its_trajectories_and_a_wrong_constant_does_not() -> None:
    runs = hunt()
    assert trajectory_error(LAW, runs).error < 1e-5
    off = trajectory_error({**LAW, "x": parse("1.25*x - 0.8*x*y")}, runs)
    assert 0.05 < off.error < 1.0
    assert off.spans == 12 and off.samples == 4 * 2 * 100


def test_a_system_that_blows_up_counts_as_a_failure_of_known_size() -> None:
    found = trajectory_error({**LAW, "x": parse("x**2")}, hunt())
    assert found.outcomes["blow-up"] == 12
    assert 5 < found.error <= 10


def test_inputs_act_as_measured() -> None:
    t = np.linspace(0, 6, 61)
    runs = TrajectorySet.from_arrays([(t, {"x": 1 - np.cos(t)})], [{"push": np.sin(t)}])
    assert trajectory_error({"x": parse("push")}, runs).error < 1e-2
    assert trajectory_error({"x": parse("sin(t)")}, runs).error < 1e-4


@pytest.mark.parametrize(
    ("formulas", "message"),
    [
        ({"x": "y"}, "missing: y"),
        ({"x": "y", "y": "x", "z": "x"}, "not a state: z"),
        ({"x": "w", "y": "x"}, "reads 'w'"),
        ({"x": "param('a')*y", "y": "x"}, "parameters without a value: a"),
        ({"x": "delay(y, 0.5)", "y": "x"}, "looks into the past"),
    ],
)
def test_formulas_that_are_no_system_are_refused(formulas: dict[str, str], message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        trajectory_error({name: parse(text) for name, text in formulas.items()}, hunt())
