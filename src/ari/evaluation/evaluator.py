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
    from ari.evaluation.code import changed_nothing, evaluate_code_node
    from ari.evaluation.command import evaluate_command_node
    from ari.execution.records import load

    records = load(checkpoint / "records" / task.node_id, node_id=task.node_id).runs
    if task.experiment.kind == "code":
        outcome = evaluate_code_node(task, work_dir, records, reference=_root_value(task))
        same = changed_nothing(task, records, outcome.submission.get("command"))
    else:
        outcome = evaluate_command_node(task, work_dir, records, reference=_root_value(task))
        same = task.parent is not None and task.parent.submission.get("params") == outcome.submission.get(
            "params"
        )
    return _mark_sterile(task, outcome) if same else outcome


def node_values(
    kind: str, checkpoint: Path, node_id: str, *, work_dir: str | None = None
) -> dict[str, list[float]]:
    """Every value that counts of each metric of a node with runs, in the order of the runs.

    Args:
        kind: Kind of the experiment.
        checkpoint: The study.
        node_id: The node.
        work_dir: Its folder relative to the study, where that is recorded.
    """
    from ari.evaluation.code import OwnRuns, given_files
    from ari.evaluation.command import repeated_values
    from ari.execution.records import load

    runs = load(checkpoint / "records" / node_id, node_id=node_id).runs
    folder = checkpoint / (work_dir or f"experiments/{node_id}")
    if kind != "code":
        return repeated_values(runs, folder)
    counted = OwnRuns(runs, folder, given_files(checkpoint)).counted()
    return {name: [value for _, value in pairs] for name, pairs in counted.values.items()}


def _root_value(task: NodeTask) -> float | None:
    metric = task.experiment.primary_metric
    return next((a.metrics[metric] for a in task.ancestors if a.metrics.get(metric) is not None), None)


def _mark_sterile(task: NodeTask, outcome: NodeOutcome) -> NodeOutcome:
    """What equals the parent measures nothing new, unless repeating was its purpose or the parent failed."""
    parent = task.parent
    if (
        outcome.status == "errored"
        or parent is None
        or parent.status == "errored"
        or task.label == "validation"
    ):
        return outcome
    return outcome.model_copy(update={"sterile": True, "score": 0.0, "has_real_data": False})
