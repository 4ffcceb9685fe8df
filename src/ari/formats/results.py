"""`results.json` of a run: the final aggregate.

Keys: `run_id`, `experiment_goal`, `primary_metric`, `best_node` (`id`, `metrics`, `score`; null when no node
has a result) and `nodes` (id to `metrics`, `has_real_data` and what else is known).
"""

from __future__ import annotations

from pydantic import Field

from ari.formats.base import FiniteNumber, FormatModel, Metrics


class BestNode(FormatModel):
    """The node that won."""

    id: str
    metrics: Metrics
    score: FiniteNumber


class NodeResult(FormatModel):
    """What the run got from one node."""

    metrics: Metrics
    has_real_data: bool
    status: str | None = None
    score: FiniteNumber | None = None
    eval_summary: str | None = None
    error_log: str | None = None


class Results(FormatModel):
    """The whole file."""

    run_id: str = Field(min_length=1)
    experiment_goal: str | None
    primary_metric: str | None
    best_node: BestNode | None
    nodes: dict[str, NodeResult]
