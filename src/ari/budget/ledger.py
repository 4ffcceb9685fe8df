"""The ledger of a study, `cost_trace.jsonl`: shared by all its processes, kept across kills and resumes.

Promises. A call is reserved on disk before it is made, under a lock that all processes share, so together
they never make more calls than allowed. A reservation that is not settled because its process died counts as
spent. What the ledger says is what its file says: two readers of one file get equal sums.
"""

from __future__ import annotations

import os
import socket
import time
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from ari.budget.prices import Prices, cost_usd
from ari.budget.tally import EXHAUSTED, Amount, Limits, OpenCall, Tally
from ari.checkpoint.lock import is_alive, process_start
from ari.checkpoint.shared_log import OpenLog, Place, open_shared, read_shared
from ari.checkpoint.store import utc_now
from ari.errors import BudgetExhausted
from ari.formats.cost_trace import Price

COST_TRACE = "cost_trace.jsonl"
SYNC_EVERY_S = 1.0
"""Entries are handed to the system at once, which keeps them when a process is killed; they are forced to
the disk at least this often, so that a machine that loses power forgets no more than this much spending."""


@dataclass(frozen=True)
class Estimate:
    """What a call takes at most.

    Attributes:
        input_tokens: Of the request.
        output_tokens: Of the answer.
    """

    input_tokens: int
    output_tokens: int


@dataclass(frozen=True)
class Reservation:
    """The right to make one call."""

    id: str
    model: str
    amount: Amount
    began: float


@dataclass(frozen=True)
class Usage:
    """What a service says that a call took."""

    input_tokens: int
    output_tokens: int


@dataclass(frozen=True)
class Busy:
    """The call could be made if calls that are under way turn out to take less than they reserved."""

    reason: str


class Ledger:
    """The ledger of one study, as one process uses it.

    Args:
        checkpoint: The study.
    """

    def __init__(self, checkpoint: Path) -> None:
        self.path = checkpoint / COST_TRACE
        self._tally = Tally()
        self._place = Place()
        self._synced = 0.0

    def tally(self) -> Tally:
        """The sums as they are now; to be read, not changed."""
        with open_shared(self.path, self._place) as log:
            return self._up_to_date(log)

    def set_limits(self, limits: Limits, prices: Mapping[str, Price]) -> None:
        """Record what may be spent from now on."""
        with open_shared(self.path, self._place) as log:
            tally = self._up_to_date(log)
            if (limits, dict(prices)) == (tally.limits, tally.prices):
                return
            rows = {name: price.to_dict() for name, price in prices.items()}
            self._append(log, {"event": "limits", **asdict(limits), "prices": rows}, sync=True)

    def reserve(
        self, estimate: Estimate, *, model: str, node_id: str | None = None, phase: str = ""
    ) -> Reservation | Busy:
        """Reserve one call, or say that calls under way have to end first.

        Args:
            estimate: What it takes at most.
            model: Whom it goes to, as in the settings.
            node_id: The node; None for calls of the study itself.
            phase: What it is for.

        Returns:
            The reservation; `Busy` when it may become possible once others are settled.

        Raises:
            BudgetExhausted: When what may be spent is spent. Nothing is recorded then.
            CheckpointError: When the ledger cannot be read or written.
        """
        with open_shared(self.path, self._place) as log:
            tally = self._up_to_date(log)
            price = Prices(tally.prices).of(model)
            tokens = estimate.input_tokens + estimate.output_tokens
            cost = None if price is None else cost_usd(price, **asdict(estimate))
            amount = Amount(tokens, cost)
            reason = tally.shortage(amount)
            if reason is not None:
                if tally.shortage(amount, without=_under_way(tally)) is None:
                    return Busy(reason)
                raise exhausted(reason)
            name = uuid.uuid4().hex
            entry = {
                "event": "reserved",
                "id": name,
                "node_id": node_id,
                "phase": phase,
                "model": model,
                "total_tokens": tokens,
                "estimated_cost_usd": cost,
                "pid": os.getpid(),
                "process_start": process_start(os.getpid()),
                "host": socket.gethostname(),
            }
            self._append(log, entry)
            return Reservation(name, model, amount, time.monotonic())

    def settle(self, reservation: Reservation, usage: Usage | None, *, outcome: str = "answered") -> None:
        """Record what a call took.

        Args:
            reservation: A result of `reserve`; settling it again corrects the first report.
            usage: What the service reported; without it, or where it cannot be true, the reserved amount
                counts, except for a call that the service refused.
            outcome: `answered`, `refused` or `lost`.

        Raises:
            CheckpointError: When the ledger cannot be written; the call then counts as reserved.
        """
        entry = {
            "event": "settled",
            "id": reservation.id,
            "outcome": outcome,
            "latency_ms": round((time.monotonic() - reservation.began) * 1000, 1),
        }
        with open_shared(self.path, self._place) as log:
            tally = self._up_to_date(log)
            entry |= _amount_of(reservation, usage, outcome, Prices(tally.prices).of(reservation.model))
            self._append(log, entry)

    def note_child(self, name: str, spent: Tally) -> None:
        """Record what a sub-experiment has spent so far, by its own ledger."""
        with open_shared(self.path, self._place) as log:
            self._up_to_date(log)
            entry = {
                "event": "child",
                "name": name,
                "calls": spent.calls,
                "total_tokens": spent.tokens,
                "estimated_cost_usd": spent.cost_usd,
            }
            self._append(log, entry, sync=True)

    def note_time(self, session: str, seconds: float) -> Tally:
        """Record how long a process of the search has run.

        Args:
            session: Identity of the process.
            seconds: Since its start.

        Returns:
            The sums, this included.
        """
        with open_shared(self.path, self._place) as log:
            self._up_to_date(log)
            self._append(log, {"event": "time", "session": session, "seconds": round(seconds, 3)})
            return self._tally

    def _up_to_date(self, log: OpenLog) -> Tally:
        if log.restarted:
            self._tally = Tally()
        self._tally.apply(log.fresh)
        return self._tally

    def _append(self, log: OpenLog, entry: Mapping[str, object], *, sync: bool = False) -> None:
        now = time.monotonic()
        due = sync or now - self._synced >= SYNC_EVERY_S
        document = {"ts": utc_now(), **entry}
        log.append(document, sync=due)
        if due:
            self._synced = now
        self._tally.apply([document])


