"""The stagnation rule: when the search turns to another idea, and when it ends.

The rule is deterministic. It looks at the best score after each of the last `window` attempts, in node
order; when that has moved by less than `threshold`, the search first turns to the strongest idea that has
not been tried, at most `max_switches` times; with no idea left it ends. Where a model is configured it is
asked before the end (`ari.agent.lineage`): it may let the search go on, name an idea, or give several ideas
a study of their own. Every decision is recorded in `lineage_decisions.jsonl`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal, NamedTuple

from ari.orchestrator.bfts import SearchNode, SearchView

Decision = Literal["continue", "switch_to_idea", "fanout", "terminate"]


@dataclass(frozen=True)
class StagnationRule:
    """The numbers of the rule.

    Attributes:
        window: How many of the latest attempts are looked at.
        threshold: The smallest spread (max − min) of the best score that counts as movement.
        min_nodes: Attempts needed since the last switch before the rule speaks.
        max_switches: How often the search may turn to another idea.
    """

    window: int = 5
    threshold: float = 0.01
    min_nodes: int = 3
    max_switches: int = 5


class LineageDecision(NamedTuple):
    """What was decided at a node, and why.

    Attributes:
        node_id: The latest attempt.
        decision: What was decided.
        rationale: Why.
        idea_index: The idea that is turned to.
        by: Who decided.
        idea_indices: The ideas that get a study of their own.
    """

    node_id: str
    decision: Decision
    rationale: str
    idea_index: int | None = None
    by: Literal["rule", "model"] = "rule"
    idea_indices: tuple[int, ...] = ()


def decide(
    view: SearchView,
    rule: StagnationRule,
    *,
    ideas: int,
    used_ideas: Sequence[int],
    switched_at: Sequence[int],
    quiet_since: int = -1,
) -> LineageDecision | None:
    """Apply the rule.

    Args:
        view: The tree as it may be seen now.
        rule: The numbers of the rule.
        ideas: How many ideas there are, strongest first.
        used_ideas: Indices of the ideas that drafts have been made from.
        switched_at: Node orders at which the search turned to another idea before.
        quiet_since: Node order at which a model last let the search go on; only later attempts count.

    Returns:
        The decision, or None while the rule has nothing to say.
    """
    since = max([quiet_since, *switched_at])
    attempts = view.attempts
    best_after = list(accumulate((node.score for node in attempts), max))
    recent = [node for node in attempts if node.order > since]
    if len(recent) < rule.min_nodes:
        return None
    window = recent[-rule.window :]
    levels = best_after[-len(window) :]
    spread = max(levels) - min(levels)
    if spread >= rule.threshold:
        return None
    unused = [index for index in range(ideas) if index not in used_ideas]
    return _react(window, spread, rule, unused, len(switched_at))


def _react(
    window: Sequence[SearchNode],
    spread: float,
    rule: StagnationRule,
    unused: Sequence[int],
    switches: int,
) -> LineageDecision | None:
    node = window[-1]
    finding = (
        f"the last {len(window)} attempts moved the best score by {spread:.4g}, less than {rule.threshold:g}"
    )
    if unused and switches < rule.max_switches:
        return LineageDecision(
            node.id, "switch_to_idea", f"{finding}; turning to idea {unused[0] + 1}", unused[0]
        )
    if len(window) < rule.window:
        return None
    why = "no idea is left untried" if not unused else f"the search has already turned {switches} times"
    return LineageDecision(node.id, "terminate", f"{finding}, and {why}")
