"""`repair`: make a damaged checkpoint usable again, keeping a copy of what was there and saying what is lost.

It cuts off a torn end of the journal, takes damaged lines out of it, brings lost nodes back from the tree
files where they still tell of them, rebuilds the projections, and cuts the half line off other logs. Every
file that loses bytes is copied first, under its name with `.damaged-1`, `.damaged-2`, …
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ari.checkpoint import readers
from ari.checkpoint.files import atomic_write
from ari.checkpoint.journal import JOURNAL_NAME, JournalReading, read_journal
from ari.checkpoint.lock import Lock
from ari.checkpoint.projections import (
    DECISIONS_NAME,
    NODES_TREE_NAME,
    TREE_NAME,
    TreeProjection,
    decisions_of,
)
from ari.checkpoint.state import RunState
from ari.checkpoint.store import utc_now
from ari.errors import CheckpointError, FormatError
from ari.formats.base import read_json
from ari.formats.jsonio import strict_dumps, strict_loads
from ari.formats.tree import normalise_label


@dataclass(slots=True)
class RepairReport:
    """What a repair did.

    Attributes:
        path: The checkpoint.
        actions: What was mended, in words.
        lost: What could not be kept, in words.
        backups: Copies of the files as they were.
    """

    path: Path
    actions: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    backups: list[Path] = field(default_factory=list)

    @property
    def changed(self) -> bool:
        """Whether anything had to be mended."""
        return bool(self.actions)


def repair(path: Path, *, take_over: bool = False) -> RepairReport:
    """Mend a checkpoint as far as it can be mended without guessing.

    Args:
        path: The checkpoint.
        take_over: Free a lock whose holder cannot be shown to be gone, on the user's word.

    Returns:
        What was done and what is lost.

    Raises:
        CheckpointError: If there is no checkpoint, nothing can be saved, or it cannot be written.
        LockHeldError: If another process is writing it.
    """
    directory = readers.locate(path)
    report = RepairReport(directory)
    lock = Lock(directory, since=utc_now(), take_over=take_over)
    try:
        if lock.warning:
            report.actions.append(lock.warning)
        if (directory / JOURNAL_NAME).exists():
            state = _repair_journal(directory, report)
            _rebuild(directory, state, report)
        else:
            _rebuild_tree(directory, report)
        _repair_logs(directory, report)
    finally:
        lock.release()
    return report


def _back_up(path: Path, report: RepairReport) -> Path:
    number = 1
    while (copy := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    atomic_write(copy, path.read_bytes())
    report.backups.append(copy)
    return copy


def _repair_journal(directory: Path, report: RepairReport) -> RunState:
    path = directory / JOURNAL_NAME
    reading = read_journal(path)
    known = _known_nodes(directory)
    state = RunState()
    kept, dropped = _sort_events(reading, state, known, report)
    if not state.run_id:
        raise CheckpointError(
            f"{path} does not tell what the run was (its first event is lost), so it cannot be mended",
            cure=f"`ari migrate {directory} NEW_DIRECTORY` saves what the tree files tell.",
        )
    if not dropped and not reading.bad and len(kept) == len(reading.events):
        return state
    copy = _back_up(path, report)
    damaged = sorted({bad.line for bad in reading.bad if not bad.torn} | set(dropped))
    if damaged:
        note = {"ts": utc_now(), "event": "journal_repaired", "dropped_lines": damaged, "backup": copy.name}
        kept.append(note)
        report.actions.append(f"took line {', '.join(map(str, damaged))} out of {path.name}")
    if reading.torn is not None:
        report.actions.append(f"cut {reading.torn.length} bytes of a torn record off the end of {path.name}")
    lines = [strict_dumps({**event, "seq": number}) for number, event in enumerate(kept, start=1)]
    atomic_write(path, b"".join(line + b"\n" for line in lines))
    return state


def _sort_events(
    reading: JournalReading, state: RunState, known: dict[str, dict[str, Any]], report: RepairReport
) -> tuple[list[dict[str, Any]], list[int]]:
    """Fold the sound events; those that rest on lost ones are dropped, or their node is brought back."""
    report.lost += [
        f"line {bad.line} of {JOURNAL_NAME} ({bad.message})" for bad in reading.bad if not bad.torn
    ]
    kept: list[dict[str, Any]] = []
    dropped: list[int] = []
    for line, event in zip(reading.lines, reading.events, strict=True):
        for restored in _missing_nodes(event, state, known):
            try:
                state.apply(restored)
            except CheckpointError as error:  # the tree files contradict what the journal still holds
                report.lost.append(f"node {restored['node']['id']} of the tree files ({error.message})")
                break
            kept.append(restored)
            report.actions.append(f"brought back node {restored['node']['id']} from the tree files")
        try:
            state.apply({**event, "seq": len(kept) + 1})
        except CheckpointError as error:
            dropped.append(line)
            report.lost.append(f"line {line} of {JOURNAL_NAME} ({error.message})")
        else:
            kept.append(event)
    return kept, dropped


def _known_nodes(directory: Path) -> dict[str, dict[str, Any]]:
    """What the tree files still tell of the nodes."""
    known: dict[str, dict[str, Any]] = {}
    for name in (TREE_NAME, NODES_TREE_NAME):
        try:
            document = read_json(directory / name)
        except FormatError:  # absent or damaged: there is nothing to learn from it
            continue
        nodes = document.get("nodes") if isinstance(document, dict) else None
        for node_id, node in nodes.items() if isinstance(nodes, dict) else ():
            if isinstance(node, dict):
                known[node_id] = {**known.get(node_id, {}), **node}
    return known


def _missing_nodes(
    event: dict[str, Any], state: RunState, known: dict[str, dict[str, Any]]
) -> list[dict[str, Any]]:
    """Build the lost `node_created` events on which an event rests, the parents first."""
    wanted = event["node"]["parent_id"] if event["event"] == "node_created" else event.get("node_id")
    chain: list[str] = []
    while isinstance(wanted, str) and wanted not in state.nodes and wanted in known and wanted not in chain:
        chain.append(wanted)
        wanted = known[wanted].get("parent_id")
    if not state.run_id or (isinstance(wanted, str) and wanted not in state.nodes):
        return []
    restored = []
    for node_id in reversed(chain):
        node = known[node_id]
        planned = {
            "id": node_id,
            "parent_id": node.get("parent_id"),
            "depth": node.get("depth", 0),
            "label": normalise_label(str(node.get("label"))),
            "order": node.get("order", len(state.nodes)),
            "plan": node.get("plan", {}),
        }
        restored.append(
            {"seq": state.last_seq + 1, "ts": event["ts"], "event": "node_created", "node": planned}
        )
    return restored


def _rebuild(directory: Path, state: RunState, report: RepairReport) -> None:
    """Write the projections that do not agree with the journal."""
    projection = TreeProjection()
    projection.update(state, state.nodes)
    wanted = {TREE_NAME: projection.to_bytes()}
    if state.decisions:
        wanted[DECISIONS_NAME] = decisions_of(state)
    for name, data in wanted.items():
        path = directory / name
        if path.exists() and path.read_bytes() == data:
            continue
        atomic_write(path, data)
        report.actions.append(f"wrote {name} anew from the journal")


def _rebuild_tree(directory: Path, report: RepairReport) -> None:
    """Without a journal: write a damaged `tree.json` anew from `nodes_tree.json`."""
    path = directory / TREE_NAME
    try:
        read_json(path)
    except FormatError as error:
        loaded = readers.load_tree_files(directory)
        projection = TreeProjection()
        projection.update(loaded.state, loaded.state.nodes)
        if path.exists():
            _back_up(path, report)
        atomic_write(path, projection.to_bytes())
        report.actions.append(f"wrote {TREE_NAME} anew from {NODES_TREE_NAME} ({error.message})")


def _repair_logs(directory: Path, report: RepairReport) -> None:
    """Cut the half line off the end of every other log of lines."""
    for path in sorted(directory.glob("*.jsonl")):
        if path.name == JOURNAL_NAME:
            continue
        data = path.read_bytes()
        whole, _, fragment = data.rpartition(b"\n")
        if not fragment.strip() or _is_json(fragment):
            continue
        _back_up(path, report)
        atomic_write(path, whole + b"\n" if whole else b"")
        report.actions.append(f"cut {len(fragment)} bytes of a half line off the end of {path.name}")


def _is_json(fragment: bytes) -> bool:
    try:
        strict_loads(fragment)
    except FormatError:
        return False
    return True
