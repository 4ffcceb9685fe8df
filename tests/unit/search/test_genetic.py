from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from search_problems import problem, table

from sr_harness.search import STRATEGIES, Budget, discover

installed = pytest.mark.skipif(importlib.util.find_spec("pyoperon") is None, reason="needs pyoperon")


@installed
def test_genetic_search_is_deterministic_and_fitted_in_full_precision() -> None:
    data = table(1, 100, x=(1.0, 3.0), z=(1.0, 5.0))
    given = problem(data, data["x"] / data["z"] + 0.3)
    first, again = (
        discover(given, budget=Budget(4_000), seed=3, strategies=["genetic"]).front.to_rows()
        for _ in range(2)
    )
    assert first == again
    assert min(row["nrmse"] for row in first) < 1e-3


@installed
@pytest.mark.parametrize("scale", [1e-20, 1e20])
def test_genetic_search_does_not_depend_on_units(scale: float) -> None:
    data = {"x": table(1, 60, x=(1.0, 3.0))["x"] * scale}
    result = discover(problem(data, data["x"] * 5), budget=Budget(1_500), strategies=["genetic"])
    assert result.best is not None
    assert result.best.nmse < 1e-6


def test_without_the_package_it_is_skipped_with_the_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    obstacle = STRATEGIES["genetic"].obstacle(problem({"x": np.arange(9.0)}, np.arange(9.0)))
    assert obstacle is not None
    assert "not installed (pip install 'ari-research[gp]')" in obstacle
    result = discover(
        problem({"x": np.arange(9.0)}, np.sin(np.arange(9.0))), budget=Budget(100), strategies=["genetic"]
    )
    assert [event.message for event in result.events if event.kind == "skipped"] == [f"skipped: {obstacle}"]
