"""Least squares for a formula: the parameters that enter linearly are eliminated.

The method is variable projection (Golub and Pereyra 1973) with Kaufman's (1975) approximation of the
Jacobian, driven by Levenberg-Marquardt steps (Marquardt 1963, scaled by the columns). The rows are reduced
block by block to a small triangle by orthogonal transformations, so memory does not grow with their number
and no normal equations spoil the precision.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from .binding import Binding, Part
from .kernels import Array, Value
from .program import differentiate

ROUNDING: Final = 1e-30
"""Squared relative residual at which only rounding is left."""
_MANY_COLUMNS: Final = 16


class Point(NamedTuple):
    """A place in parameter space: non-linear values, the linear values that go best with them, the loss."""

    theta: Array
    linear: Array
    loss: float


class Outcome(NamedTuple):
    """Where an iteration ended, and why."""

    point: Point
    converged: bool
    reason: str


@dataclass
class Objective:
    """Residuals of a bound program against a target, in units of the target's root mean square.

    `names` are the parameters, the `linear_count` linear ones first. `rows_done` counts the rows on which
    the formula has been computed, which is the measure of work.
    """

    binding: Binding
    names: tuple[str, ...]
    linear_count: int
    target: Array
    weights: Array | None
    scale: float
    rows_done: int = 0
    seeds: dict[int, int] = field(init=False)
    linear_seeds: dict[int, int] = field(init=False)

    def __post_init__(self) -> None:
        order = {name: position for position, name in enumerate(self.names)}
        self.seeds = {
            position: order[leaf.node.name or ""]
            for position, leaf in enumerate(self.binding.program.leaves)
            if leaf.node.op == "param"
        }
        self.linear_seeds = {at: k for at, k in self.seeds.items() if k < self.linear_count}

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.target.size

    def parameters(self, theta: Array, linear: Array) -> dict[str, Value]:
        """All parameter values by name."""
        return dict(zip(self.names, np.concatenate([linear, theta]), strict=True))

    def blocks(self, values: Mapping[str, Value], seeds: dict[int, int]) -> Iterator[Array]:
        """Weighted rows of [derivatives …, residual], block by block."""
        self.rows_done += self.rows
        for part in self.binding.parts():
            yield self._rows(part, values, seeds)

    def _rows(self, part: Part, values: Mapping[str, Value], seeds: dict[int, int]) -> Array:
        count = len(set(seeds.values()))
        binding = part.binding
        target = self.target[part.start : part.stop]
        rows = np.empty((target.size, count + 1))
        with np.errstate(all="ignore"):
            leaves = binding.leaf_values(values)
            value, tangents = differentiate(binding.program, leaves, seeds, binding.graph_step)
            for column in range(count):
                rows[:, column] = np.broadcast_to(tangents.get(column, 0.0), binding.full_shape).reshape(-1)
            rows[:, count] = target - np.broadcast_to(value, binding.full_shape).reshape(-1)
            rows /= self.scale
            if self.weights is not None:
                rows *= self.weights[part.start : part.stop, None]
        return rows

    def triangle(self, values: Mapping[str, Value], seeds: dict[int, int]) -> Array | None:
        """The triangular factor of [derivatives …, residual]; None where something is not finite."""
        reduced: Array | None = None
        for rows in self.blocks(values, seeds):
            if not np.isfinite(rows).all():
                return None
            few = _condensed(rows) if rows.shape[1] > _MANY_COLUMNS else rows
            stacked = few if reduced is None else np.vstack([reduced, few])
            reduced = np.asarray(np.linalg.qr(stacked, mode="r"))
        return reduced if reduced is not None and np.isfinite(reduced).all() else None

    def point(self, theta: Array) -> Point | None:
        """The best linear parameters for these non-linear ones; None where the formula is not finite."""
        count = self.linear_count
        zero = np.zeros(count)
        reduced = self.triangle(self.parameters(theta, zero), self.linear_seeds)
        if reduced is None:
            return None
        with np.errstate(all="ignore"):
            linear = solve(reduced[:, :-1], reduced[:, -1]) if count else zero
            rest = reduced[:, -1] - reduced[:, :-1] @ linear
            loss = float(np.sum(rest**2))
        return Point(theta, linear, loss) if np.isfinite(loss) and np.isfinite(linear).all() else None

    def full(self, point: Point) -> Array | None:
        """The triangle of all derivatives and the residual at a point."""
        return self.triangle(self.parameters(point.theta, point.linear), self.seeds)


def _condensed(rows: Array) -> Array:
    """Fewer rows with the same triangular factor, where most entries are zero in few patterns.

    Columns that belong to one label of many are such: rows of one label are reduced among themselves, in the
    columns that they use, before all meet.
    """
    packed = np.packbits(rows != 0.0, axis=1)
    kinds, first, inverse, counts = np.unique(
        packed.view(np.dtype((np.void, packed.shape[1]))).reshape(-1),
        return_index=True,
        return_inverse=True,
        return_counts=True,
    )
    used = [np.flatnonzero(rows[row]) for row in first]
    if 2 * sum(min(count, len(columns)) for count, columns in zip(counts, used, strict=True)) > len(rows):
        return rows
    order = np.argsort(inverse.reshape(-1), kind="stable")
    pieces = []
    for place, columns in zip(np.split(order, np.cumsum(counts)[:-1]), used, strict=True):
        small = np.linalg.qr(rows[np.ix_(place, columns)], mode="r")
        piece = np.zeros((len(small), rows.shape[1]))
        piece[:, columns] = small
        pieces.append(piece)
    return np.vstack(pieces) if len(kinds) else rows


def solve(matrix: Array, right: Array, rcond: float = 1e-14) -> Array:
    """Least squares with the columns scaled to one; of many solutions the smallest.

    Numbers beyond what float64 can carry through give a solution of NaN, never an exception or a warning.
    """
    with np.errstate(all="ignore"):
        norms = column_norms(matrix)
        solution: Array = _least_squares(matrix / norms, right, rcond) / norms
    return solution


def _least_squares(matrix: Array, right: Array, rcond: float) -> Array:
    if not (np.isfinite(matrix).all() and np.isfinite(right).all()):
        return np.full(matrix.shape[1], np.nan)
    try:
        return np.asarray(np.linalg.lstsq(matrix, right, rcond=rcond)[0])
    except np.linalg.LinAlgError:
        # the singular values do not converge where entries are close to overflow
        return np.full(matrix.shape[1], np.nan)


def column_norms(matrix: Array) -> Array:
    """Lengths of the columns, 1 for a column of zeros, without overflow or underflow."""
    largest: Array = np.max(np.abs(matrix), axis=0, initial=0.0)
    largest[largest == 0.0] = 1.0
    norms: Array = largest * np.sqrt(np.sum((matrix / largest) ** 2, axis=0))
    norms[norms == 0.0] = 1.0
    return norms


def descend(objective: Objective, start: Point, *, iterations: int, row_limit: float) -> Outcome:
    """Levenberg-Marquardt from `start` until nothing improves any more.

    Args:
        objective: What is minimised.
        start: Where to start.
        iterations: Most steps to take.
        row_limit: Stop when `objective.rows_done` exceeds this.
    """
    point, damping, small = start, 1e-3, 0
    exact = ROUNDING * objective.rows
    for _ in range(iterations):
        if point.loss <= exact:
            return Outcome(point, True, "the residual is at the level of rounding")
        reduced = objective.full(point)
        if reduced is None:
            return Outcome(point, False, "the derivatives are not finite")
        count = objective.linear_count
        step = _Step(reduced[count:, count:-1], reduced[count:, -1])
        if step.gradient_angle() < 1e-14:
            return Outcome(point, True, "the gradient is zero")
        better, damping = _try_steps(objective, point, step, damping, row_limit)
        if objective.rows_done > row_limit:
            return Outcome(better or point, False, "the evaluations allowed are used up")
        if better is None:
            return Outcome(point, True, "no step lowers the loss any further")
        with np.errstate(all="ignore"):
            moved = np.max(np.abs(better.theta - point.theta) / (np.abs(point.theta) + 1e-300))
        small = small + 1 if point.loss - better.loss <= 1e-9 * point.loss or moved < 1e-13 else 0
        point = better
        if small >= 2:
            return Outcome(point, True, "the last steps changed nothing")
    return Outcome(point, False, f"{iterations} steps were not enough")


class _Step:
    """The linearised problem `J·δ ≈ r` at a point, for different amounts of damping."""

    def __init__(self, matrix: Array, right: Array) -> None:
        with np.errstate(all="ignore"):
            self.norms = column_norms(matrix)
            self.matrix = matrix / self.norms
        self.right = right

    def gradient_angle(self) -> float:
        """Largest cosine between a column and the residual."""
        with np.errstate(all="ignore"):
            size = float(np.sqrt(np.sum(self.right**2)))
            return float(np.max(np.abs(self.matrix.T @ self.right))) / size if size else 0.0

    def solution(self, damping: float) -> Array:
        """δ for one damping, relative to the columns' norms."""
        size = self.matrix.shape[1]
        scaled = np.vstack([self.matrix, np.sqrt(damping) * np.eye(size)])
        right = np.concatenate([self.right, np.zeros(size)])
        with np.errstate(all="ignore"):
            delta: Array = _least_squares(scaled, right, 1e-15) / self.norms
        return delta


