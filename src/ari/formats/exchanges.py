"""`records/<node>/exchanges.jsonl`: what was asked of a model and what it answered, one exchange a line.

Calls of the study itself stand in `records/study/exchanges.jsonl`. The request is kept as hashes of its parts
(its text is in the node's trace), the answer in full. No key, header or address with a user in it is written.
"""

from __future__ import annotations

from typing import Any

from pydantic import Field

from ari.formats.base import FormatModel


class RequestHashes(FormatModel):
    """Hashes of the parts of a request, free of dates and generated ids.

    Attributes:
        model: The model's name, as in the settings.
        settings: Of the settings of the model for this request.
        tools: Of the tools it is offered, and of how it is to answer.
        messages: One for each message, oldest first.
    """

    model: str
    settings: str
    tools: str
    messages: list[str]


class ExchangeError(FormatModel):
    """How a request ended that was not answered."""

    kind: str
    message: str
    cure: str = ""
    status: int | None = None
    body: Any = None


class Client(FormatModel):
    """What the agent library has to know of a model to ask it."""

    model_name: str
    system: str
    profile: dict[str, Any] = Field(default_factory=dict)


class Exchange(FormatModel):
    """One request and its end.

    Attributes:
        ts: When it ended.
        phase: What it is for; tells conversations apart.
        ordinal: Its place in its conversation, from 0.
        occurrence: How many equal requests came before it in its conversation.
        sha256: Of the whole request.
        request: Of its parts.
        client: In the first exchange of a conversation.
        reply: The answer as the agent library has it.
        error: Why there is none.
    """

    ts: str
    phase: str
    ordinal: int = Field(ge=0)
    occurrence: int = Field(default=0, ge=0)
    sha256: str
    request: RequestHashes
    client: Client | None = None
    reply: dict[str, Any] | None = None
    error: ExchangeError | None = None
