from __future__ import annotations

import numpy as np
import pytest

from sr_harness.core import AgentContext
from sr_harness.errors import ProblemError
from sr_harness.evaluator.dynamics import TrajectorySet, derivative_target, with_derivative

T = np.linspace(0.0, 4.0, 41)


def context(**variables: tuple[np.ndarray, tuple[str, ...]]) -> AgentContext:
    axes = {
        axis: size
        for values, names in variables.values()
        for axis, size in zip(names, values.shape, strict=True)
    }
    data = {axis: T[:size] if axis == "time" else np.arange(size) for axis, size in axes.items()}
    data |= {name: values for name, (values, _) in variables.items()}
    return AgentContext(
        data=data,
        variable_axes={name: names for name, (_, names) in variables.items()},
        axis_metadata={axis: {"source": "values", "size": size} for axis, size in axes.items()},
    )


def test_further_axes_count_runs_in_any_order() -> None:
    starts = np.array([1.0, 2.0, 3.0])
    x = np.exp(-T)[:, None] * starts
    runs = TrajectorySet.from_context(
        context(x=(x, ("time", "run")), y=(x.T, ("run", "time")), k=(starts, ("run",))), ["x", "y"]
    )
    assert len(runs.runs) == 3
    assert runs.inputs == ("k",)
    np.testing.assert_array_equal(runs.runs[1].states["y"], x[:, 1])
    np.testing.assert_array_equal(runs.runs[2].inputs["k"], np.full(41, 3.0))


def test_in_a_table_time_going_back_begins_a_run_and_missing_samples_are_left_out() -> None:
    t = np.concatenate([T, T])
    x = np.concatenate([np.sin(T), np.cos(T)])
    x[3] = np.nan
    runs = TrajectorySet.from_context(context(x=(x, ("row",)), t=(t, ("row",))), ["x"])
    assert [len(run) for run in runs.runs] == [40, 41]
    assert 0.3 not in np.round(runs.runs[0].times, 6)


def test_whole_runs_judge_where_there_are_three_else_the_end_of_each() -> None:
    runs = [(T, {"x": np.sin(T + k)}) for k in range(8)]
    train, held = TrajectorySet.from_arrays(runs).held_out()
    assert (len(train.runs), len(held.runs)) == (6, 2)
    train, held = TrajectorySet.from_arrays(runs[:2]).held_out()
    assert [len(run) for run in train.runs] == [31, 31]
    assert held.runs[0].times[0] == train.runs[0].times[-1]


def test_the_derivative_of_a_variable_is_a_target() -> None:
    x = np.exp(-0.5 * T)
    data = context(x=(np.stack([x, 3 * x]), ("run", "time")))
    assert derivative_target(data, "dx_dt") == "x"
    derived = with_derivative(data, "dx_dt")
    np.testing.assert_allclose(derived.context.data["dx_dt"][1], -1.5 * x, atol=1e-7)
    assert "2 runs" in derived.notes[0]


def test_a_variable_of_that_name_comes_first() -> None:
    data = context(x=(T, ("time",)), dx_dt=(T, ("time",)))
    assert derivative_target(data, "dx_dt") is None
    assert derivative_target(data, "x") is None


@pytest.mark.parametrize(
    ("states", "time", "message"),
    [
        (["z"], None, "no variable 'z'"),
        (["still"], None, "'still' has no time"),
        (["x", "y"], None, "different axes"),
        (["x"], "clock", "is called 'clock'"),
        (["word"], None, "does not hold numbers"),
        ([], None, "at least one state"),
    ],
)
def test_what_makes_no_trajectories_is_refused(states: list[str], time: str | None, message: str) -> None:
    data = context(
        x=(np.sin(T), ("time",)),
        y=(np.outer(T, [1.0, 2.0]), ("time", "run")),
        still=(np.arange(5.0), ("row",)),
        word=(np.array(["a"] * 41), ("time",)),
    )
    with pytest.raises(ProblemError, match=message):
        TrajectorySet.from_context(data, states, time=time)


def test_a_derivative_of_nothing_names_what_there_is() -> None:
    with pytest.raises(ProblemError, match=r"nor a variable 'z'.*there are 'x'"):
        derivative_target(context(x=(T, ("time",))), "dz_dt")
