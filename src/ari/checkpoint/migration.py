"""`migrate`: write a checkpoint of another tool, or of an older shape, in the present one.

The result is complete: the files in the specified shapes, the nodes' folders inside the checkpoint, and a
journal, so that the run can be read, validated and gone on with like any other. The source is only read.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ari.checkpoint import readers
from ari.checkpoint.files import atomic_write, write_failure
from ari.checkpoint.journal import JOURNAL_NAME
from ari.checkpoint.lock import LOCK_NAME
from ari.checkpoint.projections import DECISIONS_NAME, NODES_TREE_NAME, RESULTS_NAME, TRACE_NAME, TREE_NAME
from ari.checkpoint.state import NodeState, RunState
from ari.checkpoint.store import META_NAME, Checkpoint
from ari.checkpoint.tree_checks import REPORT_NAME
from ari.errors import CheckpointError, FormatError, PathEscapeError
from ari.formats import legacy
from ari.formats.base import read_json
from ari.formats.jsonio import Json, strict_dumps, strict_loads
from ari.formats.memory_store import memory_problems, unpack_backup
from ari.formats.settings import secret_pointers
from ari.paths import inside

_WRITTEN_BY_STORE = frozenset(
    {TREE_NAME, NODES_TREE_NAME, RESULTS_NAME, DECISIONS_NAME, JOURNAL_NAME, LOCK_NAME, META_NAME}
)
_CONVERTED: dict[str, Callable[[Json], Json]] = {
    "settings.json": legacy.convert_settings,
    "idea.json": legacy.convert_idea,
}
_MEMORY = ("memory_store.jsonl", "memory_access.jsonl")


@dataclass(slots=True)
class MigrationReport:
    """What a migration did.

    Attributes:
        source: The checkpoint that was read.
        target: The checkpoint that was written.
        nodes: How many nodes it has.
        notes: What could not be taken over as it was, in words.
    """

    source: Path
    target: Path
    nodes: int = 0
    notes: list[str] = field(default_factory=list)


def migrate(path: Path, out: Path) -> MigrationReport:
    """Write a checkpoint in the present shape.

    Args:
        path: The checkpoint to read, or a workspace with one.
        out: The directory to write; it must not hold anything yet.

    Returns:
        What was done.

    Raises:
        CheckpointError: If the source cannot be read, or the target holds something or cannot be written.
    """
    source = readers.locate(path)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise CheckpointError(f"{out} is not empty", cure="Name a directory that does not exist yet.")
    if out.resolve().is_relative_to(source.resolve()):
        raise CheckpointError(f"{out} lies inside the checkpoint that is read", cure="Name one outside it.")
    loaded = readers.load(source)
    report = MigrationReport(source, out, len(loaded.state.nodes), list(loaded.warnings))
    try:
        _write(source, out, loaded, report)
    except OSError as error:
        raise write_failure(out, error) from error
    return report


def _write(source: Path, out: Path, loaded: readers.Loaded, report: MigrationReport) -> None:
    state = loaded.state
    criteria = _read_object(source / "evaluation_criteria.json")
    metric = state.primary_metric or str(criteria.get("primary_metric", ""))
    better = criteria.get("higher_is_better", state.higher_is_better)
    if better is None:
        report.notes.append("the source does not say whether a higher metric is better; recorded as higher")
    best = readers.best_node(source, loaded, state)
    with Checkpoint.create(
        out,
        run_id=state.run_id or source.name,
        primary_metric=metric,
        higher_is_better=better if isinstance(better, bool) else True,
        seed=state.seed,
        goal=state.goal,
        meta=_meta(source),
    ) as checkpoint:
        _copy_files(source, out, loaded.legacy, report)
        _replay(source, checkpoint, state, report)
        _write_traces(checkpoint, loaded)
        checkpoint.write_nodes_tree()
        if best is not None or (source / RESULTS_NAME).exists():
            checkpoint.write_results(best)
        checkpoint.append("run_finished", reason=f"migrated from {source.name}", best_node_id=best)


def _read_object(path: Path) -> dict[str, Any]:
    try:
        document = read_json(path)
    except FormatError:  # absent or damaged: the caller knows what to do without it
        return {}
    return document if isinstance(document, dict) else {}


def _meta(source: Path) -> dict[str, Any]:
    recorded = _read_object(source / META_NAME)
    return {key: value for key, value in recorded.items() if key not in {"run_id", "seed", "checkpoint_dir"}}


def _copy_files(source: Path, out: Path, is_legacy: bool, report: MigrationReport) -> None:
    """Copy what is not written anew; the nodes' folders come with their nodes."""
    for path in sorted(source.iterdir()):
        if path.name in _WRITTEN_BY_STORE or path.name == "experiments":
            continue
        if path.is_symlink():
            report.notes.append(f"{path.name} is a symbolic link and was not copied")
        elif path.is_dir():
            shutil.copytree(path, out / path.name, symlinks=True)
        elif path.name == "settings.json":
            _copy_settings(path, out, report)
        elif is_legacy and path.name in _CONVERTED:
            document = _CONVERTED[path.name](_read_object(path))
            atomic_write(out / path.name, strict_dumps(document, indent=True))
        elif is_legacy and path.name in _MEMORY:
            _copy_lines(path, out / path.name, report)
        else:
            shutil.copy2(path, out / path.name)
    backup = source / "memory_backup.jsonl.gz"
    if is_legacy and backup.exists():
        _convert_backup(backup, out / backup.name, report)


