"""A node's folders: seeding the work_dir from the parent, and what the node changed in it.

experiments/<node_id>/   the node's work_dir
records/<node_id>/       run records, trace, outcome, and `seeded.json`: the folder as it was handed over
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from ari.formats.jsonio import strict_dumps

if TYPE_CHECKING:
    from ari.execution.records import RunRecord
    from ari.execution.workdir import FileHash, FilesChanged

INPUTS = "inputs"
"""Where the experiment's own files are kept; the root's work_dir is seeded from here."""

REPORT = "node_report.json"
SEEDED = "seeded.json"
EXCHANGES = "exchanges.jsonl"
LEFT = ("trace.jsonl", "run_record.json")
"""Records from which a node is shown that left no outcome."""

RESULT_FILES = ("results*.json", "formula.json", "front.json", REPORT)
"""Files that are results: a child never inherits them, so it cannot pass them off as its own."""

SOURCE_SUFFIXES = frozenset(
    {".c", ".cc", ".cpp", ".cu", ".f90", ".go", ".h", ".hpp", ".jl", ".js", ".py", ".r", ".rs", ".sh"}
)
_SOURCE_NAMES = frozenset({"cmakelists.txt", "makefile"})


def is_source(path: str) -> bool:
    """Whether a file is a program's text by its name."""
    name = PurePosixPath(path.lower())
    return name.suffix in SOURCE_SUFFIXES or name.name in _SOURCE_NAMES


def work_dir(checkpoint: Path, node_id: str) -> Path:
    """The node's work_dir."""
    return checkpoint / "experiments" / node_id


def records_dir(checkpoint: Path, node_id: str) -> Path:
    """The node's records, outside every sandbox."""
    return checkpoint / "records" / node_id


def prepare(checkpoint: Path, node_id: str, parent_id: str | None, *, written_sources: bool = False) -> None:
    """Make the node's folders afresh and seed the work_dir; what an unfinished attempt left is removed.

    Only the answers of models stay: they have been paid for, and the same question gets them again.

    Args:
        checkpoint: The study.
        node_id: The node.
        parent_id: Whose files it starts from; None for the experiment's own.
        written_sources: Inherit also sources that the parent's commands wrote, as a model does with `cat`.
    """
    from ari.execution.records import load
    from ari.execution.workdir import seed_from_parent, snapshot

    target, records = work_dir(checkpoint, node_id), records_dir(checkpoint, node_id)
    if target.exists():
        shutil.rmtree(target)
    records.mkdir(parents=True, exist_ok=True)
    for item in records.iterdir():
        if item.name != EXCHANGES:
            shutil.rmtree(item) if item.is_dir() else item.unlink()
    source = checkpoint / INPUTS if parent_id is None else work_dir(checkpoint, parent_id)
    if source.is_dir():
        outputs = () if parent_id is None else _outputs(load(records_dir(checkpoint, parent_id)).runs)
        if written_sources:
            outputs = tuple(path for path in outputs if not is_source(path))
        seed_from_parent(source, target, exclude=(*RESULT_FILES, *outputs))
    else:
        target.mkdir(parents=True)
    seeded = {path: item.sha256 for path, item in snapshot(target).items()}
    (records / SEEDED).write_bytes(strict_dumps(seeded, indent=True))


def _outputs(runs: Sequence[RunRecord]) -> tuple[str, ...]:
    return tuple(sorted({output.path for run in runs for output in run.outputs}))


def changes(
    checkpoint: Path, node_id: str, parent_id: str | None
) -> tuple[FilesChanged, Mapping[str, FileHash]]:
    """What the node changed in its work_dir, and the folder as it is now."""
    from ari.execution.workdir import FileHash, diff, snapshot

    now = {path: item for path, item in snapshot(work_dir(checkpoint, node_id)).items() if path != REPORT}
    seeded: dict[str, str] = json.loads((records_dir(checkpoint, node_id) / SEEDED).read_bytes())
    before = {path: FileHash(sha256, 0, 0, 0, 0) for path, sha256 in seeded.items()}
    return diff(before, now, from_node_id=parent_id), now
