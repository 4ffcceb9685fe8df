"""`science_data.json`: the data a paper may rest on, with claims anchored to nodes and metric paths.

Keys that begin with an underscore are internal notes and no part of what the paper sees.
"""

from __future__ import annotations

from typing import Any

from pydantic import Field

from ari.formats.base import FiniteNumber, FormatModel
from ari.formats.metric_contract import MetricContract, Tolerance


class Operand(FormatModel):
    """A number of the study: which node, and where in it."""

    node_id: str
    metric_path: str


class NumericAssertion(FormatModel):
    """A number the paper may state, and how to compute it anew."""

    id: str
    formula: str
    operands: dict[str, Operand]
    value: FiniteNumber | None = None
    unit: str | None = None
    tolerance: Tolerance | None = None


class Support(FormatModel):
    """What a claim rests on."""

    nodes: list[str] = Field(default_factory=list)
    results: list[Operand] = Field(default_factory=list)
    figures: list[str] = Field(default_factory=list)
    artifacts: list[Any] = Field(default_factory=list)


class Claim(FormatModel):
    """A candidate claim."""

    id: str
    text: str
    supported_by: Support = Field(default_factory=Support)
    numeric_assertions: list[NumericAssertion] = Field(default_factory=list)


class ScienceData(FormatModel):
    """The whole file."""

    configurations: list[dict[str, Any]]
    experiment_context: dict[str, Any]
    summary_stats: dict[str, Any]
    claims: list[Claim] = Field(default_factory=list)
    numeric_assertions: list[NumericAssertion] = Field(default_factory=list)
    metric_contract: MetricContract | None = None
