"""`evaluation/claim_evidence_hard_gate_{draft,final}.json`: what the gate found.

Each finding carries its kind twice, as `type` and as `kind`: readers of this file know it by either name.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from ari.formats.base import FormatModel, MetricValue

Phase = Literal["draft", "final"]
Policy = Literal["strict", "warn"]


class Evidence(FormatModel):
    """The measured number nearest to what a finding is about.

    Attributes:
        assertion: Anchor of the assertion it belongs to, such as `C1:NC1`; None for a plain measurement.
        node_id: The node; None when the value is computed from several.
        metric_path: Where in it.
        value: The number.
        formula: How it is computed, when it is.
    """

    value: MetricValue = None
    node_id: str | None = None
    metric_path: str | None = None
    formula: str | None = None
    assertion: str | None = None


class GateFinding(FormatModel):
    """One thing the gate found.

    Attributes:
        type: Its kind (`docs/gate.md` lists them).
        kind: The same.
        message: What is wrong, in a sentence.
        file: File relative to the checkpoint.
        line: Line in it, from 1; None when it is about no line.
        column: Column of the number, from 1.
        anchor: The anchor concerned, `CLAIM:Cx:NCx`.
        section: Section of the paper.
        printed: The text as it stands.
        evidence: The nearest measured number.
        fix: What would mend it.
    """

    type: str
    kind: str = ""
    message: str = ""
    file: str | None = None
    line: int | None = None
    column: int | None = None
    anchor: str | None = None
    section: str | None = None
    printed: str | None = None
    evidence: Evidence | None = None
    fix: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _both_names(cls, document: object) -> object:
        if isinstance(document, dict) and "type" in document:
            return {"kind": document["type"], **document}
        return document


class GateReport(FormatModel):
    """The whole file."""

    gate: Literal["claim_evidence_hard_gate"]
    phase: Phase
    policy: Policy
    status: Literal["passed", "warn", "failed"]
    should_block: bool
    errors: list[GateFinding] = Field(default_factory=list)
    warnings: list[GateFinding] = Field(default_factory=list)
    metrics: dict[str, Any] = Field(default_factory=dict)
