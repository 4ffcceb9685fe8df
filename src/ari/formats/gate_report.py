"""`evaluation/claim_evidence_hard_gate_{draft,final}.json`: what the gate found."""

from __future__ import annotations

from typing import Any, Literal

from ari.formats.base import FormatModel


class GateReport(FormatModel):
    """The whole file."""

    gate: Literal["claim_evidence_hard_gate"]
    phase: Literal["draft", "final"]
    policy: Literal["strict", "warn"]
    status: Literal["passed", "warn", "failed"]
    should_block: bool
    errors: list[dict[str, Any]]
    warnings: list[dict[str, Any]]
    metrics: dict[str, Any]
