"""The stage tools of the gate: the report and the claim links, written where the specification says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from ari.checkpoint.files import atomic_write
from ari.errors import FormatError
from ari.formats.base import read_json
from ari.formats.gate_report import GateReport
from ari.paths import inside
from ari.pipeline.claim_gate.gate import PAPER_NAMES, run_hard_gate
from ari.pipeline.claim_gate.includes import read_source
from ari.pipeline.claim_gate.links import link_paper_claims as link

EVALUATION = "evaluation"


_RECORD = re.compile(r"paper_claim_links\w*\.json")


def report_name(phase: str) -> str:
    """Name of the report of a phase, relative to the checkpoint."""
    return f"{EVALUATION}/claim_evidence_hard_gate_{phase}.json"


def write_report(checkpoint: Path, report: GateReport) -> str:
    """Write a report into its checkpoint.

    Args:
        checkpoint: The study.
        report: What the gate said.

    Returns:
        Its name, relative to the checkpoint.

    Raises:
        CheckpointError: If it cannot be written.
    """
    name = report_name(report.phase)
    (checkpoint / EVALUATION).mkdir(exist_ok=True)
    atomic_write(checkpoint / name, report.to_bytes())
    return name


def claim_evidence_hard_gate(
    *,
    checkpoint: Path,
    phase: Literal["draft", "final"] = "final",
    policy: Literal["strict", "warn"] = "strict",
    paper: str = PAPER_NAMES[0],
) -> dict[str, Any]:
    """Recompute every number of the paper from the study and write the report of the gate.

    Args:
        checkpoint: The study.
        phase: `draft` never blocks, `final` may.
        policy: `strict` or `warn`.
        paper: The `.tex` file, relative to the checkpoint.

    Returns:
        `report`: its file; `status`, `should_block`, `reason`, `errors` and `warnings` (lines for people).

    Raises:
        CheckpointError: If the report cannot be written.
        PathEscapeError: If the paper lies outside the checkpoint.
    """
    report = run_hard_gate(checkpoint, phase=phase, policy=policy, paper=inside(checkpoint, paper))
    name = write_report(checkpoint, report)
    errors = [_line(finding.to_dict()) for finding in report.errors]
    count = f"{len(errors)} error{'' if len(errors) == 1 else 's'}"
    return {
        "report": name,
        "status": report.status,
        "should_block": report.should_block,
        "reason": f"the claim gate found {count}: {errors[0]}" if report.should_block else "",
        "errors": errors,
        "warnings": [_line(finding.to_dict()) for finding in report.warnings],
        "summary": f"gate {phase}, {policy}: {report.status}, {count}, {len(report.warnings)} warnings",
    }


def _line(finding: Mapping[str, Any]) -> str:
    place = f"{finding.get('file', '')}:{finding['line']}: " if "line" in finding else ""
    return f"{place}{finding['message']} [{finding['kind']}]"


def link_paper_claims(
    *, checkpoint: Path, paper: str = PAPER_NAMES[0], output: str = "paper_claim_links.json"
) -> dict[str, Any]:
    """Link the paper's anchors, numbers and figures to the registry of claims and write the record.

    Args:
        checkpoint: The study.
        paper: The `.tex` file, relative to the checkpoint.
        output: The record, relative to the checkpoint: `paper_claim_links*.json`.

    Returns:
        `links`: the record's file; `unresolved_anchors`; `summary`; `warnings`.

    Raises:
        FormatError: If the paper or `science_data.json` cannot be read, or the record's name is not its own.
        CheckpointError: If the record cannot be written.
    """
    path = inside(checkpoint, paper)
    if not _RECORD.fullmatch(output):
        raise FormatError(
            f"{output} is no name for the record of links",
            cure="Use paper_claim_links.json or a variant of it.",
        )
    try:
        source = read_source(path, checkpoint)
    except OSError as error:
        raise FormatError(
            f"{path} cannot be read: {error.strerror or error}", cure="Write the paper first."
        ) from error
    manifest = checkpoint / "figures_manifest.json"
    figures = read_json(manifest) if manifest.exists() else None
    science = read_json(checkpoint / "science_data.json")
    links = link(
        source,
        science if isinstance(science, Mapping) else {},
        figures if isinstance(figures, Mapping) else None,
    )
    record = links.record()
    atomic_write(inside(checkpoint, output), record.to_bytes())
    return {
        "links": output,
        "unresolved_anchors": record.unresolved_anchors,
        "warnings": [
            *(f"{anchor} is not registered" for anchor in record.unresolved_anchors),
            *(f"{f.place.file}, line {f.place.line}: {f.message}" for f in source.faults),
        ],
        "summary": f"{len(record.paper_claim_links)} anchors, {len(record.numeric_mentions)} numbers linked",
    }