def read_tally(checkpoint: Path) -> Tally | None:
    """The sums of a study's ledger, without holding or changing it; None when it has none.

    Raises:
        CheckpointError: When it cannot be read.
    """
    path = checkpoint / COST_TRACE
    if not path.exists():
        return None
    tally = Tally()
    tally.apply(read_shared(path))
    return tally


def exhausted(reason: str) -> BudgetExhausted:
    """The error that ends a run whose budget is spent."""
    return BudgetExhausted(
        f"{EXHAUSTED}: {reason}",
        cure="`ari resume CHECKPOINT` goes on with a larger --max-calls, --max-tokens, --max-cost-usd or "
        "--max-wall-s.",
    )


def _under_way(tally: Tally) -> list[str]:
    """Open calls whose process may still settle them."""
    here = socket.gethostname()
    alive: dict[tuple[int, int | None], bool] = {}
    return [name for name, call in tally.open.items() if call.host == here and _lives(call, alive)]


def _lives(call: OpenCall, known: dict[tuple[int, int | None], bool]) -> bool:
    key = (call.pid, call.process_start)
    if key not in known:
        known[key] = is_alive(call.pid) and process_start(call.pid) == call.process_start
    return known[key]


def _amount_of(
    reservation: Reservation, usage: Usage | None, outcome: str, price: Price | None
) -> dict[str, object]:
    """What counts: the report if it can be true, else nothing for a refused call, else what was reserved."""
    if usage is not None and min(usage.input_tokens, usage.output_tokens) >= 0 < max(
        usage.input_tokens, usage.output_tokens
    ):
        return {
            "usage": "reported",
            "prompt_tokens": usage.input_tokens,
            "completion_tokens": usage.output_tokens,
            "total_tokens": usage.input_tokens + usage.output_tokens,
            "estimated_cost_usd": None
            if price is None
            else cost_usd(price, input_tokens=usage.input_tokens, output_tokens=usage.output_tokens),
        }
    said = usage is not None and (usage.input_tokens or usage.output_tokens)
    if outcome == "refused" and not said:
        known = reservation.amount.cost_usd is not None
        return {"usage": "absent", "total_tokens": 0, "estimated_cost_usd": 0.0 if known else None}
    return {
        "usage": "invalid" if said else "absent",
        "total_tokens": reservation.amount.tokens,
        "estimated_cost_usd": reservation.amount.cost_usd,
    }
