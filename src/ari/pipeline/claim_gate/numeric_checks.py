"""Comparing the numbers of the paper with the computed ones, and finding those that nothing backs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ari.formats.gate_report import Evidence, GateFinding, Policy
from ari.pipeline.claim_gate.assertions import POLICY_RELATIVE, Assertion, Registry, compute
from ari.pipeline.claim_gate.binding import Binding, bind
from ari.pipeline.claim_gate.compare import Reading, read_as, within
from ari.pipeline.claim_gate.findings import at, describe, finding, printed_like
from ari.pipeline.claim_gate.links import ClaimLinks
from ari.pipeline.claim_gate.mentions import Mention
from ari.pipeline.claim_gate.nearest import EvidenceIndex, RepeatIndex
from ari.pipeline.claim_gate.number_words import COUNTED
from ari.pipeline.claim_gate.sections import STRICT_SECTIONS, WARN_SECTIONS
from ari.pipeline.claim_gate.study import StudyFiles
from ari.pipeline.claim_gate.tex import Span, Spans

_COUNTED = re.compile(rf"[\s~]+{COUNTED}", re.IGNORECASE)


class Value(NamedTuple):
    """A computed value, or why there is none.

    Attributes:
        number: The value.
        reason: Why there is none; empty when there is one.
        evidence: Where it comes from.
    """

    number: float | None
    reason: str
    evidence: Evidence


@dataclass
class NumericOutcome:
    """What came of the numbers: findings and counters."""

    errors: list[GateFinding] = field(default_factory=list)
    warnings: list[GateFinding] = field(default_factory=list)
    metrics: dict[str, Any] = field(default_factory=dict)


def compute_values(registry: Registry, study: StudyFiles) -> dict[str, Value]:
    """Compute every assertion from the files of the study.

    Args:
        registry: The assertions.
        study: The files.

    Returns:
        `Cx:NCx` to value.
    """
    return {key: _value(assertion, study) for key, assertion in registry.assertions.items()}


def _value(assertion: Assertion, study: StudyFiles) -> Value:
    operands: dict[str, object] = {}
    paths: list[tuple[str, str]] = []
    evidence = Evidence(assertion=assertion.key, formula=assertion.formula)
    if assertion.faults:
        return Value(None, assertion.faults, evidence)
    for name, place in assertion.operands.items():
        value, found = study.operand(place)
        if value is None:
            return Value(None, found, evidence)
        operands[name] = value
        paths.append((place.node_id, found))
    number, reason = compute(assertion, operands)
    details: dict[str, Any] = {"value": number, "assertion": assertion.key, "formula": assertion.formula}
    if len(paths) == 1:
        details |= {"node_id": paths[0][0], "metric_path": paths[0][1]}
    return Value(number, reason, Evidence(**details))


def check_numbers(
    links: ClaimLinks,
    values: Mapping[str, Value],
    *,
    study: StudyFiles,
    science_data: Mapping[str, Any],
    policy: Policy,
) -> NumericOutcome:
    """Check every number of a paper.

    Args:
        links: The links of the paper.
        values: The computed values.
        study: The files of the study.
        science_data: The parsed `science_data.json`.
        policy: The policy.

    Returns:
        Findings and counters.
    """
    check = _NumericCheck(links, values, study=study, science_data=science_data, policy=policy)
    return check.run()


class _NumericCheck:
    def __init__(
        self,
        links: ClaimLinks,
        values: Mapping[str, Value],
        *,
        study: StudyFiles,
        science_data: Mapping[str, Any],
        policy: Policy,
    ) -> None:
        self._links = links
        self._values = values
        self._study = study
        self._policy = policy
        self._outcome = NumericOutcome()
        self._evidence = _evidence_index(values, study, science_data)
        numbers = {key: value.number for key, value in values.items()}
        self._repeats = RepeatIndex(links.registry, numbers)
        self._anchored = Spans(_merged([anchor.region for anchor in links.anchors]))
        self._bindings = bind(links.paper, links.anchors, links.mentions, links.registry, numbers)

    def run(self) -> NumericOutcome:
        self._check_assertions()
        bound: set[int] = set()
        mismatches = 0
        for binding in self._bindings:
            mismatches += self._check_binding(binding)
            if binding.mention is not None:
                bound.add(binding.mention.start)
        uncovered, targeted = self._check_coverage(bound)
        total = len(self._values)
        computed = sum(value.number is not None for value in self._values.values())
        self._outcome.metrics = {
            "numeric_assertions_total": total,
            "writer_declared_assertions": len(self._links.writer_assertions),
            "numeric_reproducible": computed,
            "numeric_claim_reproducible_rate": computed / total if total else 0.0,
            "numeric_claim_mismatch_count": mismatches,
            "targeted_result_claims": targeted,
            "numeric_coverage_rate": (targeted - uncovered) / targeted if targeted else 1.0,
            "uncovered_numeric_count": uncovered,
        }
        return self._outcome

    def _check_assertions(self) -> None:
        anchored = {f"{anchor.claim_id}:{anchor.numeric_id}" for anchor in self._links.anchors}
        for key in self._links.unresolved_anchors:
            self._report_unresolved(key)
        for key, assertion in self._links.registry.assertions.items():
            value = self._values[key]
            if value.number is None:
                self._outcome.errors.append(
                    finding(
                        "operand_unresolved",
                        f"{key} cannot be computed: {value.reason}",
                        file="science_data.json",
                        anchor=f"CLAIM:{key}",
                        evidence=value.evidence,
                        fix="Name a node and a path that hold the value, or take the claim out.",
                    )
                )
            else:
                self._check_declared(assertion, value)
            if key not in anchored:
                self._outcome.warnings.append(
                    finding(
                        "no_paper_anchor",
                        f"no sentence of the paper carries % CLAIM:{key}",
                        file=self._links.paper.origin.file,
                        anchor=f"CLAIM:{key}",
                        evidence=value.evidence,
                        fix=f"Put % CLAIM:{key} behind the sentence that states it, or take the claim out.",
                    )
                )
            self._check_machines(assertion)

    def _report_unresolved(self, key: str) -> None:
        anchor = next(anchor for anchor in self._links.anchors if anchor.key == key)
        self._outcome.warnings.append(
            finding(
                "unresolved_anchor",
                f"{key} names a claim or number that is not registered",
                **self._links.paper.where(anchor.position),
                section=anchor.section,
                anchor=key,
                fix="Name a registered claim, or take the anchor and its number out.",
            )
        )

    def _check_declared(self, assertion: Assertion, value: Value) -> None:
        if assertion.declared is None or value.number is None:
            return
        relative = assertion.relative if not assertion.printed else POLICY_RELATIVE
        off = abs(assertion.declared - value.number)
        if off > max(assertion.absolute, relative * abs(value.number)) + 1e-12 * abs(value.number):
            self._outcome.warnings.append(
                finding(
                    "declared_value_drift",
                    f"{assertion.key} was registered as {assertion.declared:.6g} and is {value.number:.6g}",
                    file="science_data.json",
                    anchor=f"CLAIM:{assertion.key}",
                    evidence=value.evidence,
                    fix="Write science_data.json again from the nodes.",
                )
            )

    def _check_machines(self, assertion: Assertion) -> None:
        nodes = dict.fromkeys(place.node_id for place in assertion.operands.values())
        if len(nodes) < 2:
            return
        machines = {node: name for node in nodes if (name := self._study.processor(node))}
        if len(set(machines.values())) > 1:
            told = ", ".join(f"{node} on {name}" for node, name in machines.items())
            self._outcome.warnings.append(
                finding(
                    "environment_mismatch",
                    f"{assertion.key} compares runs of different machines: {told}",
                    file="science_data.json",
                    anchor=f"CLAIM:{assertion.key}",
                    fix="Run both on one machine, or say so in the text.",
                )
            )

    def _check_binding(self, binding: Binding) -> bool:
        """Check one occurrence of an anchor; returns whether its number is wrong."""
        assertion, mention = binding.assertion, binding.mention
        if assertion is None:
            return False
        value = self._values[assertion.key]
        anchor = binding.anchor
        if mention is None:
            self._outcome.warnings.append(
                finding(
                    "no_paper_anchor",
                    f"{anchor.key} stands by no number",
                    **self._links.paper.where(anchor.position),
                    section=anchor.section,
                    anchor=anchor.key,
                    evidence=value.evidence,
                    fix="Put the anchor behind the sentence that states the number.",
                )
            )
            return False
        if binding.agrees or value.number is None:
            return False
        reading = read_as(mention, assertion)
        self._outcome.errors.append(
            finding(
                "numeric_mismatch",
                f'the paper says "{mention.text}", {assertion.key} gives {value.number:.6g}'
                + (f": {reading.fault}" if reading.fault else ""),
                anchor=anchor.key,
                evidence=value.evidence,
                fix=_mismatch_fix(mention, assertion, value.number, reading),
                **at(mention),
            )
        )
        return True

    def _check_coverage(self, bound: set[int]) -> tuple[int, int]:
        """Report the numbers that nothing backs; returns how many, and how many had to be backed."""
        uncovered = targeted = 0
        for mention in self._links.mentions:
            strict = mention.section in STRICT_SECTIONS
            if not strict and mention.section not in WARN_SECTIONS:
                continue
            targeted += mention.requires_assertion
            if mention.start in bound:
                continue
            if mention.requires_assertion:
                covered = self._repeats.contains(mention)
            elif strict and self._looks_like_result(mention):
                covered = self._repeats.contains(mention) or self._evidence.supports(mention)
            else:
                continue
            if not covered:
                uncovered += 1
                self._report_uncovered(mention, strict=strict)
        return uncovered, targeted

    def _looks_like_result(self, mention: Mention) -> bool:
        """Whether a bare number of a strict section still states something that was measured.

        These are numbers in tables and captions, counts of what the study produced, numbers with a physical
        unit, and further decimal numbers in a sentence that carries an anchor.
        """
        if mention.type != "ambiguous":
            return False
        number = mention.number
        decimal = number.quantum < 1.0
        if mention.in_table:
            return decimal or not mention.label_cell
        if number.unit is not None and number.unit.kind in ("time", "other"):
            return True
        if _COUNTED.match(self._links.paper.plain, number.end):
            return True
        if mention.start in self._links.paper.formulas and mention.start in self._links.paper.displays:
            return False
        return decimal and (mention.in_caption or self._in_anchored_sentence(mention))

    def _in_anchored_sentence(self, mention: Mention) -> bool:
        return mention.start in self._anchored

    def _report_uncovered(self, mention: Mention, *, strict: bool) -> None:
        evidence = self._evidence.nearest(mention)
        near = describe(evidence)
        found = finding(
            "uncovered_numeric",
            f'nothing backs "{mention.text}"' + (f"; the nearest measured number is {near}" if near else ""),
            evidence=evidence,
            fix="Anchor it to an assertion (% CLAIM:Cx:NCx), correct it, or take it out.",
            **at(mention),
        )
        error = strict and self._policy == "strict"
        (self._outcome.errors if error else self._outcome.warnings).append(found)


def _merged(spans: Sequence[Span]) -> list[Span]:
    """Run overlapping stretches together."""
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and span.start < merged[-1].end:
            merged[-1] = Span(merged[-1].start, max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return merged


def _mismatch_fix(mention: Mention, assertion: Assertion, value: float, reading: Reading) -> str:
    printed, expected = mention.unit, assertion.unit
    shown = value
    if reading.value is None:
        return f"Print {printed_like(value, mention)} in the unit of {assertion.metric or assertion.key}."
    if printed is not None:
        shown = value * (expected.scale if expected is not None else 1.0) / printed.scale
        if expected is None and printed.kind != "percent":
            shown = value
    if reading.fault:
        return f"Write {printed_like(shown, mention)}\\%."
    if (
        printed is not None
        and printed.kind == "percent"
        and within(Reading(mention.number.value, mention.number.quantum), assertion, value)
    ):
        return "Take the percent sign away: the value is no percentage."
    return f"Print {printed_like(shown, mention)}."


def _evidence_index(
    values: Mapping[str, Value], study: StudyFiles, science_data: Mapping[str, Any]
) -> EvidenceIndex:
    shown = [(value.number, value.evidence) for value in values.values() if value.number is not None]
    shown += [
        (m.value, Evidence(value=m.value, node_id=m.node_id, metric_path=m.metric_path))
        for m in study.measured()
    ]
    index = EvidenceIndex(shown)
    for number in _numbers_of(
        [
            science_data.get(key)
            for key in ("configurations", "summary_stats", "experiment_context", "left_out")
        ]
    ):
        index.add(number)
    for count in _counts(study, science_data):
        index.add(float(count))
    return index


def _numbers_of(documents: Sequence[object]) -> Iterator[float]:
    """Go through every number of parsed JSON."""
    stack = list(documents)
    while stack:
        item = stack.pop()
        if isinstance(item, Mapping):
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
        elif isinstance(item, int | float) and not isinstance(item, bool) and abs(item) < 1e300:
            yield float(item)


def _counts(study: StudyFiles, science_data: Mapping[str, Any]) -> Iterator[int]:
    yield len(study.nodes)
    statuses = [node.get("status") for node in study.nodes.values()]
    yield from (statuses.count(status) for status in set(map(str, statuses)))
    for key in ("configurations", "left_out", "claims"):
        listed = science_data.get(key)
        if isinstance(listed, list):
            yield len(listed)
