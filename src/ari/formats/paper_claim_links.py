"""`paper_claim_links.json`: which sentence of the paper carries which claim, and every number of the text.

The file is a record of what the linker read. The gate never trusts it: it links the paper anew.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from ari.formats.base import FiniteNumber, FormatModel

MentionType = Literal[
    "result_claim", "experimental_setting", "citation_year", "figure_table_ref", "ambiguous"
]


class ClaimLink(FormatModel):
    """One anchor, `% CLAIM:Cx:NCx`, and the sentence it stands for.

    Attributes:
        anchor: `CLAIM:Cx:NCx`, the key that survives rewriting.
        claim_id: `Cx`.
        numeric_id: `NCx`.
        section: Canonical name of the section (`results`, `related_work`, …).
        file: The file it stands in, where that is one the paper draws in.
        line_range: First and last line of the sentence, from 1.
        span_hash: `sha256-…` of the sentence, blanks run together; it changes when the sentence does.
        figures: Figures the sentence refers to.
        resolved: Whether the claim and the assertion are registered.
    """

    anchor: str
    claim_id: str
    numeric_id: str
    section: str
    file: str | None = None
    line_range: list[int] = Field(min_length=2, max_length=2)
    span_hash: str
    figures: list[str] = Field(default_factory=list)
    resolved: bool


class NumericMention(FormatModel):
    """One number of the text.

    Attributes:
        value: Its value, sign and power of ten included.
        unit: `%` or empty.
        type: What kind of number it is.
        requires_assertion: Whether it has to be backed (it is a `result_claim`).
        section: Canonical name of the section.
        file: The file it stands in, where that is one the paper draws in.
        line: Line, from 1.
        column: Column, from 1.
        text: The number as it stands.
    """

    value: FiniteNumber
    unit: Literal["%", ""]
    type: MentionType
    requires_assertion: bool
    section: str
    file: str | None = None
    line: int
    column: int | None = None
    text: str | None = None


class PaperClaimLinks(FormatModel):
    """The whole file."""

    paper_claim_links: list[ClaimLink]
    numeric_mentions: list[NumericMention]
    figure_refs: list[str]
    unresolved_anchors: list[str] = Field(default_factory=list)
    uncovered_numeric_candidates: list[NumericMention] = Field(default_factory=list)
    writer_assertions: list[Any] = Field(default_factory=list)
