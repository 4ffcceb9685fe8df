"""Numeric assertions: a number, the formula behind it, and where its operands stand in the study.

An assertion is made only when it can be computed from what is recorded; it is numbered in order, and every
number in a paper that carries its anchor must be that value rounded to the digits the paper shows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ari.transform.view import NodeView, StudyView

FORMULAS: Mapping[str, Callable[..., float]] = {
    "identity": lambda value: value,
    "relative_speedup": lambda baseline, proposed: baseline / proposed,
    "relative_gain": lambda baseline, proposed: proposed / baseline,
    "relative_improvement_percent": lambda baseline, proposed: (baseline - proposed) / baseline * 100,
    "relative_reduction_percent": lambda baseline, proposed: (baseline - proposed) / baseline * 100,
    "relative_increase_percent": lambda baseline, proposed: (proposed - baseline) / baseline * 100,
    "absolute_difference": lambda baseline, proposed: proposed - baseline,
    "ratio_percent": lambda baseline, proposed: proposed / baseline * 100,
}
"""The named formulas of `science_data.json` (`ari.formats.science_data.NAMED_FORMULAS`)."""

PERCENT = frozenset(name for name in FORMULAS if name.endswith("percent"))


@dataclass(frozen=True)
class Place:
    """Where a number stands: a node and a metric path."""

    node: NodeView
    path: str

    @classmethod
    def metric(cls, node: NodeView, name: str) -> Place:
        """A metric of the tree."""
        return cls(node, f"metrics.{name}")

    @property
    def value(self) -> float | None:
        """The recorded number; None when there is none that is finite."""
        section, _, name = self.path.partition(".")
        holder = self.node.state.metrics if section == "metrics" else self.node.sections.get(section, {})
        found = holder.get(name)
        if isinstance(found, bool) or not isinstance(found, (int, float)) or not math.isfinite(found):
            return None
        return found

    def document(self) -> dict[str, str]:
        """The operand as the file holds it."""
        return {"node_id": self.node.id, "metric_path": self.path}


@dataclass(frozen=True)
class Assertion:
    """A number that can be computed again, not yet numbered.

    Attributes:
        role: What it is, unique within its claim; writers look it up by this.
        formula: One of `FORMULAS`.
        operands: Name to place.
        value: The number.
        metric: The metric it is about.
        unit: `%`, a unit of the data, or empty.
    """

    role: str
    formula: str
    operands: Mapping[str, Place]
    value: float
    metric: str
    unit: str = ""

    @property
    def text(self) -> str:
        """The number as a paper would print it."""
        return shown(self.value) + (f" {self.unit}" if self.unit else "")


def shown(value: float, digits: int = 4) -> str:
    """A number for people: whole numbers as they are, others with four significant digits.

    A number near 1 keeps two digits of what it lacks: an R² of 0.99999997 is another finding than 1.
    """
    if float(value).is_integer() and abs(value) < 1e15:
        return str(int(value))
    if 0.99 < abs(value) < 1.0:
        lacking = 1.0 - abs(value)
        return f"{value:.{min(16, max(digits, 1 - math.floor(math.log10(lacking))))}f}"
    return f"{value:.{digits}g}"


class Units:
    """Units of metrics: those of the target where the data name them, and nothing otherwise."""

    def __init__(self, view: StudyView) -> None:
        from ari.transform.context import variable_notes

        target = view.experiment.get("target")
        self._target = str(variable_notes(view.path).get(str(target), {}).get("unit") or "")

    def of(self, metric: str) -> str:
        """The unit of a metric."""
        plain = metric.removeprefix("sealed_")
        return self._target if plain in {"rmse", "mae", "max_abs_error"} else ""


def identity(place: Place, *, role: str, unit: str = "") -> Assertion | None:
    """A recorded number as it is; None when it is not there."""
    value = place.value
    if value is None:
        return None
    return Assertion(role, "identity", {"value": place}, value, place.path.partition(".")[2], unit)


def derived(formula: str, baseline: Place, proposed: Place, *, role: str) -> Assertion | None:
    """A number computed from two recorded ones; None when it cannot be or says nothing.

    Ratios and percentages are made of numbers greater than zero only.
    """
    base, new = baseline.value, proposed.value
    if base is None or new is None:
        return None
    if formula != "absolute_difference" and (base <= 0 or new <= 0):
        return None
    try:
        value = FORMULAS[formula](baseline=base, proposed=new)
    except (OverflowError, ZeroDivisionError):
        return None
    if not math.isfinite(value):
        return None
    operands = {"baseline": baseline, "proposed": proposed}
    unit = "%" if formula in PERCENT else ""
    return Assertion(role, formula, operands, value, proposed.path.partition(".")[2], unit)


def document(assertion: Assertion, *, number: int, claim_id: str) -> dict[str, Any]:
    """The assertion as the file holds it."""
    return {
        "id": f"NC{number}",
        "claim_id": claim_id,
        "role": assertion.role,
        "text_span": assertion.text,
        "metric": assertion.metric,
        "value": assertion.value,
        "unit": assertion.unit,
        "formula": assertion.formula,
        "operands": {name: place.document() for name, place in assertion.operands.items()},
        "rounding": "printed",
    }
