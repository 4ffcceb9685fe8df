"""Constants of a system from its trajectories: multiple shooting.

Runs are cut into segments. The constants, common to all, and the start of every segment are fitted together
so that the integrated segments meet the measurements; the starts are eliminated from each Gauss-Newton
step, segment by segment (H. Bock, "Numerical treatment of inverse problems in chemical reaction
kinetics", 1981; without continuity conditions between segments, so that chaotic systems do no harm). Short
segments come first, where any guess converges, then longer ones, which pin constants down more sharply; a
stage that fits worse than the one before it is not kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sr_harness.evaluator.dynamics.derivative import SMALLEST, estimate_derivative
from sr_harness.search.systems.flow import Flow, Segments, cut

if TYPE_CHECKING:
    from sr_harness.engine import Expression
    from sr_harness.evaluator.dynamics import TrajectorySet

Floats = NDArray[np.float64]

LENGTHS = (12, 100)
MOST_SAMPLES = 3_000
MOST_STEPS = 12
STEP = 1e-7
"""Relative step of the finite differences: the square root of the rounding of an integrated state."""

SETTLED = 1e-5
"""Relative fall of the residual below which a fit has converged."""

WORSE = 1.5
"""A stage whose root mean square residual exceeds that of the stage before by this factor is not kept."""

FINEST = 1e-7
"""Integration is so exact, in standard deviations of a state, however clean the data are."""

EXACT = 0.1
"""Doubling the integration steps may move a state by this share of its noise; what is left is a fifteenth."""

CLEAN = 1e-5
"""Noise below this share of a standard deviation: short segments pin constants down well enough."""


@dataclass(frozen=True)
class Shot:
    """Fitted constants.

    Attributes:
        values: Parameter by name.
        errors: Standard error of each; 0 where the data leave no residual.
        nmse: Mean square residual of each state in units of its variance, freed of what the starts absorb.
        samples: Measured values that were fitted, of all states together.
        length: Samples in a segment of the last stage.
    """

    values: Mapping[str, float]
    errors: Mapping[str, float]
    nmse: Mapping[str, float]
    samples: int
    length: int


@dataclass
class _Point:
    """Constants and starts with the residuals they leave [segment, sample, state], in units of `sigma`."""

    constants: Floats
    starts: Floats
    residual: Floats
    cost: float


class _Stage:
    """One fit on segments of one length."""

    def __init__(self, flow: Flow, segments: Segments, sigma: Floats, spread: Floats) -> None:
        self.flow, self.segments = flow, segments
        self.sigma, self.spread = sigma, spread
        self.real = np.broadcast_to(segments.real[:, :, None], segments.states.shape)
        self.substeps = 1

    def point(self, constants: Floats, starts: Floats) -> _Point:
        states = self.flow.run(self.segments, constants[None], starts[None], self.substeps)[0]
        with np.errstate(all="ignore"):
            residual = np.where(self.real, (states - self.segments.states) / self.sigma, 0.0)
            cost = float(np.sum(np.square(residual)))
        return _Point(constants, starts, residual, cost if np.isfinite(cost) else np.inf)

    def derivatives(self, at: _Point) -> tuple[Floats, Floats] | None:
        """Jacobians by the constants [segment, row, parameter] and by the starts [segment, row, state]."""
        count, width = at.constants.size, self.spread.size
        moved = STEP * np.maximum(np.abs(at.constants), 1e-3)
        constants = np.repeat(at.constants[None], 1 + count + width, axis=0)
        starts = np.repeat(at.starts[None], 1 + count + width, axis=0)
        for place in range(count):
            constants[1 + place, place] += moved[place]
        for place in range(width):
            starts[1 + count + place, :, place] += STEP * self.spread[place]
        states = self.flow.run(self.segments, constants, starts, self.substeps) / self.sigma
        steps = np.concatenate([moved, STEP * self.spread])
        with np.errstate(all="ignore"):
            by = (states[1:] - states[0]) / steps[:, None, None, None]
        by = np.where(self.real, by, 0.0)
        if not np.isfinite(by).all():
            return None
        rows = by.reshape(count + width, len(at.starts), -1)
        rows = np.moveaxis(rows, 0, 2)
        return rows[:, :, :count], rows[:, :, count:]

    def solve(self, start: _Point) -> _Point:
        """Levenberg-Marquardt with the starts eliminated."""
        at, damping = start, 1e-3
        for _ in range(MOST_STEPS):
            slopes = self.derivatives(at)
            if slopes is None:
                return at
            better = None
            for _ in range(8):
                step = _step(*slopes, at.residual.reshape(len(at.starts), -1), damping)
                if step is None:
                    damping *= 10
                    continue
                trial = self.point(at.constants + step[0], at.starts + step[1])
                if trial.cost < at.cost:
                    better = trial
                    break
                damping *= 10
            if better is None:
                return at
            settled = at.cost - better.cost <= SETTLED * at.cost
            at, damping = better, max(damping / 10, 1e-12)
            if settled:
                return at
        return at


def _step(
    by_constants: Floats, by_starts: Floats, residual: Floats, damping: float
) -> tuple[Floats, Floats] | None:
    """The damped Gauss-Newton step of constants and starts."""
    corner = np.einsum("srp,srq->spq", by_starts, by_starts)
    diagonal = np.einsum("spp->sp", corner)
    diagonal += damping * diagonal + 1e-300
    mixed = np.einsum("srp,srq->spq", by_starts, by_constants)
    pull = np.einsum("srp,sr->sp", by_starts, residual)
    try:
        if not by_constants.shape[2]:
            return np.zeros(0), -np.linalg.solve(corner, pull[..., None])[..., 0]
        solved = np.linalg.solve(corner, np.concatenate([mixed, pull[..., None]], axis=2))
        matrix = np.einsum("srp,srq->pq", by_constants, by_constants)
        scale = np.sqrt(np.maximum(np.diag(matrix), 1e-300))
        schur = matrix - np.einsum("sap,saq->pq", mixed, solved[:, :, :-1])
        slope = np.einsum("srp,sr->p", by_constants, residual) - np.einsum(
            "sap,sa->p", mixed, solved[:, :, -1]
        )
        scaled = schur / np.outer(scale, scale)
        scaled[np.diag_indices_from(scaled)] += damping * np.diag(scaled) + 1e-14
        constants = -np.linalg.solve(scaled, slope / scale) / scale
    except np.linalg.LinAlgError:
        return None
    starts = -(solved[:, :, -1] + np.einsum("sap,p->sa", solved[:, :, :-1], constants))
    if not (np.isfinite(constants).all() and np.isfinite(starts).all()):
        return None
    return constants, starts


def shoot(
    templates: Mapping[str, Expression],
    values: Mapping[str, float],
    runs: TrajectorySet,
    noise: Mapping[str, float],
    *,
    lengths: tuple[int, ...] = LENGTHS,
    most_samples: int = MOST_SAMPLES,
) -> Shot | None:
    """Fit the constants of a system to its runs.

    Args:
        templates: Right-hand side of each state, with parameters.
        values: Where to start, by parameter.
        runs: Measured runs, without nodes.
        noise: Standard deviation of the measurement noise of each state; it weighs the states.
        lengths: Samples in a segment of each stage.
        most_samples: Samples that are used; of more, segments at even distances.

    Returns:
        The constants, or None where no segment could be integrated from the start values.
    """
    spread = np.array([runs.spread(name) for name in runs.states])
    sigma = np.maximum([noise[name] for name in runs.states], FINEST * spread)
    flow = Flow(templates, tuple(values), runs)
    constants = np.array(list(values.values()), dtype=np.float64)
    best: tuple[_Stage, _Point, int] | None = None
    longest = max(len(run) for run in runs.runs)
    if (sigma <= CLEAN * spread).all():
        lengths = lengths[:1]
    for length in dict.fromkeys(min(length, longest) for length in lengths):
        found = _stage(flow, runs, constants, (sigma, spread), length=length, most=most_samples)
        if found is None:
            break
        stage, point = found
        if best is not None and _root(point, stage) > WORSE * _root(best[1], best[0]):
            break
        best = (stage, point, length)
        constants = point.constants
    return None if best is None else _shot(flow, *best)


def _stage(
    flow: Flow,
    runs: TrajectorySet,
    constants: Floats,
    units: tuple[Floats, Floats],
    *,
    length: int,
    most: int,
) -> tuple[_Stage, _Point] | None:
    sigma, spread = units
    segments = cut(runs, length, most)
    stage = _Stage(flow, segments, sigma, spread)
    starts = _smoothed_starts(segments)
    tolerance = np.maximum(EXACT * sigma, FINEST * spread)
    stage.substeps = flow.substeps(segments, constants, starts, tolerance)
    first = stage.point(constants, starts)
    if not np.isfinite(first.cost):
        return None
    return stage, stage.solve(first)


def _smoothed_starts(segments: Segments) -> Floats:
    """Smoothed states at the first samples of segments."""
    starts = segments.states[:, 0].copy()
    for place, (times, real) in enumerate(zip(segments.times, segments.real, strict=True)):
        count = int(real.sum())
        if count >= SMALLEST:
            starts[place] = estimate_derivative(
                segments.states[place, :count], times[:count], degree=2, width=min(count, 7)
            ).values[0]
    return starts


def _freedom(stage: _Stage, point: _Point) -> float:
    """Measurements beyond the fitted numbers, one state's share."""
    rows = float(stage.segments.real.sum())
    return max(rows - len(point.starts) - point.constants.size / stage.spread.size, 1.0)


