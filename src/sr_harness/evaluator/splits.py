"""Division of rows into train, validation and sealed parts.

Owns the rule of who sees which row. The same arguments give the same split on every machine, the three
parts are disjoint, sorted, and together are all rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SMALLEST_SEALED = 5
"""From this number of rows on at least one row is sealed and one is kept for validation."""


@dataclass(frozen=True)
class Split:
    """Row numbers of the three parts, each sorted."""

    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    sealed: NDArray[np.int64]


def make_split(
    n: int,
    *,
    seed: int,
    fractions: tuple[float, float, float] = (0.6, 0.2, 0.2),
    blocked: bool = False,
) -> Split:
    """Divide `n` rows.

    Args:
        n: Number of rows, at least 1.
        seed: Seed of the drawing; without effect where `blocked`.
        fractions: Shares of train, validation and sealed rows; not negative, sum 1.
        blocked: Keep the order and cut it into three runs: train first, sealed last. For rows along time,
            where a random row is no test because its neighbours give it away.

    Returns:
        The split. Fewer than 5 rows: nothing is sealed. The train part is never empty.

    Raises:
        ValueError: `n` is below 1 or the fractions are no shares.
    """
    if n < 1:
        raise ValueError(f"a split needs at least one row, got {n}")
    if min(fractions) < 0 or abs(sum(fractions) - 1.0) > 1e-9 or fractions[0] == 0:
        raise ValueError(
            f"fractions {fractions} are no shares: they must not be negative, must sum to 1, "
            "and the first (train) must be above 0"
        )
    train, validation = _counts(n, fractions)
    order = np.arange(n) if blocked else np.random.default_rng([seed, n]).permutation(n)
    parts = np.split(order, [train, train + validation])
    return Split(*(np.sort(part).astype(np.int64) for part in parts))


def _counts(n: int, fractions: tuple[float, float, float]) -> tuple[int, int]:
    """How many rows are for training and for validation; the rest is sealed."""
    sealed = _share(n, fractions[2])
    validation = _share(n, fractions[1])
    return n - sealed - validation, validation


def _share(n: int, fraction: float) -> int:
    if fraction == 0 or n < SMALLEST_SEALED:
        return 0
    return min(max(1, round(n * fraction)), (n - 1) // 2)
