"""From a node's report to what is remembered of it: at most two entries, the same for the same report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ari.checkpoint import Checkpoint, NodeState
from ari.errors import FormatError
from ari.formats.base import read_json
from ari.memory.base import MAX_REFS, Entry, MemoryStore
from ari.paths import inside

_OWN_FILES = frozenset({"data_output"})


def consolidate(store: MemoryStore, checkpoint: Checkpoint, nodes: Iterable[NodeState]) -> int:
    """Remember nodes that have ended; those that are remembered already are passed over.

    Args:
        store: The memory.
        checkpoint: The study.
        nodes: Nodes; those that have not ended are passed over.

    Returns:
        How many entries are new.
    """
    return store.add([entry for node in nodes if node.finished for entry in entries_of(checkpoint, node)])


def remember_all(checkpoint: Checkpoint, store: MemoryStore) -> None:
    """Remember every node that has ended, and put the store in the order of the nodes.

    Args:
        checkpoint: The study.
        store: Its memory.
    """
    nodes = list(checkpoint.nodes.values())
    consolidate(store, checkpoint, nodes)
    store.settle({node.id: node.order for node in nodes})


def entries_of(checkpoint: Checkpoint, node: NodeState) -> Iterator[Entry]:
    """What is remembered of a node: what it found, and how its agent says it went about it."""
    ancestors = _ancestors(checkpoint, node)
    report = _report(checkpoint, node)
    mem_kind = _type(node)
    summary = str(node.plan.get("summary") or "")
    found = node.eval_summary or node.error or ""
    result = Entry(
        id=f"{node.id}.{mem_kind}",
        node_id=node.id,
        ancestor_ids=ancestors,
        kind="node_scope",
        mem_kind=mem_kind,
        text=_text(mem_kind, summary, found),
        ts=node.completed_at or "",
        artifact_refs=_refs(node.artifacts) if mem_kind == "experiment_result" else (),
        details={
            "label": node.raw_label or node.label,
            "score": node.score,
            "metrics": _metrics(checkpoint, node),
        },
    )
    yield result
    done = str(report.get("what_was_done") or "")
    if done and done not in (summary, found):
        yield replace(
            result,
            id=f"{node.id}.react_trace",
            kind="react_trace",
            mem_kind="procedure",
            text=done,
            artifact_refs=(),
            details={},
        )


def _type(node: NodeState) -> str:
    if node.status == "errored":
        return "failure_case"
    if node.search_state.sterile:
        return "no_change"
    return "experiment_result" if node.has_real_data else "failure_case"


def _text(mem_kind: str, summary: str, found: str) -> str:
    if mem_kind == "no_change":
        return f"{summary} It changed nothing against its parent."
    if mem_kind == "failure_case":
        return f"{summary} It failed: {found or 'no reason was recorded'}"
    return f"{summary} {found}"


def _metrics(checkpoint: Checkpoint, node: NodeState) -> dict[str, float]:
    """The metric that decides, as the evaluator had it when the node ended."""
    value = node.metrics.get(checkpoint.state.primary_metric)
    return {} if value is None else {checkpoint.state.primary_metric: value}


def _refs(artifacts: Sequence[Mapping[str, Any]]) -> tuple[dict[str, str], ...]:
    """The files of results that a node left, bounded, in the order of their names."""
    kept = [
        {"path": str(item["path"]), "sha256": str(item["sha256"])}
        for item in artifacts
        if item.get("sha256") and item.get("role", "data_output") in _OWN_FILES
    ]
    return tuple(sorted(kept, key=lambda ref: ref["path"])[:MAX_REFS])


def _ancestors(checkpoint: Checkpoint, node: NodeState) -> tuple[str, ...]:
    chain: list[str] = []
    parent = node.parent_id
    while parent is not None and parent in checkpoint.nodes and parent not in chain:
        chain.append(parent)
        parent = checkpoint.nodes[parent].parent_id
    return tuple(reversed(chain))


def _report(checkpoint: Checkpoint, node: NodeState) -> Mapping[str, Any]:
    path = inside(checkpoint.path, node.work_dir or f"experiments/{node.id}") / "node_report.json"
    try:
        document = read_json(path) if path.exists() else {}
    except FormatError:  # what the evaluator found is in the tree; the words are lost
        return {}
    return document if isinstance(document, dict) else {}
