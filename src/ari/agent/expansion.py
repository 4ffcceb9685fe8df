"""Asking a model for the next experiment below a node."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from pydantic_ai import Agent, capture_run_messages
from pydantic_ai.exceptions import AgentRunError
from pydantic_ai.usage import UsageLimits

from ari.agent.briefing import expansion_briefing
from ari.agent.models import resolve_model
from ari.agent.models.offline.expansion import propose
from ari.agent.prompts import Prompts
from ari.agent.repairs import keep_raw_reply
from ari.agent.task import Proposal
from ari.formats.tree import normalise_label


def ask_for_proposal(
    facts: dict[str, Any],
    model: str,
    *,
    checkpoint: Path,
    for_node: str = "",
    repairs: int = 0,
) -> Proposal:
    """Ask the model; one that fails to answer is replaced by the offline researcher for this one step.

    Args:
        facts: What the model is told: the experiment, the node, its ancestors and children, the ideas.
        model: Name of the model.
        checkpoint: The study; a proposal that was no use is kept in the records of the parent.
        for_node: Id of the node that is to be.
        repairs: How many proposals that are no use the model may mend.

    Returns:
        The proposal. One of the offline researcher in another model's place says so in its summary.
    """
    parent = facts["node"]["node_id"]
    purpose = f"proposal of {for_node} below {parent}"
    resolved = resolve_model(model, checkpoint=checkpoint, purpose=purpose)
    instructions = Prompts.of(checkpoint).text("expansion")
    agent = Agent(resolved, instructions=instructions, output_type=Proposal, retries=repairs)
    limits = UsageLimits(request_limit=1 + repairs)

    async def ask() -> Proposal:
        async with resolved:
            return (await agent.run(expansion_briefing(facts), usage_limits=limits)).output

    with capture_run_messages() as messages:
        try:
            return _settled(asyncio.run(ask()), facts)
        except AgentRunError as error:
            reason = str(error)
    shown = keep_raw_reply(messages, checkpoint / "records" / parent / f"raw_reply_{for_node}.txt")
    reason = f"its last reply was {shown!r}" if shown else reason
    proposal = propose(facts)
    summary = f"{proposal.summary} (Proposed by rule, for {model} gave no proposal: {reason})"
    return proposal.model_copy(update={"summary": summary})


def _settled(proposal: Proposal, facts: dict[str, Any]) -> Proposal:
    """The proposal with a label as it is spelt here, and only with an idea that it was offered."""
    plan = dict(proposal.plan)
    wanted = facts.get("idea_index")
    if wanted is not None:
        plan["idea_index"] = wanted
    elif plan.get("idea_index") != facts.get("next_idea_index"):
        plan.pop("idea_index", None)
    known = normalise_label(proposal.label)
    label = proposal.label if known == "other" else known
    return proposal.model_copy(update={"plan": plan, "label": label})
