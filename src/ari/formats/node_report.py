"""`node_report.json`: what a node did, written when it succeeds and when it fails.

Required: `schema_version` (1), `node_id`, `label`, `depth`, `status`, `files_changed`, `metrics`,
`artifacts`. Beyond the specification a report may tell the raw label, the node's ancestors, what was done,
an assessment, and how it was built and run.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from ari.formats.base import FormatModel, Metrics
from ari.formats.nodes_tree import Artifact, MetricNote, Sha256
from ari.formats.tree import Label, SearchState, Status


class ChangedFile(FormatModel):
    """A file that was added, modified or inherited; the hash is that of its present bytes."""

    path: str
    sha256: Sha256
    sha256_before: Sha256 | None = None
    sha256_after: Sha256 | None = None


def _deleted(value: object) -> object:
    path = value.get("path") if isinstance(value, dict) else value
    if not isinstance(path, str):
        raise PydanticCustomError("deleted_type", "a deleted file is a path, or an object with a path")
    return value


DeletedFile = Annotated[
    Any,
    PlainValidator(_deleted),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string"},
                {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
            ]
        }
    ),
]
"""A file that is gone: its path, or an object with `path`."""


class FilesChanged(FormatModel):
    """The difference between what the node got and what it left."""

    added: list[ChangedFile]
    modified: list[ChangedFile]
    deleted: list[DeletedFile]
    inherited_unchanged: list[ChangedFile]


class SelfAssessment(FormatModel):
    """What the node says of itself; an opinion, never evidence."""

    succeeded: bool
    headline: str = ""
    concerns: list[str] = Field(default_factory=list)


class CpuInfo(FormatModel):
    """The processor that the node's commands ran on."""

    model: str | None = None
    arch: str | None = None


class NodeReport(FormatModel):
    """The whole file."""

    schema_version: Literal[1]
    node_id: str = Field(min_length=1)
    label: Label
    depth: int = Field(ge=0)
    status: Status
    files_changed: FilesChanged
    metrics: Metrics
    artifacts: list[Artifact]
    parent_id: str | None = None
    ancestor_ids: list[str] = Field(default_factory=list)
    raw_label: str | None = None
    started_at: str | None = None
    completed_at: str | None = None
    metrics_with_metadata: dict[str, MetricNote] = Field(default_factory=dict)
    what_was_done: str | None = None
    self_assessment: SelfAssessment | None = None
    search_state: SearchState | None = None
    cpu_info: CpuInfo | None = None
    error: str | None = None
