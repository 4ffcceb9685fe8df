"""`make_metric_spec`: the metric contract of a study, minted once from `experiment.md`.

A section `## Metric contract` states it; without one it is derived: a command's ceiling and correctness check
become an invariant, a measured ceiling and a required comparison, a formula's error is bounded by what its
name means. Every expression is checked when the contract is minted, and a fault names its line. Once minted
the contract is never written again, and the flags of the idea (`correctness_required`,
`ceiling_must_be_measured`) may be added by a proposal but never dropped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ari.checkpoint import Checkpoint
from ari.checkpoint.files import atomic_write
from ari.checkpoint.journal import JOURNAL_NAME
from ari.errors import ExperimentError
from ari.formats.base import faulty, problems
from ari.formats.metric_contract import MetricContract, forbidden_expressions
from ari.formats.restricted_expression import refusal
from ari.pipeline.claim_gate.contract import FLAGS
from ari.pipeline.claim_gate.formula_eval import names_in
from ari.pipeline.criteria import derive_criteria
from ari.pipeline.experiment_spec import (
    Experiment,
    Section,
    parse_experiment,
    read_experiment_text,
    sections_of,
)

CONTRACT_NAME = "metric_contract.json"
SECTION = "metric contract"
DEFAULT_TOLERANCE = {"absolute": 0.0, "relative": 0.02}

_SYMBOLIC_BOUNDS = {"r2": "value <= 1"}
"""Bound of a symbolic metric; all others are errors and not negative."""

_ITEM = re.compile(r"^\s*[-*]\s+([A-Za-z_ ]+?)\s*:\s*(.*)$")
_CONTINUED = re.compile(r"^\s{2,}[-*]\s+(.*)$")
_YES = frozenset({"yes", "true", "on"})
_NO = frozenset({"no", "false", "off", ""})


def make_metric_spec(*, checkpoint: Path, proposal: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Mint the metric contract of a study, or return the one that was minted.

    Args:
        checkpoint: The study, with its `experiment.md`.
        proposal: What an agent would add: invariants, required measurements, claims and flags. It cannot
            change the metric, take anything away or weaken a tolerance.

    Returns:
        `contract`: the contract; `minted`: whether it was written now; `summary`.

    Raises:
        ExperimentError: If `experiment.md` states a contract that cannot be used; names the line.
        FormatError: If the contract that was minted, or the proposal, is not in its documented shape.
        CheckpointError: If it cannot be written.
    """
    path = checkpoint / CONTRACT_NAME
    if path.exists():
        contract = MetricContract.read(path)
        summary = f"the contract of {contract.key} was minted before and stands"
        return {"contract": contract.to_dict(), "minted": False, "summary": summary}
    source = checkpoint / "experiment.md"
    text = read_experiment_text(source)
    experiment = _recorded(checkpoint)
    document = mint_contract(
        text, folder=checkpoint, name=source.name, proposal=proposal, experiment=experiment
    )
    atomic_write(path, MetricContract.from_document(document, source=CONTRACT_NAME).to_bytes())
    return {"contract": document, "minted": True, "summary": f"the contract of {document['key']} was minted"}


def _recorded(checkpoint: Path) -> Experiment | None:
    """The experiment as the study recorded it when it began; None in a folder that is no study of ARI.

    The files that `experiment.md` names lie where the study was begun and need no longer exist.
    """
    if not (checkpoint / JOURNAL_NAME).exists():
        return None
    with Checkpoint.open(checkpoint, read_only=True) as opened:
        document = opened.state.settings.get("experiment")
    try:
        return Experiment.model_validate(document)
    except ValidationError:
        return None  # recorded by another tool


