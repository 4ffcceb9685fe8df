"""What the proposals for both kinds of study share."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ari.agent.ideas import plan_of
from ari.agent.task import Proposal


def draft(idea: dict[str, Any], index: int) -> Proposal:
    """A node that takes up an idea of `idea.json`."""
    plan = plan_of(idea)
    summary = f"{idea['title']}: a hypothesis not tried yet."
    return Proposal(label="draft", summary=summary, plan=plan | {"idea_index": index})


def label_counts(facts: dict[str, Any]) -> Counter[str]:
    """How many children of each label the node has."""
    return Counter(child["label"] for child in facts["children"])


def tried_params(facts: dict[str, Any]) -> list[dict[str, Any]]:
    """The parameter values of every node planned so far."""
    return [entry["plan"]["params"] for entry in facts["tried"] if "params" in entry["plan"]]


def was_tried(facts: dict[str, Any], proposal: Proposal) -> bool:
    """Whether a node with the same label and plan exists anywhere in the tree."""
    return any(
        entry["label"] == proposal.label
        and all(entry["plan"].get(key) == value for key, value in proposal.plan.items())
        for entry in facts["tried"]
    )
