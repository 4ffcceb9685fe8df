"""One-dimensional scans for the inner constants of a formula that is otherwise linear (variable projection).

The linear constants are solved for at every trial value of the inner one, so only one number is ever sought.
After G. H. Golub and V. Pereyra, "Separable nonlinear least squares: the variable projection method",
Inverse Problems 19 (2003).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sr_harness.search.sparse import least_squares

Floats = NDArray[np.float64]
Basis = Callable[[float], Floats]
"""From a value of the inner constant to the columns of the linear problem."""


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


def scan(basis: Basis, target: Floats, grid: Floats, *, valleys: int = 2) -> list[tuple[float, float]]:
    """The best inner constants on a grid, each refined between its neighbours.

    Args:
        basis: Columns for a trial value.
        target: What to explain.
        grid: Trial values, rising.
        valleys: How many local minima to refine.

    Returns:
        Pairs of residual (relative sum of squares) and inner constant, best first.
    """

    def residual(value: float) -> float:
        columns = basis(value)
        return least_squares(columns, target)[1] if np.isfinite(columns).all() else np.inf

    values = np.array([residual(float(value)) for value in grid])
    padded = np.concatenate([[np.inf], values, [np.inf]])
    minima = np.flatnonzero((values <= padded[:-2]) & (values <= padded[2:]) & np.isfinite(values))
    order = np.argsort(values[minima], kind="stable")[:valleys]
    found = []
    for place in (int(p) for p in minima[order]):
        low, high = grid[max(place - 1, 0)], grid[min(place + 1, grid.size - 1)]
        value = golden_section(residual, low, high)
        found.append((residual(value), value))
    return sorted(found)
