"""The tool `relationships`."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from sr_harness.search.candidate import finite
from sr_harness.tools.context import Result, ToolContext

MAX_ROWS = 5_000
"""Correlations of more rows are taken from this many, evenly spaced."""


def relationships(ctx: ToolContext) -> Result:
    """Correlate every input with the target, as they are, in ranks and in logarithms.

    Returns:
        `pairs`: per input the coefficients of Pearson and Spearman with the target, both dimensionless in
        [-1, 1], the exponent and R² of a straight line in logarithms where both are positive, and whether the
        relation is monotonic; strongest first.
    """
    problem = ctx.problem
    step = max(1, problem.rows // MAX_ROWS)
    target = problem.target[::step]
    pairs = [_pair(name, values[::step], target) for name, values in problem.data.items()]
    return {"pairs": sorted(pairs, key=lambda pair: -abs(pair["spearman"] or 0.0))}


def _pair(name: str, x: NDArray[np.float64], y: NDArray[np.float64]) -> Result:
    exponent, r2 = _log_line(x, y)
    ordered = y[np.argsort(x, kind="stable")]
    steps = np.diff(ordered)
    return {
        "input": name,
        "pearson": _correlation(x, y),
        "spearman": _correlation(_ranks(x), _ranks(y)),
        "log_exponent": exponent,
        "log_r2": r2,
        "monotonic": bool((steps >= 0).all() or (steps <= 0).all()),
    }


def _correlation(x: NDArray[np.float64], y: NDArray[np.float64]) -> float | None:
    if x.size < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    scaled_x, scaled_y = x / np.abs(x).max(), y / np.abs(y).max()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return finite(float(np.corrcoef(scaled_x, scaled_y)[0, 1]))


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks from 0; equal values share the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return (ends - (counts + 1) / 2.0)[inverse]


def _log_line(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float | None, float | None]:
    if x.size < 3 or (x <= 0).any() or (y <= 0).any() or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None, None
    u, v = np.log(x) - np.log(x).mean(), np.log(y) - np.log(y).mean()
    if not (u**2).sum() or not (v**2).sum():
        return None, None
    slope = float((u * v).sum() / (u**2).sum())
    return finite(slope), finite(1.0 - float(((v - slope * u) ** 2).sum() / (v**2).sum()))
