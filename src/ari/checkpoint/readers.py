"""Finding a checkpoint and loading its state: from the journal, or from the tree files of other tools.

Without a journal the state comes from `nodes_tree.json` and `tree.json`. When one of the two is damaged
the other serves and a warning names the damaged one; nothing is ever written here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ari.checkpoint.journal import (
    JOURNAL_NAME,
    JournalReading,
    parse_journal,
    read_journal,
    require_sound,
)
from ari.checkpoint.projections import NODES_TREE_NAME, RESULTS_NAME, TREE_NAME
from ari.checkpoint.state import NodeState, RunState
from ari.errors import CheckpointError, FormatError, JournalError
from ari.formats import legacy
from ari.formats.base import read_json
from ari.formats.jsonio import Json
from ari.formats.results import Results
from ari.formats.tree import LABELS, STATUSES, SearchState, normalise_label

EMPTY_READING = parse_journal(b"")
_NODE_KEYS = frozenset(
    {"id", "parent_id", "depth", "status", "label", "raw_label", "metrics", "score", "children"}
    | {"eval_summary", "metrics_with_metadata", "has_real_data", "trace_log", "work_dir", "artifacts"}
    | {"search_state", "order", "plan", "attempt", "session", "started_at", "completed_at", "duration_s"}
    | {"error"}
)


@dataclass(slots=True)
class Loaded:
    """What was loaded.

    Attributes:
        state: The state.
        warnings: What was odd.
        nodes_document: The document of `nodes_tree.json`, where there is no journal to compose it from.
        legacy: Whether the tree files are in a legacy shape.
    """

    state: RunState
    warnings: list[str] = field(default_factory=list)
    nodes_document: dict[str, Any] | None = None
    legacy: bool = False


def is_checkpoint(path: Path) -> bool:
    """Say whether a directory holds a checkpoint.

    Args:
        path: A directory.

    Returns:
        True when a journal or a tree file lies in it.
    """
    return any((path / name).is_file() for name in (JOURNAL_NAME, TREE_NAME, NODES_TREE_NAME))


def locate(path: Path) -> Path:
    """Find the checkpoint that a path means.

    Args:
        path: A checkpoint, or a workspace with one checkpoint under `checkpoints/`.

    Returns:
        The checkpoint's directory.

    Raises:
        CheckpointError: If there is none, or more than one.
    """
    if is_checkpoint(path):
        return path
    if not path.is_dir():
        raise CheckpointError(f"{path} is no directory", cure="`ari projects` lists the checkpoints.")
    folder = path / "checkpoints"
    found = sorted(p for p in folder.iterdir() if is_checkpoint(p)) if folder.is_dir() else []
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(str(p) for p in found)
        raise CheckpointError(f"{path} holds several checkpoints: {names}", cure="Name one of them.")
    raise CheckpointError(
        f"{path} holds no checkpoint: neither {JOURNAL_NAME} nor {TREE_NAME} nor {NODES_TREE_NAME}",
        cure="Was the run stopped before it began? `ari run` starts one; `ari projects` lists what exists.",
    )


def load(directory: Path) -> Loaded:
    """Load the state of a checkpoint.

    Args:
        directory: The checkpoint.

    Returns:
        State and warnings.

    Raises:
        JournalError: If the journal is damaged.
        CheckpointError: If no file of the tree can be read.
    """
    journal = directory / JOURNAL_NAME
    if journal.exists():
        return fold(journal, read_journal(journal))
    return load_tree_files(directory)


def fold(path: Path, reading: JournalReading) -> Loaded:
    """Fold a journal.

    Args:
        path: The journal, for messages.
        reading: What was read.

    Returns:
        State and warnings.

    Raises:
        JournalError: If it is damaged, or its events contradict each other.
        CheckpointError: If it holds no event at all.
    """
    warnings = require_sound(path, reading)
    if not reading.events:
        raise CheckpointError(
            f"{path} holds no event: the run was stopped before it began",
            cure="Nothing had been done. Start it again with `ari run`.",
        )
    state = RunState()
    for line, event in zip(reading.lines, reading.events, strict=True):
        try:
            state.apply(event)
        except CheckpointError as error:
            raise JournalError(
                f"{path}, line {line} contradicts the lines before it: {error.message}",
                cure=f"Run `ari repair {path.parent}`: it keeps a copy and says what is lost.",
            ) from error
    return Loaded(state, warnings)


def load_tree_files(directory: Path) -> Loaded:
    """Load the state from `nodes_tree.json` and `tree.json`, in the present or a legacy shape.

    Args:
        directory: The checkpoint.

    Returns:
        State and warnings.

    Raises:
        CheckpointError: If neither file can be read.
    """
    warnings: list[str] = []
    documents: dict[str, dict[str, Any]] = {}
    is_legacy = False
    for name in (TREE_NAME, NODES_TREE_NAME):
        if not (directory / name).exists():
            continue
        try:
            document = read_json(directory / name)
            if legacy.is_legacy_tree(document):
                is_legacy = True
                document = legacy.convert_tree(document, directory)
            _require_nodes(document)
        except FormatError as error:
            warnings.append(f"{name} is damaged and was not used: {error.message}")
        else:
            documents[name] = document
    if not documents:
        raise CheckpointError(
            f"{directory} cannot be read: {'; '.join(warnings)}",
            cure=f"`ari validate {directory}` lists what is wrong.",
        )
    state = _state_of(documents)
    _add_run(state, directory, warnings)
    detail = documents.get(NODES_TREE_NAME)
    return Loaded(state, warnings, detail or documents[TREE_NAME], is_legacy)


def _require_nodes(document: object) -> None:
    nodes = document.get("nodes") if isinstance(document, dict) else None
    if not isinstance(nodes, dict) or not all(isinstance(node, dict) for node in nodes.values()):
        raise FormatError("it holds no object `nodes` of nodes")


def _state_of(documents: dict[str, dict[str, Any]]) -> RunState:
    """Lay the summary over the detail: where both know a node, the summary is the fresher."""
    state = RunState()
    summary = documents.get(TREE_NAME, {}).get("nodes", {})
    detail = documents.get(NODES_TREE_NAME, {}).get("nodes", {})
    for node_id in [*summary, *(name for name in detail if name not in summary)]:
        merged = {**detail.get(node_id, {}), **summary.get(node_id, {})}
        state.nodes[node_id] = _node_of(node_id, merged, order=len(state.nodes))
    first = documents.get(TREE_NAME) or documents[NODES_TREE_NAME]
    root = first.get("root_node_id")
    orphans = [node.id for node in state.nodes.values() if node.parent_id is None]
    state.root_node_id = root if isinstance(root, str) else next(iter(orphans), None)
    return state


def _pick(document: dict[str, Any], key: str, kind: type | tuple[type, ...], default: Json) -> Json:
    value = document.get(key, default)
    return value if isinstance(value, kind) else default


def _node_of(node_id: str, document: dict[str, Any], order: int) -> NodeState:
    """Read a node leniently: a wrong type counts as absent, for `validate` reports it."""
    raw = _pick(document, "label", str, "other")
    label = normalise_label(raw)
    status = document.get("status")
    flags = _pick(document, "search_state", dict, {})
    score = _pick(document, "score", (int, float), 0.0)
    return NodeState(
        id=node_id,
        parent_id=_pick(document, "parent_id", str, None),
        depth=_pick(document, "depth", int, 0),
        label=label,
        raw_label=_pick(document, "raw_label", str, None if raw in LABELS else raw),
        order=_pick(document, "order", int, order),
        plan=_pick(document, "plan", dict, {}),
        status=status if status in STATUSES else "errored",
        attempt=_pick(document, "attempt", int, 0),
        metrics=_pick(document, "metrics", dict, {}),
        score=score,
        children=[child for child in _pick(document, "children", list, []) if isinstance(child, str)],
        eval_summary=_pick(document, "eval_summary", str, None),
        metrics_with_metadata=_pick(document, "metrics_with_metadata", dict, {}),
        has_real_data=_pick(document, "has_real_data", bool, False),
        work_dir=_pick(document, "work_dir", str, ""),
        artifacts=_pick(document, "artifacts", list, []),
        search_state=_flags(flags),
        error=_pick(document, "error", str, None),
        started_at=_pick(document, "started_at", str, None),
        completed_at=_pick(document, "completed_at", str, None),
        duration_s=_pick(document, "duration_s", (int, float), None),
        session=_pick(document, "session", int, 1),
        extra={key: value for key, value in document.items() if key not in _NODE_KEYS},
    )


def _flags(document: dict[str, Any]) -> SearchState:
    try:
        return SearchState.model_validate(document)
    except ValueError:  # pydantic's ValidationError; `validate` reports it
        return SearchState()


def _add_run(state: RunState, directory: Path, warnings: list[str]) -> None:
    """Take what is known of the run as a whole from `results.json`."""
    state.run_id = directory.name
    path = directory / RESULTS_NAME
    if not path.exists():
        return
    try:
        results = Results.from_document(legacy.convert_results(read_json(path)), source=RESULTS_NAME)
    except FormatError as error:
        warnings.append(f"{RESULTS_NAME} is damaged and was not used: {error.message}")
        return
    state.run_id = results.run_id
    state.goal = results.experiment_goal or ""
    state.primary_metric = results.primary_metric or ""


def best_node(directory: Path, loaded: Loaded, state: RunState) -> str | None:
    """Name the best node of a checkpoint.

    Args:
        directory: The checkpoint.
        loaded: What was loaded.
        state: The present state.

    Returns:
        What `results.json` names if it is a node; in a legacy checkpoint without it, the node with real
        data and the highest score; else what `run_finished` named.
    """
    path = directory / RESULTS_NAME
    if path.exists():
        try:
            document = read_json(path)
        except FormatError:
            document = None  # damaged: `validate` reports it, the state still answers
        named = document.get("best_node") if isinstance(document, dict) else None
        best = named.get("id") if isinstance(named, dict) else None
        if best in state.nodes:
            return str(best)
    if loaded.legacy:
        measured = [n for n in state.nodes.values() if n.status == "completed" and n.has_real_data]
        top = max(measured, key=lambda node: (node.score, -node.order), default=None)
        return top.id if top else None
    return state.best_node_id
