"""The `evaluator` skill: what a node is judged by and its measurement; contract and gate of a study."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp.server import MCPServer

from ari.evaluation.evaluator import evaluate_node as measure
from ari.skills.stage import StageSession, add_stage_tools

if TYPE_CHECKING:
    from ari.skills.session import NodeSession


def build(session: NodeSession | StageSession) -> MCPServer:
    """The server of the skill, bound to one node, or to a whole study."""
    server = MCPServer("ari-skill-evaluator", log_level="WARNING")
    if isinstance(session, StageSession):
        add_stage_tools(server, "evaluator", session)
        return server

    @server.tool()
    def describe_criteria() -> dict[str, Any]:
        """Tell which metric the node is judged by, in which direction, and which checks it must pass."""
        experiment = session.task.experiment
        return {
            "primary_metric": experiment.primary_metric,
            "higher_is_better": session.task.higher_is_better,
            "correctness": experiment.correctness,
            "ceiling": experiment.ceiling.model_dump() if experiment.ceiling else None,
        }

    @server.tool()
    def evaluate_node() -> dict[str, Any]:
        """Measure the node from its folder and run records: status, metrics, score, provenance."""
        return measure(session.task).model_dump(mode="json")

    return server
