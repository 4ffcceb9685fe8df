"""Checkpoints for the tests of the command line, built as a study builds them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ari.checkpoint import Checkpoint


@dataclass(frozen=True)
class Answer:
    """What a command printed and with which status it ended."""

    status: int
    out: str
    err: str


def add(
    checkpoint: Checkpoint, node_id: str, parent: str | None, label: str = "improve", **plan: str
) -> None:
    """Plan a node."""
    order = len(checkpoint.nodes)
    depth = checkpoint.nodes[parent].depth + 1 if parent else 0
    node = {"id": node_id, "parent_id": parent, "depth": depth, "label": label, "order": order, "plan": plan}
    checkpoint.append("node_created", node=node)


def finish(checkpoint: Checkpoint, node_id: str, r2: float | None, **more: object) -> None:
    """Run a planned node to its end; no metric means that it failed."""
    checkpoint.append("node_started", node_id=node_id, attempt=1)
    fields = {
        "node_id": node_id,
        "status": "completed" if r2 is not None else "errored",
        "metrics": {"r2": r2} if r2 is not None else {},
        "score": r2 or 0.0,
        "has_real_data": r2 is not None,
        "work_dir": f"experiments/{node_id}",
        "duration_s": 1.5,
        **more,
    }
    checkpoint.append("node_finished", **fields)


@contextmanager
def writer(path: Path) -> Iterator[Checkpoint]:
    """A fresh checkpoint, open for writing, without nodes."""
    with Checkpoint.create(
        path,
        run_id=path.name,
        primary_metric="r2",
        higher_is_better=True,
        goal="How does T depend on a?",
        settings={"nodes": 12},
    ) as checkpoint:
        yield checkpoint
