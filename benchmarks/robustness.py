"""What a search makes of difficult data: noise, outliers, irrelevant columns, few rows and many.

    python benchmarks/robustness.py [--work 20000] [--seed 0] [--only WORD …] [--output FILE.md]

Each scenario draws data from a law and searches it like `sr-harness discover` does, a fifth of the rows held
out. `found`: the engine proves the best formula equal to the law. `near`: on fresh points of the same ranges
it errs by less than a fifth of the noise. Outliers are errors of twenty times the target's size.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sr_harness import engine
from sr_harness.evaluator import make_split
from sr_harness.search import Budget, Problem, discover

RANGES = {"speed": (1.0, 5.0), "mass": (0.5, 3.0), "height": (0.2, 4.0)}
LAWS = {"orbit": "mass*speed/(4*pi*height**2)", "saturation": "mass*speed/(height + speed)"}
SMALLEST_VALIDATED = 40
EXACT = 1e-6


@dataclass(frozen=True)
class Scenario:
    """Data to draw: the law, and what makes them difficult."""

    law: str
    rows: int = 400
    noise: float = 0.01
    outliers: float = 0.0
    irrelevant: int = 0
    robust: bool = False

    @property
    def name(self) -> str:
        """What the table calls it."""
        parts = [self.law, f"{self.rows:,} rows", f"{100 * self.noise:g} % noise"]
        if self.outliers:
            parts.append(f"{100 * self.outliers:g} % outliers")
        if self.irrelevant:
            parts.append(f"{self.irrelevant} irrelevant columns")
        if self.robust:
            parts.append("robust")
        return ", ".join(parts)


class Drawn(NamedTuple):
    """Columns, target, law, and the rows with wild values."""

    columns: dict[str, np.ndarray]
    target: np.ndarray
    law: engine.Expression
    wild: set[int]


def scenarios() -> Iterator[Scenario]:
    for law in LAWS:
        for noise in (0.001, 0.01, 0.1):
            yield Scenario(law, noise=noise)
        for robust in (False, True):
            yield Scenario(law, outliers=0.05, robust=robust)
        yield Scenario(law, robust=True)
        yield Scenario(law, irrelevant=6)
        yield Scenario(law, rows=10)
        yield Scenario(law, rows=100_000)
    yield Scenario("orbit", rows=100_000, outliers=0.05, robust=True)


def main() -> None:
    options = _options()
    command = shlex.join(["python", "benchmarks/robustness.py", *sys.argv[1:]])
    lines = [
        "# Difficult data",
        "",
        f"`{command}`",
        "",
        "| scenario | verdict | formula | set aside | of them wild | processor s | work | stopped |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for scenario in scenarios():
        if all(word in scenario.name for word in options.only):
            lines.append(solve(scenario, options))
            print(lines[-1], flush=True)
    if options.output is not None:
        options.output.write_text("\n".join(lines) + "\n", "utf-8")


def solve(scenario: Scenario, options: argparse.Namespace) -> str:
    """A row of the table."""
    drawn = draw(scenario, options.seed)
    began = time.process_time()
    problem = Problem.from_arrays(drawn.columns, drawn.target)
    if problem.rows >= SMALLEST_VALIDATED:
        split = make_split(problem.rows, seed=options.seed, fractions=(0.8, 0.2, 0.0))
        problem = replace(problem.take(split.train), validation=problem.take(split.validation))
    result = discover(problem, budget=Budget(options.work), seed=options.seed, robust=scenario.robust)
    spent = time.process_time() - began
    assert result.best is not None
    verdict = judge(result.best.expression, drawn, scenario)
    aside = f"{len(result.outliers)} | {len(drawn.wild & set(result.outliers))} of {len(drawn.wild)}"
    formula = result.best.formula(digits=5)
    shown = formula if len(formula) <= 60 else f"{formula[:57]}…"
    figures = f"{spent:.1f} | {result.work_used} | {result.stop_reason}"
    return f"| {scenario.name} | {verdict} | `{shown}` | {aside} | {figures} |"


def draw(scenario: Scenario, seed: int) -> Drawn:
    """The data of a scenario."""
    rng = np.random.default_rng([seed, scenario.rows, round(1000 * scenario.noise)])
    law = engine.parse(LAWS[scenario.law])
    columns = {name: rng.uniform(*RANGES[name], scenario.rows) for name in sorted(engine.variables(law))}
    clean = engine.evaluate(law, columns)
    size = float(np.sqrt(np.mean(np.square(clean))))
    target = clean + scenario.noise * size * rng.normal(size=scenario.rows)
    wild = np.flatnonzero(rng.random(scenario.rows) < scenario.outliers)
    target[wild] += 20.0 * size * rng.normal(size=wild.size)
    for place in range(scenario.irrelevant):
        columns[f"extra_{place}"] = rng.uniform(1.0, 3.0, scenario.rows)
    return Drawn(columns, target, law, {int(row) for row in wild})


def judge(formula: engine.Expression, drawn: Drawn, scenario: Scenario) -> str:
    """`found`, `near` or `missed`."""
    ranges = {name: (float(column.min()), float(column.max())) for name, column in drawn.columns.items()}
    if engine.equivalent(formula, drawn.law, ranges=ranges, time_limit=10).verdict == "equivalent":
        return "found"
    rng = np.random.default_rng(1)
    fresh = {name: rng.uniform(low, high, 1000) for name, (low, high) in ranges.items()}
    expected = engine.evaluate(drawn.law, fresh)
    with np.errstate(all="ignore"):
        error = np.sqrt(np.mean(np.square(engine.evaluate(formula, fresh) - expected)))
    size = np.sqrt(np.mean(np.square(expected)))
    return "near" if error <= max(scenario.noise / 5, EXACT) * size else "missed"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--output", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
