"""Input that breaks searches elsewhere; here it gives an answer."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from search_problems import problem, table

from sr_harness.engine import parse
from sr_harness.search import Budget, Discovery, Problem, discover

CHEAP = ["constant", "linear", "power_law", "polynomial", "rational", "exponential", "sinusoid", "composite"]


def search(given: Problem, work: int = 4_000, strategies: list[str] | None = None) -> Discovery:
    result = discover(given, budget=Budget(work), strategies=strategies or CHEAP)
    for row in result.front.to_rows():
        assert row["r2"] is None or np.isfinite(row["r2"])
    assert result.best is not None
    return result


@pytest.mark.parametrize("value", [0.0, 3.0, -2.5, 1e30])
def test_constant_target(value: float) -> None:
    result = search(problem({"x": np.arange(10.0)}, np.full(10, value)))
    assert result.stop_reason == "exact"
    assert result.best is not None
    assert result.best.expression == parse(repr(value))


def test_one_row() -> None:
    assert search(problem({"x": [2.0]}, [5.0])).front.candidates[0].formula() == "5"


@pytest.mark.parametrize("rows", [2, 3, 4])
def test_fewer_rows_than_parameters(rows: int) -> None:
    data = table(1, rows, **dict.fromkeys("abcdefghij", (1.0, 2.0)))
    search(problem(data, np.random.default_rng(0).normal(size=rows)))


def test_constant_columns_and_no_usable_column() -> None:
    search(problem({"x": np.full(20, 3.0), "z": np.zeros(20)}, np.arange(20.0)))
    search(problem({}, np.arange(20.0)))


def test_a_constant_column_beside_a_law() -> None:
    data = {**table(1, 50, x=(1.0, 2.0)), "k": np.full(50, 7.0)}
    assert search(problem(data, data["x"] ** 2)).best.formula() == "x**2"


@pytest.mark.parametrize(
    "name", ["N", "S", "E", "I", "pi", "e", "lambda", "_", "in", "exp", "sin", "x10", "θ", "wind speed"]
)
def test_awkward_names(name: str) -> None:
    data = {name: table(1, 30, x=(1.0, 2.0))["x"], "other": table(2, 30, x=(1.0, 2.0))["x"]}
    best = search(problem(data, 3.0 * data[name] * data["other"] ** 2)).best
    assert best is not None
    assert best.exact
    assert parse(best.formula(), names=list(data)) == best.expression


@pytest.mark.parametrize("scale", [1e-30, 6.6e-34, 3e8, 1e30])
def test_huge_and_small_units(scale: float) -> None:
    data = table(1, 60, x=(1.0, 5.0), z=(1.0, 5.0))
    result = search(problem({"x": data["x"] * scale, "z": data["z"]}, data["x"] * data["z"] ** 2 / scale))
    assert result.best.exact
    assert result.best.complexity <= 9


def test_ten_inputs_of_which_two_matter() -> None:
    data = table(4, 200, **{f"x{number}": (1.0, 3.0) for number in range(10)})
    best = search(problem(data, data["x3"] ** 2 / data["x7"])).best
    assert best.exact
    assert {"x3", "x7"} == {name for name in data if name in best.formula()}


def test_zeros_and_signs() -> None:
    x = np.linspace(-2.0, 2.0, 41)
    assert search(problem({"x": x}, x**3 - x)).best.exact


def test_outliers_do_not_stop_a_search() -> None:
    data = table(4, 100, x=(1.0, 3.0))
    target = 2 * data["x"]
    target[3] = 1e6
    search(problem(data, target))


def test_a_million_rows_are_sampled_and_confirmed_on_all() -> None:
    rng = np.random.default_rng(0)
    x, z = rng.uniform(1.0, 5.0, (2, 1_000_000))
    given = problem({"x": x, "z": z}, x / z**2)
    tracemalloc.start()
    result = search(given, 10_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.best.formula() == "x/z**2"
    assert result.best.rows == 1_000_000
    assert peak < 12 * x.nbytes


def test_a_fault_outside_the_sample_is_seen() -> None:
    """The sample holds none of the rows that contradict the line; the measurement on all rows does."""
    x = np.linspace(1.0, 2.0, 200_000)
    target = 2 * x
    target[::5000] += 1.0
    best = search(problem({"x": x}, target), 20_000, ["constant", "linear"]).best
    assert not best.exact