def mint_contract(
    text: str,
    *,
    folder: Path,
    name: str = "experiment.md",
    proposal: Mapping[str, Any] | None = None,
    experiment: Experiment | None = None,
) -> dict[str, Any]:
    """Make the contract that an `experiment.md` states or implies.

    Args:
        text: The file's text.
        folder: Where the file lies.
        name: How the file is called in messages.
        proposal: What an agent would add.
        experiment: The parsed experiment, where the caller has it.

    Returns:
        The document of `metric_contract.json`.

    Raises:
        ExperimentError: If the contract cannot be used; names the line.
        FormatError: If the proposal is not in the documented shape.
    """
    section = sections_of(text).get(SECTION)
    if section is not None:
        stated = _stated(section, name)
        if "key" not in stated:
            stated["key"] = _metric(text, experiment, folder, name)
        document = stated
    else:
        experiment = experiment or parse_experiment(text, folder=folder, name=name)
        document = _derived(experiment, _metric(text, experiment, folder, name))
    document.setdefault("tolerance", dict(DEFAULT_TOLERANCE))
    faults = problems(MetricContract, document)
    if faults:
        raise faulty(f"the metric contract of {name}", faults)
    return _with_proposal(document, proposal) if proposal else document


def _metric(text: str, experiment: Experiment | None, folder: Path, name: str) -> str:
    experiment = experiment or parse_experiment(text, folder=folder, name=name)
    return derive_criteria(text, None, symbolic=experiment.kind == "symbolic").primary_metric


def _derived(experiment: Experiment, metric: str) -> dict[str, Any]:
    document: dict[str, Any] = {"key": metric}
    if experiment.kind == "symbolic":
        document["invariants"] = [_SYMBOLIC_BOUNDS.get(metric, "value >= 0")]
        return document
    ceiling = experiment.ceiling
    if ceiling is not None and ceiling.bounds == metric and not refusal(ceiling.metric):
        document["invariants"] = [f"value / {ceiling.metric} <= 1"]
        document["required_measured"] = [ceiling.metric]
        document["ceiling_must_be_measured"] = True
    if experiment.correctness is not None and not refusal(experiment.correctness):
        requires = list(names_in(experiment.correctness))
        document["correctness"] = {"expr": experiment.correctness, "requires": requires}
        document["correctness_required"] = True
    return document


def _stated(section: Section, name: str) -> dict[str, Any]:
    fenced = re.search(r"```(?:json)?[^\n]*\n(.*?)```", section.text, re.DOTALL)
    if fenced is not None and fenced.group(1).lstrip().startswith("{"):
        return _from_json(fenced.group(1), section, name)
    document: dict[str, Any] = {}
    current = ""
    for line, text in section.lines:
        nested = _CONTINUED.match(text)
        item = _ITEM.match(text)
        if item is not None and not (nested and current and item.group(1).strip().lower() not in _READERS):
            current = item.group(1).strip().lower().replace(" ", "_")
            value = item.group(2).strip()
        elif nested is not None and current:
            value = nested.group(1).strip()
        else:
            continue
        where = f"{name}, line {line}"
        if current not in _READERS:
            raise ExperimentError(
                f"{where}: a metric contract has no {current!r}",
                cure=f"It has: {', '.join(sorted(_READERS))}.",
            )
        if value:
            _READERS[current](document, value, where)
    if not document:
        raise ExperimentError(
            f"{name}, line {section.line}: the section '## Metric contract' states nothing",
            cure="Write items such as '- invariant: value <= 1', or leave the section out.",
        )
    return document


def _from_json(text: str, section: Section, name: str) -> dict[str, Any]:
    first = next(line for line, shown in section.lines if shown.lstrip().startswith("```"))
    try:
        document = json.loads(text)
    except ValueError as error:
        line = first + getattr(error, "lineno", 1)
        raise ExperimentError(f"{name}, line {line}: the metric contract is no JSON: {error}") from None
    if not isinstance(document, dict):
        raise ExperimentError(f"{name}, line {first + 1}: the metric contract must be a JSON object")
    for forbidden in forbidden_expressions(document):
        raise ExperimentError(
            f"{name}, line {first + 1}: {forbidden.where} of the metric contract: {forbidden.reason}"
        )
    return document


def _plain(text: str) -> str:
    return text.strip().strip("`").strip()


def _expression(text: str, where: str) -> str:
    expression = _plain(text)
    reason = refusal(expression)
    if reason:
        raise ExperimentError(
            f"{where}: {expression!r} is no expression of a metric contract: {reason}",
            cure="Allowed are names, numbers, + - * /, comparisons, and, or, not, 'a if c else b', and abs, "
            "geomean, max, mean, min, sqrt, sum; the metric itself is called value.",
        )
    return expression


