"""`verified_context.json`: claims backed by artefacts, limited to the line from the root to the best node."""

from __future__ import annotations

from pydantic import Field

from ari.formats.base import FormatModel
from ari.formats.nodes_tree import Artifact


class VerifiedClaim(FormatModel):
    """A claim and what backs it."""

    text: str
    repro_status: str | None = None
    artifact_refs: list[Artifact] = Field(default_factory=list)
    node_id: str | None = None


class VerifiedContext(FormatModel):
    """The whole file."""

    best_node_id: str
    lineage: list[str]
    claims: list[VerifiedClaim]
    limitations: list[str]
    usable_for_claims: list[VerifiedClaim]
