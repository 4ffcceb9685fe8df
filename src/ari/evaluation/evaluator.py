"""The evaluator of nodes: one question (`what was measured?`), answered per kind of experiment."""

from __future__ import annotations

from pathlib import Path

from ari.agent.task import NodeOutcome, NodeTask


def evaluate_node(task: NodeTask) -> NodeOutcome:
    """Measure a node whose agent loop has ended.

    Reads the node's folder and run records; nothing the agent said enters the result.
    """
    checkpoint = Path(task.checkpoint)
    work_dir = checkpoint / "experiments" / task.node_id
    if task.experiment.kind == "symbolic":
        from ari.evaluation.symbolic import evaluate_symbolic_node

        return evaluate_symbolic_node(task, checkpoint, work_dir)
    from ari.evaluation.command import evaluate_command_node
    from ari.execution.records import load

    records = load(checkpoint / "records" / task.node_id, node_id=task.node_id).runs
    outcome = evaluate_command_node(task, work_dir, records, reference=_root_value(task))
    return (
        outcome.model_copy(update={"sterile": False})
        if outcome.status == "errored"
        else _mark_sterile(task, outcome)
    )


def _root_value(task: NodeTask) -> float | None:
    metric = task.experiment.primary_metric
    return next((a.metrics[metric] for a in task.ancestors if a.metrics.get(metric) is not None), None)


def _mark_sterile(task: NodeTask, outcome: NodeOutcome) -> NodeOutcome:
    """A configuration that equals the parent's measures nothing new, unless repeating was its purpose."""
    parent = task.parent
    if parent is None or task.label == "validation" or parent.status == "errored":
        return outcome
    if parent.submission.get("params") != outcome.submission.get("params"):
        return outcome
    return outcome.model_copy(update={"sterile": True, "score": 0.0, "has_real_data": False})
