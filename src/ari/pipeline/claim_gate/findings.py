"""Building the findings of the gate, and what their kinds mean for the outcome."""

from __future__ import annotations

from typing import Any

from ari.formats.gate_report import Evidence, GateFinding
from ari.pipeline.claim_gate.contract import CONTRACT_KINDS
from ari.pipeline.claim_gate.mentions import Mention

INPUT_KINDS = frozenset({"paper_missing", "input_missing", "input_invalid"})
"""Kinds that say the gate could not do its work; they block under either policy."""

STRICT_KINDS = frozenset(
    {
        *("missing_evidence", "operand_unresolved", "numeric_mismatch", "uncovered_numeric"),
        *("citation_unknown", "include_missing", "include_escapes", "include_cycle", "paper_incomplete"),
    }
)
"""Kinds that block under the strict policy only."""

BLOCKING = {"strict": CONTRACT_KINDS | INPUT_KINDS | STRICT_KINDS, "warn": CONTRACT_KINDS | INPUT_KINDS}
"""Policy to the kinds of error that block at the final phase."""


def finding(kind: str, message: str, **details: Any) -> GateFinding:  # noqa: ANN401 - fields of the model
    """Build a finding; fields that are None are left out.

    Args:
        kind: Its kind.
        message: What is wrong.
        **details: Further fields of `GateFinding`.

    Returns:
        The finding.
    """
    given = {name: value for name, value in details.items() if value is not None}
    return GateFinding(type=kind, kind=kind, message=message, **given)


def at(mention: Mention) -> dict[str, Any]:
    """The fields that say where a number stands."""
    return {**mention.place._asdict(), "section": mention.section, "printed": mention.text}


def describe(evidence: Evidence | None) -> str:
    """Describe evidence in a few words, for a message."""
    if evidence is None or evidence.value is None:
        return ""
    parts = [f"{evidence.value:.6g}"]
    if evidence.assertion:
        parts.append(f"of {evidence.assertion}")
    elif evidence.metric_path:
        parts.append(f"({evidence.metric_path} of {evidence.node_id})")
    return " ".join(parts)


def printed_like(value: float, mention: Mention) -> str:
    """Write a value with as many places as a printed number shows.

    Args:
        value: The value in the unit of the printed number.
        mention: The printed number.

    Returns:
        The text to print instead.
    """
    from math import floor, log10

    quantum = mention.number.quantum
    places = max(0, -round(log10(quantum))) if quantum > 0 else 6
    if mention.number.power or "e" in mention.text.lower():
        shown = mention.number.value
        digits = max(0, round(floor(log10(abs(shown))) - log10(quantum))) if shown and quantum else 2
        mantissa, _, exponent = f"{value:.{digits}e}".partition("e")
        return (
            f"{mantissa}\\times10^{{{int(exponent)}}}"
            if mention.number.power
            else f"{mantissa}e{int(exponent)}"
        )
    text = f"{value:.{places}f}"
    return f"{value:.3g}" if value and float(text) == 0.0 else text
