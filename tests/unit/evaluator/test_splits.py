from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sr_harness.evaluator import make_split


@given(n=st.integers(1, 400), seed=st.integers(0, 2**31), blocked=st.booleans())
def test_parts_are_disjoint_and_complete(n: int, seed: int, blocked: bool) -> None:
    split = make_split(n, seed=seed, blocked=blocked)
    together = np.concatenate([split.train, split.validation, split.sealed])
    assert sorted(together.tolist()) == list(range(n))
    assert len(split.train) >= 1
    assert (len(split.sealed) >= 1) == (n >= 5)


def test_same_seed_same_split_other_seed_other_split() -> None:
    first, again, other = make_split(50, seed=3), make_split(50, seed=3), make_split(50, seed=4)
    assert np.array_equal(first.sealed, again.sealed)
    assert not np.array_equal(first.sealed, other.sealed)


def test_blocked_keeps_the_order_of_time() -> None:
    split = make_split(100, seed=1, blocked=True)
    assert split.train[-1] < split.validation[0] <= split.validation[-1] < split.sealed[0]
    assert (len(split.train), len(split.validation), len(split.sealed)) == (60, 20, 20)


def test_a_share_of_zero_gives_an_empty_part() -> None:
    split = make_split(10, seed=0, fractions=(0.8, 0.2, 0.0))
    assert len(split.sealed) == 0
    assert len(split.validation) == 2


@pytest.mark.parametrize("fractions", [(0.5, 0.2, 0.2), (-0.2, 0.6, 0.6), (0.0, 0.5, 0.5)])
def test_fractions_that_are_no_shares_are_refused(fractions: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="are no shares"):
        make_split(10, seed=0, fractions=fractions)


def test_no_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one row, got 0"):
        make_split(0, seed=0)
