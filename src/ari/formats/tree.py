"""`tree.json`: the summary of the search, rewritten at each transition.

Keys: `schema_version` (1), `root_node_id`, `nodes` (id to node). A node carries `id`, `parent_id` (null for
the root), `depth`, `status`, `label`, `metrics`, `score`, `children`. Beyond the specification a node may
carry `raw_label` (a label outside the documented ones, whose `label` is `other`) and `search_state`.
"""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import Field

from ari.formats.base import FiniteNumber, FormatModel, Metrics

Status = Literal["running", "completed", "errored", "pending"]
"""The four statuses of a node."""

Label = Literal["draft", "improve", "debug", "ablation", "validation", "other"]
"""What a node is for."""

STATUSES: tuple[Status, ...] = get_args(Status)
LABELS: tuple[Label, ...] = get_args(Label)


class SearchState(FormatModel):
    """What the search thinks of a node, apart from its status.

    Attributes:
        retired: The node is not expanded any more (a child beat it, or it was expanded often enough).
        pruned: The node was cut off by a limit.
        sterile: The node changed nothing; it has no score and cannot become best.
        expansions: How often it was expanded.
    """

    retired: bool = False
    pruned: bool = False
    sterile: bool = False
    expansions: int = Field(default=0, ge=0)


class TreeNode(FormatModel):
    """One node of the summary."""

    id: str = Field(min_length=1)
    parent_id: str | None
    depth: int = Field(ge=0)
    status: Status
    label: Label
    metrics: Metrics
    score: FiniteNumber
    children: list[str]
    raw_label: str | None = None
    search_state: SearchState | None = None


class Tree(FormatModel):
    """The whole file."""

    schema_version: Literal[1]
    root_node_id: str | None
    nodes: dict[str, TreeNode]


def normalise_label(raw: str) -> Label:
    """Map any label to a documented one.

    Args:
        raw: The label as a model or another tool gave it.

    Returns:
        The documented label, `other` where there is none; the caller keeps the raw one.
    """
    folded = raw.strip().lower()
    return next((label for label in LABELS if label == folded), "other")
