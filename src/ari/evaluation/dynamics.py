"""What a study of a time derivative measures: `dx_dt` for a variable `x` along time.

The parts of the data hold what was measured. The derivative is estimated when a part is opened, from the
samples of that part alone, so that no sealed sample has a share in a slope that was fitted. Samples next to
each other give each other away, so whole runs are set apart, or stretches of time where there are few runs.
A formula is judged twice: on the estimated slopes, and by its integrated trajectories.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ari.errors import ExperimentError
from sr_harness.errors import ProblemError
from sr_harness.evaluator.dynamics import derivative_target, trajectory_error, with_derivative
from sr_harness.evaluator.dynamics.reading import check_state, node_axis, time_axis

if TYPE_CHECKING:
    from sr_harness.core import AgentContext
    from sr_harness.evaluator.dynamics.reading import TimeAxis

Rows = NDArray[np.int64]
Division = Literal["runs", "time"]

TRAJECTORY_ERROR = "trajectory_error"
SHARE = 0.2
"""Share of the runs, or of the time of each run, that validates; the same is sealed."""

WHOLE_RUNS = 3
"""From this many runs on whole runs are set apart, else the ends of each."""

SHORTEST = 6
"""Samples of a stretch, at least: fewer give no slope that could judge a formula."""


class Parts(NamedTuple):
    """Positions along an axis, each sorted.

    Attributes:
        axis: The axis.
        train: Positions for fitting.
        validation: Positions for choosing.
        sealed: Positions for the end.
        by: Whether whole runs or stretches of time were set apart.
        samples: Number of samples of the three parts, by name.
    """

    axis: str
    train: Rows
    validation: Rows
    sealed: Rows
    by: Division
    samples: dict[str, int]


def state_of(context: AgentContext, target: str, time: str | None) -> str | None:
    """The variable whose derivative a target asks for; None where the target is a variable.

    Raises:
        ExperimentError: When there is no such variable, or no time to derive it by.
    """
    try:
        state = derivative_target(context, target)
        if state is not None:
            check_state(context, state)
            time_axis(context, state, time)
    except ProblemError as error:
        raise ExperimentError(
            f"the target {target!r} cannot be estimated: {error}",
            cure="Name the column or axis of the times with '- time: NAME' in '## Data', "
            "or give a target that is measured.",
        ) from error
    return state


def inputs_of_derivative(
    context: AgentContext, state: str, time: str | None, wanted: Sequence[str] | None
) -> tuple[str, ...]:
    """What may explain a derivative: the names given, else the state and what is measured beside it."""
    if wanted:
        return tuple(wanted)
    where = time_axis(context, state, time)
    axes = set(context.variable_axes[state])
    beside = [
        name
        for name, own in context.variable_axes.items()
        if name not in (state, where.name, *context.relation_names)
        and name not in context.variable_structures
        and set(own) <= axes
        and context.data[name].dtype.kind in "fiub"
    ]
    return (state, *beside)


def divide(context: AgentContext, state: str, time: str | None, *, seed: int) -> Parts:
    """Divide the samples of a state into train, validation and sealed ones.

    Whole runs, drawn by the seed, from three runs on; else the first three fifths of each run's time, the
    fifth after it, and the last. Runs that are too short to be cut are left out.

    Raises:
        ExperimentError: When there are too few samples.
    """
    where = time_axis(context, state, time)
    other = [
        axis for axis in context.variable_axes[state] if axis not in (where.axis, node_axis(context, state))
    ]
    for axis in other:
        if context.axis_length(axis) >= WHOLE_RUNS:
            length = context.axis_length(where.axis)
            return _whole([np.array([run]) for run in range(context.axis_length(axis))], axis, seed, length)
    runs = _runs(context, where)
    long = [run for run in runs if run.size >= SHORTEST]
    if len(long) >= WHOLE_RUNS:
        return _whole(long, where.axis, seed, 1)
    needed = round(SHORTEST / SHARE)
    cut = [run for run in runs if run.size >= needed]
    if not cut:
        most = max((run.size for run in runs), default=0)
        raise ExperimentError(
            f"the longest run of {state!r} has {most} samples along {where.name!r}: {needed} are needed "
            f"in one run, or {SHORTEST} in each of {WHOLE_RUNS}, to fit, choose and hold out",
            cure="Add samples or runs, or declare the derivative's measured values as a variable.",
        )
    return _stretches(cut, where.axis)


def _runs(context: AgentContext, where: TimeAxis) -> list[Rows]:
    """Rows of each run: in a table a new one begins where time does not increase."""
    rows = np.arange(context.axis_length(where.axis))
    if where.name not in context.variable_axes:
        return [rows]
    times = np.asarray(context.data[where.name], dtype=np.float64)
    return np.split(rows, np.flatnonzero(np.diff(times) <= 0) + 1)


def _whole(runs: list[Rows], axis: str, seed: int, weight: int) -> Parts:
    held = max(1, round(SHARE * len(runs)))
    order = np.random.default_rng([seed, len(runs)]).permutation(len(runs))
    drawn = (order[2 * held :], order[:held], order[held : 2 * held])
    return _parts([np.concatenate([runs[i] for i in sorted(part)]) for part in drawn], axis, "runs", weight)


def _stretches(runs: list[Rows], axis: str) -> Parts:
    pieces = [np.split(run, _cuts(run.size)) for run in runs]
    return _parts([np.concatenate(part) for part in zip(*pieces, strict=True)], axis, "time", 1)


def _cuts(length: int) -> list[int]:
    held = round(SHARE * length)
    return [length - 2 * held, length - held]


def _parts(rows: list[Rows], axis: str, by: Division, weight: int) -> Parts:
    train, validation, sealed = rows
    names = ("train", "validation", "sealed")
    samples = {name: weight * part.size for name, part in zip(names, rows, strict=True)}
    return Parts(axis, train, validation, sealed, by, samples)


def judged_context(context: AgentContext, target: str, time: str | None) -> AgentContext:
    """The data with the target among them: as they are, or with the estimated derivative and smoothed states.

    Raises:
        ProblemError: When the derivative cannot be estimated.
    """
    if derivative_target(context, target) is None:
        return context
    return with_derivative(context, target, time=time).context


def trajectory_error_of(formula: str, measured: AgentContext, target: str, time: str | None) -> float | None:
    """The error of integrated trajectories against measured ones; None where the target is no derivative.

    The state alone is integrated, with every other variable that the formula reads given as measured (see
    `sr_harness.evaluator.dynamics.judging`).

    Raises:
        ExpressionError: When the formula does not parse.
        ProblemError: When it cannot be integrated.
    """
    from sr_harness.engine import parse, variables
    from sr_harness.search.systems.single import read_runs_of, smoothed_inputs

    state = derivative_target(measured, target)
    if state is None:
        return None
    expression = parse(formula, names=list(measured.data))
    runs = smoothed_inputs(read_runs_of(measured, state, list(variables(expression)), time))
    return trajectory_error({state: expression}, runs).error
