"""How well a system of formulas follows measured trajectories.

The trajectory error is stated once here. A run is cut into spans of at most `SPAN` samples. Each span is
integrated from the smoothed state at its first sample, and compared with the measurements at its other ones.
The error of a span is the root mean square deviation over its samples and states, each state in units of its
standard deviation over all given runs; from where an integration ends early, every sample counts
`FAILURE`, and no single deviation counts more. The error of the system is the root mean square over all
samples of all spans: 0 is perfect, 1 is as bad as staying at the mean.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sr_harness.evaluator.dynamics.derivative import SMALLEST, estimate_derivative
from sr_harness.evaluator.dynamics.field import check_formulas, slope_of
from sr_harness.evaluator.dynamics.integration import Limits, integrate

if TYPE_CHECKING:
    from sr_harness.engine import Expression
    from sr_harness.evaluator.dynamics.trajectories import Trajectory, TrajectorySet

Floats = NDArray[np.float64]

SPAN = 50
"""Samples of a span: long enough for small faults to add up, short enough for chaotic systems."""

FAILURE = 10.0
MOST_SPANS = 40
"""Spans that are integrated; of more, so many are taken at even distances."""


@dataclass(frozen=True)
class TrajectoryError:
    """How far integrated trajectories are from the measured ones.

    Attributes:
        error: Root mean square over samples and states, in standard deviations of each state.
        by_state: The same for each state.
        spans: Number of spans.
        samples: Measured samples that were compared, of all states together.
        outcomes: How many integrations ended how (see `sr_harness.evaluator.dynamics.integration`).
    """

    error: float
    by_state: Mapping[str, float]
    spans: int
    samples: int
    outcomes: Mapping[str, int]

    @property
    def nmse(self) -> float:
        """Mean square deviation in units of the variance of the states."""
        return self.error**2


class _Judged(NamedTuple):
    """A system, what it is compared with, and how."""

    formulas: Mapping[str, Expression]
    runs: TrajectorySet
    units: Mapping[str, float]
    limits: Limits | None


def trajectory_error(
    formulas: Mapping[str, Expression],
    runs: TrajectorySet,
    *,
    span: int = SPAN,
    spread: Mapping[str, float] | None = None,
    limits: Limits | None = None,
) -> TrajectoryError:
    """Judge a system by its integrated trajectories.

    Args:
        formulas: Right-hand side of each state.
        runs: Measured runs.
        span: Most samples of a span, at least 2.
        spread: Standard deviation of each state; default: over these runs.
        limits: Of each integration.

    Raises:
        ProblemError: The formulas do not make a system of these states.
    """
    check_formulas(formulas, runs)
    units = dict(spread) if spread is not None else {name: runs.spread(name) for name in runs.states}
    sums = dict.fromkeys(runs.states, 0.0)
    counts = dict.fromkeys(runs.states, 0)
    outcomes: Counter[str] = Counter()
    chosen = spans_of(runs, span)
    for run, start, stop in chosen:
        outcome, deviations = _span(_Judged(formulas, runs, units, limits), run, slice(start, stop))
        outcomes[outcome] += 1
        for name, squares in deviations.items():
            sums[name] += float(squares.sum())
            counts[name] += squares.size
    total = sum(counts.values())
    return TrajectoryError(
        error=float(np.sqrt(sum(sums.values()) / max(1, total))),
        by_state={name: float(np.sqrt(sums[name] / max(1, counts[name]))) for name in runs.states},
        spans=len(chosen),
        samples=total,
        outcomes=dict(outcomes),
    )


def spans_of(runs: TrajectorySet, span: int) -> list[tuple[Trajectory, int, int]]:
    """Runs cut into spans of equal length that share their end samples."""
    found = []
    for run in runs.runs:
        pieces = max(1, -(-(len(run) - 1) // max(1, span - 1)))
        edges = np.linspace(0, len(run) - 1, pieces + 1).round().astype(int)
        found += [(run, int(a), int(b) + 1) for a, b in itertools.pairwise(edges) if b > a]
    if len(found) > MOST_SPANS:
        places = np.linspace(0, len(found) - 1, MOST_SPANS).round().astype(int)
        found = [found[place] for place in places]
    return found


def smoothed_start(run: Trajectory, name: str, place: int) -> Floats:
    """The smoothed state at a sample, from a wide neighbourhood of it."""
    values = run.states[name]
    if len(run) < SMALLEST:
        return np.atleast_1d(values[place])
    first = max(0, place - SPAN)
    part = slice(first, place + SPAN + 1)
    found = estimate_derivative(values[part], run.times[part])
    return np.atleast_1d(found.values[place - first])


def _span(
    judged: _Judged,
    run: Trajectory,
    where: slice,
) -> tuple[str, dict[str, Floats]]:
    """How the integration of a span ended, and the squared deviations of each state."""
    formulas, runs, units, limits = judged
    starts = [smoothed_start(run, name, where.start) for name in runs.states]
    sizes = [start.size for start in starts]
    scale = np.concatenate(
        [np.full(size, units[name]) for name, size in zip(runs.states, sizes, strict=True)]
    )
    part = run.part(where.start, where.stop)
    whole = run if run.inputs else part
    result = integrate(
        slope_of(formulas, runs, whole), np.concatenate(starts), part.times, scale=scale, limits=limits
    )
    edges = np.cumsum([0, *sizes])
    deviations = {}
    for place, name in enumerate(runs.states):
        found = result.states[1:, edges[place] : edges[place + 1]]
        truth = part.states[name].reshape(len(part), -1)[1:]
        with np.errstate(all="ignore"):
            squares = np.square((found - truth) / units[name])
        deviations[name] = np.where(squares <= FAILURE**2, squares, FAILURE**2)
    return result.outcome, deviations
