"""A fanout: several ideas of a study get a study of their own each, and what they find comes back.

The decision in the journal names the children, so that a killed study goes on with them. They run one after
another while no node of the parent does. What a child found becomes a node of the parent, which measures it
anew: a parent believes its children as little as it believes a model.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ari.checkpoint import Checkpoint
from ari.formats.lineage_decisions import ChildPlan
from ari.orchestrator.children import child_outputs

if TYPE_CHECKING:
    from ari.orchestrator.study import StudyResult

FROM_RUN = "from_run"
"""Key of a node's plan: the sub-experiment whose finding it measures."""


def plan_children(parent: Path, ideas: Sequence[int], *, left: int) -> list[ChildPlan]:
    """The children of a fanout.

    Args:
        parent: The parent's checkpoint.
        ideas: Positions of the ideas.
        left: Experiments that the parent has left; each child gets an equal share, and so does the parent.
    """
    share = max(1, left // (len(ideas) + 1))
    names = [path.name for path in child_outputs(parent, len(ideas))]
    return [
        ChildPlan(name=name, idea_index=idea, nodes=share) for name, idea in zip(names, ideas, strict=True)
    ]


def pending_children(checkpoint: Checkpoint, settled: Collection[str]) -> list[ChildPlan]:
    """Children of the latest fanout whose findings have not come back yet.

    Args:
        checkpoint: The parent.
        settled: Names of children that are known to have brought nothing.
    """
    fanouts = [d for d in checkpoint.state.decisions if d["decision"] == "fanout"]
    if not fanouts:
        return []
    back = {node.plan.get(FROM_RUN) for node in checkpoint.nodes.values()}
    children = [ChildPlan.model_validate(child) for child in fanouts[-1].get("children", ())]
    return [child for child in children if child.name not in back and child.name not in settled]


def plan_of_finding(child: ChildPlan, result: StudyResult) -> dict[str, Any] | None:
    """What a node of the parent makes of a child's best result; None where there is none to take over."""
    if result.best is None:
        return None
    found: dict[str, Any] = {FROM_RUN: child.name, "idea_index": child.idea_index}
    if result.formula is not None:
        formula = result.formula.split(" = ", 1)[1]
        return found | {
            "formula": formula,
            "refine": True,
            "summary": f"What the sub-experiment {child.name} found, measured here: {formula}.",
        }
    if result.parameters:
        summary = f"The best configuration of the sub-experiment {child.name}, measured here."
        return found | {"params": dict(result.parameters), "summary": summary}
    return None
