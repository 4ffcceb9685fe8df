"""Exact linear relations among columns: how rational functions are found without searching.

Columns are taken in order of simplicity until one depends on those before it. The coefficients of that first
dependency are unique, so a sparse relation comes out sparse, whatever the number of columns. Works on
exact data; noise hides the dependency.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

DEPENDENT = 1e-8
"""A column is dependent if less than this part of its length is new."""

NEGLIGIBLE = 1e-6
"""Terms of a relation that contribute less than this part of the largest are dropped."""

MOST_IDENTITIES = 8
"""Dependencies of the dictionary itself that are passed over before giving up."""

MOST_TERMS = 14
"""A longer relation is no law but an approximation by many terms."""

TIGHT = 1e-12
"""What a relation may leave, relative to its terms."""

SPARE_ROWS = 3
"""A relation needs this many rows more than columns, else it says nothing."""


@dataclass(frozen=True)
class Relation:
    """Σ coefficients · columns = 0, largest contribution scaled to 1, with what is left relative to it."""

    columns: tuple[int, ...]
    coefficients: tuple[float, ...]
    residual: float


def first_relation(matrix: Floats, involving: NDArray[np.bool_]) -> Relation | None:
    """The first dependency among columns that has a part in both halves of a mask.

    Args:
        matrix: Rows by columns, simplest columns first; every value finite.
        involving: Columns of which the relation must use at least one. Dependencies without them are
            identities of the dictionary itself; the column that completes one is passed over.
    """
    rows = len(matrix)
    count = min(matrix.shape[1], rows - SPARE_ROWS)
    columns = np.arange(count)
    height = np.max(np.abs(matrix[:, :count]), axis=0, initial=0.0)
    if count < 2 or not np.all(height > 0):
        return None
    unit = matrix[:, :count] / height
    length = np.linalg.norm(unit, axis=0)
    unit = unit / length
    for _ in range(MOST_IDENTITIES):
        triangle = np.asarray(np.linalg.qr(unit[:, columns], mode="r"))
        dependent = np.flatnonzero(np.abs(np.diag(triangle)) < DEPENDENT)
        if not dependent.size or dependent[0] == 0:
            return None
        last = int(dependent[0])
        weights = np.linalg.lstsq(triangle[:last, :last], triangle[:last, last], rcond=1e-13)[0]
        support = [int(columns[c]) for c in (*np.flatnonzero(np.abs(weights) > NEGLIGIBLE), last)]
        if involving[support].any():
            return _refined(unit, height * length, support) if len(support) <= MOST_TERMS else None
        columns = np.delete(columns, last)
    return None


def _refined(unit: Floats, scale: Floats, support: Sequence[int]) -> Relation | None:
    """The null vector of the support alone, by singular values."""
    _, singular, right = np.linalg.svd(unit[:, list(support)], full_matrices=False)
    if singular[-1] > TIGHT:
        return None
    null = right[-1]
    keep = np.abs(null) > NEGLIGIBLE * np.max(np.abs(null))
    coefficients = null[keep] / scale[list(support)][keep]
    columns = tuple(c for c, kept in zip(support, keep, strict=True) if kept)
    return Relation(columns, tuple(float(c) for c in coefficients), float(singular[-1]))
