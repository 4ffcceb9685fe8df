"""`node_report.json`: a node's own account, written when it succeeds and when it fails.

The expansion of a node reads it, so what a child knows of its parent is what stands there.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ari.agent.task import NodeOutcome, Relative
from ari.checkpoint import NodeState
from ari.errors import AriError
from ari.execution import records
from ari.orchestrator import node_dirs

_DATA_SUFFIXES = frozenset({".json", ".csv", ".npy", ".tsv", ".parquet", ".txt", ".log"})


def build_report(
    checkpoint: Path, node: NodeState, outcome: NodeOutcome, *, ancestors: Sequence[str], completed_at: str
) -> dict[str, Any]:
    """The content of a node's report.

    Args:
        checkpoint: The study's directory.
        node: The node as the search knows it.
        outcome: What the evaluator measured.
        ancestors: Ids from the root to the parent.
        completed_at: When the node ended, ISO 8601, UTC.
    """
    files_changed, now = node_dirs.changes(checkpoint, node.id, node.parent_id)
    own = sorted(entry["path"] for entry in (*files_changed.added, *files_changed.modified))
    report: dict[str, Any] = {
        "schema_version": 1,
        "node_id": node.id,
        "parent_id": node.parent_id,
        "ancestor_ids": list(ancestors),
        "label": node.label,
        "depth": node.depth,
        "status": outcome.status,
        "started_at": node.started_at,
        "completed_at": completed_at,
        "files_changed": files_changed.as_dict(),
        "what_was_done": outcome.what_was_done,
        "metrics": outcome.metrics,
        "self_assessment": {
            "succeeded": outcome.status == "completed",
            "headline": outcome.eval_summary,
            "concerns": outcome.concerns,
        },
        "artifacts": [
            {
                "path": path,
                "filename": Path(path).name,
                "role": _role(path),
                "sha256": now[path].sha256,
                "size": now[path].size,
            }
            for path in own
        ],
        "plan": node.plan,
        "submission": outcome.submission,
        "score": outcome.score,
    }
    cpu_info = _cpu_info(checkpoint / "records" / node.id)
    if cpu_info:
        report["cpu_info"] = cpu_info
    if outcome.provenance:
        report["_provenance"] = outcome.provenance
    if outcome.error:
        report["error"] = outcome.error
    return report


def _cpu_info(folder: Path) -> dict[str, Any]:
    """Model and architecture of the processor that the node's commands ran on; empty where none ran.

    It stands in the report, too, because a published bundle holds the reports and not the run records: the
    claim gate tells from it whether measurements that are compared come from one machine.
    """
    try:
        runs = records.load(folder).runs
    except AriError:
        return {}  # the evaluator has reported the broken record, and has taken nothing from it
    environment = runs[-1].environment if runs else {}
    told = {"model": environment.get("cpu"), "arch": environment.get("machine")}
    return {name: value for name, value in told.items() if value}


def _role(path: str) -> str:
    if node_dirs.is_source(path):
        return "source"
    return "data_output" if Path(path).suffix in _DATA_SUFFIXES else "other"


def read_relative(checkpoint: Path, node: NodeState) -> Relative:
    """What is known of a node: from its report if it has finished, else from its plan alone.

    The metrics are those that were measured when it ended. What was added at the end of a study that is
    carried further, the sealed rows above all, is not for those who plan.
    """
    report: dict[str, Any] = {}
    path = node_dirs.work_dir(checkpoint, node.id) / node_dirs.REPORT
    if node.finished and path.is_file():
        report = json.loads(path.read_bytes())
    return Relative(
        node_id=node.id,
        label=node.raw_label or node.label,
        status=node.status,
        score=node.score,
        metrics=report.get("metrics", {}) if node.finished else {},
        plan=node.plan,
        submission=report.get("submission", {}),
        summary=node.eval_summary or "",
        error=node.error,
    )
