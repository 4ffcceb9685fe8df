"""`evaluation/evidence_grounded_semantic_review*.json`: what a reader should object to; it never blocks."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ari.formats.base import FiniteNumber, FormatModel


class Revision(FormatModel):
    """A change of one line of the paper.

    Attributes:
        line: Line of the source.
        find: Text that stands on it.
        replace: What should stand there instead; absent where only the writer can mend it.
        reason: Why.
        section: Canonical name of its section.
    """

    line: int
    find: str
    reason: str
    replace: str | None = None
    section: str | None = None


class ReviewWarning(FormatModel):
    """One objection."""

    kind: str
    message: str
    line: int | None = None
    section: str | None = None
    text: str | None = None


class SemanticReview(FormatModel):
    """The whole file."""

    stage: Literal["evidence_grounded_semantic_review"]
    phase: Literal["initial", "post_refine"]
    status: Literal["ok", "warn"]
    scores: dict[str, FiniteNumber] = Field(default_factory=dict)
    warnings: list[ReviewWarning] = Field(default_factory=list)
    suggested_revisions: list[Revision] = Field(default_factory=list)
