"""Joins between many vectors: which of them are parallel once the span of some known columns is taken out.

If t·a = β·b + (something in a known span), the parts of t·a and of b that are orthogonal to that span are
parallel. So a join on the direction of those parts finds all such pairs among N vectors a and N vectors b in
about N·log N steps, whatever β is. If t = α·a + β·b + (something in the span), then a and b are parallel once
t has been taken out too. Directions are compared by two random projections and, where these agree, in full.
Works on exact data; noise turns directions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

PARALLEL = 1e-8
"""Largest difference between unit vectors that count as parallel."""

WITHIN = 1e-11
"""A vector of which less than this part lies outside a span is in it, but for rounding."""

CLEAR = 1e-5
"""A smaller part outside the span says too little about its direction, for rounding is as large."""

LONE = 0.95
"""A direction that is almost that of a single row says nothing about the others."""

MOST_COLLISIONS = 400_000
"""Pairs whose first projection agrees that are looked at; more than these come from a degenerate table."""


class Pairs(NamedTuple):
    """Positions of the two members of each pair, in order of the first, then the second."""

    first: Indices
    second: Indices


@dataclass(frozen=True, eq=False)
class Outside:
    """What of some vectors lies outside a span.

    Attributes:
        unit: Directions, one row a vector; the sign is fixed. Rows where `share` is too small mean nothing.
        share: Length of the outer part over the vector's length.
        keys: Two projections of each direction.
    """

    unit: Floats
    share: Floats
    keys: Floats

    @cached_property
    def inside(self) -> Indices:
        """Vectors that lie in the span."""
        return np.flatnonzero(self.share < WITHIN)

    @cached_property
    def clear(self) -> Indices:
        """Vectors whose direction outside the span is known well, by rising first key."""
        known = np.flatnonzero(self.share > CLEAR)
        return known[np.argsort(self.keys[known, 0], kind="stable")]


def span(columns: Floats) -> Floats:
    """An orthonormal basis of the span of some columns; dependent ones add nothing."""
    height = np.max(np.abs(columns), axis=0, initial=0.0)
    unit = columns[:, height > 0] / height[height > 0]
    if not unit.shape[1]:
        return np.empty((len(columns), 0))
    left, singular, _ = np.linalg.svd(unit / np.linalg.norm(unit, axis=0), full_matrices=False)
    basis: Floats = left[:, singular > 1e-10 * singular[0]]
    return basis


def outside(vectors: Floats, basis: Floats) -> Outside:
    """The parts of vectors (one a row) that are orthogonal to a basis (one a column)."""
    length = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    rest = vectors - (vectors @ basis) @ basis.T
    left = np.sqrt(np.einsum("ij,ij->i", rest, rest))
    keys = rest @ _projections(rest.shape[1])
    factor = np.where(keys[:, 0] < 0, -1.0, 1.0) / np.where(left > 0, left, 1.0)
    rest *= factor[:, None]
    keys *= factor[:, None]
    return Outside(rest, left / np.where(length > 0, length, 1.0), keys)


def cross_join(a: Outside, b: Outside) -> Pairs:
    """Pairs of a vector of `a` and one of `b` that are parallel outside the span."""
    keys_a, keys_b = a.keys[a.clear], b.keys[b.clear]
    width_first, width_second = PARALLEL * np.linalg.norm(_projections(a.unit.shape[1]), axis=0)
    low = np.searchsorted(keys_b[:, 0], keys_a[:, 0] - width_first)
    counts = np.searchsorted(keys_b[:, 0], keys_a[:, 0] + width_first) - low
    left, right = _ranges(low, counts)
    near = np.abs(keys_a[left, 1] - keys_b[right, 1]) < width_second
    first, second = a.clear[left[near]], b.clear[right[near]]
    difference = a.unit[first] - b.unit[second]
    same = np.sqrt(np.einsum("ij,ij->i", difference, difference)) < PARALLEL
    same &= np.max(np.abs(a.unit[first]), axis=1, initial=0.0) < LONE
    order = np.lexsort((second[same], first[same]))
    return Pairs(first[same][order], second[same][order])


def self_join(vectors: Outside) -> Pairs:
    """Pairs of two different vectors that are parallel outside the span, the earlier one first."""
    pairs = cross_join(vectors, vectors)
    rising = pairs.first < pairs.second
    return Pairs(pairs.first[rising], pairs.second[rising])


def parallel(a: Outside, b: Outside) -> NDArray[np.bool_]:
    """Whether a vector of `a` and the same one of `b` are parallel outside the span."""
    difference = a.unit - b.unit
    near: NDArray[np.bool_] = np.sqrt(np.einsum("ij,ij->i", difference, difference)) < PARALLEL
    return near


def distinct(vectors: Outside) -> Indices:
    """The vectors that are clearly outside the span and parallel to none before them."""
    keep = vectors.share > CLEAR
    keep[self_join(vectors).second] = False
    return np.flatnonzero(keep)


@lru_cache(maxsize=256)
def _projections(rows: int) -> Floats:
    """Two fixed random directions; the same for every call."""
    return np.random.default_rng(rows).normal(size=(rows, 2))


def _ranges(low: Indices, counts: Indices) -> tuple[Indices, Indices]:
    """For each place the positions low … low + count - 1, side by side with the place."""
    total = np.cumsum(counts)
    if total.size and total[-1] > MOST_COLLISIONS:
        counts = np.where(total > MOST_COLLISIONS, 0, counts)
        total = np.cumsum(counts)
    left = np.repeat(np.arange(low.size), counts)
    right = np.arange(left.size) - np.repeat(total - counts, counts) + low[left]
    return left, right
