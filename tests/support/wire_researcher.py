"""The offline researcher as a model service: what a loopback server answers to drive a study."""

from __future__ import annotations

import json
from typing import Any

from ari.agent.briefing import read_facts
from ari.agent.models.offline.command import command_policy
from ari.agent.models.offline.expansion import propose
from ari.agent.models.offline.policy import Finish, next_action
from ari.agent.models.offline.symbolic import symbolic_policy
from ari.testing import Received, Reply

POLICIES = {"command": command_policy, "symbolic": symbolic_policy}
MODEL = "openai/wire-researcher"


def answer(received: Received) -> Reply:
    """The next tool call, proposal or closing words; of anything else it knows nothing."""
    messages = received.body["messages"]
    try:
        facts = read_facts(next(text(m) for m in messages if m["role"] == "user"))
    except ValueError:
        return Reply.error(400, "this is not what I am for")
    if facts["kind"] not in ("node", "expansion"):
        return Reply.error(400, "this is not what I am for")
    if facts["kind"] == "expansion":
        return Reply.tool(received.tools[0], **propose(facts).model_dump(mode="json"))
    results = [as_result(text(m)) for m in messages if m["role"] == "tool"]
    action = next_action(POLICIES[facts["experiment"]["kind"]], facts, results)
    if isinstance(action, Finish):
        return Reply(action.text)
    return Reply.tool(action.tool, **action.arguments)


def text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def as_result(content: str) -> dict[str, Any]:
    try:
        document = json.loads(content)
    except ValueError:
        return {"text": content}
    return document if isinstance(document, dict) else {"value": document}
