"""A benchmark of textbook laws that prints its table; only the easy laws are asserted to be exact.

The budget is work, not time, so the formulas are the same on every machine. `pytest -rP` shows the table of a
passed run.
"""

from __future__ import annotations

import hashlib
import math
from pathlib import Path

import pytest

from sr_harness.bench import BenchmarkSettings, read_table, run_benchmark, summarise
from sr_harness.bench.store import Result
from sr_harness.bench.summary import markdown
from sr_harness.engine import parse, variables

TABLE = Path(__file__).parent / "data" / "textbook_laws.csv"
EASY = ("free_fall", "electric_power", "pendulum", "enzyme_rate", "attenuation")
HARD = ("refraction",)
WORK = 8_000


@pytest.fixture(scope="module")
def settings() -> BenchmarkSettings:
    digest = hashlib.sha256(TABLE.read_bytes()).hexdigest()
    return BenchmarkSettings(
        table=TABLE.name, table_sha256=digest, ids=(*EASY, *HARD), rows=100, work=WORK, time_limit=300
    )


@pytest.fixture(scope="module")
def results(settings: BenchmarkSettings, tmp_path_factory: pytest.TempPathFactory) -> list[Result]:
    return run_benchmark(
        read_table(TABLE).problems, settings, tmp_path_factory.mktemp("laws") / "out", jobs=2
    )


def test_the_table_of_textbook_laws(settings: BenchmarkSettings, results: list[Result]) -> None:
    groups = summarise(results, settings)
    print(markdown(groups, results, settings, [], "pytest tests/integration/test_discovery_benchmark.py"))
    [group] = groups
    assert group.n == len(settings.ids) == len(results)
    assert group.stopped == group.failed == 0
    assert len(EASY) <= group.strict <= group.recovered <= group.n


@pytest.mark.parametrize("name", [*EASY, *HARD])
def test_a_result_is_complete(name: str, results: list[Result]) -> None:
    [problem] = [problem for problem in read_table(TABLE).problems if problem.id == name]
    [result] = [result for result in results if result.id == name]
    assert (result.status, result.error) == ("done", None)
    assert result.formula is not None
    names = [variable.name for variable in problem.ranges]
    found = parse(result.formula, names=names)
    assert set(variables(found)) <= set(names)
    assert result.complexity == found.size
    assert result.work_used is not None and 0 < result.work_used <= WORK
    assert all(
        value is not None and math.isfinite(value) and value <= 1.0
        for value in (result.r2_train, result.r2_inside)
    )
    assert result.recovered or not result.strict


@pytest.mark.parametrize("name", EASY)
def test_an_easy_law_is_found_exactly(name: str, results: list[Result]) -> None:
    [result] = [result for result in results if result.id == name]
    assert result.strict, result.formula
    assert result.stop_reason == "exact"
