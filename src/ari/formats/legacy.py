"""The shapes that earlier tools wrote, turned into the specified ones.

They differ in this: the nodes are a list; statuses are `success`, `failed`, `abandoned`; the score and its
parts hide in the metrics (`_scientific_score`, `_axis_scores`); settings are flat; decisions are nested;
working folders lie beside the checkpoint; a plain-text trace. Nothing is invented: what has no place in
the specified shape is kept under its old key, or under `legacy`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ari.formats.jsonio import Json
from ari.formats.tree import STATUSES, Status, normalise_label

Number = int | float
"""A JSON number."""

STATUS_MAP: dict[str, Status] = {
    "success": "completed",
    "failed": "errored",
    "abandoned": "errored",
    "running": "running",
    "pending": "pending",
}
"""Status of old to status of the specification."""

MEMORY_KINDS = {"react_step": "react_trace"}
"""Memory kind of old to kind of the specification."""

_SCORE_KEY = "_scientific_score"


def is_legacy_tree(document: object) -> bool:
    """Say whether a tree file is in the legacy shape.

    Args:
        document: The parsed `tree.json` or `nodes_tree.json`.

    Returns:
        True when its nodes are a list.
    """
    nodes = document.get("nodes") if isinstance(document, Mapping) else document
    return isinstance(nodes, list)


def convert_status(status: object) -> Status:
    """Map a status.

    Args:
        status: Any status.

    Returns:
        A status of the specification; an unknown one counts as errored.
    """
    text = status if isinstance(status, str) else ""
    if text in STATUSES:
        return next(known for known in STATUSES if known == text)
    return STATUS_MAP.get(text, "errored")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def split_metrics(metrics: object) -> tuple[dict[str, Number | None], Number, dict[str, Any]]:
    """Part the metrics of old into measurements, score and the rest.

    Args:
        metrics: The legacy dictionary.

    Returns:
        The numeric metrics, the score (0.0 where there is none), and what is no metric.
    """
    clean: dict[str, Number | None] = {}
    rest: dict[str, Any] = {}
    score: Number = 0.0
    for name, value in (metrics if isinstance(metrics, Mapping) else {}).items():
        if name == _SCORE_KEY:
            score = value if _is_number(value) else 0.0
        elif not name.startswith("_") and (value is None or _is_number(value)):
            clean[name] = value
        else:
            rest[name] = value
    return clean, score, rest


def convert_artifacts(artifacts: object) -> tuple[list[dict[str, Any]], list[Any]]:
    """Part the artifacts of old into files and other records.

    Args:
        artifacts: The legacy list.

    Returns:
        The entries that name a file (`sha256` null where none was recorded), and the others.
    """
    files: list[dict[str, Any]] = []
    others: list[Any] = []
    for entry in artifacts if isinstance(artifacts, list) else []:
        path = entry.get("path") if isinstance(entry, Mapping) else None
        if isinstance(path, str) and path:
            files.append({"sha256": None, **entry})
        else:
            others.append(entry)
    return files, others


def _trace(records: object) -> list[dict[str, Any]]:
    trace = []
    for record in records if isinstance(records, list) else []:
        if isinstance(record, Mapping) and "role" in record:
            trace.append({"content": "", **record})
        else:
            role = "tool" if isinstance(record, str) and record.lstrip().startswith("←") else "assistant"
            trace.append({"role": role, "content": record})
    return trace


def work_dir_of(node: Mapping[str, Any], checkpoint: Path) -> str:
    """Find the working folder of a node, which lies beside the checkpoint.

    Args:
        node: The legacy node.
        checkpoint: The checkpoint, `<workspace>/checkpoints/<run>`.

    Returns:
        The folder relative to the checkpoint; the recorded value where one is recorded.
    """
    recorded = node.get("work_dir")
    if isinstance(recorded, str) and recorded:
        return recorded
    inside = checkpoint / "experiments" / str(node.get("id", ""))
    if inside.is_dir():
        return f"experiments/{node.get('id')}"
    experiments = checkpoint.parent.parent / "experiments"
    report = node.get("node_report_path")
    if isinstance(report, str) and report:
        folder = experiments / Path(report).parent
    else:
        folder = experiments / checkpoint.name / str(node.get("id", ""))
    return Path(os.path.relpath(folder, checkpoint)).as_posix()


_CONVERTED = frozenset(
    {"status", "label", "raw_label", "metrics", "artifacts", "trace_log", "completed_at", "created_at"}
    | {"error_log", "work_dir", "score", "children", "depth", "parent_id", "id", "eval_summary"}
)


def convert_node(node: Mapping[str, Any], checkpoint: Path) -> dict[str, Any]:
    """Convert one node of a legacy tree.

    Args:
        node: The legacy node.
        checkpoint: The checkpoint it belongs to.

    Returns:
        The node in full detail.
    """
    metrics, score, rest = split_metrics(node.get("metrics"))
    files, others = convert_artifacts(node.get("artifacts"))
    raw = str(node.get("raw_label") or node.get("label") or "other")
    label = normalise_label(raw)
    kept: dict[str, Any] = {}
    if rest:
        kept["metrics"] = rest
    if others:
        kept["artifacts"] = others
    converted = {
        "id": node.get("id"),
        "parent_id": node.get("parent_id"),
        "depth": node.get("depth", 0),
        "status": convert_status(node.get("status")),
        "label": label,
        **({"raw_label": raw} if label == "other" and raw != "other" else {}),
        "metrics": metrics,
        "score": node["score"] if _is_number(node.get("score")) else score,
        "children": node.get("children", []),
        "eval_summary": node.get("eval_summary"),
        "metrics_with_metadata": {name: {"value": value} for name, value in metrics.items()},
        "has_real_data": bool(node.get("has_real_data", False)),
        "trace_log": _trace(node.get("trace_log")),
        "work_dir": work_dir_of(node, checkpoint),
        "artifacts": files,
        "started_at": node.get("created_at"),
        "completed_at": node.get("completed_at"),
        "error": node.get("error_log"),
    }
    others_kept = {
        key: value for key, value in node.items() if key not in _CONVERTED and key not in converted
    }
    return {**others_kept, **converted, **({"legacy": kept} if kept else {})}


def convert_tree(document: Json, checkpoint: Path) -> dict[str, Any]:
    """Convert a legacy `tree.json` or `nodes_tree.json`.

    Args:
        document: The parsed file: a list of nodes, or an object with such a list.
        checkpoint: The checkpoint it lies in.

    Returns:
        The document of `nodes_tree.json`.
    """
    top: Mapping[str, Any] = document if isinstance(document, Mapping) else {"nodes": document}
    nodes = [node for node in top["nodes"] if isinstance(node, Mapping) and isinstance(node.get("id"), str)]
    converted = {node["id"]: convert_node(node, checkpoint) for node in nodes}
    root = next((node["id"] for node in nodes if node.get("parent_id") is None), None)
    rest = {key: value for key, value in top.items() if key != "nodes"}
    return {**rest, "schema_version": 1, "root_node_id": root, "nodes": converted}


def convert_results(document: Json) -> Json:
    """Convert a legacy `results.json`; one in the specified shape comes back as it is.

    Args:
        document: The parsed file.

    Returns:
        The document in the specified shape.
    """
    if not isinstance(document, Mapping) or "best_node" in document:
        return document
    nodes = {}
    for name, node in document.get("nodes", {}).items():
        metrics, score, rest = split_metrics(node.get("metrics"))
        kept = {"legacy": {"metrics": rest}} if rest else {}
        nodes[name] = {
            **node,
            "metrics": metrics,
            "score": score,
            "status": convert_status(node.get("status")),
            **kept,
        }
    head = {"experiment_goal": None, "primary_metric": None, "best_node": None}
    return {**head, **document, "nodes": nodes}


def convert_report(document: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a legacy `node_report.json`.

    Args:
        document: The parsed file.

    Returns:
        The document in the specified shape.
    """
    metrics, _, rest = split_metrics(document.get("metrics"))
    files, others = convert_artifacts(document.get("artifacts"))
    changed = dict(document.get("files_changed") or {})
    changed["modified"] = [
        {"sha256": entry.get("sha256_after"), **entry} for entry in changed.get("modified", [])
    ]
    kept = {**({"metrics": rest} if rest else {}), **({"artifacts": others} if others else {})}
    return {
        **document,
        "status": convert_status(document.get("status")),
        "label": normalise_label(str(document.get("label", "other"))),
        "metrics": metrics,
        "artifacts": files,
        "files_changed": {"added": [], "deleted": [], "inherited_unchanged": [], **changed},
        **({"legacy": kept} if kept else {}),
    }


