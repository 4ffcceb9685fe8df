"""Building small checkpoints for the tests of the store."""

from __future__ import annotations

from pathlib import Path

from ari.checkpoint import Checkpoint


def create(path: Path) -> Checkpoint:
    """Create an empty run, open for writing."""
    return Checkpoint.create(
        path, run_id="run", primary_metric="r2", higher_is_better=True, seed=7, goal="find a law"
    )


def add_node(store: Checkpoint, node_id: str, parent: str | None = None, **finish: object) -> None:
    """Add a node, and finish it when `finish` says how."""
    depth = 0 if parent is None else store.nodes[parent].depth + 1
    node = {"id": node_id, "parent_id": parent, "depth": depth, "label": "draft", "order": len(store.nodes)}
    store.append("node_created", node={**node, "plan": {"summary": "try"}})
    if finish:
        store.append("node_started", node_id=node_id, attempt=1)
        store.append("node_finished", **{"node_id": node_id, "status": "completed", **finish})