def _root(point: _Point, stage: _Stage) -> float:
    return float(np.sqrt(point.cost / (_freedom(stage, point) * stage.spread.size)))


def _shot(flow: Flow, stage: _Stage, point: _Point, length: int) -> Shot:
    free = _freedom(stage, point)
    squares = np.sum(np.square(point.residual * stage.sigma), axis=(0, 1)) / free
    nmse = dict(zip(flow.runs.states, (squares / np.square(stage.spread)).tolist(), strict=True))
    errors = _standard_errors(stage, point)
    return Shot(
        values=dict(zip(flow.names, point.constants.tolist(), strict=True)),
        errors=dict(zip(flow.names, errors.tolist(), strict=True)),
        nmse=nmse,
        samples=int(stage.real.sum()),
        length=length,
    )


def _standard_errors(stage: _Stage, point: _Point) -> Floats:
    """From the curvature of the sum of squares; infinite for a constant that the data say nothing about."""
    unknown = np.full(point.constants.size, np.inf)
    slopes = stage.derivatives(point) if point.constants.size else None
    if slopes is None:
        return unknown
    by_constants, by_starts = slopes
    try:
        corner = np.einsum("srp,srq->spq", by_starts, by_starts)
        mixed = np.einsum("srp,srq->spq", by_starts, by_constants)
        schur = np.einsum("srp,srq->pq", by_constants, by_constants)
        schur = schur - np.einsum("sap,saq->pq", mixed, np.linalg.solve(corner, mixed))
        scale = np.sqrt(np.maximum(np.diag(schur), 1e-300))
        inverse = np.linalg.inv(schur / np.outer(scale, scale))
    except np.linalg.LinAlgError:
        return unknown
    variance = np.diag(inverse) * _root(point, stage) ** 2
    return np.where(variance >= 0, np.sqrt(np.maximum(variance, 0.0)) / scale, np.inf)
