"""Generating the schemas: which model describes which file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from ari.formats.cost_trace import ENTRY_MODELS
from ari.formats.evaluation_criteria import EvaluationCriteria
from ari.formats.exchanges import Exchange
from ari.formats.figures_manifest import FiguresManifest
from ari.formats.gate_report import GateReport
from ari.formats.idea import Ideas
from ari.formats.journal import EVENT_MODELS
from ari.formats.jsonio import strict_dumps
from ari.formats.lineage_decisions import LineageDecision
from ari.formats.manifest_lock import ManifestLock
from ari.formats.memory_access import MemoryAccess
from ari.formats.memory_store import MemoryRecord
from ari.formats.meta import Meta
from ari.formats.metric_contract import MetricContract
from ari.formats.node_report import NodeReport
from ari.formats.node_results import NodeResults
from ari.formats.nodes_tree import NodesTree
from ari.formats.paper_claim_links import PaperClaimLinks
from ari.formats.results import Results
from ari.formats.science_data import ScienceData
from ari.formats.semantic_review import SemanticReview
from ari.formats.settings import CheckpointSettings
from ari.formats.tree import Tree
from ari.formats.verified_context import VerifiedContext
from ari.schemas import DIALECT, SUFFIX

MODELS: dict[str, type[BaseModel]] = {
    "claim_evidence_hard_gate": GateReport,
    "evaluation_criteria": EvaluationCriteria,
    "evidence_grounded_semantic_review": SemanticReview,
    "exchanges": Exchange,
    "figures_manifest": FiguresManifest,
    "idea": Ideas,
    "lineage_decisions": LineageDecision,
    "memory_access": MemoryAccess,
    "memory_store": MemoryRecord,
    "meta": Meta,
    "metric_contract": MetricContract,
    "node_report": NodeReport,
    "node_results": NodeResults,
    "nodes_tree": NodesTree,
    "paper_claim_links": PaperClaimLinks,
    "publish": ManifestLock,
    "results": Results,
    "science_data": ScienceData,
    "settings": CheckpointSettings,
    "tree": Tree,
    "verified_context": VerifiedContext,
}
"""Name of the schema to the model it comes from; `journal` and `cost_trace` are made of all events."""


def generate() -> dict[str, bytes]:
    """Generate every schema.

    Returns:
        Name without ending to the bytes of the file.
    """
    schemas = {name: model.model_json_schema(by_alias=True) for name, model in MODELS.items()}
    schemas["journal"] = _line_schema("Event", EVENT_MODELS, required=["seq", "ts", "event"])
    schemas["cost_trace"] = _line_schema("CostEntry", ENTRY_MODELS, required=["ts", "event"])
    return {
        name: strict_dumps({"$schema": DIALECT, **schema}, indent=True) for name, schema in schemas.items()
    }


def _line_schema(
    title: str, models: Mapping[str, type[BaseModel]], *, required: Sequence[str]
) -> dict[str, Any]:
    """The schema of one line: any of the models, told apart by `event`."""
    references, definitions = models_json_schema(
        [(model, "validation") for model in models.values()], by_alias=True
    )
    return {
        "title": title,
        "type": "object",
        "required": list(required),
        "oneOf": [references[model, "validation"] for model in models.values()],
        **definitions,
    }


def write(directory: Path) -> list[Path]:
    """Write every schema, and remove those that no model stands behind.

    Args:
        directory: Where to.

    Returns:
        The files.
    """
    generated = generate()
    for stale in directory.glob(f"*{SUFFIX}"):
        if stale.name.removesuffix(SUFFIX) not in generated:
            stale.unlink()
    files = []
    for name, data in generated.items():
        path = directory / f"{name}{SUFFIX}"
        path.write_bytes(data)
        files.append(path)
    return files
