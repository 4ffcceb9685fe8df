"""One thread for linear algebra while a search runs.

A search solves thousands of small systems. Threads of the algebra library make each of them slower, ruin
searches that run beside it, and may round differently from run to run.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any


def one_thread() -> AbstractContextManager[Any]:
    """Within the block linear algebra uses one thread."""
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[Any] = threadpool_limits(limits=1)
    return limits