def convert_settings(document: Mapping[str, Any]) -> dict[str, Any]:
    """Convert flat settings; settings in the specified shape come back as they are.

    Args:
        document: The parsed `settings.json`.

    Returns:
        The nested settings; other keys are kept.
    """
    names = {"llm_model": "model", "llm_provider": "provider"}
    if not any(name in document for name in (*names, "slurm_partition", "slurm_cpus")):
        return dict(document)
    flat = (*names, "slurm_partition", "slurm_cpus")
    converted = {key: value for key, value in document.items() if key not in flat}
    for old, new in names.items():
        if old in document:
            converted.setdefault(new, document[old])
    hpc = {"partition": document.get("slurm_partition"), "cpus": document.get("slurm_cpus")}
    known = {key: value for key, value in hpc.items() if value not in (None, "")}
    if known:
        converted.setdefault("hpc", known)
    return converted


def convert_decision(record: Mapping[str, Any]) -> dict[str, Any]:
    """Convert one line of a legacy `lineage_decisions.jsonl`; a flat one comes back as it is.

    Args:
        record: The parsed line, its decision an object with `action` and `rationale`.

    Returns:
        The flat record; what surrounded the decision is kept under `legacy`.
    """
    decision = record.get("decision")
    if not isinstance(decision, Mapping):
        return dict(record)
    index = decision.get("target_idea_index")
    return {
        "node_id": record.get("node_id"),
        "decision": decision.get("action"),
        "rationale": decision.get("rationale", ""),
        "ts": record.get("ts_iso") or str(record.get("ts", "")),
        **({"idea_index": index} if isinstance(index, int) else {}),
        "legacy": {key: value for key, value in record.items() if key not in {"ts", "ts_iso", "node_id"}},
    }


