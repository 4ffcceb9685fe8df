"""Checks of what is claimed: science data, contract, verified context, figures, bundle and digest."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ari.checkpoint.findings import Study
from ari.checkpoint.tree_checks import work_dir
from ari.errors import PathEscapeError
from ari.formats.figures_manifest import FiguresManifest
from ari.formats.gate_report import GateReport
from ari.formats.jsonio import Json, pointer
from ari.formats.manifest_lock import ManifestLock, bundle_digest
from ari.formats.metric_contract import MetricContract, forbidden_expressions
from ari.formats.paper_claim_links import PaperClaimLinks
from ari.formats.science_data import ScienceData
from ari.formats.verified_context import VerifiedContext
from ari.paths import inside

BUNDLE = "ear_published"
_LOCK = f"{BUNDLE}/manifest.lock"
_UNLISTED = frozenset({"manifest.lock", "publish_record.json"})
_PAPER = "full_paper.tex"
_DIGEST = re.compile(r"\\codedigest\s*\{([^{}]*)\}")
_TEX_COMMENT = re.compile(r"(?<!\\)%.*")


def check_evidence(study: Study) -> None:
    """Check every file that states or backs a claim.

    Args:
        study: The checkpoint, its nodes known.
    """
    _check_contract(study)
    _check_science(study)
    _check_verified(study)
    _check_figures(study)
    for phase in ("draft", "final"):
        file = f"evaluation/claim_evidence_hard_gate_{phase}.json"
        document = study.load(file)
        if document is not None:
            study.check_model(file, GateReport, document)
    for file in ("paper_claim_links.json", "paper_claim_links_final.json"):
        document = study.load(file)
        if document is not None:
            study.check_model(file, PaperClaimLinks, document)
    _check_bundle(study)


def _list(document: Json, key: str) -> list[Json]:
    value = document.get(key) if isinstance(document, Mapping) else None
    return value if isinstance(value, list) else []


def _check_contract(study: Study) -> None:
    file = "metric_contract.json"
    document = study.load(file)
    if document is not None:
        study.check_model(file, MetricContract, document)
        _check_expressions(study, file, document, "")


def _check_expressions(study: Study, file: str, contract: Json, at: str) -> None:
    for forbidden in forbidden_expressions(contract):
        study.add(file, "expr.forbidden", at + forbidden.where, forbidden.reason)


def _check_science(study: Study) -> None:
    file = "science_data.json"
    document = study.load(file)
    if document is None:
        return
    study.check_model(file, ScienceData, document)
    if not isinstance(document, Mapping):
        return
    for index, claim in enumerate(_list(document, "claims")):
        at = pointer("claims", index)
        support = claim.get("supported_by") if isinstance(claim, Mapping) else None
        for number, node_id in enumerate(_list(support, "nodes")):
            study.require_node(file, f"{at}/supported_by/nodes/{number}", node_id)
        for number, result in enumerate(_list(support, "results")):
            if isinstance(result, Mapping):
                where = f"{at}/supported_by/results/{number}/node_id"
                study.require_node(file, where, result.get("node_id"))
        _check_operands(study, file, claim, at)
    _check_operands(study, file, document, "")
    _check_configurations(study, file, document)
    if "metric_contract" in document:
        _check_expressions(study, file, document["metric_contract"], "/metric_contract")


def _check_operands(study: Study, file: str, holder: Json, at: str) -> None:
    for index, assertion in enumerate(_list(holder, "numeric_assertions")):
        operands = assertion.get("operands") if isinstance(assertion, Mapping) else None
        for name, operand in (operands if isinstance(operands, Mapping) else {}).items():
            if isinstance(operand, Mapping):
                where = at + pointer("numeric_assertions", index, "operands", name, "node_id")
                study.require_node(file, where, operand.get("node_id"))


def _check_configurations(study: Study, file: str, document: Mapping[str, Json]) -> None:
    notes = document.get("_config_nodes")
    for name, note in (notes if isinstance(notes, Mapping) else {}).items():
        if isinstance(note, Mapping):
            study.require_node(file, pointer("_config_nodes", name, "node_id"), note.get("node_id"))


def _check_verified(study: Study) -> None:
    file = "verified_context.json"
    document = study.load(file)
    if document is None:
        return
    study.check_model(file, VerifiedContext, document)
    if not isinstance(document, Mapping):
        return
    best = document.get("best_node_id")
    lineage = document.get("lineage")
    known = study.require_node(file, "/best_node_id", best)
    if isinstance(lineage, list):
        steps = [study.require_node(file, f"/lineage/{i}", node_id) for i, node_id in enumerate(lineage)]
        chain = study.ancestors(best) if known and isinstance(best, str) else None
        if all(steps) and chain is not None and lineage != [*chain, best]:
            study.add(file, "lineage.broken", "/lineage", "it does not follow the parents from root to best")
    for key in ("claims", "usable_for_claims"):
        for index, claim in enumerate(_list(document, key)):
            if isinstance(claim, Mapping) and "node_id" in claim:
                _check_backing(study, file, claim, pointer(key, index))


def _check_backing(study: Study, file: str, claim: Mapping[str, Json], at: str) -> None:
    node_id = claim.get("node_id")
    if not study.require_node(file, f"{at}/node_id", node_id) or not isinstance(node_id, str):
        return
    folder = work_dir(study, node_id)
    for index, entry in enumerate(_list(claim, "artifact_refs")):
        if folder is not None:
            study.check_hash(file, f"{at}/artifact_refs/{index}", folder, entry, code="artifact.sha256")


def _check_figures(study: Study) -> None:
    file = "figures_manifest.json"
    document = study.load(file)
    if document is None:
        return
    study.check_model(file, FiguresManifest, document)
    figures = document.get("figures") if isinstance(document, Mapping) else None
    for name, path in (figures if isinstance(figures, Mapping) else {}).items():
        if isinstance(path, str):
            try:
                inside(study.directory, path)
            except PathEscapeError as error:
                study.add(file, "path.escape", pointer("figures", name), error.message)


def _check_bundle(study: Study) -> None:
    document = study.load(_LOCK)
    if document is None:
        return
    study.check_model(_LOCK, ManifestLock, document)
    if not isinstance(document, Mapping):
        return
    base = study.directory / BUNDLE
    records = _list(document, "files")
    for index, entry in enumerate(records):
        where = f"/files/{index}"
        study.check_hash(_LOCK, where, base, entry, code="bundle.sha256")
        _check_size(study, where, entry)
    _check_extra_files(study, records)
    digest = document.get("bundle_sha256")
    if isinstance(digest, str) and all(_is_record(entry) for entry in records):
        if bundle_digest(records) != digest:
            study.add(_LOCK, "bundle.sha256", "/bundle_sha256", "it is not the digest of the listed files")
        _check_codedigest(study, digest)


def _is_record(entry: Json) -> bool:
    return (
        isinstance(entry, Mapping)
        and isinstance(entry.get("path"), str)
        and isinstance(entry.get("sha256"), str)
        and isinstance(entry.get("size"), int)
    )


def _check_size(study: Study, where: str, entry: Json) -> None:
    if not _is_record(entry):
        return
    try:
        size = inside(study.directory / BUNDLE, entry["path"]).stat().st_size
    except (PathEscapeError, OSError):  # both are noted with the hash
        return
    if size != entry["size"]:
        message = f"{entry['path']} has {size} bytes instead of {entry['size']}"
        study.add(_LOCK, "bundle.sha256", f"{where}/size", message)


def _check_extra_files(study: Study, records: list[Json]) -> None:
    base = study.directory / BUNDLE
    paths = [entry.get("path") for entry in records if isinstance(entry, Mapping)]
    listed = {path for path in paths if isinstance(path, str)}  # any other type is noted by the model
    for path in sorted(base.rglob("*")):
        name = path.relative_to(base).as_posix()
        if (path.is_file() or path.is_symlink()) and name not in listed and name not in _UNLISTED:
            study.add(_LOCK, "bundle.sha256", "/files", f"{name} lies in the bundle but is not listed")


def _check_codedigest(study: Study, digest: str) -> None:
    data = study.read(_PAPER)
    if data is None:
        return
    text = "\n".join(_TEX_COMMENT.sub("", line) for line in data.decode("utf-8", "replace").split("\n"))
    if any(burnt.strip() != digest for burnt in _DIGEST.findall(text)):
        message = "the paper carries another digest than the published bundle"
        study.add(_PAPER, "bundle.codedigest", "\\codedigest", message)
