"""Asking a model how a search goes on that the stagnation rule would end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, Field, StringConstraints

from ari.agent.asking import ask
from ari.agent.prompts import Prompts
from ari.formats.jsonio import strict_dumps
from ari.formats.lineage_decisions import DecisionKind

if TYPE_CHECKING:
    from pathlib import Path

FEWEST_TO_FAN_OUT, MOST_TO_FAN_OUT = 2, 3

Reason = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2_000)]


class Advice(BaseModel):
    """What the model advises."""

    decision: DecisionKind
    rationale: Reason = Field(description="One or two sentences.")
    idea_index: int | None = Field(None, description="For switch_to_idea: position of the idea, from 0.")
    idea_indices: list[int] = Field([], description="For fanout: positions of two or three ideas.")


def ask_for_advice(
    facts: Mapping[str, Any], model: str, *, checkpoint: Path, options: Sequence[DecisionKind]
) -> Advice:
    """Ask the model.

    Args:
        facts: The tree as it may be seen, the ideas, and what the rule found.
        model: Name of the model.
        checkpoint: The study.
        options: What may be decided.

    Raises:
        NoAnswerError: When there is no usable answer.
    """
    from ari.agent.models import resolve_model

    ideas = len(facts["ideas"])

    def fault(advice: Advice) -> str:
        return fault_of(advice, ideas=ideas, options=options)

    block = strict_dumps({**facts, "options": list(options)}, indent=True).decode()
    return ask(
        resolve_model(model, checkpoint=checkpoint, purpose=f"lineage after {facts['node_id']}"),
        instructions=Prompts.of(checkpoint).text("lineage"),
        message=f"The search stands still: {facts['finding']}.\n\n```json\n{block}\n```",
        answer=Advice,
        check=fault,
    )


def fault_of(advice: Advice, *, ideas: int, options: Sequence[DecisionKind]) -> str:
    """What is wrong with an advice; empty where it can be followed."""
    if advice.decision not in options:
        return f"{advice.decision} is not possible here; choose from {', '.join(options)}"
    if advice.decision == "switch_to_idea" and not _known(advice.idea_index, ideas):
        return f"idea_index is {advice.idea_index}; ideas are counted from 0 to {ideas - 1}"
    if advice.decision == "fanout":
        chosen = advice.idea_indices
        if len(set(chosen)) != len(chosen) or not FEWEST_TO_FAN_OUT <= len(chosen) <= MOST_TO_FAN_OUT:
            return (
                f"idea_indices must be {FEWEST_TO_FAN_OUT} or {MOST_TO_FAN_OUT} different ideas, not {chosen}"
            )
        if not all(_known(index, ideas) for index in chosen):
            return f"idea_indices are {chosen}; ideas are counted from 0 to {ideas - 1}"
    return ""


def _known(index: int | None, ideas: int) -> bool:
    return index is not None and 0 <= index < ideas
