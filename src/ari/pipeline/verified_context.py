"""`verified_context.json`: what a paper may say with the files to show for it.

Only what the memory holds of the nodes on the line from the root to the best node counts, and only when the
entry rests on a measurement that the run has confirmed. Every file that backs a claim is hashed again, here
and now; a claim whose file is gone or changed is listed as a limitation and is not usable. Without a usable
claim there is no file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ari.checkpoint import Checkpoint, NodeState
from ari.checkpoint.files import atomic_write
from ari.checkpoint.store import file_sha256
from ari.errors import AriError
from ari.formats.jsonio import strict_dumps
from ari.formats.verified_context import VerifiedContext
from ari.memory import Entry, open_memory
from ari.paths import inside

VERIFIED_CONTEXT = "verified_context.json"
REPEAT_TOLERANCE = 0.05
"""How far, relatively, a repeated measurement may be from the first to have passed."""

Repro = Literal["rerun_passed", "rerun_failed", "unverified"]


class Backing(NamedTuple):
    """The files behind an entry, and what is wrong with them."""

    refs: list[dict[str, str]]
    faults: list[str]


def write_verified_context(*, checkpoint: Path) -> dict[str, Any]:
    """Write the claims that artefacts back, on the line from the root to the best node; or nothing.

    Args:
        checkpoint: The study.

    Returns:
        `usable_for_claims` and `limitations`: how many there are.

    Raises:
        FormatError: If the memory cannot be read.
        CheckpointError: If the file cannot be written.
    """
    document = verified_context(checkpoint)
    path = checkpoint / VERIFIED_CONTEXT
    if document is None:
        path.unlink(missing_ok=True)
        return {"summary": "no supported claim: no file is written", "usable_for_claims": 0, "limitations": 0}
    atomic_write(path, strict_dumps(document, indent=True))
    usable, limits = len(document["usable_for_claims"]), len(document["limitations"])
    text = (
        f"{usable} usable claim{'s' if usable != 1 else ''}, {limits} limitation{'s' if limits != 1 else ''}"
    )
    return {"summary": text, "usable_for_claims": usable, "limitations": limits}


def verified_context(checkpoint: Path) -> dict[str, Any] | None:
    """Compose the document without writing it.

    Args:
        checkpoint: The study.

    Returns:
        The document, or None when no supported claim is left after the files have been checked.

    Raises:
        FormatError: If the memory cannot be read.
    """
    study = Checkpoint.open(checkpoint, read_only=True)
    best = study.nodes.get(study.best_node_id or "")
    if best is None:
        return None
    lineage = _lineage(study, best)
    remembered = open_memory(checkpoint).entries(node_ids=set(lineage), kind="node_scope")
    claims: list[dict[str, Any]] = []
    limitations: list[str] = []
    for entry in remembered:
        node = study.nodes[entry.node_id]
        backing = _backing(checkpoint, node, entry)
        grounded = entry.supported and node.has_real_data and bool(backing.refs) and not backing.faults
        status = repro_status(study, node) if grounded else "unverified"
        claims.append(
            {
                "entry_id": entry.id,
                "node_id": entry.node_id,
                "text": entry.text,
                "kind": entry.mem_kind,
                "grounded": grounded,
                "artifact_refs": backing.refs,
                "repro_status": status,
            }
        )
        limitations += _limitations(entry, backing, status)
    usable = [claim for claim in claims if claim["grounded"]]
    if not usable:
        return None
    document = {
        "best_node_id": best.id,
        "lineage": lineage,
        "claims": claims,
        "limitations": limitations,
        "usable_for_claims": [
            {key: claim[key] for key in ("text", "repro_status", "artifact_refs", "node_id", "entry_id")}
            for claim in usable
        ],
    }
    VerifiedContext.from_document(document, source=VERIFIED_CONTEXT)
    return document


def _lineage(study: Checkpoint, best: NodeState) -> list[str]:
    chain = [best.id]
    while (parent := study.nodes[chain[-1]].parent_id) in study.nodes and parent is not None:
        if parent in chain:
            break
        chain.append(parent)
    return chain[::-1]


def _backing(checkpoint: Path, node: NodeState, entry: Entry) -> Backing:
    """Hash the files of an entry again; those that are as recorded back it."""
    refs: list[dict[str, str]] = []
    faults: list[str] = []
    for ref in entry.artifact_refs:
        path, recorded = str(ref.get("path", "")), ref.get("sha256")
        try:
            folder = inside(checkpoint, node.work_dir or f"experiments/{node.id}")
            present = file_sha256(inside(folder, path))
        except (AriError, OSError) as error:
            reason = error.message if isinstance(error, AriError) else error.strerror
            faults.append(f"{path} cannot be read: {reason}")
            continue
        if present != recorded:
            faults.append(f"{path} has another content than recorded")
        else:
            refs.append({"path": path, "sha256": present})
    return Backing(refs, faults)


def _limitations(entry: Entry, backing: Backing, status: Repro) -> Iterator[str]:
    for fault in backing.faults:
        yield f"{entry.node_id}: {fault}; its claim is not usable"
    if not entry.supported:
        yield f"{entry.node_id}: {entry.text}"
    elif not backing.faults and not backing.refs:
        yield f"{entry.node_id}: no recorded file backs its result"
    elif status == "unverified" and not backing.faults:
        yield f"{entry.node_id}: its result was not measured a second time"
    elif status == "rerun_failed":
        yield f"{entry.node_id}: a second measurement gave another result"


def repro_status(study: Checkpoint, node: NodeState) -> Repro:
    """Whether a validation node has measured the same thing again, and with the same result.

    The same thing is the same formula or configuration; the same result is a primary metric within 5 %.
    """
    metric = study.state.primary_metric
    first = node.metrics.get(metric)
    again = [
        other.metrics[metric]
        for other in study.nodes.values()
        if other.label == "validation"
        and other.id != node.id
        and other.status == "completed"
        and other.metrics.get(metric) is not None
        and _same_thing(study, node, other)
    ]
    if first is None or not again:
        return "unverified"
    worst = max(abs(value - first) for value in again if value is not None)
    return "rerun_passed" if worst <= REPEAT_TOLERANCE * abs(first) else "rerun_failed"


def _same_thing(study: Checkpoint, node: NodeState, other: NodeState) -> bool:
    first, second = _submitted(study, node), _submitted(study, other)
    return bool(first) and first == second


def _submitted(study: Checkpoint, node: NodeState) -> Mapping[str, Any]:
    from ari.transform.view import read_node

    submission = read_node(study.path, node).report.get("submission")
    return submission if isinstance(submission, dict) else {}
