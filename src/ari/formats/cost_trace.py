"""`cost_trace.jsonl`: what a study may spend, what it reserved and what it spent, one entry a line.

    limits     what may be spent, and the prices that were set; written when a run starts or is resumed
    reserved   a call is about to be made; counts at once, and for good if no `settled` ever follows
    settled    what a call really took, by the `id` of its reservation; a later one replaces an earlier one
    child      what a sub-experiment has spent so far by its own ledger; the latest counts
    time       wall time of one process of the search so far; the largest counts

A line of another program without `event` is one finished call (`total_tokens`, `estimated_cost_usd`).
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, ValidationError

from ari.formats.base import FiniteNumber, FormatModel, Problem, translate


class Price(FormatModel):
    """What a model charges, in US dollars per million tokens.

    Attributes:
        input: For tokens of the request.
        output: For tokens of the answer.
        long_from: Tokens of the request from which the prices for long requests hold.
        long_input: The same for long requests.
        long_output: The same for long requests.
    """

    input: FiniteNumber = Field(ge=0)
    output: FiniteNumber = Field(ge=0)
    long_from: int | None = None
    long_input: FiniteNumber | None = None
    long_output: FiniteNumber | None = None


class CostEntry(FormatModel):
    """What every entry carries."""

    ts: str = Field(min_length=1)


class LimitsSet(CostEntry):
    """What may be spent; null where there is no limit."""

    event: Literal["limits"]
    max_calls: int | None = None
    max_tokens: int | None = None
    max_cost_usd: FiniteNumber | None = None
    max_wall_s: FiniteNumber | None = None
    prices: dict[str, Price] = Field(default_factory=dict)


class CallReserved(CostEntry):
    """A call is about to be made.

    Attributes:
        id: Identity of the reservation.
        node_id: The node; null for calls of the study itself.
        phase: What the call is for.
        model: Whom it goes to.
        total_tokens: The most it is expected to take.
        estimated_cost_usd: The most it is expected to cost; null where the price is not known.
        pid: The process.
        process_start: Its start in clock ticks since boot.
        host: Its machine.
    """

    event: Literal["reserved"]
    id: str = Field(min_length=1)
    node_id: str | None = None
    phase: str = ""
    model: str
    total_tokens: int = Field(ge=0)
    estimated_cost_usd: FiniteNumber | None = None
    pid: int
    process_start: int | None = None
    host: str = ""


class CallSettled(CostEntry):
    """What a call took.

    Attributes:
        id: The reservation.
        outcome: `answered`; `refused` by the service, which then charges nothing; `lost` when nobody knows.
        usage: Whether the service said what it used; else the reserved amount counts.
        prompt_tokens: Tokens of the request, where reported.
        completion_tokens: Tokens of the answer, where reported.
        total_tokens: What counts.
        estimated_cost_usd: What counts; null where the price is not known.
        latency_ms: How long it took.
    """

    event: Literal["settled"]
    id: str = Field(min_length=1)
    outcome: Literal["answered", "refused", "lost"] = "answered"
    usage: Literal["reported", "absent", "invalid"] = "reported"
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int = Field(ge=0)
    estimated_cost_usd: FiniteNumber | None = None
    latency_ms: FiniteNumber | None = None


class ChildSpent(CostEntry):
    """What a sub-experiment, which spends from this budget, has spent so far."""

    event: Literal["child"]
    name: str = Field(min_length=1)
    calls: int = Field(ge=0)
    total_tokens: int = Field(ge=0)
    estimated_cost_usd: FiniteNumber = 0.0


class WallTime(CostEntry):
    """Wall time of one process of the search."""

    event: Literal["time"]
    session: str = Field(min_length=1)
    seconds: FiniteNumber = Field(ge=0)


class ForeignCall(FormatModel):
    """One finished call as another program notes it."""

    timestamp: str
    model: str | None = None
    total_tokens: int | None = None
    estimated_cost_usd: FiniteNumber | None = None


ENTRY_MODELS: dict[str, type[CostEntry]] = {
    "limits": LimitsSet,
    "reserved": CallReserved,
    "settled": CallSettled,
    "child": ChildSpent,
    "time": WallTime,
}
"""Name of the entry to its model."""


def cost_problems(document: Any) -> list[Problem]:  # noqa: ANN401 - a parsed line, not yet validated
    """Say what is wrong with one line.

    Args:
        document: The parsed line.

    Returns:
        The faults; empty for a sound entry.
    """
    if not isinstance(document, dict):
        return [Problem("schema.type", "", "an entry is a JSON object")]
    name = document.get("event")
    if name is not None and name not in ENTRY_MODELS:
        return [Problem("schema.enum", "/event", f"an entry is one of {', '.join(ENTRY_MODELS)}")]
    try:
        (ForeignCall if name is None else ENTRY_MODELS[name]).model_validate(document)
    except ValidationError as error:
        return translate(error, document)
    return []
