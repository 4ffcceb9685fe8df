"""The target `dx_dt`: a search on the estimated slope of one variable, its front ranked by trajectories.

The slope is explained by what is measured beside the variable. The best formulas are then integrated with
all other variables given as measured, their constants fitted by shooting, and ranked by description length of
what they leave of the held-out trajectories (see `sr_harness.evaluator.dynamics.judging`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sr_harness.errors import ProblemError
from sr_harness.evaluator.dynamics import Trajectory, TrajectorySet, derivative_target
from sr_harness.search.budget import Budget, Halt, Meter
from sr_harness.search.discovery import Discovery, Event, discover
from sr_harness.search.systems.assembly import Assembly
from sr_harness.search.systems.model import SystemCandidate
from sr_harness.search.threads import one_thread

if TYPE_CHECKING:
    from sr_harness.core import AgentContext
    from sr_harness.search.problem import Problem

RANKED = 6
"""Members of a front that are integrated, those with the shortest descriptions."""

RANKING_SHARE = 0.3
"""Part of a time ceiling kept for the ranking."""


@dataclass(frozen=True)
class DerivativeDiscovery:
    """What a search for a derivative found.

    Attributes:
        problem: The slope and what it is explained by, on the fitted runs.
        discovery: The search on the slope.
        ranked: Formulas with constants fitted by integration, the one to believe first; systems of one state.
        state: Whose derivative.
        held_out: What judged, in words.
        notes: How the slope was estimated, and what was left out.
    """

    problem: Problem
    discovery: Discovery
    ranked: tuple[SystemCandidate, ...]
    state: str
    held_out: str
    notes: tuple[str, ...]

    @property
    def best(self) -> SystemCandidate | None:
        """The formula to believe."""
        return self.ranked[0] if self.ranked else None


def discover_derivative(
    context: AgentContext,
    target: str,
    inputs: Sequence[str] | None = None,
    *,
    budget: Budget | None = None,
    seed: int = 0,
    strategies: Sequence[str] | None = None,
    time: str | None = None,
    on_event: Callable[[Event], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
    jobs: int | None = 1,
) -> DerivativeDiscovery:
    """Find a formula for `dx_dt`.

    Args:
        context: The data.
        target: `dx_dt` for a variable `x`.
        inputs: Variables that the formula may read beside `x`; default: every numeric variable on the axes of
            `x`. Time is read only if it is named.
        budget: Work, and a ceiling in seconds.
        seed: Seed of everything random.
        strategies: As in `sr_harness.search.discover`.
        time: Axis or variable that holds the times; default: `time` or `t`.
        on_event: As in `sr_harness.search.discover`.
        should_stop: As in `sr_harness.search.discover`.
        jobs: As in `sr_harness.search.discover`.

    Raises:
        ProblemError: The target is no derivative, there is no time, or no run is long enough.
    """
    state = derivative_target(context, target)
    if state is None:
        raise ProblemError(f"{target!r} is no derivative; write dx_dt for that of a variable x")
    runs = read_runs_of(context, state, inputs, time)
    allowed = budget or Budget()
    meter = Meter(Budget(allowed.work * 2, allowed.seconds), should_stop)
    systems = Assembly(smoothed_inputs(runs), meter.charge)
    samples = systems.samples
    problem = samples.problem(
        state, systems.held_samples, with_time=inputs is not None and runs.time in inputs
    )
    if allowed.seconds is not None:
        allowed = Budget(allowed.work, (1 - RANKING_SHARE) * allowed.seconds)
    found = discover(
        problem,
        budget=allowed,
        seed=seed,
        strategies=strategies,
        on_event=on_event,
        should_stop=should_stop,
        jobs=jobs,
    )
    with one_thread():
        try:
            for candidate in sorted(found.front.candidates, key=lambda c: (c.length, c.complexity))[:RANKED]:
                systems.add({state: candidate.expression})
        except Halt:
            pass  # what has been ranked so far stands
    noise = (
        f"d{state}_dt was estimated along {runs.time!r} by local polynomials over up to {samples.width} "
        f"samples in {len(runs.runs)} run{'s' if len(runs.runs) != 1 else ''}; the noise of {state} is about "
        f"{systems.noise[state]:.1e} of its standard deviation"
    )
    return DerivativeDiscovery(
        problem, found, systems.ordered(), state, systems.held_out, (noise, *runs.notes)
    )


def read_runs_of(
    context: AgentContext, state: str, inputs: Sequence[str] | None, time: str | None
) -> TrajectorySet:
    """The runs of one state with everything that is measured beside it as inputs."""
    from sr_harness.evaluator.dynamics.reading import check_state, time_axis

    check_state(context, state)
    where = time_axis(context, state, time)
    axes = set(context.variable_axes[state])
    wanted = inputs
    if wanted is None:
        wanted = [
            name
            for name, own in context.variable_axes.items()
            if name not in (state, where.name, *context.relation_names, *context.variable_structures)
            and own
            and set(own) <= axes
            and np.asarray(context.data[name]).dtype.kind in "biuf"
        ]
    wanted = [name for name in wanted if name not in (state, where.name)]
    return replace(TrajectorySet.from_context(context, (state,), wanted, time=time), smooth_inputs=True)


def smoothed_inputs(runs: TrajectorySet) -> TrajectorySet:
    """The runs with their inputs smoothed, where these vary along time."""
    from sr_harness.evaluator.dynamics import estimate_derivative

    def smooth(run: Trajectory) -> Trajectory:
        inputs = {
            name: estimate_derivative(values, run.times).values if np.ptp(values, axis=0).any() else values
            for name, values in run.inputs.items()
        }
        return Trajectory(run.times, run.states, inputs)

    return replace(runs, runs=tuple(smooth(run) for run in runs.runs))
