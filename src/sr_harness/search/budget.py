"""Work: what a search may spend, and the meter that counts it.

One unit of work is one evaluation of one formula on the training rows (or on the sample of them that stands
for a large table). Batches of linear algebra are charged as the number of evaluations that cost about as
much, by fixed formulas of their sizes. So work depends on the problem alone, never on the machine: the same
budget gives the same search everywhere. Seconds are a ceiling; where it is what ended a search, the
stop reason says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

StopReason = Literal["exact", "explained", "finished", "work", "time", "cancelled"]

DEFAULT_WORK = 300_000


@dataclass(frozen=True)
class Budget:
    """How much a search may spend.

    Attributes:
        work: Units of work (see the module's description), at least 1.
        seconds: Ceiling in seconds of wall time, or None.
    """

    work: int = DEFAULT_WORK
    seconds: float | None = None

    def __post_init__(self) -> None:
        if self.work < 1:
            raise ValueError(f"a budget needs at least 1 unit of work, got {self.work}")
        if self.seconds is not None and not self.seconds > 0:
            raise ValueError(f"a time ceiling must be above 0 seconds, got {self.seconds}")


class Halt(Exception):  # noqa: N818 - control flow of the search, not a fault
    """Unwinds a strategy when the whole search must end."""

    def __init__(self, reason: StopReason) -> None:
        self.reason: StopReason = reason
        super().__init__(reason)


class AllotmentSpent(Exception):  # noqa: N818 - control flow of the search, not a fault
    """Unwinds a strategy that has spent its own part of the budget; the search goes on."""


class Meter:
    """Counts work and unwinds the search when it must stop."""

    def __init__(
        self,
        budget: Budget,
        should_stop: Callable[[], bool] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.budget = budget
        self.used = 0
        self._limit = budget.work
        self._settled: int | None = None
        self._should_stop = should_stop
        self._clock = clock
        self._began = clock()

    @property
    def left(self) -> int:
        """Work left to the strategy that runs now."""
        return max(0, self._limit - self.used)

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the ceiling, at least a thousandth; None where there is none."""
        if self.budget.seconds is None:
            return None
        return max(1e-3, self.budget.seconds - (self._clock() - self._began))

    def charge(self, units: float = 1, *, allotted: bool = True) -> None:
        """Count work before it is done; a piece that no longer fits is not begun.

        Args:
            units: The work.
            allotted: Whether it must fit into the running strategy's part.

        Raises:
            Halt: Cancelled, out of time, or out of work.
            AllotmentSpent: The running strategy is out of its part.
        """
        self.check()
        cost = max(1, int(units))
        if self.used + cost > self.budget.work:
            raise Halt("work")
        if self._settled is not None and self.used + cost > self._settled:
            raise Halt("explained")
        if allotted and self.used + cost > self._limit:
            raise AllotmentSpent
        self.used += cost

    def refund(self, work: int) -> None:
        """Take back work that was charged and is about to be charged again."""
        self.used -= work

    def check(self) -> None:
        """Stop here if the search was cancelled or its time is up."""
        if self._should_stop is not None and self._should_stop():
            raise Halt("cancelled")
        if self.budget.seconds is not None and self._clock() - self._began > self.budget.seconds:
            raise Halt("time")

    def settle(self, work: int | None) -> None:
        """End the search after so much more work, because nothing is left to explain; None: do not."""
        self._settled = None if work is None else self.used + work

    @contextmanager
    def allot(self, share: float) -> Iterator[None]:
        """Within the block only `share` of what is left may be spent."""
        outer = self._limit
        self._limit = min(outer, self.used + max(1, int(share * (outer - self.used))))
        try:
            yield
        finally:
            self._limit = outer
