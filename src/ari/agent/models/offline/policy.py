"""How a rule-based researcher is written: a generator that asks for tool calls and receives their results.

A policy is a function of the briefing that yields `Call`s and returns its closing words:

    def policy(facts):
        profile = yield Call("describe_data")
        if profile["rows"] < 10:
            ...
        return "done"

A model keeps no state between requests, so the policy is replayed against the conversation: the results
in the history are sent into a fresh generator, and what it asks for next is the answer. A changed result
therefore changes everything that follows from it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

Result = dict[str, Any]
"""A tool's answer; an `error` key says that the call failed."""

Policy = Callable[[dict[str, Any]], Generator["Call", Result, str]]
Steps = Generator["Call", Result, str]


@dataclass(frozen=True)
class Call:
    """A tool call that a policy asks for."""

    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Finish:
    """A policy's closing words."""

    text: str


def next_action(policy: Policy, facts: dict[str, Any], results: Sequence[Result]) -> Call | Finish:
    """Replay a policy against the results so far and give what it wants next."""
    steps = policy(facts)
    try:
        action = next(steps)
        for result in results:
            action = steps.send(result)
    except StopIteration as stop:
        return Finish(stop.value)
    return action
