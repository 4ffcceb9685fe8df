"""Asking a model for the next experiment below a node."""

from __future__ import annotations

import asyncio
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.exceptions import AgentRunError

from ari.agent.briefing import EXPANSION_INSTRUCTIONS, expansion_briefing
from ari.agent.models import resolve_model
from ari.agent.models.offline.expansion import propose
from ari.agent.task import Proposal


def ask_for_proposal(facts: dict[str, Any], model: str) -> Proposal:
    """Ask the model; one that fails to answer is replaced by the offline researcher for this one step.

    Args:
        facts: What the model is told: the experiment, the node, its ancestors and children, the ideas.
        model: Name of the model.
    """
    agent = Agent(resolve_model(model), instructions=EXPANSION_INSTRUCTIONS, output_type=Proposal)
    try:
        return asyncio.run(agent.run(expansion_briefing(facts))).output
    except AgentRunError:
        return propose(facts)