def _copy_settings(path: Path, out: Path, report: MigrationReport) -> None:
    document = legacy.convert_settings(_read_object(path))
    for where in list(secret_pointers(document)):
        _remove(document, where)
        report.notes.append(f"settings.json held a secret at {where}, which was left out")
    atomic_write(out / path.name, strict_dumps(document, indent=True))


def _remove(document: Json, where: str) -> None:
    *holders, last = [part.replace("~1", "/").replace("~0", "~") for part in where.split("/")[1:]]
    for part in holders:
        document = document[int(part)] if isinstance(document, list) else document[part]
    if isinstance(document, list):
        document[int(last)] = None
    else:
        del document[last]


def _convert_lines(data: bytes, name: str, report: MigrationReport) -> bytes:
    lines = []
    for number, raw in enumerate(data.split(b"\n"), start=1):
        if not raw.strip():
            continue
        try:
            record = strict_loads(raw)
        except FormatError as error:
            report.notes.append(f"{name}, line {number} was left out: {error.message}")
            continue
        lines.append(strict_dumps(legacy.convert_memory(record) if isinstance(record, dict) else record))
    return b"".join(line + b"\n" for line in lines)


def _copy_lines(path: Path, target: Path, report: MigrationReport) -> None:
    atomic_write(target, _convert_lines(path.read_bytes(), path.name, report))


def _convert_backup(path: Path, target: Path, report: MigrationReport) -> None:
    import gzip

    try:
        data = unpack_backup(path)
    except FormatError as error:
        report.notes.append(f"{path.name} was copied as it is: {error.message}")
        return
    converted = _convert_lines(data, path.name, report)
    faulty = [line for line in converted.splitlines() if memory_problems(strict_loads(line))]
    if faulty:
        report.notes.append(f"{len(faulty)} records of {path.name} are not in the specified shape")
    atomic_write(target, gzip.compress(converted, mtime=0))


def _replay(source: Path, checkpoint: Checkpoint, state: RunState, report: MigrationReport) -> None:
    """Write the events that lead to the state, parents before children."""
    for node in _in_order(state, report):
        planned = {
            **node.extra,
            "id": node.id,
            "parent_id": node.parent_id,
            "depth": checkpoint.nodes[node.parent_id].depth + 1 if node.parent_id is not None else 0,
            "label": node.label,
            **({"raw_label": node.raw_label} if node.raw_label is not None else {}),
            "order": len(checkpoint.nodes),
            "plan": node.plan,
        }
        checkpoint.append("node_created", node=planned)
        _copy_folder(source, checkpoint.path, node, report)
        if node.status != "pending":
            attempt = max(node.attempt, 1)
            checkpoint.append("node_started", node_id=node.id, attempt=attempt, started_at=node.started_at)
        if node.finished:
            checkpoint.append("node_finished", **_finish(node))
    for record in _decisions(source, report):
        node_id = record.get("node_id")
        known = node_id if node_id in checkpoint.nodes else None
        fields = {key: value for key, value in record.items() if key not in {"ts", "seq", "event"}}
        checkpoint.append("lineage_decision", **{**fields, "node_id": known, "decided_at": record.get("ts")})


