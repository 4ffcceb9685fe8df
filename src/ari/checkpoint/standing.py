"""How the runs below a folder stand, told from their files alone; nobody is disturbed by the look."""

from __future__ import annotations

import os
from pathlib import Path

from ari.checkpoint.journal import JOURNAL_NAME
from ari.checkpoint.lock import LOCK_NAME, may_take_over, process_start, read_record
from ari.checkpoint.projections import NODES_TREE_NAME, TREE_NAME
from ari.checkpoint.readers import is_checkpoint
from ari.checkpoint.store import Checkpoint


def find_checkpoints(directory: Path, *, depth: int = 3) -> list[Path]:
    """List the checkpoints below a directory, the latest first.

    Args:
        directory: Where to look; it may be a checkpoint itself.
        depth: How many levels down.

    Returns:
        Directories. What lies inside a checkpoint is not looked at.
    """
    found: list[Path] = []
    waiting = [(directory, 0)]
    while waiting:
        place, level = waiting.pop()
        if is_checkpoint(place):
            found.append(place)
        elif level < depth:
            try:
                children = [p for p in place.iterdir() if p.is_dir() and not p.is_symlink()]
            except OSError:  # a directory that we may not look into holds nothing for us
                continue
            waiting += [(child, level + 1) for child in children if not child.name.startswith(".")]
    return sorted(found, key=lambda path: (-last_change(path), str(path)))


def last_change(checkpoint: Path) -> float:
    """Return when a checkpoint's tree last changed, in seconds since the epoch."""
    files = [checkpoint / name for name in (JOURNAL_NAME, TREE_NAME, NODES_TREE_NAME)]
    return max((file.stat().st_mtime for file in files if file.exists()), default=0.0)


def holder(checkpoint: Path) -> str | None:
    """Name the process that is writing a checkpoint, without taking its lock; None when nobody is."""
    try:
        data = (checkpoint / LOCK_NAME).read_bytes()
    except OSError:  # no lock file, or none that we may read: nobody known to be writing
        return None
    record = read_record(data)
    if record is None:
        return None
    ours = record.pid == os.getpid() and record.process_start == process_start(record.pid)
    gone, _ = may_take_over(record, data)
    return str(record) if ours or not gone else None


def run_state(checkpoint: Checkpoint) -> str:
    """Say how a run stands: running, finished, budget exhausted, interrupted, stopped, or recorded."""
    from ari.budget.tally import EXHAUSTED

    if holder(checkpoint.path):
        return "running"
    if not checkpoint.state.last_seq:
        return "recorded"  # tree files without a journal, written by another tool
    if checkpoint.state.finished is not None:
        return EXHAUSTED if checkpoint.state.finished.startswith(EXHAUSTED) else "finished"
    return "interrupted" if checkpoint.state.interrupted is not None else "stopped"