def _names(text: str) -> list[str]:
    return [_plain(part) for part in text.split(",") if _plain(part)]


def _flag(text: str, where: str) -> bool:
    word = _plain(text).lower()
    if word not in _YES | _NO:
        raise ExperimentError(f"{where}: {text!r} is neither yes nor no")
    return word in _YES


def _read_invariant(document: dict[str, Any], text: str, where: str) -> None:
    document.setdefault("invariants", []).append(_expression(text, where))


def _read_correctness(document: dict[str, Any], text: str, where: str) -> None:
    expression = _expression(text, where)
    held = document.setdefault("correctness", {"expr": "", "requires": []})
    held["expr"] = expression
    held["requires"] = held["requires"] or list(names_in(expression))
    document.setdefault("correctness_required", True)


def _read_requires(document: dict[str, Any], text: str, _where: str) -> None:
    document.setdefault("correctness", {"expr": "", "requires": []})["requires"] = _names(text)


def _read_claim(document: dict[str, Any], text: str, where: str) -> None:
    claim, found, needs = text.partition(" needs ")
    names = _names(needs)
    if not found or not names:
        raise ExperimentError(
            f"{where}: a claim names the evidence it needs",
            cure="Write: - claim: large pages help needs thp_on_tput, thp_off_tput",
        )
    record = {"claim": claim.strip().rstrip(",;:"), "required_evidence": names}
    document.setdefault("claims", []).append(record)


def _read_tolerance(document: dict[str, Any], text: str, where: str) -> None:
    shown = _plain(text)
    match = re.fullmatch(r"(?:(relative|absolute)\s+)?(\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*(%?)", shown)
    if match is None or (match.group(1) == "absolute" and match.group(3)):
        raise ExperimentError(
            f"{where}: the tolerance {shown!r} is not understood",
            cure="Write 2 %, relative 0.02 or absolute 0.5.",
        )
    value = float(match.group(2)) / (100 if match.group(3) else 1)
    tolerance = document.setdefault("tolerance", {"absolute": 0.0, "relative": 0.0})
    tolerance[match.group(1) or "relative"] = value


def _set(key: str, read: Callable[[str, str], Any]) -> Callable[[dict[str, Any], str, str], None]:
    def reader(document: dict[str, Any], text: str, where: str) -> None:
        document[key] = read(text, where)

    return reader


def _extend_measured(document: dict[str, Any], text: str, _where: str) -> None:
    document.setdefault("required_measured", []).extend(_names(text))


_READERS: dict[str, Callable[[dict[str, Any], str, str], None]] = {
    "key": _set("key", lambda text, _where: _plain(text)),
    "formula": _set("formula", _expression),
    "ceiling_select": _set("ceiling_select", _expression),
    "invariant": _read_invariant,
    "invariants": _read_invariant,
    "correctness": _read_correctness,
    "requires": _read_requires,
    "required_measured": _extend_measured,
    "claim": _read_claim,
    "claims": _read_claim,
    "tolerance": _read_tolerance,
    **{flag: _set(flag, _flag) for flag in FLAGS},
}


def _with_proposal(document: dict[str, Any], proposal: Mapping[str, Any]) -> dict[str, Any]:
    """Add what an agent proposes; what the idea states stands."""
    merged = {**proposal, **document}
    for key in ("invariants", "required_measured", "claims"):
        own, more = document.get(key, []), proposal.get(key)
        merged[key] = [*own, *(item for item in more if item not in own)] if isinstance(more, list) else own
        if not merged[key]:
            del merged[key]
    for flag in FLAGS:
        if document.get(flag) is True or proposal.get(flag) is True:
            merged[flag] = True
    faults = problems(MetricContract, merged)
    if faults:
        raise faulty("the proposed metric contract", faults)
    for forbidden in forbidden_expressions(merged):
        raise ExperimentError(f"the proposed metric contract, {forbidden.where}: {forbidden.reason}")
    return merged
