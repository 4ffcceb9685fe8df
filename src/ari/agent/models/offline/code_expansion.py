"""What is tried next below a node that wrote its own programs, when the model gives no usable proposal.

The rules know nothing of the program, so they choose the purpose of the next node and leave its content to
the model that carries it out.
"""

from __future__ import annotations

from typing import Any

from ari.agent.models.offline.proposals import draft, label_counts
from ari.agent.task import Proposal

ENOUGH_IMPROVEMENTS = 2
"""Attempts to better a node before it is tested."""


def propose_code(facts: dict[str, Any]) -> Proposal:
    """A repair after a failure; else two improvements, a validation, an ablation, and the next idea."""
    node, counts = facts["node"], label_counts(facts)
    if node["status"] == "errored":
        return Proposal(label="debug", summary="The parent failed; find the cause and mend it.")
    if counts["improve"] < ENOUGH_IMPROVEMENTS:
        return Proposal(
            label="improve",
            summary="Better the primary metric by one change that has not been tried yet.",
            plan={"attempt": counts["improve"] + 1},
        )
    if not counts["validation"] and node["label"] != "validation":
        return Proposal(
            label="validation", summary="Repeat the parent under another seed or size, and more often."
        )
    if not counts["ablation"] and node["label"] != "ablation":
        return Proposal(
            label="ablation",
            summary="Take out the part of the parent that its last improvement added.",
            plan={"part": "the last improvement"},
        )
    if facts.get("next_idea"):
        return draft(facts["next_idea"], facts["next_idea_index"])
    return Proposal(
        label="improve",
        summary="Better the primary metric by a change that has not been tried yet.",
        plan={"attempt": counts["improve"] + 1},
    )
