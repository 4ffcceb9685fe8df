"""How often a model may mend a reply that is no use, and what is kept of the one it could not mend.

A reply is unusable when it holds no call that could be made: prose where work is asked for, nothing at all, a
refusal, JSON that is cut off, an unknown tool, arguments that do not fit. A tool that refuses sensible
arguments is an answer like any other, but a model that earns nothing else is going in circles too.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    RetryFeedbackPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
)

from ari.agent.models.call_reader import is_from_text

RAW_REPLY = "raw_reply.txt"
"""Below `records/<node_id>/`: the last reply that was no use, as it came."""

REFUSALS = 5
"""Replies in a row whose calls the tools themselves refused."""

SHOWN = 200


class Streak(NamedTuple):
    """Replies since the last one that was of use.

    Attributes:
        unusable: Replies that held no call that could be made.
        refused: Replies whose every call was refused by its tool.
    """

    unusable: int = 0
    refused: int = 0

    def exhausted(self, repairs: int) -> bool:
        """Whether the model has had its chances."""
        return self.unusable > repairs or self.refused > REFUSALS


def streak(messages: Sequence[ModelMessage]) -> Streak:
    """Count the latest replies that were of no use.

    Args:
        messages: The conversation, the answer that is about to be sent included.
    """
    current = Streak()
    for message in messages:
        if isinstance(message, ModelRequest):
            current = _after(current, message)
    return current


def _after(current: Streak, message: ModelRequest) -> Streak:
    returns = [part for part in message.parts if isinstance(part, ToolReturnPart)]
    feedback = any(isinstance(part, RetryFeedbackPart) for part in message.parts)
    if any(part.outcome == "success" for part in returns):
        return Streak()
    own = [part for part in returns if part.retry is None or part.retry.cause == "model_retry"]
    if feedback or (returns and not own):
        return current._replace(unusable=current.unusable + 1)
    return current._replace(refused=current.refused + 1) if own else current


def raw_text(response: ModelResponse) -> str:
    """A reply as it came: its words, its calls with their arguments as they were written."""
    lines = []
    for part in response.parts:
        if isinstance(part, (TextPart, ThinkingPart)):
            lines.append(part.content)
        elif isinstance(part, ToolCallPart) and not is_from_text(response):
            arguments = part.args if isinstance(part.args, str) else part.args_as_json_str()
            lines.append(f"{part.tool_name}({arguments})")
    return "\n".join(lines)


def last_reply(messages: Sequence[ModelMessage]) -> ModelResponse | None:
    """The latest reply of a conversation."""
    return next((m for m in reversed(messages) if isinstance(m, ModelResponse)), None)


def keep_raw_reply(messages: Sequence[ModelMessage], path: Path) -> str:
    """Write the latest reply to a file.

    Args:
        messages: The conversation.
        path: The file; replaced.

    Returns:
        The beginning of the reply in one line, for a message; empty when there was no reply.
    """
    reply = last_reply(messages)
    if reply is None:
        return ""
    text = raw_text(reply)
    path.write_text(text, encoding="utf-8", errors="replace")
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else line[:SHOWN] + "…"
