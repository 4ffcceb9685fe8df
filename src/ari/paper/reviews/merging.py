"""One list of what all reviews say: objections and revisions, each once, the earliest line first."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ari.checkpoint.files import atomic_write
from ari.errors import FormatError
from ari.formats.base import read_json
from ari.formats.jsonio import strict_dumps
from ari.paper.reviews.refining import MERGED

SOURCES = ("evaluation/evidence_grounded_semantic_review.json", "evaluation/rubric_review.json")


def merge_reviews(*, checkpoint: Path) -> dict[str, Any]:
    """Merge the reviews under `evaluation/` into `evaluation/merged_reviews.json`.

    A review that is missing or unreadable is named in the file and otherwise left out; reviews never block.

    Args:
        checkpoint: The study.

    Returns:
        `reviews`: the files that were read; `summary`.
    """
    read: list[str] = []
    skipped: dict[str, str] = {}
    warnings: list[dict[str, Any]] = []
    revisions: list[dict[str, Any]] = []
    for file in SOURCES:
        try:
            document = read_json(checkpoint / file)
        except FormatError as error:
            skipped[file] = error.message.replace(str(checkpoint), "CHECKPOINT")
            continue
        if not isinstance(document, Mapping):
            skipped[file] = "it holds no object"
            continue
        read.append(file)
        warnings += [dict(w) | {"review": file} for w in _objects(document, "warnings")]
        revisions += [dict(r) | {"review": file} for r in _objects(document, "suggested_revisions")]
    merged = {
        "reviews": read,
        "skipped": skipped,
        "warnings": _sorted(_unique(warnings, ("kind", "line", "message"))),
        "suggested_revisions": _sorted(_unique(revisions, ("line", "find", "replace"))),
    }
    (checkpoint / MERGED).parent.mkdir(exist_ok=True)
    atomic_write(checkpoint / MERGED, strict_dumps(merged, indent=True))
    counts = f"{len(merged['warnings'])} objections, {len(merged['suggested_revisions'])} revisions"
    return {"reviews": read, "summary": f"{counts} from {len(read)} review{'' if len(read) == 1 else 's'}"}


def _objects(document: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    value = document.get(key)
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _unique(items: list[dict[str, Any]], keys: tuple[str, ...]) -> list[dict[str, Any]]:
    kept: dict[tuple[str, ...], dict[str, Any]] = {}
    for item in items:
        kept.setdefault(tuple(repr(item.get(key)) for key in keys), item)
    return list(kept.values())


def _sorted(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(items, key=lambda item: item["line"] if isinstance(item.get("line"), int) else 10**9)
