"""`ari gate`: does the paper say what was measured?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ari.cli.common import (
    CheckpointArgument,
    JsonOption,
    QuietOption,
    checkpoint_path,
    count,
    print_json,
)

if TYPE_CHECKING:
    from ari.formats.gate_report import GateFinding, GateReport


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="gate", short_help="Recompute every number of the paper from the study.")(gate)


def gate(  # noqa: PLR0917 - each parameter is an option of the command
    checkpoint: CheckpointArgument = None,
    phase: Annotated[str, typer.Option(metavar="draft|final", help="A draft never blocks.")] = "final",
    policy: Annotated[
        str, typer.Option(metavar="strict|warn", help="Whether every result number needs an assertion.")
    ] = "strict",
    paper: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The .tex file; default: full_paper.tex of the study.")
    ] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Check that every number of the paper follows from what the study measured.

    Each finding names the line, the nearest measured number and what would mend it. Nothing is written. Exit
    status 1 when the paper must not be published as it is, else 0; a draft always gives 0. With --quiet only
    the status tells.
    """
    from ari.errors import ConfigError
    from ari.pipeline.claim_gate.gate import run_hard_gate

    path = checkpoint_path(checkpoint)
    if paper is not None and not paper.is_file():
        raise ConfigError(f"{paper}: no such file", cure="Name the .tex file of the paper with --paper.")
    report = run_hard_gate(path, phase=phase, policy=policy, paper=paper)  # type: ignore[arg-type]
    if as_json:
        print_json({"checkpoint": str(path), **report.to_dict()})
    elif not quiet:
        _show(path, report)
    return 1 if report.should_block else 0


def _show(path: Path, report: GateReport) -> None:
    for severity, findings in (("error", report.errors), ("warning", report.warnings)):
        for finding in findings:
            print("\n".join(_lines(severity, finding)))
    metrics = report.metrics
    total = metrics.get("numeric_assertions_total", 0)
    found = f"{count(len(report.errors), 'error')}, {count(len(report.warnings), 'warning')}"
    print(
        f"{path}: {report.status} ({report.phase}, {report.policy}): {found}; "
        f"{metrics.get('numeric_reproducible', 0)} of {total} numbers recomputed, "
        f"{metrics.get('grounded_claims', 0)} of {metrics.get('total_claims', 0)} claims grounded"
    )
    if report.should_block:
        print("The paper must not be published as it is.")


def _lines(severity: str, finding: GateFinding) -> Iterator[str]:
    """A finding as compilers tell theirs, with its place in front."""
    place = _where(finding)
    yield f"{f'{place}: ' if place else ''}{severity}: {finding.message} [{finding.kind}]"
    for name, text in (("evidence", _evidence(finding)), ("fix", finding.fix)):
        if text:
            yield f"    {name:<8}  {text}"


def _where(finding: GateFinding) -> str:
    parts = [finding.file or "", str(finding.line or ""), str(finding.column or "")]
    return ":".join(part for part in parts if part)


def _evidence(finding: GateFinding) -> str:
    evidence = finding.evidence
    if evidence is None:
        return ""
    if evidence.value is None:
        return f"{evidence.formula} of {evidence.node_id}" if evidence.formula and evidence.node_id else ""
    source = (
        f"{evidence.metric_path} of {evidence.node_id}"
        if evidence.metric_path and evidence.node_id
        else evidence.metric_path or evidence.formula or ""
    )
    shown = f"{evidence.value:.6g} {source}".strip()
    return f"{evidence.assertion}: {shown}" if evidence.assertion else shown
