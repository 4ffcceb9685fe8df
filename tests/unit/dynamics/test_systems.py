from __future__ import annotations

import json

import numpy as np
import pytest
from dynamics_data import hunt, simulate, swing

from sr_harness.core import AgentContext
from sr_harness.engine import equivalent, parse
from sr_harness.errors import ProblemError
from sr_harness.evaluator.dynamics import TrajectorySet
from sr_harness.search import Budget
from sr_harness.search.systems import discover_derivative, discover_system, shoot

HUNT = {"x": "1.2*x - 0.8*x*y", "y": "0.5*x*y - y"}


def assert_same(found, laws: dict[str, str]) -> None:
    for state, law in laws.items():
        verdict = equivalent(found.best.formulas[state], parse(law)).verdict
        assert verdict == "equivalent", f"d{state}_dt = {found.best.formulas[state]}"


def test_a_system_is_found_exactly_from_noisy_trajectories() -> None:
    found = discover_system(hunt(noise=0.01))
    assert_same(found, HUNT)
    assert found.held_out == "1 of 4 runs"
    assert found.best.judged.error < 0.02
    assert 0.005 < found.noise["x"] < 0.02
    json.dumps(found.to_document(), allow_nan=False)


def test_a_pendulum_is_found_from_one_run_whose_end_judges() -> None:
    found = discover_system(swing(noise=0.01), budget=Budget(6000))
    assert_same(found, {"q": "p", "p": "-2.3*sin(q) - 0.15*p"})
    assert found.held_out == "the last quarter of each run"


def test_the_same_runs_give_the_same_systems() -> None:
    runs = simulate(lambda _t, z: [0.9 - 0.6 * z[0] ** 2], "s", [(0.1,), (3.0,)], samples=60, noise=0.02)
    documents = [discover_system(runs, budget=Budget(2500)).to_document() for _ in range(2)]
    assert documents[0] == documents[1]


def test_work_and_cancelling_end_a_search_with_what_there_is() -> None:
    assert discover_system(hunt(), budget=Budget(100)).stop_reason == "work"
    stopped = discover_system(hunt(), should_stop=lambda: True)
    assert (stopped.stop_reason, stopped.best) == ("cancelled", None)


def test_shooting_recovers_constants_within_their_errors() -> None:
    runs = hunt(noise=0.01)
    templates = {
        "x": parse("param('a')*x - param('b')*x*y"),
        "y": parse("param('c')*x*y - param('d')*y"),
    }
    shot = shoot(templates, {"a": 1.0, "b": 1.0, "c": 0.4, "d": 0.8}, runs, {"x": 0.01, "y": 0.01})
    for name, truth in {"a": 1.2, "b": 0.8, "c": 0.5, "d": 1.0}.items():
        assert 0 < shot.errors[name] < 0.005
        assert abs(shot.values[name] - truth) < 4 * shot.errors[name]
    assert shot.nmse["x"] == pytest.approx(1e-4, rel=0.3)


def test_clean_trajectories_give_constants_to_many_digits() -> None:
    templates = {"s": parse("param('a') - param('b')*s/(param('k') + s)")}
    runs = simulate(lambda _t, z: [0.7 - 1.3 * z[0] / (0.6 + z[0])], "s", [(3.0,), (0.1,)], samples=80)
    shot = shoot(templates, {"a": 0.6, "b": 1.0, "k": 1.0}, runs, {"s": 0.0})
    assert shot.values == pytest.approx({"a": 0.7, "b": 1.3, "k": 0.6}, rel=1e-5)


def test_shooting_gives_up_on_what_cannot_be_integrated() -> None:
    assert (
        shoot(
            {"x": parse("param('a')*log(-1 - x**2)"), "y": parse("x")}, {"a": 1.0}, hunt(), {"x": 0, "y": 0}
        )
        is None
    )


def table(runs: TrajectorySet) -> AgentContext:
    columns = {name: np.concatenate([run.states[name] for run in runs.runs]) for name in runs.states}
    columns["t"] = np.concatenate([run.times for run in runs.runs])
    rows = columns["t"].size
    return AgentContext(
        data={**columns, "row": np.arange(rows)},
        variable_axes=dict.fromkeys(columns, ("row",)),
        axis_metadata={"row": {"source": "size", "size": rows}},
    )


def test_one_derivative_is_explained_and_ranked_by_trajectories() -> None:
    found = discover_derivative(
        table(hunt()), "dx_dt", budget=Budget(1500), strategies=["linear", "polynomial"]
    )
    assert equivalent(found.best.formulas["x"], parse(HUNT["x"])).verdict == "equivalent"
    assert found.problem.names == ("x", "y")
    assert "noise of x" in found.notes[0]
    errors = [system.judged.error for system in found.ranked]
    assert errors[0] < 1e-5
    with pytest.raises(ProblemError, match="is no derivative"):
        discover_derivative(table(hunt()), "x")
