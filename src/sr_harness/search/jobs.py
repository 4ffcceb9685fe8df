"""How many worker processes a search may use."""

from __future__ import annotations

import multiprocessing
import os
import sys


def available_cores() -> int:
    """Processor cores that this process may use, at least 1."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def effective_jobs(jobs: int | None) -> int:
    """The number of jobs that a number in scikit-learn's sense stands for.

    Args:
        jobs: That many; None for 1; -1 for all available cores, -2 for all but one, and so on.

    Returns:
        At least 1. Always 1 in a process that is itself a worker: its siblings have the other cores.

    Raises:
        ValueError: 0.
    """
    if jobs == 0:
        raise ValueError("0 jobs cannot search; give a number of at least 1, or -1 for all available cores")
    if jobs is None or _is_worker() or not sys.executable:
        return 1
    return jobs if jobs > 0 else max(1, available_cores() + 1 + jobs)


def _is_worker() -> bool:
    """Whether `multiprocessing`, or what builds on it as joblib does, started this process."""
    process = multiprocessing.current_process()
    return process.daemon or multiprocessing.parent_process() is not None or process.name != "MainProcess"