def _try_steps(
    objective: Objective, point: Point, step: _Step, damping: float, row_limit: float
) -> tuple[Point | None, float]:
    """Raise the damping until a step lowers the loss."""
    for _ in range(14):
        with np.errstate(all="ignore"):
            theta = point.theta + step.solution(damping)
        trial = objective.point(theta) if np.isfinite(theta).all() else None
        if trial is not None and trial.loss < point.loss:
            return trial, max(damping / 10.0, 1e-15)
        if objective.rows_done > row_limit:
            return None, damping
        damping = min(max(damping * 8.0, 1e-10), 1e12)
    return None, damping


def polish(objective: Objective, point: Point) -> Point:
    """One undamped step in all parameters together, kept if it does not raise the loss."""
    reduced = objective.full(point)
    if reduced is None or not objective.names:
        return point
    count = objective.linear_count
    with np.errstate(all="ignore"):
        values = np.concatenate([point.linear, point.theta]) + solve(reduced[:, :-1], reduced[:, -1])
        before = float(np.sum(reduced[:, -1] ** 2))
    unmoved = point._replace(loss=before)
    if not np.isfinite(values).all():
        return unmoved
    checked = objective.triangle(objective.parameters(values[count:], values[:count]), {})
    if checked is None:
        return unmoved
    with np.errstate(all="ignore"):
        loss = float(np.sum(checked**2))
    return Point(values[count:], values[:count], loss) if loss <= before else unmoved
