"""Fitted values without their last, accidental digits: 3 where 2.9999999999999996 is no better.

Promises: a value is only replaced by one with fewer digits that lies as close as rounding explains, and only
while the loss does not get worse; where the fit is not exact that is a few units in the last place, so that
noise is never mistaken for rounding.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from .build import num
from .expression import Expression, fold, postorder, with_args
from .kernels import Array
from .least_squares import ROUNDING, Objective, Point

_FEW_ULPS: Final = 4 * float(np.finfo(np.float64).eps)
_SOME_ULPS: Final = 16 * float(np.finfo(np.float64).eps)
_WIDTHS_IF_EXACT: Final = (1e-11, 1e-13, _FEW_ULPS)
"""An exact fit of badly conditioned parameters loses some more digits; the loss decides."""
_EXACT: Final = 1e6 * ROUNDING
_MOST_DIGITS: Final = 12
_MOST_SINGLE: Final = 12


def shorter(value: float, width: float) -> float:
    """The number with the fewest digits within `width` (relative) of `value`; itself if none has fewer."""
    most = float(f"{value:.{_MOST_DIGITS}g}")
    if abs(most - value) > width * abs(value):
        return value
    for digits in range(1, _MOST_DIGITS):
        candidate = float(f"{value:.{digits}g}")
        if abs(candidate - value) <= width * abs(value):
            return candidate
    return most


def without_rounding(expr: Expression) -> Expression:
    """The formula with numbers a few units in the last place from a shorter one made that one.

    Such digits are what arithmetic leaves behind (3.0000000000000004); they carry nothing of the data.
    """
    short = {
        node.value: shorter(node.value, _SOME_ULPS)
        for node in postorder(expr)
        if node.value is not None and node.op == "num" and not node.value.is_integer()
    }
    if all(value == kept for value, kept in short.items()):
        return expr

    def swap(node: Expression, args: list[Expression]) -> Expression:
        if node.op == "num" and node.value in short:
            return num(short[node.value])
        return with_args(node, tuple(args))

    return fold(expr, swap)


def rounded(objective: Objective, point: Point) -> Point:
    """`point` with shorter values, all together where that is possible, else one after the other."""
    if not np.isfinite(point.loss):
        return point
    start = np.concatenate([point.linear, point.theta])
    size = float(np.sum((objective.target / objective.scale) ** 2))
    exact = point.loss <= _EXACT * size
    allowed = max(2.0 * point.loss, ROUNDING * size) if exact else point.loss * (1.0 + 1e-12)
    widths = _WIDTHS_IF_EXACT if exact else (_FEW_ULPS,)
    tried: list[Array] = [start]
    for width in widths:
        values = np.array([shorter(float(value), width) for value in start])
        if any(np.array_equal(values, other) for other in tried):
            continue
        tried.append(values)
        loss = _loss(objective, values)
        if loss <= allowed:
            return _at(objective, values, loss)
    if len(tried) > 1 and start.size <= _MOST_SINGLE:
        return _one_by_one(objective, start, widths[0], allowed, point.loss)
    return point


def _one_by_one(objective: Objective, values: Array, width: float, allowed: float, loss: float) -> Point:
    for position, value in enumerate(values.tolist()):
        candidate = shorter(value, width)
        if candidate == value:
            continue
        trial = values.copy()
        trial[position] = candidate
        trial_loss = _loss(objective, trial)
        if trial_loss <= allowed:
            values, loss = trial, trial_loss
    return _at(objective, values, loss)


def _loss(objective: Objective, values: Array) -> float:
    count = objective.linear_count
    reduced = objective.triangle(objective.parameters(values[count:], values[:count]), {})
    if reduced is None:
        return np.inf
    with np.errstate(all="ignore"):
        return float(np.sum(reduced**2))


def _at(objective: Objective, values: Array, loss: float) -> Point:
    count = objective.linear_count
    return Point(values[count:], values[:count], loss)
