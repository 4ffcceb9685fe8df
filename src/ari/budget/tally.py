"""What has been spent, folded from the entries of the ledger; no file is touched here.

A reservation counts from the moment it is written: with what was reserved until it is settled, with what was
reported afterwards. One that is never settled counts as reserved for good. A call is counted once for each
time it goes out, answered or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ari.formats.cost_trace import Price

EXHAUSTED = "budget exhausted"
"""How a run ends whose budget is spent; its reason begins with these words."""


@dataclass(frozen=True)
class Limits:
    """What may be spent; None where there is no limit.

    Attributes:
        max_calls: Calls of models.
        max_tokens: Tokens, of requests and answers together.
        max_cost_usd: US dollars.
        max_wall_s: Seconds of the search, over all its processes.
    """

    max_calls: int | None = None
    max_tokens: int | None = None
    max_cost_usd: float | None = None
    max_wall_s: float | None = None

    @property
    def any(self) -> bool:
        """Whether anything is limited."""
        return any(limit is not None for limit in vars(self).values())


@dataclass(frozen=True)
class Amount:
    """What one call takes at most, or has taken.

    Attributes:
        tokens: Of request and answer.
        cost_usd: None where the price is not known.
    """

    tokens: int
    cost_usd: float | None


@dataclass(frozen=True)
class OpenCall:
    """A call that has been reserved and not settled, and the process that made it."""

    amount: Amount
    pid: int
    process_start: int | None
    host: str


@dataclass(frozen=True)
class ChildSum:
    """What a sub-experiment has spent so far."""

    calls: int = 0
    amount: Amount = Amount(0, 0.0)


@dataclass
class Tally:
    """The sums of a ledger.

    Attributes:
        limits: Those in force.
        prices: Prices that the user has set.
        calls: Calls reserved.
        settled: Reservation to what it took.
        open: Reservation to what it may still take.
        children: Sub-experiment to what it has spent; part of the sums.
        unpriced: Models of unknown price that were called.
        unreported: Calls whose use the service did not say, or said wrongly; they count as reserved.
        wall: Process to its seconds.
    """

    limits: Limits = field(default_factory=Limits)
    prices: dict[str, Price] = field(default_factory=dict)
    calls: int = 0
    settled: dict[str, Amount] = field(default_factory=dict)
    open: dict[str, OpenCall] = field(default_factory=dict)
    children: dict[str, ChildSum] = field(default_factory=dict)
    unpriced: set[str] = field(default_factory=set)
    unreported: set[str] = field(default_factory=set)
    wall: dict[str, float] = field(default_factory=dict)
    _tokens: int = 0
    _cost: float = 0.0

    @property
    def tokens(self) -> int:
        """Tokens spent or reserved."""
        return self._tokens + sum(call.amount.tokens for call in self.open.values())

    @property
    def cost_usd(self) -> float:
        """US dollars spent or reserved, as far as prices are known."""
        return self._cost + sum(call.amount.cost_usd or 0.0 for call in self.open.values())

    @property
    def wall_s(self) -> float:
        """Seconds of the search, over all its processes."""
        return sum(self.wall.values())

    def apply(self, entries: Iterable[Mapping[str, Any]]) -> None:
        """Fold further entries in."""
        for entry in entries:
            match entry.get("event"):
                case "limits":
                    self._limits(entry)
                case "reserved":
                    self._reserved(entry)
                case "settled":
                    self._settled(entry)
                case "child":
                    self._child(entry)
                case "time":
                    session = entry["session"]
                    self.wall[session] = max(self.wall.get(session, 0.0), entry["seconds"])
                case None:
                    self.calls += 1
                    self._add(Amount(entry.get("total_tokens") or 0, entry.get("estimated_cost_usd")), 1)

    def _limits(self, entry: Mapping[str, Any]) -> None:
        self.limits = Limits(**{name: entry.get(name) for name in vars(Limits())})
        self.prices = {name: Price.model_validate(row) for name, row in entry.get("prices", {}).items()}

    def _reserved(self, entry: Mapping[str, Any]) -> None:
        amount = Amount(entry["total_tokens"], entry.get("estimated_cost_usd"))
        self.calls += 1
        self.open[entry["id"]] = OpenCall(
            amount, entry["pid"], entry.get("process_start"), entry.get("host", "")
        )
        if amount.cost_usd is None:
            self.unpriced.add(entry["model"])

    def _settled(self, entry: Mapping[str, Any]) -> None:
        name, amount = entry["id"], Amount(entry["total_tokens"], entry.get("estimated_cost_usd"))
        self.open.pop(name, None)
        if name in self.settled:
            self._add(self.settled[name], -1)
        self._add(amount, 1)
        self.settled[name] = amount
        if entry.get("usage", "reported") == "reported":
            self.unreported.discard(name)
        else:
            self.unreported.add(name)

    def _child(self, entry: Mapping[str, Any]) -> None:
        before = self.children.get(entry["name"], ChildSum())
        cost = entry.get("estimated_cost_usd", 0.0)
        now = ChildSum(entry["calls"], Amount(entry["total_tokens"], cost))
        self.calls += now.calls - before.calls
        self._add(before.amount, -1)
        self._add(now.amount, 1)
        self.children[entry["name"]] = now

    def allowance(self, child: str) -> dict[str, Any]:
        """What a sub-experiment may spend altogether, by the names of the limits that there are."""
        limits, noted = self.limits, self.children.get(child, ChildSum())
        left: dict[str, Any] = {}
        if limits.max_calls is not None:
            left["max_calls"] = max(1, limits.max_calls - self.calls + noted.calls)
        if limits.max_tokens is not None:
            left["max_tokens"] = max(1, limits.max_tokens - self.tokens + noted.amount.tokens)
        if limits.max_cost_usd is not None:
            cost = limits.max_cost_usd - self.cost_usd + (noted.amount.cost_usd or 0.0)
            left["max_cost_usd"] = max(0.0, cost)
        return left

    def _add(self, amount: Amount, sign: int) -> None:
        self._tokens += sign * amount.tokens
        self._cost += sign * (amount.cost_usd or 0.0)

    def shortage(self, ask: Amount | None = None, *, without: Iterable[str] = ()) -> str | None:
        """Say what is lacking for one more call.

        Args:
            ask: What the call may take; None: whether anything is spent to the end already.
            without: Open calls to leave out of account.

        Returns:
            What is spent, in words; None when the call may be made.
        """
        left_out = [self.open[name].amount for name in without if name in self.open]
        tokens = self.tokens - sum(amount.tokens for amount in left_out)
        cost = self.cost_usd - sum(amount.cost_usd or 0.0 for amount in left_out)
        limits = self.limits
        if limits.max_calls is not None and self.calls >= limits.max_calls:
            return f"{self.calls} of {limits.max_calls} calls are spent"
        if limits.max_wall_s is not None and self.wall_s >= limits.max_wall_s:
            return f"{self.wall_s:.0f} of {limits.max_wall_s:g} s of wall time are spent"
        if limits.max_tokens is not None and tokens + (ask.tokens if ask else 1) > limits.max_tokens:
            more = f", and the next call may take {ask.tokens}" if ask else ""
            return f"{tokens} of {limits.max_tokens} tokens are spent{more}"
        if limits.max_cost_usd is not None:
            price = (ask.cost_usd or 0.0) if ask else 0.0
            if cost + price > limits.max_cost_usd or (price == 0.0 and cost >= limits.max_cost_usd > 0):
                more = f", and the next call may cost {price:.4f}" if ask else ""
                return f"{cost:.4f} of {limits.max_cost_usd:g} US dollars are spent{more}"
        return None
