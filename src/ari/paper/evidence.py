r"""The numbers a paper may state: those that `science_data.json` asserts, each with its anchor.

A writer asks for a metric of a node, or for a comparison of two, and gets a number that knows its claim; what
is not asserted cannot be printed. Which numbers were printed is remembered, for the evidence appendix.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ari.formats.science_data import Claim, NumericAssertion, Operand, ScienceData

DIGITS = 4
"""Significant digits of a printed number."""

_FIXED_FROM, _FIXED_TO = 1e-3, 1e5


@dataclass(frozen=True)
class Number:
    """A number with the assertion behind it.

    Attributes:
        claim: Its claim.
        assertion: How it is computed from the study.
        value: What it is.
    """

    claim: Claim
    assertion: NumericAssertion
    value: float

    @property
    def anchor(self) -> str:
        """The anchor that stands in a comment on its line."""
        return f"CLAIM:{self.claim.id}:{self.assertion.id}"

    @property
    def unit(self) -> str:
        """The unit that is printed behind it."""
        return self.assertion.unit or ""


def printed(value: float) -> str:
    r"""A number as LaTeX prints it: four significant digits, powers of ten outside 0.001 to 100,000.

    A number just below 1 keeps two digits of what it lacks, since 0.99999997 is another finding than 1. Every
    printed number is the value rounded to the digits it shows.
    """
    if value == 0:
        return "0"
    size = abs(value)
    sign = "-" if value < 0 else ""
    if size < _FIXED_FROM or size >= _FIXED_TO:
        if float(value).is_integer() and size < 1e7:
            return _signed(sign, f"{size:.0f}")
        mantissa, exponent = f"{size:.{DIGITS - 1}e}".split("e")
        if float(f"{mantissa}e{exponent}") == size:
            mantissa = mantissa.rstrip("0").rstrip(".")
        return rf"${sign}{mantissa} \times 10^{{{int(exponent)}}}$"
    if float(value).is_integer():
        return _signed(sign, f"{size:.0f}")
    if 0.99 < size < 1:
        places = min(16, max(DIGITS, 1 - math.floor(math.log10(1 - size))))
        near = f"{size:.{places}f}"
        return _signed(sign, near.rstrip("0") if float(near) == size else near)
    short = f"{size:.{DIGITS}g}"
    if float(short) == size:
        return _signed(sign, short)
    places = max(0, DIGITS - 1 - math.floor(math.log10(size)))
    return _signed(sign, f"{size:.{places}f}")


def _signed(sign: str, digits: str) -> str:
    return f"${sign}{digits}$" if sign else digits


class Evidence:
    """The assertions of a study, looked up by what they compute.

    Args:
        science: The checked `science_data.json`.
    """

    def __init__(self, science: ScienceData) -> None:
        self.science = science
        self._claims = {claim.id: claim for claim in science.claims}
        self._numbers: dict[tuple[object, ...], Number] = {}
        for number in self.every():
            self._numbers.setdefault(_key(number.assertion.formula, number.assertion.operands), number)

    def every(self) -> Iterator[Number]:
        """Every number that can be printed, in the order of the file."""
        seen: set[str] = set()
        owned = [(claim, item) for claim in self.science.claims for item in claim.numeric_assertions]
        flat = [(self._claims.get(i.claim_id or ""), i) for i in self.science.numeric_assertions]
        for claim, assertion in [*owned, *flat]:
            if claim is None or assertion.id in seen or assertion.value is None:
                continue
            seen.add(assertion.id)
            yield Number(claim, assertion, float(assertion.value))

    def metric(self, node_id: str, name: str) -> Number | None:
        """The recorded metric of a node; None when no assertion states it."""
        for family in ("metrics", "measurements"):
            operand = Operand(node_id=node_id, metric_path=f"{family}.{name}")
            number = self._numbers.get(_key("identity", {"value": operand}))
            if number is not None:
                return number
        return None

    def parameter(self, node_id: str, name: str) -> Number | None:
        """A numeric parameter of a node's configuration."""
        operand = Operand(node_id=node_id, metric_path=f"params.{name}")
        return self._numbers.get(_key("identity", {"value": operand}))

    def compared(self, formula: str, baseline: str, proposed: str, metric: str) -> Number | None:
        """One metric of two nodes compared by a named formula."""
        for family in ("metrics", "measurements"):
            operands = {
                role: Operand(node_id=node_id, metric_path=f"{family}.{metric}")
                for role, node_id in (("baseline", baseline), ("proposed", proposed))
            }
            number = self._numbers.get(_key(formula, operands))
            if number is not None:
                return number
        return None

    def numbers_of(self, claim: Claim) -> dict[str, Number]:
        """The numbers of a claim by their role in it (by their id where they have none)."""
        found = {}
        for assertion in claim.numeric_assertions:
            if assertion.value is not None:
                role = str((assertion.model_extra or {}).get("role") or assertion.id)
                found[role] = Number(claim, assertion, float(assertion.value))
        return found

    def claims(self, kind: str) -> list[Claim]:
        """The claims of one kind, in their order."""
        return [claim for claim in self.science.claims if note(claim, "kind") == kind]

    @property
    def context(self) -> Mapping[str, Any]:
        """`experiment_context` of the science data."""
        return self.science.experiment_context


def note(claim: Claim, key: str) -> Any:  # noqa: ANN401 - a JSON value
    """What a claim says beside the documented keys; None where it says nothing."""
    return (claim.model_extra or {}).get(key)


def _key(formula: str, operands: Mapping[str, Operand]) -> tuple[object, ...]:
    places = sorted((role, o.node_id, o.metric_path) for role, o in operands.items())
    return (formula, *places)
