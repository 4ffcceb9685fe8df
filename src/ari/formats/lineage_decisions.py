"""`lineage_decisions.jsonl`: the append-only log of the stagnation rule.

One record a line: `node_id` (null where a decision concerns no single node), `decision`, `rationale`, `ts`.
"""

from __future__ import annotations

from typing import Literal, get_args

from ari.formats.base import FormatModel

DecisionKind = Literal["continue", "switch_to_idea", "fanout", "terminate"]
"""What the rule may decide."""

DECISIONS: tuple[DecisionKind, ...] = get_args(DecisionKind)


class LineageDecision(FormatModel):
    """One decision."""

    node_id: str | None
    decision: DecisionKind
    rationale: str
    ts: str
    idea_index: int | None = None
