"""The budget of a search under way: its limits set, its time noted, its end remembered."""

from __future__ import annotations

import time
import uuid
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ari.budget.ledger import Ledger, read_tally
from ari.budget.tally import EXHAUSTED, Limits

if TYPE_CHECKING:
    from ari.settings import Settings

NOTE_EVERY_S = 5.0
"""How often the time is noted; a search that is killed forgets no more than this."""


class SearchBudget:
    """What one process of a search knows of the budget.

    A study of the offline researcher without any limit keeps no accounts: it spends nothing.

    Args:
        checkpoint: The study.
        settings: The limits and prices.
        keep: Whether accounts are kept at all; a replay spends nothing.

    Attributes:
        spent: Why nothing more may be spent, once that is so; begins with `budget exhausted`.
    """

    def __init__(self, checkpoint: Path, settings: Settings, *, keep: bool = True) -> None:
        self.spent: str | None = None
        self._limits = Limits(
            settings.max_calls, settings.max_tokens, settings.max_cost_usd, settings.max_wall_s
        )
        self._prices = settings.prices
        spends = keep and (self._limits.any or settings.model != "offline")
        self._ledger = Ledger(checkpoint) if spends else None
        self._session = uuid.uuid4().hex
        self._began = self._noted = time.monotonic()
        self._earlier_s = 0.0

    def look(self) -> str | None:
        """Why nothing could be spent under these limits, by the ledger as it is."""
        if self._ledger is None:
            return None
        return replace(self._ledger.tally(), limits=self._limits).shortage()

    def begin(self) -> None:
        """Put the limits in force and start the clock."""
        if self._ledger is None:
            return
        self.put_in_force()
        tally = self._ledger.tally()
        self._began = self._noted = time.monotonic()
        self._earlier_s = tally.wall_s
        lacking = tally.shortage()
        self.spent = None if lacking is None else f"{EXHAUSTED}: {lacking}"

    def out_of_time(self) -> bool:
        """Note the time, and say whether the search has used up its own."""
        if self._ledger is None:
            return False
        now = time.monotonic()
        limit = self._limits.max_wall_s
        over = limit is not None and self._earlier_s + now - self._began >= limit
        if over or now - self._noted >= NOTE_EVERY_S:
            self._note(now)
        if over:
            self.spent = f"{EXHAUSTED}: {limit:g} s of wall time are spent"
        return over

    def allowance(self, child: str) -> dict[str, Any]:
        """The limits of a sub-experiment, by their names: what is left of these; one may use it all."""
        if self._ledger is None:
            return {}
        left: dict[str, Any] = self._ledger.tally().allowance(child)
        if self._limits.max_wall_s is not None:
            used = self._earlier_s + time.monotonic() - self._began
            left["max_wall_s"] = max(0.001, self._limits.max_wall_s - used)
        return left

    def note_child(self, child: str, checkpoint: Path) -> None:
        """Take what a sub-experiment has spent out of this budget."""
        spent = read_tally(checkpoint)
        if self._ledger is None or spent is None:
            return
        self._ledger.note_child(child, spent)
        lacking = self._ledger.tally().shortage()
        if lacking is not None:
            self.spent = f"{EXHAUSTED}: {lacking}"

    def put_in_force(self) -> None:
        """Record the limits, before the first call."""
        if self._ledger is not None:
            self._ledger.set_limits(self._limits, self._prices)

    def end(self) -> None:
        """Note the time for the last time."""
        if self._ledger is not None:
            self._note(time.monotonic())

    def _note(self, now: float) -> None:
        assert self._ledger is not None
        self._noted = now
        self._ledger.note_time(self._session, now - self._began)
