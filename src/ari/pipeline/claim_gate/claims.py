"""Whether the claims rest on something: nodes that exist and ran, results that stand there, artefacts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ari.errors import PathEscapeError
from ari.formats.gate_report import GateFinding
from ari.paths import inside
from ari.pipeline.claim_gate.assertions import OperandPlace, Registry
from ari.pipeline.claim_gate.findings import finding
from ari.pipeline.claim_gate.study import StudyFiles

_SCIENCE = "science_data.json"


@dataclass
class ClaimOutcome:
    """What came of the claims.

    Attributes:
        errors: Claims without support.
        warnings: Support that is there but weak.
        grounded: Number of claims whose nodes all ran and measured.
    """

    errors: list[GateFinding] = field(default_factory=list)
    warnings: list[GateFinding] = field(default_factory=list)
    grounded: int = 0


def check_claims(registry: Registry, study: StudyFiles, paper: str) -> ClaimOutcome:
    """Check the support of every claim.

    Args:
        registry: The claims.
        study: The files of the study.
        paper: Name of the paper for the proposed fix.

    Returns:
        The outcome.
    """
    outcome = ClaimOutcome()
    for index, claim in enumerate(registry.claims):
        _check(claim, index, study, paper, outcome)
    return outcome


def _check(
    claim: Mapping[str, Any], index: int, study: StudyFiles, paper: str, outcome: ClaimOutcome
) -> None:
    name = claim.get("id") if isinstance(claim.get("id"), str) else f"claim {index + 1}"
    support = claim.get("supported_by")
    support = support if isinstance(support, Mapping) else {}
    results = [item for item in _list(support.get("results")) if isinstance(item, Mapping)]
    nodes = [node for node in _list(support.get("nodes")) if isinstance(node, str)]
    nodes += [str(item["node_id"]) for item in results if isinstance(item.get("node_id"), str)]
    nodes = list(dict.fromkeys(nodes))
    unknown = [node for node in nodes if node not in study.nodes]
    if unknown or not nodes:
        why = f"the node {unknown[0]!r} does not exist" if unknown else "it names no node and no result"
        outcome.errors.append(
            finding(
                "missing_evidence",
                f"claim {name} rests on nothing: {why}",
                file=_SCIENCE,
                claim_id=name,
                fix=f"Name the node that supports it, or take the claim out of {paper} and of the registry.",
            )
        )
        return
    idle = [node for node in nodes if not study.has_real_data(node)]
    for node in idle:
        outcome.warnings.append(
            finding(
                "node_not_executed",
                f"claim {name} rests on {node}, which did not run to its end or measured nothing",
                file=_SCIENCE,
                claim_id=name,
                fix="Run the node again, or rest the claim on one that measured.",
            )
        )
    _check_results(name, results, study, outcome)
    _check_artifacts(name, nodes, support, study, outcome)
    outcome.grounded += not idle


def _check_results(
    name: object, results: list[Mapping[str, Any]], study: StudyFiles, outcome: ClaimOutcome
) -> None:
    for item in results:
        node, path = item.get("node_id"), item.get("metric_path")
        if not isinstance(node, str) or not isinstance(path, str):
            continue
        value, why = study.operand(OperandPlace(node, (path,)))
        if value is None:
            outcome.warnings.append(
                finding(
                    "result_unresolved",
                    f"claim {name} names a result that is not there: {why}",
                    file=_SCIENCE,
                    claim_id=name,
                    fix="Name the path at which the value stands.",
                )
            )


def _check_artifacts(
    name: object, nodes: list[str], support: Mapping[str, Any], study: StudyFiles, outcome: ClaimOutcome
) -> None:
    for item in _list(support.get("artifacts")):
        path = item.get("path") if isinstance(item, Mapping) else item
        if isinstance(path, str) and not any(place.exists() for place in _places(path, item, nodes, study)):
            outcome.warnings.append(
                finding(
                    "artifact_missing",
                    f"claim {name} names the artefact {path}, which does not exist",
                    file=_SCIENCE,
                    claim_id=name,
                    fix="Restore the file, or take it out of the claim.",
                )
            )


def _places(path: str, item: object, nodes: list[str], study: StudyFiles) -> list[Path]:
    owner = item.get("node_id") if isinstance(item, Mapping) else None
    folders = [study.directory] + [
        folder
        for node in ([owner] if isinstance(owner, str) else nodes)
        if (folder := study.work_dir(node)) is not None
    ]
    found = []
    for folder in folders:
        try:
            found.append(inside(folder, path))
        except PathEscapeError:
            continue  # a file outside the study is no artefact of it
    return found


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