def _in_order(state: RunState, report: MigrationReport) -> list[NodeState]:
    """The nodes with every parent before its children; what hangs on nothing is noted and left out."""
    ordered: list[NodeState] = []
    placed: set[str | None] = {None}
    waiting = list(state.nodes.values())
    roots = [node for node in waiting if node.parent_id is None]
    for extra in roots[1:]:
        report.notes.append(f"node {extra.id} is a second root and was left out with all below it")
        waiting.remove(extra)
    while waiting:
        ready = [node for node in waiting if node.parent_id in placed]
        if not ready:
            names = ", ".join(node.id for node in waiting)
            report.notes.append(f"these nodes hang on no root and were left out: {names}")
            break
        ordered += ready
        placed |= {node.id for node in ready}
        waiting = [node for node in waiting if node.id not in placed]
    return ordered


def _finish(node: NodeState) -> dict[str, Any]:
    return {
        "node_id": node.id,
        "status": node.status,
        "metrics": node.metrics,
        "score": node.score,
        "has_real_data": node.has_real_data,
        "eval_summary": node.eval_summary,
        "metrics_with_metadata": node.metrics_with_metadata,
        "work_dir": f"experiments/{node.id}",
        "artifacts": node.artifacts,
        "search_state": node.search_state.to_dict(),
        "error": node.error,
        "duration_s": node.duration_s,
        "completed_at": node.completed_at,
    }


def _decisions(source: Path, report: MigrationReport) -> list[dict[str, Any]]:
    path = source / DECISIONS_NAME
    if not path.exists():
        return []
    records = []
    for number, raw in enumerate(path.read_bytes().split(b"\n"), start=1):
        try:
            record = strict_loads(raw) if raw.strip() else None
        except FormatError as error:
            report.notes.append(f"{DECISIONS_NAME}, line {number} was left out: {error.message}")
            continue
        if isinstance(record, dict):
            records.append(legacy.convert_decision(record))
    return records


def _copy_folder(source: Path, out: Path, node: NodeState, report: MigrationReport) -> None:
    """Copy a node's folder into the checkpoint, wherever the source kept it."""
    try:
        target = inside(out / "experiments", node.id)
    except PathEscapeError as error:
        raise CheckpointError(f"the id of a node cannot name a folder: {error.message}") from error
    folder = source / node.work_dir if node.work_dir else source / "experiments" / node.id
    workspace = source.parent.parent if source.parent.name == "checkpoints" else source
    if not folder.is_dir():
        return
    if not folder.resolve().is_relative_to(workspace.resolve()):
        report.notes.append(f"the folder of {node.id} lies outside the workspace and was not copied")
        return
    target.parent.mkdir(exist_ok=True)
    shutil.copytree(folder, target, symlinks=True)
    report_file = target / REPORT_NAME
    document = _read_object(report_file)
    if document:
        atomic_write(report_file, strict_dumps(legacy.convert_report(document), indent=True))


def _write_traces(checkpoint: Checkpoint, loaded: readers.Loaded) -> None:
    """Move the traces from the tree file to where the runner keeps them, unless they are there already."""
    recorded = (loaded.nodes_document or {}).get("nodes", {})
    for node_id in checkpoint.nodes:
        trace = recorded.get(node_id, {}).get("trace_log")
        relpath = f"records/{node_id}/{TRACE_NAME}"
        if isinstance(trace, list) and trace and not (checkpoint.path / relpath).exists():
            checkpoint.write_product(relpath, b"".join(strict_dumps(record) + b"\n" for record in trace))
