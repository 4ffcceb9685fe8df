"""`lineage_decisions.jsonl`: the append-only log of the stagnation rule.

One record a line: `node_id` (null where a decision concerns no single node), `decision`, `rationale`, `ts`.
"""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import Field

from ari.formats.base import FormatModel

DecisionKind = Literal["continue", "switch_to_idea", "fanout", "terminate"]
"""What the rule may decide."""

DECISIONS: tuple[DecisionKind, ...] = get_args(DecisionKind)


class ChildPlan(FormatModel):
    """A sub-experiment that a fanout begins.

    Attributes:
        name: Name of its checkpoint, which lies beside the parent's.
        idea_index: The idea of the parent that it inherits.
        nodes: Experiments it may make.
    """

    name: str
    idea_index: int
    nodes: int


class LineageDecision(FormatModel):
    """One decision.

    Attributes:
        node_id: The latest attempt when it was made.
        decision: What was decided.
        rationale: Why.
        ts: When.
        idea_index: The idea that is turned to.
        by: Who decided.
        children: The sub-experiments of a fanout.
    """

    node_id: str | None
    decision: DecisionKind
    rationale: str
    ts: str
    idea_index: int | None = None
    by: Literal["rule", "model"] = "rule"
    children: list[ChildPlan] = Field(default_factory=list)
