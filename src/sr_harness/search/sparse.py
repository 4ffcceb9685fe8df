"""Sparse least squares: the few columns of a dictionary that explain a target.

All functions work on columns scaled to unit length, so that units of 1e30 or 1e-30 make no difference, and
promise the same answer for the same input. Coefficients come back in the caller's units.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


INSIDE = 1e-7
"""A column of which less than this part lies outside a span is taken to lie in it."""


@dataclass(frozen=True)
class SparseFit:
    """Columns, their coefficients, and what is left: the sum of squares over that of the target."""

    columns: tuple[int, ...]
    coefficients: tuple[float, ...]
    residual: float


def least_squares(matrix: Floats, target: Floats) -> tuple[Floats, float]:
    """Coefficients and relative residual (sum of squares over that of the target)."""
    scale = np.max(np.abs(matrix), axis=0, initial=0.0)
    scale[~(scale > 0)] = 1.0
    height = float(np.max(np.abs(target), initial=0.0)) or 1.0
    unit, y = matrix / scale, target / height
    weights = np.linalg.lstsq(unit, y, rcond=1e-13)[0]
    # One step of iterative refinement wins back digits that ill-conditioned columns cost.
    weights = weights + np.linalg.lstsq(unit, y - unit @ weights, rcond=1e-13)[0]
    total = float(y @ y)
    rest = y - unit @ weights
    return weights * (height / scale), float(rest @ rest) / total if total > 0 else 0.0


def fit_columns(matrix: Floats, target: Floats, columns: Sequence[int]) -> SparseFit:
    """Least squares on some columns."""
    weights, residual = least_squares(matrix[:, list(columns)], target)
    return SparseFit(tuple(int(c) for c in columns), tuple(float(w) for w in weights), residual)


def forward(
    matrix: Floats,
    target: Floats,
    most: int,
    *,
    start: Sequence[int] = (),
    good_enough: float = 1e-22,
    charge: Callable[[float], None] = lambda _units: None,
) -> Iterator[SparseFit]:
    """Greedy choice of columns with exchange, one fit for each number of columns.

    At each size the column that leaves the least is added (orthogonal least squares), then each chosen
    column is exchanged while that helps.

    Args:
        matrix: Dictionary, rows by columns.
        target: What to explain.
        most: Largest number of columns, `start` not counted.
        start: Columns that are always in, an intercept for example.
        good_enough: Relative residual at which to stop.
        charge: Called with the work of each sweep before it is done.
    """
    unit = _unit_columns(matrix)
    y = target / (float(np.max(np.abs(target), initial=0.0)) or 1.0)
    chosen = list(start)
    for _ in range(min(most, matrix.shape[1] - len(start), max(1, matrix.shape[0] // 2 - len(start)))):
        charge(1 + matrix.shape[1] / 64)
        column = _best_addition(unit, y, chosen)
        if column is None:
            return
        chosen = _exchange(unit, y, [*chosen, column], fixed=len(start), charge=charge)
        fit = fit_columns(matrix, target, chosen)
        yield fit
        if fit.residual < good_enough:
            return


def best_pairs(matrix: Floats, target: Floats, count: int) -> list[tuple[int, int]]:
    """The `count` pairs of columns that leave the least, over all pairs, best first."""
    return [pair for pair, _ in ranked_pairs(matrix, target, count)]


def ranked_pairs(
    matrix: Floats, target: Floats, count: int, basis: Floats | None = None
) -> list[tuple[tuple[int, int], float]]:
    """The `count` best pairs of columns, best first, with the sum of squares that each leaves.

    Args:
        matrix: Rows by columns.
        target: What to explain.
        count: How many pairs.
        basis: Orthonormal columns that are always in.
    """
    unit, y, length = _beside(matrix, target, basis)
    gram, along = unit.T @ unit, unit.T @ y
    with np.errstate(all="ignore"):
        cross = along[:, None] ** 2 + along[None, :] ** 2 - 2 * gram * along[:, None] * along[None, :]
        gain = cross / (1.0 - gram**2)
    gain[np.abs(gram) > 1 - 1e-10] = -np.inf
    gain[~np.isfinite(gain)] = -np.inf
    rows, columns = np.triu_indices(len(gain), k=1)
    values = gain[rows, columns]
    count = min(count, values.size)
    if count == 0:
        return []
    top = np.argpartition(-values, count - 1)[:count]
    top = top[np.lexsort((top, -values[top]))]
    return [
        ((int(rows[place]), int(columns[place])), float(max(1.0 - values[place], 0.0)) * length**2)
        for place in top
        if np.isfinite(values[place])
    ]


def ranked_columns(
    matrix: Floats, target: Floats, count: int, basis: Floats | None = None
) -> list[tuple[int, float]]:
    """The `count` best columns, best first, with the sum of squares that each leaves; see `ranked_pairs`."""
    unit, y, length = _beside(matrix, target, basis)
    gain = np.square(unit.T @ y)
    top = np.argsort(-gain, kind="stable")[:count]
    return [(int(place), float(max(1.0 - gain[place], 0.0)) * length**2) for place in top]


def _beside(matrix: Floats, target: Floats, basis: Floats | None) -> tuple[Floats, Floats, float]:
    """Unit columns and unit target outside the span of a basis, and the length of that part of the target."""
    unit = _unit_columns(matrix)
    height = float(np.max(np.abs(target), initial=0.0)) or 1.0
    y = target / height
    if basis is not None:
        unit = unit - basis @ (basis.T @ unit)
        inside = np.linalg.norm(unit, axis=0) < INSIDE
        unit = _unit_columns(unit)
        unit[:, inside] = 0.0
        y = y - basis @ (basis.T @ y)
    length = float(np.linalg.norm(y)) or 1.0
    return unit, y / length, length * height


def _unit_columns(matrix: Floats) -> Floats:
    height = np.max(np.abs(matrix), axis=0, initial=0.0)
    height[~(height > 0)] = 1.0
    scaled = matrix / height
    length = np.linalg.norm(scaled, axis=0)
    length[~(length > 0)] = 1.0
    unit: Floats = scaled / length
    return unit


def _best_addition(unit: Floats, y: Floats, chosen: Sequence[int]) -> int | None:
    """The column that lowers the residual most, given the chosen ones; None if none helps."""
    rest, free = y, unit
    if chosen:
        basis = np.linalg.qr(unit[:, list(chosen)])[0]
        rest = y - basis @ (basis.T @ y)
        free = unit - basis @ (basis.T @ unit)
    length = np.sqrt(np.einsum("ij,ij->j", free, free))
    usable = length > 1e-9
    usable[list(chosen)] = False
    if not usable.any():
        return None
    gain = np.zeros(unit.shape[1])
    gain[usable] = np.abs(rest @ free[:, usable]) / length[usable]
    best = int(np.argmax(gain))
    return best if gain[best] > 0 else None


def _exchange(
    unit: Floats, y: Floats, chosen: list[int], *, fixed: int, charge: Callable[[float], None]
) -> list[int]:
    """Replace one chosen column at a time while the residual falls."""
    if len(chosen) - fixed < 2:
        return chosen
    residual = _residual(unit, y, chosen)
    for _ in range(4):
        improved = False
        for place in range(fixed, len(chosen)):
            others = chosen[:place] + chosen[place + 1 :]
            charge(1 + unit.shape[1] / 64)
            column = _best_addition(unit, y, others)
            if column is None or column == chosen[place]:
                continue
            trial = [*chosen[:place], column, *chosen[place + 1 :]]
            left = _residual(unit, y, trial)
            if left < residual * (1 - 1e-6):
                chosen, residual, improved = trial, left, True
        if not improved:
            break
    return chosen


def _residual(unit: Floats, y: Floats, chosen: Sequence[int]) -> float:
    weights = np.linalg.lstsq(unit[:, list(chosen)], y, rcond=1e-13)[0]
    rest = y - unit[:, list(chosen)] @ weights
    return float(rest @ rest)
