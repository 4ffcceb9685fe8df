"""Tables of which only a sample is searched: the constants come from every row."""

from __future__ import annotations

import numpy as np
import pytest
from search_problems import problem, table

from sr_harness import engine
from sr_harness.search import Budget, Problem, discover, discovery
from sr_harness.search.polish import on_all_rows

QUICK = ["constant", "linear", "power_law"]


def noisy(rows: int) -> Problem:
    data = table(4, rows, x=(1.0, 3.0), z=(0.5, 2.0))
    noise = np.random.default_rng(2).normal(size=rows)
    return problem(data, 2.7135 * data["x"] ** 2 + 0.1 * data["z"] + 0.05 * noise)


def test_constants_are_fitted_on_all_rows() -> None:
    """The least-squares factor of all rows is known in closed form; that of a sample differs by 5e-5."""
    rng = np.random.default_rng(2)
    x = rng.uniform(1.0, 3.0, 200_000)
    target = 2.7135 * x**2 + 0.01 * rng.normal(size=x.size)
    result = discover(problem({"x": x}, target), budget=Budget(20_000), strategies=["constant", "power_law"])
    assert result.best is not None
    [factor] = result.best.parameters.values()
    assert factor == pytest.approx(np.sum(target * x**2) / np.sum(x**4), rel=1e-9)


def test_every_formula_of_the_front_is() -> None:
    given = noisy(5_000)
    front = discover(given, budget=Budget(3_000), strategies=QUICK).front.candidates
    fitted = [(kept, again) for kept in front for again in on_all_rows(kept.expression, given, plain=False)]
    assert len(fitted) > 2
    for kept, again in fitted:
        assert given.error(again) == pytest.approx(kept.nmse, rel=1e-8), kept.formula()


def test_what_is_fitted_already_stays_to_the_last_digit() -> None:
    given = noisy(5_000)
    first = discover(given, budget=Budget(3_000), strategies=QUICK)
    again = discover(given, budget=Budget(3_000), strategies=["constant"], start=first.front.candidates)
    assert again.front.to_rows() == first.front.to_rows()


def test_earlier_formulas_alone_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "on_all_rows", lambda *_, **__: pytest.fail("fitted to all rows"))
    start = engine.parse("2.71*x**2 + 0.1234567")
    assert len(discover(noisy(5_000), budget=Budget(3_000), strategies=(), start=[start]).front) > 0


def test_time_that_runs_out_during_the_fits_is_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    given = noisy(5_000)
    fits: list[object] = []
    monkeypatch.setattr(discovery, "on_all_rows", lambda *_, **__: fits.append(_) or ())
    result = discover(given, budget=Budget(3_000), strategies=QUICK, should_stop=lambda: len(fits) == 2)
    assert result.stop_reason == "cancelled"
    assert len(fits) == 2
    assert len(result.front.candidates) > 2
