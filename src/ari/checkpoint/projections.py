"""The files derived from the state: tree.json, nodes_tree.json, results.json, lineage_decisions.jsonl.

`TreeProjection` keeps the written form of every node, so that one transition of a large tree costs the
encoding of the nodes it touched and one write. The file has one node a line.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ari.checkpoint.state import NodeState, RunState
from ari.errors import FormatError
from ari.formats.jsonio import encode_document, strict_dumps, strict_loads

TREE_NAME = "tree.json"
NODES_TREE_NAME = "nodes_tree.json"
RESULTS_NAME = "results.json"
DECISIONS_NAME = "lineage_decisions.jsonl"
TRACE_NAME = "trace.jsonl"


def summary_of(node: NodeState) -> dict[str, Any]:
    """Return the node as `tree.json` shows it.

    Args:
        node: The node.

    Returns:
        The documented keys, and `raw_label` and `search_state` where they say something.
    """
    summary: dict[str, Any] = {
        "id": node.id,
        "parent_id": node.parent_id,
        "depth": node.depth,
        "status": node.status,
        "label": node.label,
        "metrics": node.metrics,
        "score": node.score,
        "children": node.children,
    }
    if node.raw_label is not None:
        summary["raw_label"] = node.raw_label
    flags = node.search_state.to_dict()
    if flags:
        summary["search_state"] = flags
    return summary


def detail_of(node: NodeState, trace: list[Any]) -> dict[str, Any]:
    """Return the node as `nodes_tree.json` shows it.

    Args:
        node: The node.
        trace: Its `{role, content}` records.

    Returns:
        The documented keys and everything else that is known of the node.
    """
    detail = summary_of(node)
    detail |= {
        "eval_summary": node.eval_summary,
        "metrics_with_metadata": node.metrics_with_metadata,
        "has_real_data": node.has_real_data,
        "trace_log": trace,
        "work_dir": node.work_dir,
        "artifacts": node.artifacts,
        "order": node.order,
        "plan": node.plan,
        "attempt": node.attempt,
        "session": node.session,
        "started_at": node.started_at,
        "completed_at": node.completed_at,
        "duration_s": node.duration_s,
        "error": node.error,
    }
    return {**node.extra, **detail}


class TreeProjection:
    """The bytes of `tree.json`, kept in step with the state."""

    def __init__(self) -> None:
        self._lines: dict[str, bytes] = {}
        self._root: str | None = None

    def update(self, state: RunState, touched: Iterable[str]) -> None:
        """Encode the nodes that changed.

        Args:
            state: The state after the change.
            touched: Ids of the changed nodes.
        """
        self._root = state.root_node_id
        for node_id in touched:
            self._lines[node_id] = (
                strict_dumps(node_id) + b": " + strict_dumps(summary_of(state.nodes[node_id]))
            )

    def to_bytes(self) -> bytes:
        """Return the whole file."""
        head = b'{"schema_version": 1, "root_node_id": ' + strict_dumps(self._root) + b', "nodes": {'
        body = b",\n".join(self._lines.values())
        return head + (b"\n" + body + b"\n" if body else b"") + b"}}\n"


def read_trace(checkpoint: Path, node_id: str) -> list[Any]:
    """Read the trace that the runner keeps of a node.

    Args:
        checkpoint: The checkpoint.
        node_id: The node.

    Returns:
        Its records up to the first line that a crash cut off; empty where there is none.
    """
    path = checkpoint / "records" / node_id / TRACE_NAME
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return []
    records: list[Any] = []
    for line in data.split(b"\n"):
        if not line.strip():
            continue
        try:
            records.append(strict_loads(line))
        except FormatError:
            break
    return records


def nodes_tree_of(state: RunState, checkpoint: Path) -> dict[str, Any]:
    """Compose the document of `nodes_tree.json`.

    Args:
        state: The state.
        checkpoint: The checkpoint, whose `records/` hold the traces.

    Returns:
        The document.
    """
    nodes = {node.id: detail_of(node, read_trace(checkpoint, node.id)) for node in state.nodes.values()}
    return encode_document({"schema_version": 1, "root_node_id": state.root_node_id, "nodes": nodes})


def results_of(state: RunState, best: str | None) -> dict[str, Any]:
    """Compose the document of `results.json`.

    Args:
        state: The state.
        best: The best node, or None when no node has a result.

    Returns:
        The document.
    """
    winner = state.nodes[best] if best is not None else None
    return {
        "run_id": state.run_id,
        "experiment_goal": state.goal,
        "primary_metric": state.primary_metric,
        "best_node": None
        if winner is None
        else {"id": winner.id, "metrics": winner.metrics, "score": winner.score},
        "nodes": {
            node.id: {
                "metrics": node.metrics,
                "has_real_data": node.has_real_data,
                "status": node.status,
                "score": node.score,
                "eval_summary": node.eval_summary,
                "error_log": node.error,
            }
            for node in state.nodes.values()
        },
    }


def decisions_of(state: RunState) -> bytes:
    """Compose `lineage_decisions.jsonl`.

    Args:
        state: The state.

    Returns:
        One line a decision.
    """
    return b"".join(strict_dumps(record) + b"\n" for record in state.decisions)
