"""How the paper of a study stands: its stages and the last verdict of the gate, for `ari status`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from ari.cli.common import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ari.checkpoint import Checkpoint
    from ari.formats.gate_report import GateReport
    from ari.pipeline.stage_plan import Standing


class PaperView(NamedTuple):
    """How the paper stands.

    Attributes:
        stages: The stages in order; empty when the workflow cannot be used.
        fault: Why it cannot be used.
        gate: The last report of the gate, final before draft; None when there is none.
        report: File of that report, relative to the checkpoint.
    """

    stages: Sequence[Standing]
    fault: str
    gate: GateReport | None
    report: str


def paper_view(checkpoint: Checkpoint) -> PaperView:
    """Read how the paper of a study stands; nothing is run or written."""
    from ari.errors import FormatError, WorkflowError
    from ari.formats.base import read_json
    from ari.formats.gate_report import GateReport
    from ari.pipeline.claim_gate.stage import report_name
    from ari.pipeline.stage_plan import standings
    from ari.pipeline.yaml_loader import workflow_of

    stages: list[Standing] = []
    fault = ""
    try:
        stages = standings(checkpoint, workflow_of(checkpoint.path))
    except WorkflowError as error:
        fault = error.message
    for name in (report_name("final"), report_name("draft")):
        path = checkpoint.path / name
        try:
            if path.is_file():
                return PaperView(stages, fault, GateReport.from_document(read_json(path), source=name), name)
        except FormatError:
            continue  # `ari validate` reports it
    return PaperView(stages, fault, None, "")


def document(view: PaperView) -> dict[str, Any]:
    """The paper as JSON types: `stages`, `gate`, and `workflow_fault` where the workflow cannot be used."""
    found: dict[str, Any] = {
        "stages": [
            {
                "name": standing.step.stage.name,
                "phase": standing.step.stage.phase,
                "state": standing.state,
                "action": standing.step.action,
                "why": standing.why,
            }
            for standing in view.stages
        ],
        "gate": None,
    }
    if view.fault:
        found["workflow_fault"] = view.fault
    if view.gate is not None:
        found["gate"] = {
            "report": view.report,
            "phase": view.gate.phase,
            "policy": view.gate.policy,
            "status": view.gate.status,
            "should_block": view.gate.should_block,
            "errors": len(view.gate.errors),
            "warnings": len(view.gate.warnings),
        }
    return found


def summary(view: PaperView) -> list[str]:
    """One line about the stages and one about the gate."""
    if view.fault:
        return [f"paper       the workflow cannot be used: {view.fault}"]
    stages = _of_paper(view)
    counts = Counter(standing.state for standing in stages)
    states = ", ".join(f"{many} {state}" for state, many in counts.items()) or "no stages"
    reason = f": {stages[0].why}" if _alike(stages) and _why(stages[0]) else ""
    lines = [f"paper       {states}{reason}"]
    if view.gate is not None:
        gate = view.gate
        counted = f"{count(len(gate.errors), 'error')}, {count(len(gate.warnings), 'warning')}"
        blocks = ", blocks the paper" if gate.should_block else ""
        lines.append(f"gate        {gate.status} ({gate.phase}, {gate.policy}): {counted}{blocks}")
    return lines


def lines(view: PaperView) -> list[str]:
    """A line a stage; none where the summary says the same of all."""
    stages = _of_paper(view)
    if _alike(stages):
        return []
    width = max((len(standing.step.stage.name) for standing in stages), default=0)
    return [f"  {s.step.stage.name:<{width}}  {s.state:<10}  {_why(s)}".rstrip() for s in stages]


def _alike(stages: Sequence[Standing]) -> bool:
    return bool(stages) and len({(standing.state, standing.why) for standing in stages}) == 1


def _why(standing: Standing) -> str:
    """The reason; that nothing has changed needs no words."""
    return "" if standing.why.startswith("unchanged:") else standing.why


def _of_paper(view: PaperView) -> list[Standing]:
    return [standing for standing in view.stages if standing.step.stage.phase != "search"]
