"""What two runs of the same study must have in common: everything but a written list of volatile fields."""

from __future__ import annotations

from typing import Any

from ari.checkpoint.store import Checkpoint

VOLATILE_FIELDS = frozenset(
    {
        "ts",
        "started_at",
        "completed_at",
        "created_at",
        "duration_s",
        "seconds",
        "attempt",
        "session",
        "pid",
        "run_id",
        "seq",
        "cpu_info",
    }
)
"""Fields that tell when, how long, where, by whom and under which name a run was made, and nothing else."""


def stable_document(checkpoint: Checkpoint) -> dict[str, Any]:
    """The tree in full detail, the reports, the decisions and the memory, without volatile fields.

    For one seed this is the same whatever the number of workers, and whether or not the run was broken off
    and resumed. It holds for symbolic studies; what commands measure differs from run to run.
    """
    import orjson

    tree = checkpoint.nodes_tree()
    reports = {}
    for node in checkpoint.nodes.values():
        path = checkpoint.path / (node.work_dir or f"experiments/{node.id}") / "node_report.json"
        reports[node.id] = orjson.loads(path.read_bytes()) if path.exists() else None
    memory = checkpoint.path / "memory_store.jsonl"
    document = {
        "tree": tree,
        "reports": reports,
        "decisions": checkpoint.state.decisions,
        "memory": [orjson.loads(line) for line in memory.read_bytes().splitlines()]
        if memory.exists()
        else [],
    }
    stripped: dict[str, Any] = strip_volatile(document)
    return stripped


def strip_volatile(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Copy a JSON value without the volatile fields, at any depth."""
    if isinstance(value, dict):
        return {key: strip_volatile(item) for key, item in value.items() if key not in VOLATILE_FIELDS}
    return [strip_volatile(item) for item in value] if isinstance(value, list) else value
