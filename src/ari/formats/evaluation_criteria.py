"""`evaluation_criteria.json`: which metric decides, and which way is better. Minted once, then frozen."""

from __future__ import annotations

from pydantic import Field

from ari.formats.base import FormatModel


class EvaluationCriteria(FormatModel):
    """The whole file."""

    primary_metric: str = Field(min_length=1)
    higher_is_better: bool
    metric_rationale: str
