"""Tables of which only a sample is searched: the constants come from every row."""

from __future__ import annotations

import numpy as np
import pytest
from search_problems import problem

from sr_harness.search import Budget, discover


def test_constants_are_fitted_on_all_rows() -> None:
    """The least-squares factor of all rows is known in closed form; that of a sample differs by 5e-5."""
    rng = np.random.default_rng(2)
    x = rng.uniform(1.0, 3.0, 200_000)
    target = 2.7135 * x**2 + 0.01 * rng.normal(size=x.size)
    result = discover(problem({"x": x}, target), budget=Budget(20_000), strategies=["constant", "power_law"])
    assert result.best is not None
    [factor] = result.best.parameters.values()
    assert factor == pytest.approx(np.sum(target * x**2) / np.sum(x**4), rel=1e-9)
