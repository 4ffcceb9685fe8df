"""How the offline researcher decides what to try next below a node."""

from __future__ import annotations

from typing import Any

from ari.agent.models.offline.code_expansion import propose_code
from ari.agent.models.offline.command_expansion import propose_command
from ari.agent.models.offline.proposals import draft
from ari.agent.models.offline.symbolic_expansion import propose_symbolic
from ari.agent.task import Proposal


def propose(facts: dict[str, Any]) -> Proposal:
    """The next experiment below a node, from the node's result and from what has been tried already."""
    if facts.get("idea") is not None:
        return draft(facts["idea"], facts["idea_index"])
    if facts["experiment"]["kind"] == "symbolic":
        return propose_symbolic(facts)
    if facts["experiment"]["kind"] == "code":
        return propose_code(facts)
    return propose_command(facts)
