"""The tools `estimate_derivative`, `discover_system` and `judge_trajectories`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from sr_harness.errors import ExpressionError, ProblemError, ToolError
from sr_harness.search.candidate import finite
from sr_harness.tools.context import Result, ToolContext, checked_work

if TYPE_CHECKING:
    from sr_harness.engine import Expression
    from sr_harness.evaluator.dynamics import TrajectorySet

SHOWN = 200
"""Samples that `estimate_derivative` returns of each run, evenly spaced."""

SYSTEM_WORK = 60_000

_EQUATION = re.compile(r"\s*d(?P<state>\w+)_dt\s*=\s*(?P<formula>.+)", re.DOTALL)


def estimate_derivative(ctx: ToolContext, variable: str) -> Result:
    """Estimate the derivative of a variable along the time axis of the data by local polynomials.

    The same estimate is what a target called dx_dt means for a variable x.

    Args:
        ctx: The data.
        variable: A numeric variable that lies on a time axis.

    Returns:
        `runs`: per run `times`, `smoothed` values and `slopes` at up to 200 evenly spaced samples (of a
        network one entry a node), the standard deviation of the `noise`, the
        `degree` of the polynomials and the samples in their `window`.
    """
    from sr_harness.evaluator import dynamics

    runs = _runs(ctx, [variable], [])
    rows = []
    for run in runs.runs:
        found = dynamics.estimate_derivative(run.states[variable], run.times)
        shown = np.unique(np.linspace(0, len(run) - 1, min(len(run), SHOWN)).astype(int))
        rows.append(
            {
                "times": run.times[shown].tolist(),
                "smoothed": found.values[shown].tolist(),
                "slopes": found.slopes[shown].tolist(),
                "noise": finite(float(np.median(found.noise))),
                "degree": found.degree,
                "window": found.width,
            }
        )
    return {"runs": rows}


def discover_system(
    ctx: ToolContext,
    states: list[str] | None = None,
    inputs: list[str] | None = None,
    work: int = SYSTEM_WORK,
) -> Result:
    """Find a right-hand side for every state of a system of differential equations, from trajectories alone.

    Args:
        ctx: The data; no variable needs to be a derivative.
        states: The variables that make up the state; default: the variable x of a target dx_dt.
        inputs: Variables that act from outside; default: those that do not change along time, and for the
            state of a target dx_dt alone the inputs of that target.
        work: Most model evaluations to spend.

    Returns:
        `best` and `candidates`: per system `formulas` by state, the `trajectory_error` on held-out runs (root
        mean square in standard deviations of each state), `constants` with standard errors, and
        `description_length`; `noise` of each state as a share of its standard deviation; `held_out`;
        `work_used`; `stop_reason`; `notes`.
    """
    from sr_harness.search import Budget, systems

    wanted = states or _own_state(ctx)
    if inputs is None and not states:
        inputs = [name for name in ctx.inputs if name not in wanted] or None
    runs = _runs(ctx, wanted, inputs)
    found = systems.discover_system(runs, budget=Budget(checked_work(work)), seed=ctx.seed)
    return found.to_document()


def judge_trajectories(ctx: ToolContext, system: str, inputs: list[str] | None = None) -> Result:
    """Integrate a system of formulas and compare it with the measured trajectories.

    Args:
        ctx: The data.
        system: One equation for each state, separated by semicolons: `dx_dt = y; dy_dt = -x`.
        inputs: Variables that act from outside and are taken as measured; default: those that formulas read.

    Returns:
        `trajectory_error` over all runs (root mean square in standard deviations of each state; spans of up
        to 50 samples, each from the smoothed state at its start; 10 where an integration ends early),
        `by_state`, `spans`, `samples`, and `integrations`: how many ended how.
    """
    from sr_harness import engine
    from sr_harness.evaluator import dynamics

    formulas = _equations(ctx, system)
    read = {name for formula in formulas.values() for name in engine.variables(formula)}
    outside = [name for name in ctx.context.variables if name in read and name not in formulas]
    runs = _runs(ctx, list(formulas), outside if inputs is None else inputs)
    try:
        found = dynamics.trajectory_error(formulas, runs)
    except (ProblemError, ExpressionError) as error:
        raise ToolError(str(error)) from error
    return {
        "trajectory_error": finite(found.error),
        "by_state": {name: finite(value) for name, value in found.by_state.items()},
        "spans": found.spans,
        "samples": found.samples,
        "integrations": dict(found.outcomes),
    }


def _equations(ctx: ToolContext, system: str) -> dict[str, Expression]:
    from sr_harness import engine

    formulas: dict[str, Expression] = {}
    for part in filter(str.strip, system.split(";")):
        match = _EQUATION.fullmatch(part)
        if match is None:
            raise ToolError(f"{part.strip()!r} is no equation; write dx_dt = formula for a state x")
        try:
            formulas[match["state"]] = engine.parse(match["formula"], names=list(ctx.context.data))
        except ExpressionError as error:
            raise ToolError(str(error)) from error
    if not formulas:
        raise ToolError("the system is empty; write one equation dx_dt = formula for each state")
    return formulas


def _own_state(ctx: ToolContext) -> list[str]:
    from sr_harness.evaluator.dynamics import derivative_target

    state = derivative_target(ctx.context, ctx.target)
    if state is None:
        raise ToolError("name the states of the system, a list of variables")
    return [state]


def _runs(ctx: ToolContext, states: list[str], inputs: list[str] | None) -> TrajectorySet:
    from sr_harness.evaluator.dynamics import TrajectorySet

    try:
        return TrajectorySet.from_context(ctx.context, states, inputs, time=ctx.time)
    except ProblemError as error:
        raise ToolError(str(error)) from error
