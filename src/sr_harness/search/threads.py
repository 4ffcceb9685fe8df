"""One thread for linear algebra while a search runs.

A search solves thousands of small systems. Threads of the algebra library make each of them slower, ruin
searches that run beside it, and may round differently from run to run.
"""

from __future__ import annotations

import importlib
import importlib.util
from contextlib import AbstractContextManager, nullcontext
from typing import Any


def one_thread() -> AbstractContextManager[Any]:
    """Within the block linear algebra uses one thread, where the package `threadpoolctl` can arrange it."""
    if importlib.util.find_spec("threadpoolctl") is None:
        return nullcontext()
    limits: AbstractContextManager[Any] = importlib.import_module("threadpoolctl").threadpool_limits(limits=1)
    return limits
