"""What a scripted model says, good habits and bad ones, and the script that hands it out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ari.errors import AriError

Asked = TypeVar("Asked")


class ScriptEndedError(AriError, RuntimeError):
    """A scripted model was asked more often than its script has replies."""


@dataclass(frozen=True)
class Call:
    """A tool call as a model writes it.

    Attributes:
        tool: Name of the tool, known or not.
        arguments: A mapping, or the raw text in its place, which need not be JSON.
    """

    tool: str
    arguments: Mapping[str, Any] | str


@dataclass(frozen=True)
class Reply:
    """One reply of a model or of its server.

    Attributes:
        text: Prose, or anything else that is no native tool call.
        calls: Native tool calls.
        refusal: Words of a refusal, in the field that the wire format has for it.
        finish_reason: As sent; None: what fits the rest.
        status: HTTP status; others than 200 are errors with `text` as their message.
        retry_after: Value of the header `Retry-After`.
        raw: A body to be sent as it is, in place of all of the above.
        delay_s: Seconds of silence before the first byte.
        cut_after: Characters of the body (of a stream: pieces) after which the connection breaks.
        silent_cut: A stream that was cut ends as if it were whole, only without its last pieces.
    """

    text: str = ""
    calls: tuple[Call, ...] = ()
    refusal: str = ""
    finish_reason: str | None = None
    status: int = 200
    retry_after: str | None = None
    raw: str | None = None
    delay_s: float = 0.0
    cut_after: int | None = None
    silent_cut: bool = False

    @classmethod
    def tool(cls, tool: str, **arguments: Any) -> Reply:  # noqa: ANN401 - any JSON
        """A reply that is one tool call."""
        return cls(calls=(Call(tool, arguments),))

    @classmethod
    def error(cls, status: int, message: str = "", *, retry_after: str | None = None) -> Reply:
        """An HTTP error."""
        return cls(status=status, text=message or f"status {status}", retry_after=retry_after)


Scripted = Reply | str | Mapping[str, Any]
"""A reply; a text stands for prose, a mapping for the fields of a `Reply`."""


def as_reply(scripted: Scripted) -> Reply:
    """The reply that an entry of a script stands for."""
    if isinstance(scripted, Reply):
        return scripted
    return Reply(text=scripted) if isinstance(scripted, str) else Reply(**scripted)


class Script(Generic[Asked]):
    """Hands out replies: one after another from a list (threads may ask), or chosen by what was asked.

    Args:
        replies: Replies in order (`itertools.repeat` gives one for ever), or a function from what was asked.
    """

    def __init__(self, replies: Iterable[Scripted] | Callable[[Asked], Scripted]) -> None:
        self._choose = replies if callable(replies) else None
        self._replies: Iterator[Scripted] = iter(()) if callable(replies) else iter(replies)
        self._lock = threading.Lock()
        self._count = 0

    def reply(self, asked: Asked) -> Reply:
        """The next reply.

        Raises:
            ScriptEndedError: When a list has been used up.
        """
        if self._choose is not None:
            return as_reply(self._choose(asked))
        with self._lock:
            for scripted in self._replies:
                self._count += 1
                return as_reply(scripted)
        raise ScriptEndedError(
            f"the script has ended: it holds {self._count} replies and one more was asked for",
            cure="Give it more replies, or itertools.repeat(reply) for the same one for ever.",
        )
