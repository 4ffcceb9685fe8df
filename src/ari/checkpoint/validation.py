"""`validate`: every fault of a checkpoint with file, code and place; bad content is never an exception.

The checks run over the files as they are. Files that are absent are not missed, for a checkpoint grows in
the course of its run; a file that is there must be sound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel

from ari.agent.prompts import check as check_prompts
from ari.checkpoint import readers
from ari.checkpoint.evidence_checks import check_evidence
from ari.checkpoint.findings import Finding, Severity, Study
from ari.checkpoint.journal import JOURNAL_NAME, parse_journal
from ari.checkpoint.lock import LOCK_NAME
from ari.checkpoint.projections import DECISIONS_NAME, RESULTS_NAME
from ari.checkpoint.state import RunState
from ari.checkpoint.store import META_NAME
from ari.checkpoint.tree_checks import check_ancestors, check_node_files, check_trees
from ari.errors import CheckpointError, FormatError
from ari.formats import legacy
from ari.formats.base import problems
from ari.formats.cost_trace import cost_problems
from ari.formats.evaluation_criteria import EvaluationCriteria
from ari.formats.exchanges import Exchange
from ari.formats.idea import Ideas
from ari.formats.jsonio import Json, pointer
from ari.formats.lineage_decisions import LineageDecision
from ari.formats.memory_access import MemoryAccess
from ari.formats.memory_store import memory_problems, unpack_backup
from ari.formats.meta import Meta
from ari.formats.results import Results
from ari.formats.settings import CheckpointSettings, secret_pointers

_BACKUP = "memory_backup.jsonl.gz"


class _Simple(NamedTuple):
    """A file that is checked against its model and nothing else."""

    model: type[BaseModel]
    convert: Callable[[Json], Json] | None = None


_SIMPLE = {
    "evaluation_criteria.json": _Simple(EvaluationCriteria),
    "idea.json": _Simple(Ideas, legacy.convert_idea),
    META_NAME: _Simple(Meta),
    "settings.json": _Simple(CheckpointSettings, legacy.convert_settings),
}


def validate(path: Path) -> list[Finding]:
    """Find everything that is wrong with a checkpoint.

    Args:
        path: The checkpoint, or a workspace with one.

    Returns:
        The findings; empty for a sound checkpoint.

    Raises:
        CheckpointError: If there is no checkpoint to validate.
    """
    study = Study(readers.locate(path))
    _check_journal(study)
    check_trees(study)
    check_node_files(study)
    _check_results(study)
    for file, simple in _SIMPLE.items():
        _check_simple(study, file, simple)
    _check_prompts(study)
    _check_secrets(study)
    _check_decisions(study)
    _check_memory(study)
    _check_costs(study)
    _check_exchanges(study)
    check_evidence(study)
    _check_rest(study)
    return study.findings


def _check_journal(study: Study) -> None:
    data = study.read(JOURNAL_NAME)
    if data is None:
        return
    reading = parse_journal(data)
    for bad in reading.bad:
        where = f"line {bad.line} {bad.where}".rstrip()
        severity: Severity = "warning" if bad.torn else "error"
        study.add(JOURNAL_NAME, bad.code, where, f"{bad.message} (byte {bad.offset})", severity)
    state = RunState()
    for line, event in zip(reading.lines, reading.events, strict=True):
        try:
            state.apply(event)
        except CheckpointError as error:
            if not reading.bad:  # after a bad line, contradictions are its consequence
                study.add(JOURNAL_NAME, "jsonl.bad_line", f"line {line}", error.message)
    study.parents = {node.id: node.parent_id for node in state.nodes.values()}
    study.work_dirs = {node.id: node.work_dir for node in state.nodes.values()}
    for where in secret_pointers(state.settings, "settings"):
        study.add(JOURNAL_NAME, "secret.in_settings", f"line 1 {where}", "a secret does not belong here")


def _check_results(study: Study) -> None:
    document = study.load(RESULTS_NAME)
    if document is None:
        return
    if study.legacy:
        document = legacy.convert_results(document)
    study.check_model(RESULTS_NAME, Results, document)
    if not isinstance(document, Mapping):
        return
    best = document.get("best_node")
    if isinstance(best, Mapping):
        study.require_node(RESULTS_NAME, "/best_node/id", best.get("id"))
    nodes = document.get("nodes")
    for node_id in nodes if isinstance(nodes, Mapping) else ():
        study.require_node(RESULTS_NAME, pointer("nodes", node_id), node_id)


def _check_simple(study: Study, file: str, simple: _Simple) -> None:
    document = study.load(file)
    if document is None:
        return
    if study.legacy and simple.convert is not None and isinstance(document, Mapping):
        document = simple.convert(document)
    study.check_model(file, simple.model, document)


def _check_prompts(study: Study) -> None:
    """Check that the prompts are those whose hashes were recorded."""
    document = study.load(META_NAME)
    recorded = document.get("prompts") if isinstance(document, Mapping) else None
    for path, sha256 in recorded.items() if isinstance(recorded, Mapping) else ():
        for fault in check_prompts(study.directory, {path: str(sha256)}):
            study.add(META_NAME, "artifact.sha256", pointer("prompts", path), fault)


def _check_secrets(study: Study) -> None:
    document = study.load("settings.json")
    for where in secret_pointers(document):
        message = "a secret does not belong here; keep it in .env and name the variable"
        study.add("settings.json", "secret.in_settings", where, message)


def _check_decisions(study: Study) -> None:
    lines = study.check_lines(
        DECISIONS_NAME, lambda document: problems(LineageDecision, document), legacy.convert_decision
    )
    for line in lines:
        if line.document.get("node_id") is not None:
            study.require_node(DECISIONS_NAME, f"line {line.number} /node_id", line.document["node_id"])


def _check_memory(study: Study) -> None:
    _check_records(study, "memory_store.jsonl", None)
    if (study.directory / _BACKUP).exists():
        study.seen.add(_BACKUP)
        try:
            data = unpack_backup(study.directory / _BACKUP)
        except FormatError as error:
            study.add(_BACKUP, "gzip.invalid", "", error.message)
        else:
            _check_records(study, _BACKUP, data)
    access = study.check_lines(
        "memory_access.jsonl", lambda document: problems(MemoryAccess, document), legacy.convert_memory
    )
    for line in access:
        where = f"line {line.number} /node_id"
        study.require_node("memory_access.jsonl", where, line.document.get("node_id"))


def _check_costs(study: Study) -> None:
    for line in study.check_lines("cost_trace.jsonl", cost_problems):
        study.require_node("cost_trace.jsonl", f"line {line.number} /node_id", line.document.get("node_id"))


def _check_exchanges(study: Study) -> None:
    for path in sorted(study.directory.glob("records/*/exchanges.jsonl")):
        study.check_lines(
            path.relative_to(study.directory).as_posix(), lambda document: problems(Exchange, document)
        )


def _check_records(study: Study, file: str, data: bytes | None) -> None:
    for line in study.check_lines(file, memory_problems, legacy.convert_memory, data):
        node_id = line.document.get("node_id")
        at = f"line {line.number} "
        ancestors = line.document.get("ancestor_ids")
        if study.require_node(file, f"{at}/node_id", node_id) and isinstance(ancestors, list):
            check_ancestors(study, file, f"{at}/ancestor_ids", ancestors, str(node_id))


def _check_rest(study: Study) -> None:
    """Check that every other JSON file is JSON, and that the text files are text."""
    for folder in ("", "evaluation/"):
        directory = study.directory / folder
        for path in sorted(directory.iterdir()) if directory.is_dir() else ():
            file = folder + path.name
            if file in study.seen or not path.is_file() or path.name == LOCK_NAME:
                continue
            if path.suffix == ".json":
                study.load(file)
            elif path.suffix == ".jsonl":
                for _ in study.lines(file, study.read(file) or b""):
                    pass
            elif path.name == "workflow.yaml":
                _check_workflow(study, file)


def _check_workflow(study: Study, file: str) -> None:
    from ari.pipeline.yaml_loader import missing_inputs, parse_workflow, tool_faults

    workflow, faults = parse_workflow(study.read(file) or b"", source=file)
    if workflow is not None and not workflow.legacy:  # tools of another program are named in the older shape
        faults = [*faults, *tool_faults(workflow), *missing_inputs(workflow, study.directory)]
    for fault in sorted(faults):
        where = f"line {fault.line} {fault.where}".rstrip() if fault.line else fault.where
        study.add(file, fault.code, where, fault.message)
