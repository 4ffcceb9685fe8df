"""Wild values: the law of the other rows is found, and only they are set aside."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from search_problems import oscillators, problem, table

from sr_harness import SymbolicRegressor, engine
from sr_harness.cli import main
from sr_harness.errors import ProblemError
from sr_harness.search import Budget, Discovery, Problem, discover
from sr_harness.search.outliers import described, far_rows, residual_scale

QUICK = ["constant", "linear", "power_law", "polynomial", "rational"]
RANGES = {"m": (0.5, 3.0), "v": (1.0, 5.0), "h": (0.2, 4.0)}


def wild(law: str, noise: float, rows: int = 200, share: float = 0.05) -> tuple[Problem, list[int]]:
    """Rows of a law, some of them with errors of twenty times its size, and which."""
    rng = np.random.default_rng(rows)
    data = table(7, rows, **RANGES)
    clean = engine.evaluate(engine.parse(law), data)
    size = float(np.sqrt(np.mean(np.square(clean))))
    places = rng.choice(rows, int(share * rows), replace=False)
    target = clean + noise * size * rng.normal(size=rows)
    target[places] += 20.0 * size * rng.choice([-1.0, 1.0], places.size) * rng.uniform(0.5, 2.0, places.size)
    return problem(data, target), sorted(int(place) for place in places)


def search(given: Problem, **more: object) -> Discovery:
    return discover(given, budget=Budget(6_000), strategies=QUICK, robust=True, **more)


@pytest.mark.parametrize(
    ("law", "noise"),
    [("m*v**2/2", 0.0), ("3*m*v/h**2", 0.0), ("m*v/h + 2*v", 0.0), ("m*v**2/2", 0.01), ("3*m*v/h**2", 0.01)],
)
def test_wild_rows_are_set_aside_and_the_law_is_found(law: str, noise: float) -> None:
    given, places = wild(law, noise)
    result = search(given)
    assert result.best is not None
    fresh = table(8, 300, **RANGES)
    expected = engine.evaluate(engine.parse(law), fresh)
    error = engine.evaluate(result.best.expression, fresh) - expected
    assert np.sqrt(np.mean(np.square(error))) <= (0.5 * noise or 1e-9) * np.sqrt(np.mean(np.square(expected)))
    assert list(result.outliers) == places
    assert result.work_used <= 6_000


@pytest.mark.parametrize("noise", [0.0, 0.01, 0.1])
@pytest.mark.parametrize("relative", [False, True], ids=["additive", "relative"])
def test_no_row_of_a_pole_is_set_aside(noise: float, relative: bool) -> None:
    data = table(7, 300, m=(0.5, 3.0), h=(0.02, 4.0))
    clean = data["m"] / data["h"] ** 2
    normal = np.random.default_rng(1).normal(size=clean.size)
    target = clean * (1.0 + noise * normal) if relative else clean + noise * np.median(clean) * normal
    assert search(problem(data, target)).outliers == ()


def test_a_row_that_a_poor_formula_set_aside_comes_back() -> None:
    given, places = wild("3*m*v/h**2", 0.0)
    poor = engine.parse("3*m*v")
    assert len(np.flatnonzero(far_rows(given, poor, residual_scale(given, poor)))) > len(places)
    assert list(search(given, start=[poor]).outliers) == places


def test_many_far_rows_mean_a_wrong_formula() -> None:
    data = table(7, 200, m=(0.5, 3.0))
    target = np.where(np.arange(200) % 4 == 0, 50.0, 2.0 * data["m"])
    assert search(problem(data, target)).outliers == ()


def test_rows_are_numbered_as_in_the_data_and_held_out_ones_are_judged_too() -> None:
    given, places = wild("m*v**2/2", 0.01)
    order = np.random.default_rng(3).permutation(given.rows)
    split = replace(given.take(order[:150]), validation=given.take(order[150:]))
    assert list(search(split).outliers) == places
    data = {name: np.concatenate([[np.nan], column]) for name, column in given.data.items()}
    shifted = Problem.from_arrays(data, np.concatenate([[1.0], given.target]), missing="drop")
    assert list(search(shifted).outliers) == [place + 1 for place in places]


def test_the_same_rows_for_any_number_of_jobs_and_from_run_to_run() -> None:
    given, _ = wild("m*v/h + 2*v", 0.01)
    one, two = (search(given, jobs=jobs) for jobs in (1, 2))
    assert (one.outliers, one.work_used, one.front.to_rows()) == (
        two.outliers, two.work_used, two.front.to_rows(),
    )  # fmt: skip


def test_what_has_no_rows_to_set_aside_is_refused() -> None:
    network = Problem.from_context(oscillators(1), "velocity")
    with pytest.raises(ProblemError, match="network data cannot be set aside one by one"):
        search(network)
    with pytest.raises(ProblemError, match="10 rows are too few to tell outliers; give at least 20"):
        search(problem(table(1, 10, x=(1.0, 2.0)), np.arange(10.0)))


def test_a_cancelled_search_ends_at_once() -> None:
    given, _ = wild("m*v**2/2", 0.01)
    result = search(given, should_stop=lambda: True)
    assert (result.stop_reason, result.outliers) == ("cancelled", ())


def test_people_are_told_which() -> None:
    assert described([], 5) == "none of 5 rows was set aside as an outlier"
    assert described([4], 50) == (
        "1 of 50 rows lies more than 8 robust standard deviations from the formula and was set aside as "
        "outliers (counted from 0): 4"
    )
    assert described(range(12), 90).endswith("0, 1, 2, 3, 4, 5, 6, 7, 8, 9, …")


def test_the_command_tells_outliers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given, places = wild("m*v**2/2", 0.0)
    columns = [*given.data.values(), given.target]
    lines = ["m,v,h,y", *(",".join(map(repr, map(float, row))) for row in zip(*columns, strict=True))]
    path = tmp_path / "wild.csv"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    asked = ["discover", str(path), "--target", "y", "--strategies", ",".join(QUICK), "--work", "6000"]
    assert main([*asked, "--robust", "--json"]) == 0
    shown = capsys.readouterr()
    answer = json.loads(shown.out)
    assert answer["outliers"] == places
    assert answer["stop_reason"] == "exact"
    assert f"note: {len(places)} of 200 rows lie more than 8 robust standard deviations" in shown.err
    assert main([*asked[:2], "--target", "dy_dm", "--robust"]) in (1, 2)
    assert main([*asked[:2], "--system", "y", "--robust"]) == 2
    assert "judged by whole runs, not row by row" in capsys.readouterr().err


def test_the_estimator_tells_outliers() -> None:
    given, places = wild("m*v**2/2", 0.01)
    X = np.column_stack(list(given.data.values()))
    model = SymbolicRegressor(work=6_000, strategies=QUICK, robust=True, warm_start=True).fit(X, given.target)
    assert model.outliers_.tolist() == places
    formula = model.formula_
    model.set_params(strategies=["constant"]).fit(X, given.target)
    assert model.formula_ == formula
    assert model.outliers_.tolist() == places
    assert len(SymbolicRegressor(work=300, strategies=["constant"]).fit(X, given.target).outliers_) == 0
