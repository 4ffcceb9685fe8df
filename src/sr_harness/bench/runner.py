"""Running a benchmark: which trials there are, a few at a time, and what is done already.

Promises: a result is on disk before it is reported; an interruption ends the running children and loses
only them; what is found within a work budget does not depend on how many trials run at a time.
"""

from __future__ import annotations

import os
import platform
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal, NamedTuple

from sr_harness.bench.methods import OURS
from sr_harness.bench.problems import BenchProblem
from sr_harness.bench.settings import BenchmarkSettings
from sr_harness.bench.store import Key, Result, ResultStore
from sr_harness.bench.trial import run_trial

LIBRARIES = ("ari-research", "numpy", "scipy", "sympy", "pyoperon", "gplearn", "scikit-learn")
WAIT_SECONDS = 0.2


class Step(NamedTuple):
    """Something that happened: a trial was found on disk, began, or was finished."""

    kind: Literal["kept", "began", "finished"]
    key: Key
    done: int
    total: int
    result: Result | None = None


Report = Callable[[Step], None]


def plan(settings: BenchmarkSettings) -> list[Key]:
    """Every trial: for each level of noise our search on all problems, then the peers on the sample."""
    keys: list[Key] = []
    for noise in settings.noise:
        keys += [Key(OURS, noise, name) for name in settings.ids]
        keys += [Key(peer, noise, name) for peer in settings.peers for name in settings.peer_ids]
    return keys


def run_benchmark(
    problems: Sequence[BenchProblem],
    settings: BenchmarkSettings,
    directory: Path,
    *,
    jobs: int = 1,
    resume: bool = False,
    report: Report = lambda _step: None,
) -> list[Result]:
    """Run what is not done yet.

    Args:
        problems: At least the problems that the settings name.
        settings: What is asked for.
        directory: Where the results go.
        jobs: Trials at a time.
        resume: Go on in a directory that was begun with equal settings.
        report: Called, in this thread, at every step.

    Returns:
        All results, in the order of the plan.

    Raises:
        BenchmarkError: The directory cannot be used.
    """
    store = ResultStore(directory)
    store.prepare(settings, describe_machine(jobs), resume=resume)
    by_id = {problem.id: problem for problem in problems}
    keys = plan(settings)
    results = {key: store.read(key) for key in keys if store.has(key)}
    for place, (key, result) in enumerate(results.items(), start=1):
        report(Step("kept", key, place, len(keys), result))
    waiting = [key for key in keys if key not in results]
    cancel = threading.Event()
    pool = ThreadPoolExecutor(jobs)
    running: dict[Future[Result], Key] = {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                key = waiting.pop(0)
                report(Step("began", key, len(results), len(keys)))
                running[pool.submit(run_trial, by_id[key.id], key, settings, cancel)] = key
            for future in wait(running, timeout=WAIT_SECONDS, return_when=FIRST_COMPLETED).done:
                key, result = running.pop(future), future.result()
                store.write(result)
                results[key] = result
                report(Step("finished", key, len(results), len(keys), result))
    finally:
        cancel.set()
        pool.shutdown(cancel_futures=True)
    return [results[key] for key in keys]


def describe_machine(jobs: int) -> dict[str, Any]:
    """What the times depend on."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "jobs": jobs,
        "load_at_start": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "libraries": {name: found for name in LIBRARIES if (found := _version(name)) is not None},
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.machine()
    for line in text.splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
