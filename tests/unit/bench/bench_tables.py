"""Small tables of problems, made for the tests."""

from __future__ import annotations

from pathlib import Path

from sr_harness.bench.problems import BenchProblem, problem_from_row, read_table
from sr_harness.bench.settings import BenchmarkSettings

EASY = """id,target,formula,n_vars,variables
plane,y,3*u - 2*v,2,u:1:4;v:-2:2
dir/odd name,F,I*N/(2*pi*lambda),3,I:1:3;N:1:3;lambda:2:5
"""


def problem(formula: str, variables: str, *, name: str = "p", target: str = "y") -> BenchProblem:
    return problem_from_row({"id": name, "target": target, "formula": formula, "variables": variables})


def table(folder: Path, text: str = EASY) -> Path:
    path = folder / "problems.csv"
    path.write_text(text, encoding="utf-8")
    return path


def easy_settings(folder: Path, **changes: object) -> tuple[tuple[BenchProblem, ...], BenchmarkSettings]:
    problems, digest = read_table(table(folder))
    values = {
        "table": "problems.csv",
        "table_sha256": digest,
        "ids": tuple(item.id for item in problems),
        "rows": 60,
        "work": 2_000,
        "time_limit": 30.0,
    }
    return problems, BenchmarkSettings(**{**values, **changes})
