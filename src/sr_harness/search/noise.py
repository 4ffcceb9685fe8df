"""Whether what a formula leaves is noise: then it is as exact as the data allow.

Two tests on the residuals, each with a false alarm in some ten thousand cases: they must not be explained by
low-degree polynomials of the inputs and of the prediction (an F test), and neighbours in any input or in the
prediction must not be alike (J. von Neumann, "Distribution of the ratio of the mean square successive
difference to the variance", Ann. Math. Stat. 12 (1941)). Residuals that are heavy-tailed are replaced by
their normal scores first, so that a few outliers neither hide nor feign structure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import comb

import numpy as np
from numpy.typing import NDArray

from sr_harness.search.reduction import chebyshev_products, whole_exponents

Floats = NDArray[np.float64]

FEWEST_ROWS = 30
MOST_ROWS = 2000
MOST_COLUMNS = 60
ROWS_A_COLUMN = 6
LIMIT = 4.0
"""Standard deviations from what noise gives."""

HEAVY = 6.0
"""A fourth moment, over the squared second, from which on residuals count as heavy-tailed (normal: 3)."""


def is_noise(residuals: Floats, inputs: Sequence[Floats], prediction: Floats) -> bool:
    """Whether residuals look like independent noise.

    Args:
        residuals: What is left, one value a row.
        inputs: Columns that may explain it.
        prediction: The formula's values.
    """
    if residuals.size < FEWEST_ROWS:
        return False
    step = -(-residuals.size // MOST_ROWS)
    columns = [column[::step] for column in (*inputs, prediction) if np.ptp(column[::step]) > 0]
    rest = residuals[::step]
    height = float(np.max(np.abs(rest)))
    if not columns or not np.isfinite(height) or height == 0:
        return False
    rest = rest / height
    rest = rest - rest.mean()
    if is_heavy_tailed(rest):
        rest = normal_scores(rest)
    return _unordered(rest, columns) and _unexplained(rest, columns)


def is_heavy_tailed(residuals: Floats) -> bool:
    """Whether a few residuals are much larger than the others."""
    height = float(np.max(np.abs(residuals))) or 1.0
    squares = np.square(residuals / height)
    mean = float(np.mean(squares))
    return bool(mean > 0 and np.mean(np.square(squares)) > HEAVY * mean**2)


def normal_scores(values: Floats) -> Floats:
    """Each value replaced by the normal quantile of its rank."""
    from scipy.special import ndtri

    ranks = np.empty(values.size)
    ranks[np.argsort(values, kind="stable")] = np.arange(1, values.size + 1)
    scores: Floats = ndtri((ranks - 0.5) / values.size)
    return scores


def _unordered(rest: Floats, columns: Sequence[Floats]) -> bool:
    """Whether neighbours in each column are no more alike than any two rows."""
    total = float(rest @ rest)
    for column in columns:
        ordered = rest[np.argsort(column, kind="stable")]
        ratio = float(np.sum(np.square(np.diff(ordered)))) / total
        if (2.0 - ratio) * np.sqrt(rest.size) > 2.0 * LIMIT:
            return False
    return True


def _unexplained(rest: Floats, columns: Sequence[Floats]) -> bool:
    """Whether polynomials of the columns explain no more than as many random columns would."""
    most = min(MOST_COLUMNS, rest.size // ROWS_A_COLUMN)
    degree = max((d for d in range(1, 7) if comb(len(columns) + d, d) <= most), default=0)
    if degree == 0:
        return True
    matrix = chebyshev_products(columns, whole_exponents(len(columns), degree))
    basis, triangle = np.linalg.qr(matrix)
    basis = basis[:, np.abs(np.diag(triangle)) > 1e-8 * np.abs(triangle[0, 0])]
    count = basis.shape[1]
    explained = float(np.sum(np.square(basis.T @ rest)))
    variance = (float(rest @ rest) - explained) / (rest.size - count)
    chance = LIMIT * math.sqrt(2.0 * count * rest.size / (rest.size - count))
    return bool(explained <= variance * (count + chance))
