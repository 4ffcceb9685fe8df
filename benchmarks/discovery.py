"""Exact recovery on a table of problems, with the processor time each one took.

    python benchmarks/discovery.py PROBLEMS.csv [--only ID …] [--rows 500] [--work 300000] [--seed 0]
                                   [--noise 0.0] [--sample K] [--strategies NAME …]

The table has the columns id, target, formula and variables (`name:low:high;…`, sampled uniformly). A
problem counts as recovered when the engine proves the formula that was found equivalent to the true one.
"""

from __future__ import annotations

import argparse
import csv
import time
import zlib
from pathlib import Path

import numpy as np

from sr_harness import engine
from sr_harness.search import Budget, Problem, discover


def main() -> None:
    options = _options()
    with options.table.open(newline="", encoding="utf-8") as handle:
        rows = list(csv.DictReader(handle))
    if options.only:
        rows = [row for row in rows if row["id"] in options.only]
    if options.sample:
        chosen = np.random.default_rng(options.seed).choice(len(rows), options.sample, replace=False)
        rows = [rows[place] for place in sorted(chosen)]
    recovered, seconds = 0, []
    print(f"{'id':<12} {'verdict':<11} {'1-R2':>8} {'cpu s':>6} {'work':>8}  origin / formula")
    for row in rows:
        verdict, line, spent = solve(row, options)
        print(line, flush=True)
        recovered += verdict == "equivalent"
        if verdict == "equivalent":
            seconds.append(spent)
    median = f"{np.median(seconds):.2f} s" if seconds else "none"
    print(f"recovered {recovered} of {len(rows)}; median processor time where recovered: {median}")


def solve(row: dict[str, str], options: argparse.Namespace) -> tuple[str, str, float]:
    ranges = _ranges(row)
    truth = engine.parse(row["formula"], names=list(ranges))
    data, target = sample(row, options.rows, options.seed)
    noise = np.random.default_rng(options.seed).normal(0.0, 1.0, target.size)
    problem = Problem.from_arrays(
        data, target + options.noise * np.sqrt(np.mean(target**2)) * noise, target_name=row["target"]
    )
    began = time.process_time()
    result = discover(
        problem, budget=Budget(options.work), seed=options.seed, strategies=options.strategies or None
    )
    spent = time.process_time() - began
    best = result.best
    if best is None:
        return "none", f"{row['id']:<12} none", spent
    verdict = engine.equivalent(best.expression, truth, ranges=ranges).verdict
    figures = f"{best.nmse:>8.1e} {spent:>6.2f} {result.work_used:>8}"
    return (
        verdict,
        f"{row['id']:<12} {verdict:<11} {figures}  {best.origin}: {best.formula(digits=6)[:150]}",
        spent,
    )


def sample(row: dict[str, str], count: int, seed: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Uniform rows for which the formula is real, finite and not huge."""
    ranges = _ranges(row)
    truth = engine.parse(row["formula"], names=list(ranges))
    rng = np.random.default_rng([seed, zlib.crc32(row["id"].encode())])
    kept: list[np.ndarray] = []
    for _ in range(400):
        block = np.column_stack([rng.uniform(low, high, 4 * count) for low, high in ranges.values()])
        y = np.broadcast_to(engine.evaluate(truth, dict(zip(ranges, block.T, strict=True))), 4 * count)
        kept.append(np.column_stack([block, y])[np.isfinite(y) & (np.abs(y) < 1e12)])
        if sum(map(len, kept)) >= count:
            break
    table = np.concatenate(kept)[:count]
    return dict(zip(ranges, np.ascontiguousarray(table[:, :-1].T), strict=True)), table[:, -1].copy()


def _ranges(row: dict[str, str]) -> dict[str, tuple[float, float]]:
    parts = [part.split(":") for part in row["variables"].split(";")]
    return {name: (float(low), float(high)) for name, low, high in parts}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", type=Path)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--work", type=int, default=300_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--noise", type=float, default=0.0)
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--strategies", nargs="*", default=[])
    return parser.parse_args()


if __name__ == "__main__":
    main()
