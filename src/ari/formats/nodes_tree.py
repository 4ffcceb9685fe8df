"""`nodes_tree.json`: the full detail of every node.

The structure is that of `tree.json`; each node also carries `eval_summary`, `metrics_with_metadata`
(per metric: confidence, extractor, `non_finite` where the value is null), `has_real_data`, `trace_log`
(`{role, content}` records), `work_dir` (relative to the checkpoint) and `artifacts` (relative to the
work_dir, with SHA-256).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from ari.formats.base import FiniteNumber, FormatModel, MetricValue
from ari.formats.jsonio import NonFinite
from ari.formats.tree import TreeNode

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
"""A SHA-256 in lower-case hexadecimal."""


class MetricNote(FormatModel):
    """What is known of one metric beside its value."""

    value: MetricValue = None
    confidence: FiniteNumber | None = None
    extractor: str | None = None
    non_finite: NonFinite | None = None


class TraceRecord(FormatModel):
    """One message of a node's loop."""

    role: str
    content: Any


class Artifact(FormatModel):
    """One file that a node produced.

    Attributes:
        path: Relative to the node's work_dir.
        sha256: Hash of its bytes; null where a tool of old recorded none.
    """

    path: str
    sha256: Sha256 | None
    filename: str | None = None
    role: str | None = None
    size: int | None = Field(default=None, ge=0)


class FullNode(TreeNode):
    """One node in full detail."""

    eval_summary: str | None
    metrics_with_metadata: dict[str, MetricNote]
    has_real_data: bool
    trace_log: list[TraceRecord]
    work_dir: str
    artifacts: list[Artifact]


class NodesTree(FormatModel):
    """The whole file."""

    schema_version: Literal[1]
    root_node_id: str | None
    nodes: dict[str, FullNode]
