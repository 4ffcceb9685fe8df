"""The `evaluator` skill: criteria and measurement of a node; contract, gate and review of a study."""

from __future__ import annotations

from typing import Any

from ari.evaluation.evaluator import evaluate_node as measure
from ari.skills.boundary import SkillServer, tool
from ari.skills.session import NodeSession
from ari.skills.stage import StageSession, stage_tools


def build(session: NodeSession | StageSession | None) -> SkillServer:
    """The server of the skill: for a node its two tools, for a whole study the stage tools, else both."""
    tools = [] if isinstance(session, NodeSession) else stage_tools("evaluator", session)
    if not isinstance(session, StageSession):
        node = {"session": session}
        tools += [tool(describe_criteria, given=node, read_only=True), tool(evaluate_node, given=node)]
    return SkillServer("evaluator", tools)


def describe_criteria(session: NodeSession) -> dict[str, Any]:
    """Tell which metric the node is judged by, in which direction, and which checks it must pass."""
    experiment = session.task.experiment
    return {
        "primary_metric": experiment.primary_metric,
        "higher_is_better": session.task.higher_is_better,
        "correctness": experiment.correctness,
        "ceiling": experiment.ceiling.model_dump() if experiment.ceiling else None,
    }


def evaluate_node(session: NodeSession) -> dict[str, Any]:
    """Measure the node from its folder and run records: status, metrics, score, provenance."""
    return measure(session.task).model_dump(mode="json")
