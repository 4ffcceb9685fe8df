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

DEPENDENT = 1e-12
"""A column is dependent if less than this part of its length is new."""

NEGLIGIBLE = 1e-6
"""Terms of a relation that contribute less than this part of the largest are dropped."""

MOST_IDENTITIES = 16
"""Dependencies that are looked at before giving up; those of the dictionary itself are passed over."""

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
    height = np.max(np.abs(matrix[:, :count]), axis=0, initial=0.0)
    if count < 2 or not np.all(height > 0):
        return None
    unit = matrix[:, :count] / height
    length = np.linalg.norm(unit, axis=0)
    unit = unit / length
    triangle = np.asarray(np.linalg.qr(unit, mode="r"))
    new = np.abs(np.diag(triangle)) >= DEPENDENT
    for last in np.flatnonzero(~new)[:MOST_IDENTITIES]:
        known = np.flatnonzero(new[:last])
        if not known.size:
            continue
        weights = np.linalg.lstsq(triangle[:last, known], triangle[:last, last], rcond=1e-14)[0]
        support = [int(c) for c in (*known[np.abs(weights) > NEGLIGIBLE], last)]
        if involving[support].any() and len(support) <= MOST_TERMS:
            relation = _refined(unit, height * length, support)
            if relation is not None:
                return relation
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
