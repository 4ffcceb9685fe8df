"""Wall seconds of hard searches with one job and with several, and whether they found the same.

    python benchmarks/search_jobs.py [--jobs 2] [--work 100000] [--rows 400] [--repeats 1]

The first formula is easy: it shows what several jobs cost where they are of no use. The others are found by
none of the cheap strategies. Of several repeats, in turn with one job and with several, the shortest time
counts: what else the machine does only makes it longer.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from sr_harness import engine
from sr_harness.search import Budget, Discovery, Problem, discover

FORMULAS = {
    "easy": ("3*a*b**2/(c + d)", 0.0),
    "waves": ("sin(a*b)*exp(-c) + sqrt(a**2 + 3*d**2)/(1 + b*c)", 0.0),
    "saturation": ("tanh(a + 1.7*b)*log(c + a*d) + cos(2.3*b)*c", 0.0),
    "bell": ("exp(-(a - b)**2/2.7)*sin(3.1*c) + d/(a + b*c)", 0.0),
    "bell, 3 % noise": ("exp(-(a - b)**2/2.7)*sin(3.1*c) + d/(a + b*c)", 0.03),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--work", type=int, default=100_000)
    parser.add_argument("--rows", type=int, default=400)
    parser.add_argument("--repeats", type=int, default=1)
    options = parser.parse_args()
    print(f"{'problem':<16} {'1 job s':>8} {f'{options.jobs} jobs s':>8} {'ratio':>6}  same  stopped")
    for name, (text, noise) in FORMULAS.items():
        task = problem(text, noise, options.rows)
        pairs = [
            (timed(task, options.work, 1), timed(task, options.work, options.jobs))
            for _ in range(options.repeats)
        ]
        alone, several = (min(pair[place][0] for pair in pairs) for place in (0, 1))
        one, many = (pairs[0][place][1] for place in (0, 1))
        same = "yes" if told(one) == told(many) else "NO"
        print(
            f"{name:<16} {alone:>8.2f} {several:>8.2f} {alone / several:>6.2f}  {same:<4}  {one.stop_reason}"
        )


def problem(text: str, noise: float, rows: int) -> Problem:
    rng = np.random.default_rng(1)
    data = {name: rng.uniform(0.5, 3.0, rows) for name in "abcd"}
    y = np.asarray(engine.evaluate(engine.parse(text, names=list(data)), data))
    return Problem.from_arrays(data, y + noise * np.std(y) * rng.normal(size=rows))


def timed(task: Problem, work: int, jobs: int) -> tuple[float, Discovery]:
    """Wall seconds, and what was found."""
    began = time.perf_counter()
    result = discover(task, budget=Budget(work), jobs=jobs)
    return time.perf_counter() - began, result


def told(result: Discovery) -> tuple[object, ...]:
    return result.stop_reason, result.work_used, result.front.to_rows(), [e.message for e in result.events]


if __name__ == "__main__":
    main()