def convert_idea(document: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a legacy `idea.json`, whose metric stands once above all ideas.

    Args:
        document: The parsed file.

    Returns:
        The document with every documented key in every idea.
    """
    metric = document.get("primary_metric", "")
    defaults = {
        "title": "",
        "experiment_plan": "",
        "primary_metric": metric,
        "alternatives_considered": [],
        "_pinned": False,
    }
    ideas = [{**defaults, **idea} for idea in document.get("ideas", []) if isinstance(idea, Mapping)]
    return {**document, "ideas": ideas}


def convert_memory(record: Mapping[str, Any]) -> dict[str, Any]:
    """Convert one record of a memory of old: other kinds, node id in the metadata, time as a number.

    Args:
        record: The parsed line.

    Returns:
        The record with the kinds of the specification; other keys are kept.
    """
    converted = dict(record)
    kind = record.get("kind")
    converted["kind"] = MEMORY_KINDS.get(str(kind), kind)
    metadata = record.get("metadata")
    if isinstance(record.get("ts"), (int, float)):
        moment = datetime.fromtimestamp(record["ts"], UTC)
        converted["ts"] = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if "node_id" not in converted and isinstance(metadata, Mapping) and "node_id" in metadata:
        converted["node_id"] = metadata["node_id"]
    return converted
