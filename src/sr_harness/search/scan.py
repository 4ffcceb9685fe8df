"""One-dimensional scans for the inner constant of a formula that is otherwise linear (variable projection).

The linear constants are eliminated at every trial value of the inner one, so only one number is ever
sought, and many trial values are judged at once. After G. H. Golub and V. Pereyra, "Separable nonlinear
least squares: the variable projection method", Inverse Problems 19 (2003).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

Moving = Callable[[Floats], tuple[Floats, ...]]
"""From trial values to one or two groups of columns (rows by trial values) that depend on them."""

ZOOM = 24
"""Trial values in each refinement of a valley."""

ROUNDS = 4


def golden_section(function: Callable[[float], float], low: float, high: float, steps: int = 40) -> float:
    """Where a function of one number is smallest between two bounds, if it has one valley there."""
    ratio = (np.sqrt(5) - 1) / 2
    a, b = float(low), float(high)
    left, right = b - ratio * (b - a), a + ratio * (b - a)
    at_left, at_right = function(left), function(right)
    for _ in range(steps):
        if at_left < at_right:
            b, right, at_right = right, left, at_left
            left = b - ratio * (b - a)
            at_left = function(left)
        else:
            a, left, at_left = left, right, at_right
            right = a + ratio * (b - a)
            at_right = function(right)
    return (a + b) / 2


def scan(
    moving: Moving, fixed: Floats, target: Floats, grid: Floats, *, valleys: int = 2
) -> list[tuple[float, float]]:
    """The best inner constants on a grid, each refined between its neighbours.

    Args:
        moving: Columns that depend on the inner constant.
        fixed: Columns that do not, rows by columns.
        target: What to explain.
        grid: Trial values, rising.
        valleys: How many local minima to refine.

    Returns:
        Pairs of residual (sum of squares over that of the target beyond the fixed columns) and inner
        constant, best first.
    """
    basis = np.linalg.qr(fixed / np.max(np.abs(fixed), axis=0))[0]
    y = target / (float(np.max(np.abs(target))) or 1.0)
    y = y - basis @ (basis.T @ y)
    length = float(np.linalg.norm(y))
    if not length > 0:
        return []
    y = y / length
    values = _residuals(moving, basis, y, grid)
    padded = np.concatenate([[np.inf], values, [np.inf]])
    minima = np.flatnonzero((values <= padded[:-2]) & (values <= padded[2:]) & np.isfinite(values))
    order = np.argsort(values[minima], kind="stable")[:valleys]
    found = []
    for place in (int(p) for p in minima[order]):
        low, high = float(grid[max(place - 1, 0)]), float(grid[min(place + 1, grid.size - 1)])
        found.append(_zoom(moving, basis, y, low, high))
    return sorted(found)


def _zoom(moving: Moving, basis: Floats, y: Floats, low: float, high: float) -> tuple[float, float]:
    """The lowest point of a valley by ever finer grids."""
    best, at = np.inf, low
    for _ in range(ROUNDS):
        grid = np.linspace(low, high, ZOOM)
        values = _residuals(moving, basis, y, grid)
        place = int(np.argmin(values))
        best, at = float(values[place]), float(grid[place])
        low, high = float(grid[max(place - 1, 0)]), float(grid[min(place + 1, ZOOM - 1)])
    return best, at


def _residuals(moving: Moving, basis: Floats, y: Floats, grid: Floats) -> Floats:
    """What is left of a unit vector for each trial value; infinite where the columns are not finite."""
    with np.errstate(all="ignore"):
        groups = [group - basis @ (basis.T @ group) for group in moving(grid)]
        first = groups[0] / np.linalg.norm(groups[0], axis=0)
        gain = (y @ first) ** 2
        if len(groups) == 2:
            second = groups[1] - first * np.einsum("ij,ij->j", first, groups[1])
            second = second / np.linalg.norm(second, axis=0)
            gain = gain + np.nan_to_num((y @ second) ** 2)
        left: Floats = 1.0 - gain
    left[~np.isfinite(left)] = np.inf
    return np.maximum(left, 0.0)
