"""The registry of claims and numeric assertions, as the paper and `science_data.json` give it.

Everything is read leniently: a record that is no object, a claim without an id, an assertion listed twice or
only in one of the two places. What cannot be read is reported by `ari validate`, and by the gate where a
number depends on it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ari.formats.science_data import NAMED_FORMULAS
from ari.pipeline.claim_gate.anchors import Anchor
from ari.pipeline.claim_gate.formula_eval import evaluate
from ari.pipeline.claim_gate.units import PERCENT, RATIO, Unit, parse_unit

POLICY_RELATIVE = 0.02
"""Relative tolerance of an assertion that has none of its own."""

_PERCENT_FORMULAS = frozenset(
    {
        "relative_improvement_percent",
        "relative_reduction_percent",
        "relative_increase_percent",
        "ratio_percent",
    }
)
_RATIO_FORMULAS = frozenset({"relative_speedup", "relative_gain"})


@dataclass(frozen=True)
class OperandPlace:
    """Where an operand is found; the first of `paths` that exists counts."""

    node_id: str
    paths: tuple[str, ...]


@dataclass(frozen=True)
class Assertion:
    """A number the paper may state.

    Attributes:
        claim_id: `Cx`.
        numeric_id: `NCx`.
        formula: Name or restricted expression.
        operands: Name to place.
        metric: The metric's name.
        unit: The unit its value is in; None when nothing says it.
        declared: The value when the assertion was made.
        absolute: Absolute tolerance.
        relative: Tolerance relative to the computed value.
        printed: Whether the printed number must be the computed one rounded to its own digits.
        by_writer: Whether the writer declared it behind an anchor.
        faults: Why it cannot be used; empty when it can.
    """

    claim_id: str
    numeric_id: str
    formula: str
    operands: Mapping[str, OperandPlace]
    metric: str
    unit: Unit | None
    declared: float | None
    absolute: float
    relative: float
    printed: bool
    by_writer: bool = False
    faults: str = ""

    @property
    def key(self) -> str:
        """`Cx:NCx`."""
        return f"{self.claim_id}:{self.numeric_id}"


@dataclass
class Registry:
    """All claims and assertions of a study.

    Attributes:
        claims: The claims, those without an id included.
        claim_ids: Ids of the claims.
        assertions: `Cx:NCx` to assertion, in order.
    """

    claims: list[Mapping[str, Any]] = field(default_factory=list)
    claim_ids: set[str] = field(default_factory=set)
    assertions: dict[str, Assertion] = field(default_factory=dict)
    config_nodes: dict[str, str] = field(default_factory=dict)

    def resolves(self, anchor: Anchor) -> bool:
        """Whether claim and assertion of an anchor are registered."""
        assertion = self.assertions.get(f"{anchor.claim_id}:{anchor.numeric_id}")
        return assertion is not None and (assertion.by_writer or anchor.claim_id in self.claim_ids)


def read_registry(science_data: Mapping[str, Any]) -> Registry:
    """Read the claims and assertions of `science_data.json`.

    Args:
        science_data: The parsed file; it need not be sound.

    Returns:
        The registry.
    """
    registry = Registry(config_nodes=_config_nodes(science_data))
    for claim in _objects(science_data.get("claims")):
        registry.claims.append(claim)
        claim_id = claim.get("id")
        if not isinstance(claim_id, str) or not claim_id:
            continue
        registry.claim_ids.add(claim_id)
        for document in _objects(claim.get("numeric_assertions")):
            _add(registry, document, claim_id)
    for document in _objects(science_data.get("numeric_assertions")):
        owner = document.get("claim_id")
        _add(registry, document, owner if isinstance(owner, str) else _owner(registry, document))
    return registry


def add_writer_assertions(registry: Registry, anchors: Iterable[Anchor]) -> list[Assertion]:
    """Add what the writer declares behind anchors that are not registered.

    A declaration counts when it names a metric and configurations of the study; it brings no value, unit or
    tolerance of its own.

    Args:
        registry: The registry; added to.
        anchors: The anchors of the paper.

    Returns:
        What was added.
    """
    added = []
    for anchor in anchors:
        declared = dict(anchor.declared)
        metric = declared.pop("metric", "")
        formula = declared.pop("formula", "identity")
        known = {name: registry.config_nodes[c] for name, c in declared.items() if c in registry.config_nodes}
        key = f"{anchor.claim_id}:{anchor.numeric_id}"
        if not metric or not known or len(known) != len(declared) or key in registry.assertions:
            continue
        document = {"id": anchor.numeric_id, "metric": metric, "formula": _named(formula)}
        paths = (f"metrics.{metric}", f"measurements.{metric}")
        places = {name: OperandPlace(node_id, paths) for name, node_id in known.items()}
        assertion = _assertion(document, anchor.claim_id, places, by_writer=True)
        registry.assertions[key] = assertion
        added.append(assertion)
    return added


def compute(assertion: Assertion, operands: Mapping[str, object]) -> tuple[float | None, str]:
    """Compute the value of an assertion.

    Args:
        assertion: The assertion.
        operands: Name to number or array of numbers.

    Returns:
        The value, or None and why there is none.
    """
    expression = _EXPRESSIONS.get(assertion.formula, assertion.formula)
    result = evaluate(expression, operands)
    if not result.ok:
        return None, result.reason
    if isinstance(result.value, bool | list) or result.value is None:
        return None, "the formula gives no single number"
    return result.value, ""


_EXPRESSIONS = {
    "identity": "value",
    "relative_speedup": "baseline / proposed",
    "relative_gain": "proposed / baseline",
    "relative_improvement_percent": "(baseline - proposed) / baseline * 100",
    "relative_reduction_percent": "(baseline - proposed) / baseline * 100",
    "relative_increase_percent": "(proposed - baseline) / baseline * 100",
    "absolute_difference": "proposed - baseline",
    "ratio_percent": "proposed / baseline * 100",
}


def _named(formula: str) -> str:
    return "identity" if formula == "value" else formula


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _config_nodes(science_data: Mapping[str, Any]) -> dict[str, str]:
    notes = science_data.get("_config_nodes")
    found = {
        str(name): note["node_id"]
        for name, note in (notes.items() if isinstance(notes, Mapping) else ())
        if isinstance(note, Mapping) and isinstance(note.get("node_id"), str)
    }
    for configuration in _objects(science_data.get("configurations")):
        name, node_id = configuration.get("config_id"), configuration.get("node_id")
        if isinstance(name, str) and isinstance(node_id, str):
            found.setdefault(name, node_id)
    return found


def _owner(registry: Registry, document: Mapping[str, Any]) -> str:
    """The claim of an assertion of the flat list that does not name it: the one that lists the same id."""
    owners = {a.claim_id for a in registry.assertions.values() if a.numeric_id == document.get("id")}
    return owners.pop() if len(owners) == 1 else ""


def _add(registry: Registry, document: Mapping[str, Any], claim_id: str) -> None:
    numeric_id = document.get("id")
    if isinstance(numeric_id, str) and numeric_id and f"{claim_id}:{numeric_id}" not in registry.assertions:
        assertion = _assertion(document, claim_id, _places(document.get("operands")))
        registry.assertions[assertion.key] = assertion


def _places(operands: object) -> dict[str, OperandPlace]:
    found = {}
    for name, place in operands.items() if isinstance(operands, Mapping) else ():
        if isinstance(place, Mapping):
            node_id, path = place.get("node_id"), place.get("metric_path")
            if isinstance(node_id, str) and isinstance(path, str):
                found[str(name)] = OperandPlace(node_id, (path,))
    return found


def _assertion(
    document: Mapping[str, Any],
    claim_id: str,
    places: Mapping[str, OperandPlace],
    *,
    by_writer: bool = False,
) -> Assertion:
    formula = document.get("formula")
    formula = _named(formula) if isinstance(formula, str) and formula else ""
    metric = document.get("metric")
    metric = metric if isinstance(metric, str) else ""
    absolute, relative, printed = _tolerance(document)
    return Assertion(
        claim_id=claim_id,
        numeric_id=str(document["id"]),
        formula=formula,
        operands=places,
        metric=metric,
        unit=_unit(document.get("unit"), formula, metric, places),
        declared=_number(document.get("value")),
        absolute=absolute,
        relative=relative,
        printed=printed,
        by_writer=by_writer,
        faults=_faults(formula, places),
    )


def _faults(formula: str, places: Mapping[str, OperandPlace]) -> str:
    if not formula:
        return "it has no formula"
    missing = [name for name in NAMED_FORMULAS.get(formula, ()) if name not in places]
    return f"the operand {missing[0]!r} is not given" if missing else ""


def _tolerance(document: Mapping[str, Any]) -> tuple[float, float, bool]:
    """Tolerance of an assertion: absolute, relative, and whether the printed digits decide."""
    given = document.get("tolerance")
    if not isinstance(given, Mapping):
        return 0.0, POLICY_RELATIVE, document.get("rounding") == "printed"
    absolute, relative = _number(given.get("absolute")) or 0.0, _number(given.get("relative")) or 0.0
    absolute, relative = max(absolute, 0.0), max(relative, 0.0)
    return absolute, relative, document.get("rounding") == "printed" or absolute == relative == 0.0


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _unit(given: object, formula: str, metric: str, places: Mapping[str, OperandPlace]) -> Unit | None:
    """The unit of an assertion's value: as given, else of its formula, else as the metric's name says."""
    if isinstance(given, str) and given.strip():
        return parse_unit(given)
    if formula in _PERCENT_FORMULAS:
        return PERCENT
    if formula in _RATIO_FORMULAS:
        return RATIO
    if formula not in ("identity", "absolute_difference"):
        return None
    names = [metric, *(path.split(".", 1)[-1] for place in places.values() for path in place.paths[:1])]
    if any(name.lower().endswith(("_percent", "_pct", "percent", " %", "(%)")) for name in names):
        return PERCENT
    # a name of one letter is a symbol more often than a unit, and `min` is a minimum
    return next((u for name in names if len(name) > 1 and name != "min" and (u := parse_unit(name))), None)
