"""Wall seconds of hard searches with one job and with several, and whether they found the same.

    python benchmarks/search_jobs.py [--jobs 2] [--work 100000] [--rows 400] [--repeats 1]

The first formula is easy: it shows what several jobs cost where they are of no use. The others are found by
none of the cheap strategies. Of several repeats, in turn with one job and with several, the shortest time
counts: what else the machine does only makes it longer. Processor seconds hardly depend on that; those of the
workers stand behind the plus, and on idle cores they are spent side by side.
"""

from __future__ import annotations

import argparse
import resource
import time
from typing import NamedTuple

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


class Run(NamedTuple):
    """Wall seconds, processor seconds of the search itself and of its workers, and what was found."""

    wall: float
    own: float
    workers: float
    found: Discovery


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--work", type=int, default=100_000)
    parser.add_argument("--rows", type=int, default=400)
    parser.add_argument("--repeats", type=int, default=1)
    options = parser.parse_args()
    repeats = range(options.repeats)
    print(
        f"{'problem':<16} {'1 job s':>8} {f'{options.jobs} jobs s':>8} {'ratio':>6} {'1 job cpu':>10} "
        f"{f'{options.jobs} jobs cpu':>14}  same  stopped"
    )
    for name, (text, noise) in FORMULAS.items():
        task = problem(text, noise, options.rows)
        runs = [(timed(task, options.work, 1), timed(task, options.work, options.jobs)) for _ in repeats]
        alone, several = (min((run[place] for run in runs), key=lambda run: run.wall) for place in (0, 1))
        same = "yes" if all(told(one.found) == told(many.found) for one, many in runs) else "NO"
        print(
            f"{name:<16} {alone.wall:>8.2f} {several.wall:>8.2f} {alone.wall / several.wall:>6.2f} "
            f"{alone.own:>10.2f} {f'{several.own:.2f} + {several.workers:.2f}':>14}  {same:<4}  "
            f"{alone.found.stop_reason}",
            flush=True,
        )


def problem(text: str, noise: float, rows: int) -> Problem:
    rng = np.random.default_rng(1)
    data = {name: rng.uniform(0.5, 3.0, rows) for name in "abcd"}
    y = np.asarray(engine.evaluate(engine.parse(text, names=list(data)), data))
    return Problem.from_arrays(data, y + noise * np.std(y) * rng.normal(size=rows))


def timed(task: Problem, work: int, jobs: int) -> Run:
    """One search."""
    wall, own, workers = time.perf_counter(), time.process_time(), _children()
    found = discover(task, budget=Budget(work), jobs=jobs)
    return Run(time.perf_counter() - wall, time.process_time() - own, _children() - workers, found)


def _children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def told(result: Discovery) -> tuple[object, ...]:
    return result.stop_reason, result.work_used, result.front.to_rows(), [e.message for e in result.events]


if __name__ == "__main__":
    main()
