"""Asking a model for the next experiment below a node."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.exceptions import AgentRunError

from ari.agent.briefing import EXPANSION_INSTRUCTIONS, expansion_briefing
from ari.agent.models import resolve_model
from ari.agent.models.offline.expansion import propose
from ari.agent.task import Proposal


def ask_for_proposal(facts: dict[str, Any], model: str, *, checkpoint: Path | None = None) -> Proposal:
    """Ask the model; one that fails to answer is replaced by the offline researcher for this one step.

    Args:
        facts: What the model is told: the experiment, the node, its ancestors and children, the ideas.
        model: Name of the model.
        checkpoint: The study.
    """
    purpose = f"expansion of {facts['node']['node_id']}"
    resolved = resolve_model(model, checkpoint=checkpoint, purpose=purpose)
    agent = Agent(resolved, instructions=EXPANSION_INSTRUCTIONS, output_type=Proposal)
    try:
        return asyncio.run(agent.run(expansion_briefing(facts))).output
    except AgentRunError:
        return propose(facts)
