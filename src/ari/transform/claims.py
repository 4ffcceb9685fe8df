"""Candidate claims, derived by rule from what the nodes measured.

Every claim names its kind, so that whoever writes the paper finds what a section needs:

    headline        the best result: on sealed rows for a formula, over repeats for a command
    validation      the best formula on the validation rows that chose it
    constants       the numbers of the best formula
    repeats         how it holds on other splits and beyond the fitted range; how far runs spread
    baseline        the best result against where the search began
    alternative     the best result against the best one of another hypothesis
    step            what one step on the line from the root to the best node brought
    ablation        what one part is worth (one claim a part); for a command also what the best configuration
                    loses when one parameter has another level that was measured
    ceiling         the share of the measured maximum
    correctness     the residual against the reference
    configuration   what was set and measured at a node (one claim a node; rows of a table)
    data, study     rows and splits; seed, nodes, failures

`text` is the seed of a sentence, written from the data; `subject` says what the claim is about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from ari.findings.parts import Taken, taken_out
from ari.transform.assertions import Assertion, Place, Units, derived, document, identity, shown
from ari.transform.view import NodeView, StudyView

SEALED = "sealed_"
BOUNDED = frozenset({"r2"})
"""Metrics for which a ratio means nothing: differences are stated."""

_FORMULA_METRICS = ("nrmse", "r2", "rmse", "mae", "max_abs_error", "max_rel_error", "trajectory_error")


@dataclass(frozen=True)
class Claim:
    """A claim, not yet numbered."""

    kind: str
    section: str
    text: str
    assertions: Sequence[Assertion]
    subject: str = ""
    risk: str = ""
    notes: dict[str, Any] = field(default_factory=dict)


def derive_claims(view: StudyView, configurations: Sequence[NodeView]) -> list[dict[str, Any]]:
    """Derive and number every claim.

    Args:
        view: The study.
        configurations: The nodes that are results, best first.

    Returns:
        The claims in the shape of the file; empty when no node is a result.
    """
    if not configurations:
        return []
    found = _Claims(view, configurations)
    numbered: list[dict[str, Any]] = []
    count = 0
    for claim in found.every():
        if not claim.assertions:
            continue
        claim_id = f"C{len(numbered) + 1}"
        documents = []
        for assertion in claim.assertions:
            count += 1
            documents.append(document(assertion, number=count, claim_id=claim_id))
        numbered.append(_claim_document(claim, claim_id, documents))
    return numbered


def _claim_document(claim: Claim, claim_id: str, assertions: list[dict[str, Any]]) -> dict[str, Any]:
    places = [place for assertion in claim.assertions for place in assertion.operands.values()]
    nodes = {place.node.id: place.node for place in places}
    results = []
    for place in places:
        if place.document() not in results:
            results.append(place.document())
    return {
        "id": claim_id,
        "kind": claim.kind,
        "subject": claim.subject,
        "text": claim.text,
        "section": claim.section,
        "status": "draft",
        "supported_by": {
            "nodes": list(nodes),
            "results": results,
            "figures": [],
            "artifacts": [
                {"node_id": node.id, "path": item["path"], "sha256": item["sha256"]}
                for node in nodes.values()
                for item in node.state.artifacts
                if item.get("sha256") and item.get("role") == "data_output"
            ],
        },
        "numeric_assertions": assertions,
        "risk": claim.risk,
        **claim.notes,
    }


def _kept(*assertions: Assertion | None) -> list[Assertion]:
    return [assertion for assertion in assertions if assertion is not None]


class _Claims:
    """The claims of one study."""

    def __init__(self, view: StudyView, configurations: Sequence[NodeView]) -> None:
        self.view = view
        self.configurations = configurations
        self.best = configurations[0]
        self.metric = view.primary_metric
        self.higher = view.higher_is_better
        self.units = Units(view)
        self.symbolic = self.best.formula is not None
        self.programs = view.kind == "code"

    def every(self) -> Iterator[Claim]:
        """All claims, those a reader looks for first in front."""
        if self.symbolic:
            yield self._sealed()
            yield self._validation()
            yield self._constants()
            yield from self._formula_repeats()
        else:
            yield self._measured()
            yield from self._more_runs()
            yield self._ceiling()
            yield self._correctness()
        yield self._baseline()
        yield self._alternative()
        yield from self._steps()
        yield from self._ablations()
        if not self.symbolic:
            yield from self._single_changes()
        yield from self._configurations()
        yield self._data()
        yield self._study()

    # ------------------------------------------------------------------------------------------- symbolic

    @property
    def _law(self) -> str:
        return f"{self.view.experiment.get('target') or 'y'} = {self.best.formula}"

    def _sealed(self) -> Claim:
        rows = _kept(self._value(self.best, f"{SEALED}n", role="n"))
        metrics = self._values(self.best, [f"{SEALED}{name}" for name in _FORMULA_METRICS])
        stated = ", ".join(f"{a.metric.removeprefix(SEALED)} = {a.text}" for a in metrics)
        count = f"{rows[0].text} " if rows else ""
        text = f"On {count}sealed values, which no experiment had seen, {self._law} gives {stated}."
        few = rows[0].value if rows else 0
        risk = (
            f"{shown(few)} sealed values are few" if few < 10 else "the sealed rows come from the same source"
        )
        return Claim(
            "headline",
            "results",
            text,
            [*metrics, *rows] if metrics else [],
            self._law,
            risk,
            {"split": "sealed"},
        )

    def _validation(self) -> Claim:
        metrics = self._values(self.best, [*_FORMULA_METRICS, "complexity"])
        stated = ", ".join(f"{a.metric} = {a.text}" for a in metrics)
        text = f"On the validation rows, by which it was chosen, {self._law} gives {stated}."
        risk = "the validation rows took part in the choice"
        return Claim("validation", "results", text, metrics, self._law, risk, {"split": "validation"})

    def _constants(self) -> Claim:
        names = [name for name in self.best.state.metrics if name.startswith("formula_constant_")]
        values = self._values(self.best, names)
        text = f"The numbers of {self._law} are {', '.join(a.text for a in values)}."
        return Claim("constants", "results", text, values, self._law, "fitted to the training rows")

    def _formula_repeats(self) -> Iterator[Claim]:
        for node in self.configurations:
            if node.state.label != "validation" or node.formula != self.best.formula:
                continue
            spread = [
                name
                for name in node.state.metrics
                if name.startswith(("nrmse_resplit", "nrmse_extrapolation", "nrmse_ci95"))
            ]
            values = self._values(node, spread)
            again = node.metrics.get("nrmse_resplit")
            beyond = node.metrics.get("nrmse_extrapolation")
            text = f"The form of {self._law} was fitted again on other splits"
            text += f", with a median nrmse of {shown(again)}" if again is not None else ""
            text += (
                f"; fitted on the smaller targets only, it gives {shown(beyond)} on the rest"
                if beyond
                else ""
            )
            yield Claim("repeats", "results", f"{text}.", values, self._law, "splits of the same rows")
            return

    # -------------------------------------------------------------------------------------------- command

    def _measured(self) -> Claim:
        names = [f"{self.metric}{part}" for part in ("_n", "_min", "_max", "_ci95_low", "_ci95_high")]
        values = self._values(self.best, [self.metric, *names])
        value = self.best.metrics.get(self.metric)
        times = self.best.state.metrics.get(f"{self.metric}_n")
        text = f"The best configuration, {_settings(self.best)}, reaches {self.metric} = "
        text += shown(value) if value is not None else "no value"
        text += f" (median of {shown(times)} runs)." if times else "."
        return Claim("headline", "results", text, values, _settings(self.best), "one machine")

    def _more_runs(self) -> Iterator[Claim]:
        for node in self.configurations:
            again = node.params == self.best.params
            if self.programs:
                again = node.state.parent_id == self.best.id
            if node.state.label != "validation" or not again or node is self.best:
                continue
            names = [f"{self.metric}{part}" for part in ("_n", "_min", "_max", "_ci95_low", "_ci95_high")]
            values = self._values(node, [self.metric, *names])
            known = {assertion.role: assertion.text for assertion in values}
            text = f"Repeated {known.get(f'{self.metric}_n', 'some')} times, the best configuration gives "
            text += f"a median {self.metric} of {known.get(self.metric)}."
            yield Claim("repeats", "results", text, values, _settings(node), "one machine, one session")
            return

    def _ceiling(self) -> Claim:
        ceiling = self.view.experiment.get("ceiling") or {}
        name = str(ceiling.get("metric", ""))
        if ceiling.get("bounds") != self.metric or self.best.tag(name) not in {"microbench", "benchmark"}:
            return Claim("ceiling", "results", "", [])
        limit, value = Place.metric(self.best, name), Place.metric(self.best, self.metric)
        share = derived("ratio_percent", limit, value, role="share")
        values = _kept(share, identity(limit, role=name))
        text = f"That is {share.text} of the measured {name}" if share is not None else ""
        return Claim(
            "ceiling", "results", f"{text}.", values, name, "the ceiling is that of a micro-benchmark"
        )

    def _correctness(self) -> Claim:
        check = str(self.view.experiment.get("correctness") or "")
        name = re.split(r"[\s<>=]", check, maxsplit=1)[0] if check else ""
        values = self._values(self.best, [name]) if name else []
        text = (
            f"The result agrees with the reference: {name} = {values[0].text}, required {check}."
            if values
            else ""
        )
        notes = {"check": check, "tag": self.best.tag(name)}
        return Claim("correctness", "results", text, values, name, "one reference", notes)

    # ------------------------------------------------------------------------------------------- compared

    def _baseline(self) -> Claim:
        root = self.view.root
        if root is None or root is self.best or not root.counts:
            return Claim("baseline", "results", "", [])
        values = self._compared(root, self.best)
        text = f"The search began with {self._named(root)}: {self._change(root, self.best)}."
        return Claim("baseline", "results", text, values, root.id, "the start was chosen by the experiment")

    def _alternative(self) -> Claim:
        if not self.symbolic:
            return Claim("alternative", "results", "", [])
        tried = [self.best.formula]
        family = self._family(self.best)
        for node in self.configurations:
            if node.state.label in {"ablation", "validation"} or node.formula in tried:
                continue
            if self._family(node) == family:
                continue
            values = [*self._compared(node, self.best), *self._values(node, ["complexity", f"{SEALED}nrmse"])]
            text = (
                f"The best formula of another kind is {self._named(node)}: {self._change(node, self.best)}."
            )
            notes = {"formula": node.formula}
            return Claim("alternative", "results", text, values, node.id, "other kinds got less work", notes)
        return Claim("alternative", "results", "", [])

    @staticmethod
    def _family(node: NodeView) -> tuple[str, ...]:
        return tuple(node.plan.get("strategies", ()))

    def _ablations(self) -> Iterator[Claim]:
        for node in sorted(self.configurations, key=lambda node: node.state.order):
            parent = self.view.nodes.get(node.state.parent_id or "")
            if node.state.label != "ablation" or parent is None or not parent.counts:
                continue
            part = str(node.plan.get("part") or node.plan.get("changed") or "one part")
            out = taken_out(parent.formula, part) if self.symbolic else Taken("parameter", part)
            of_best = parent is self.best or (self.symbolic and parent.formula == self.best.formula)
            values = self._compared(parent, node)
            change = self._change(parent, node)
            without = out.without()
            becomes = f"{self._named(parent)} becomes {self._named(node)}"
            text = f"{without[0].upper()}{without[1:]}, {becomes}: {change}."
            notes = {"part": part, "of_best": of_best, "reference_node": parent.id, "node": node.id}
            subject = out.text if self.symbolic else part
            yield Claim("ablation", "ablations", text, values, subject, "one part at a time", notes)

    def _steps(self) -> Iterator[Claim]:
        line = [node for node in self.view.lineage(self.best) if node.counts]
        for before, after in pairwise(line):
            repeats = self.programs and after.state.label == "validation"
            if repeats or self._named(before) == self._named(after):
                continue
            text = f"From {self._named(before)} to {self._named(after)}: {self._change(before, after)}."
            if not self.symbolic and not self.programs:
                text = f"With {_difference(before, after)}, {self._change(before, after)}."
            notes = {"from": before.id, "to": after.id, "changed": _changed(before, after)}
            yield Claim("step", "results", text, self._compared(before, after), after.id, "", notes)

    def _single_changes(self) -> Iterator[Claim]:
        """What the best configuration loses when one parameter has another level: the first, if measured."""
        told = {n.plan.get("changed") for n in self.configurations if n.state.label == "ablation"}
        for parameter in self.view.experiment.get("parameters", ()):
            name = str(parameter["name"])
            others = [n for n in self.configurations if _changed(n, self.best) == [name]]
            if not others or name in told:
                continue
            start = [n for n in others if n.params.get(name) == parameter["levels"][0]]
            node = (start or others)[0]
            change = self._change(self.best, node)
            text = f"With {_difference(self.best, node)} in the best configuration, {change}."
            notes = {"part": name, "of_best": True, "reference_node": self.best.id, "node": node.id}
            values = self._compared(self.best, node)
            yield Claim("ablation", "ablations", text, values, name, "one parameter at a time", notes)

    def _compared(self, baseline: NodeView, proposed: NodeView) -> list[Assertion]:
        """Both values, and how they compare: ratio and percentage with a sign that reads naturally."""
        old, new = Place.metric(baseline, self.metric), Place.metric(proposed, self.metric)
        found = [identity(old, role="baseline"), identity(new, role="proposed")]
        if old.value is None or new.value is None:
            return _kept(*found)
        if self.metric in BOUNDED or old.value <= 0 or new.value <= 0:
            return _kept(*found, derived("absolute_difference", old, new, role="difference"))
        grew = new.value >= old.value
        formula = "relative_gain" if grew else "relative_speedup"
        percent = "relative_increase_percent" if grew else "relative_reduction_percent"
        return _kept(
            *found,
            derived(formula, old, new, role="ratio"),
            derived(percent, old, new, role="percent"),
        )

    def _change(self, baseline: NodeView, proposed: NodeView) -> str:
        old, new = baseline.metrics.get(self.metric), proposed.metrics.get(self.metric)
        if old is None or new is None:
            return f"{self.metric} is not known of both"
        return f"{self.metric} goes from {shown(old)} to {shown(new)}"

    # --------------------------------------------------------------------------------------------- tables

    def _configurations(self) -> Iterator[Claim]:
        for node in self.configurations:
            names = [self.metric, "r2", "complexity"] if self.symbolic else [self.metric]
            values = self._values(node, dict.fromkeys(names))
            if not self.symbolic:
                values += self._numeric_parameters(node)
            text = (
                f"{self._named(node).capitalize()} gives {', '.join(f'{a.role} = {a.text}' for a in values)}."
            )
            yield Claim("configuration", "results", text, values, node.id, "", {"node": node.id})

    def _numeric_parameters(self, node: NodeView) -> list[Assertion]:
        places = [Place(node, f"params.{name}") for name in node.sections.get("params", {})]
        return _kept(*(identity(place, role=place.path) for place in places))

    def _data(self) -> Claim:
        root = self.view.root
        names = [n for n in (root.state.metrics if root else {}) if n.startswith("data_")]
        values = self._values(root, names) if root is not None else []
        known = {assertion.role: assertion.text for assertion in values}
        text = ""
        if "data_rows" in known:
            parts = ", ".join(
                f"{known[f'data_rows_{part}']} {word}"
                for part, word in (("train", "to fit"), ("validation", "to choose"), ("sealed", "sealed"))
                if f"data_rows_{part}" in known
            )
            text = (
                f"The data hold {known['data_rows']} usable rows of {known['data_inputs']} inputs: {parts}."
            )
        return Claim("data", "data", text, values, "data", "")

    def _study(self) -> Claim:
        root = self.view.root
        names = [n for n in (root.state.metrics if root else {}) if n.startswith("study_")]
        values = self._values(root, names) if root is not None else []
        known = {assertion.role: assertion.text for assertion in values}
        failed = known.get("study_nodes_failed")
        text = f"The search ran {known.get('study_nodes')} experiments, {failed} of which failed."
        return Claim("study", "reproducibility", text if values else "", values, "study", "")

    # ------------------------------------------------------------------------------------------- the parts

    def _value(self, node: NodeView, name: str, *, role: str) -> Assertion | None:
        return identity(Place.metric(node, name), role=role, unit=self.units.of(name))

    def _values(self, node: NodeView, names: Any) -> list[Assertion]:  # noqa: ANN401 - any iterable of names
        return _kept(*(self._value(node, name, role=name) for name in names))

    def _named(self, node: NodeView) -> str:
        if node.formula:
            return f"{self.view.experiment.get('target') or 'y'} = {node.formula}"
        return f"the program of {node.id}" if self.programs else _settings(node)


def _changed(before: NodeView, after: NodeView) -> list[str]:
    """Names of the parameters in which two configurations differ."""
    names = dict.fromkeys([*before.params, *after.params])
    return [name for name in names if before.params.get(name) != after.params.get(name)]


def _difference(before: NodeView, after: NodeView) -> str:
    steps = [
        f"{name} = {after.params.get(name)!r} instead of {before.params.get(name)!r}"
        for name in _changed(before, after)
    ]
    return " and ".join(steps)


def short_formula(text: str) -> str:
    """A formula for a sentence: its numbers with four digits."""
    from sr_harness.engine import parse, render
    from sr_harness.errors import ExpressionError

    try:
        return render(parse(text), digits=4)
    except ExpressionError:  # shown as it was submitted; what cannot be parsed was never measured
        return text


def _settings(node: NodeView) -> str:
    shown_values = ", ".join(f"{name} = {value!r}" for name, value in node.params.items())
    return shown_values or f"node {node.id}"
