"""Benchmarks: how often a true formula is found again, and what that costs.

`read_table` reads problems, `make_data` draws their rows, `run_benchmark` lets methods solve them, each
problem in a process of its own, and `summarise` makes the tables. `sr_harness.bench.synthetic` writes data
of known systems.
"""

from __future__ import annotations

from sr_harness.bench.problems import BenchProblem, read_table
from sr_harness.bench.runner import run_benchmark
from sr_harness.bench.sampling import make_data
from sr_harness.bench.settings import BenchmarkSettings
from sr_harness.bench.summary import summarise
from sr_harness.bench.verdict import Verdict, judge

__all__ = [
    "BenchProblem",
    "BenchmarkSettings",
    "Verdict",
    "judge",
    "make_data",
    "read_table",
    "run_benchmark",
    "summarise",
]
