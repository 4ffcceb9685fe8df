"""Right-hand sides that one state might have: from the weak form, and from the portfolio on slopes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sr_harness.engine import Expression, build
from sr_harness.search.selection import description_length, weigh
from sr_harness.search.systems.weak import WeakEquation

if TYPE_CHECKING:
    from sr_harness.search.systems.samples import SystemSamples

MOST_TERMS = 8
MOST_DICTIONARY = 120
DEGREES = {1: 5, 2: 4, 3: 3}
"""Degree of the monomials by the number of variables; 2 for more."""


@dataclass(frozen=True)
class Ranked:
    """A right-hand side with its error in weak form, in units of the variance, and its description length."""

    formula: Expression
    nmse: float
    length: float


def terms_of(names: Sequence[str], samples: SystemSamples) -> list[Expression]:
    """The dictionary: 1, monomials by degree, usual functions of a variable or difference, their products."""
    variables = [build.var(name) for name in names]
    found = [build.num(1.0)]
    for degree in range(1, DEGREES.get(len(names), 2) + 1):
        for chosen in itertools.combinations_with_replacement(variables, degree):
            found.append(_monomial(chosen))
    calls = [build.call(name, x) for x in variables for name in ("sin", "cos")]
    calls += [build.call("exp", build.neg(x)) for x in variables]
    calls += [build.call("sin", build.sub(a, b)) for a, b in itertools.combinations(variables, 2)]
    calls += [build.div(x, build.add(build.num(1.0), x)) for x in variables if _stays_above(samples, x, -0.9)]
    calls += [build.div(build.num(1.0), x) for x in variables if _stays_above(samples, x, 1e-3)]
    found += calls
    found += [build.mul(x, call) for x in variables for call in calls]
    return found[:MOST_DICTIONARY]


def _monomial(factors: Sequence[Expression]) -> Expression:
    result: Expression | None = None
    for x, group in itertools.groupby(factors):
        power = len(list(group))
        part = x if power == 1 else build.pow_(x, build.num(float(power)))
        result = part if result is None else build.mul(result, part)
    assert result is not None
    return result


def _stays_above(samples: SystemSamples, variable: Expression, bound: float) -> bool:
    values = samples.columns.get(variable.name or "")
    return values is not None and float(np.min(values)) > bound


def ranked(equation: WeakEquation, formulas: Iterator[Expression] | Sequence[Expression]) -> list[Ranked]:
    """Formulas with constants fitted in weak form, the shortest description first, none twice."""
    found: dict[Expression, Ranked] = {}
    for formula in formulas:
        refined = equation.refined(formula)
        if refined in found:
            continue
        nmse = equation.error(refined)
        found[refined] = Ranked(refined, nmse, length_of(refined, nmse, equation.rows))
    return sorted((item for item in found.values() if np.isfinite(item.nmse)), key=lambda item: item.length)


def length_of(formula: Expression, nmse: float, rows: float) -> float:
    """Description length in nats; see `sr_harness.search.selection`."""
    parts = weigh(formula)
    return description_length(nmse, parts.size, parts.costs, max(rows, 2.0))
