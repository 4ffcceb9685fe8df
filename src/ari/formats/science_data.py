"""`science_data.json`: the data a paper may rest on, with claims anchored to nodes and metric paths.

Keys that begin with an underscore are internal notes and no part of what the paper sees. The rules by which
the numbers are computed anew and compared with the paper stand in `docs/gate.md`.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from ari.formats.base import FiniteNumber, FormatModel, MetricValue
from ari.formats.metric_contract import MetricContract, Tolerance
from ari.formats.node_results import Provenance

NAMED_FORMULAS: dict[str, tuple[str, ...]] = {
    "identity": ("value",),
    "relative_speedup": ("baseline", "proposed"),
    "relative_gain": ("baseline", "proposed"),
    "relative_improvement_percent": ("baseline", "proposed"),
    "relative_reduction_percent": ("baseline", "proposed"),
    "relative_increase_percent": ("baseline", "proposed"),
    "absolute_difference": ("baseline", "proposed"),
    "ratio_percent": ("baseline", "proposed"),
}
"""Names a formula may have, and the operands each takes. Any other formula is a restricted expression over
the names of its operands."""


class Operand(FormatModel):
    """A number of the study: which node, and where in it.

    `metric_path` is `measurements.K`, `scores.K`, `params.K` or `predictions.K` (the node's `results.json`)
    or `metrics.K` (the tree); K may hold a slash or a dot.
    """

    node_id: str
    metric_path: str


class NumericAssertion(FormatModel):
    """A number the paper may state, and how to compute it anew.

    Attributes:
        id: `NCx` of the anchor `% CLAIM:Cx:NCx`.
        formula: A name of `NAMED_FORMULAS`, or a restricted expression over the operands.
        operands: Name to place in the study.
        claim_id: `Cx`; needed in the flat list, implied inside a claim.
        text_span: The number as the paper prints it, for people.
        metric: The metric's name.
        value: What it was when the assertion was made; the gate computes it again.
        unit: The unit of the value; empty or absent when the metric's name says it, or when there is none.
        tolerance: How far the printed number may be off; the policy's own when absent.
        rounding: `printed`: the printed number must be the computed one rounded to the digits it shows, and
            no tolerance applies. A tolerance of zero means the same.
    """

    id: str
    formula: str
    operands: dict[str, Operand]
    claim_id: str | None = None
    text_span: str | None = None
    metric: str | None = None
    value: FiniteNumber | None = None
    unit: str | None = None
    tolerance: Tolerance | None = None
    rounding: Literal["printed"] | None = None


class Support(FormatModel):
    """What a claim rests on."""

    nodes: list[str] = Field(default_factory=list)
    results: list[Operand] = Field(default_factory=list)
    figures: list[str] = Field(default_factory=list)
    artifacts: list[Any] = Field(default_factory=list)


class Claim(FormatModel):
    """A candidate claim.

    Attributes:
        id: `Cx` of the anchor.
        text: The seed of the sentence.
        section: Where it belongs (`results`, `abstract`, …).
        status: How far it has come; `draft` when it was derived.
        supported_by: What it rests on; a claim that rests on nothing may not be made.
        numeric_assertions: Its numbers.
        risk: What speaks against it.
    """

    id: str
    text: str
    section: str | None = None
    status: str | None = None
    supported_by: Support = Field(default_factory=Support)
    numeric_assertions: list[NumericAssertion] = Field(default_factory=list)
    risk: str | None = None


class Statistic(FormatModel):
    """One metric over the repeats of a node, or over the nodes of a study."""

    n: int
    mean: MetricValue = None
    median: MetricValue = None
    min: MetricValue = None
    max: MetricValue = None
    std: MetricValue = None
    interval: list[FiniteNumber] | None = None
    interval_level: FiniteNumber | None = None


class Configuration(FormatModel):
    """One successful node: what was set and what was measured.

    `measurements` holds numbers and arrays of numbers; `_provenance` says where a value comes from.
    """

    config_id: str | None = None
    rank: int | None = None
    node_id: str | None = None
    label: str | None = None
    parameters: dict[str, Any] = Field(default_factory=dict)
    metrics: dict[str, Any] = Field(default_factory=dict)
    measurements: dict[str, Any] = Field(default_factory=dict)
    predictions: dict[str, Any] = Field(default_factory=dict)
    scores: dict[str, Any] = Field(default_factory=dict)
    statistics: dict[str, Statistic] = Field(default_factory=dict)
    provenance: dict[str, Provenance] = Field(alias="_provenance", default_factory=dict)


class LeftOut(FormatModel):
    """A node that is no configuration, and why."""

    node_id: str
    reason: str
    status: str | None = None
    label: str | None = None


class ConfigNode(FormatModel):
    """Which node a configuration is (internal)."""

    node_id: str
    environment: dict[str, Any] = Field(default_factory=dict)
    metrics: dict[str, Any] = Field(default_factory=dict)


class ScienceData(FormatModel):
    """The whole file."""

    configurations: list[Configuration]
    experiment_context: dict[str, Any]
    summary_stats: dict[str, Any]
    claims: list[Claim] = Field(default_factory=list)
    numeric_assertions: list[NumericAssertion] = Field(default_factory=list)
    metric_contract: MetricContract | None = None
    left_out: list[LeftOut] = Field(default_factory=list)
    config_nodes: dict[str, ConfigNode] = Field(alias="_config_nodes", default_factory=dict)
