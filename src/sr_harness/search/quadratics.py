"""Roots of quadratic equations with polynomial coefficients, read off an exact linear relation.

t = (-B ± √(B² - 4AC)) / 2A with polynomials A, B, C in some atoms means A·t² + B·t + C = 0: a relation among
the monomials and the monomials times t and t², found by `first_relation` without search. It holds for what
is left when an equation is solved for a variable that occurs twice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sr_harness.engine import Expression, build
from sr_harness.search.forms import weighted_sum
from sr_harness.search.monomials import Dictionary
from sr_harness.search.relations import first_relation

Floats = NDArray[np.float64]

Powers = tuple[int, ...]
Polynomial = Mapping[Powers, float]

MOST_MONOMIALS = 40
EXACT_FRACTION = 1e-9
LARGEST_DENOMINATOR = 1000


def quadratic_forms(book: Dictionary, target: Floats) -> Iterator[Expression]:
    """Both roots of the simplest quadratic equation that the target obeys.

    Args:
        book: Monomials with whole powers, constant first.
        target: Values of t on the dictionary's rows.

    Yields:
        A few formulas, of which one may be right; nothing where there is no such equation.
    """
    count = min(len(book), MOST_MONOMIALS, (target.size - 3) // 3)
    if count < 1:
        return
    rows = min(target.size, 3 * count + 40)
    plain = book.matrix[:rows, :count]
    height = float(np.max(np.abs(target))) or 1.0
    t = target[:rows, None] / height
    matrix = np.empty((rows, 3 * count))
    for power in range(3):
        matrix[:, power::3] = plain * t**power
    if not np.isfinite(matrix).all():
        return
    relation = first_relation(matrix, np.arange(3 * count) % 3 > 0)
    if relation is None:
        return
    parts: list[dict[Powers, float]] = [{}, {}, {}]
    for column, weight in zip(relation.columns, relation.coefficients, strict=True):
        power = column % 3
        parts[power][tuple(round(p) for p in book.powers[column // 3])] = weight / height**power
    if parts[2]:
        yield from _roots(book, *parts)


def _roots(book: Dictionary, c: Polynomial, b: Polynomial, a: Polynomial) -> Iterator[Expression]:
    """(-B ± S·√R) / 2A, where the discriminant is S²·R."""
    scale = next(iter(a.values()))
    a, b, c = ({powers: weight / scale for powers, weight in part.items()} for part in (a, b, c))
    discriminant = _sum(_product(b, b), _product(a, c), -4.0)
    if not discriminant:
        return
    below = _expression(book, {powers: 2.0 * weight for powers, weight in a.items()})
    above = _expression(book, {powers: -weight for powers, weight in b.items()})
    for outside, inside in _square_parts(discriminant):
        root = build.call("sqrt", _expression(book, inside))
        if any(any(powers) or weight != 1.0 for powers, weight in outside.items()):
            root = build.mul(_expression(book, outside), root)
        tops = (build.sub(above, root), build.add(above, root)) if b else (build.neg(root), root)
        for top in tops:
            yield build.div(top, below)


def _expression(book: Dictionary, polynomial: Polynomial) -> Expression:
    return weighted_sum(list(polynomial.values()), [book.expression(powers) for powers in polynomial])


def _product(a: Polynomial, b: Polynomial) -> dict[Powers, float]:
    result: dict[Powers, float] = defaultdict(float)
    for left, x in a.items():
        for right, y in b.items():
            result[tuple(p + q for p, q in zip(left, right, strict=True))] += x * y
    return result


def _sum(a: Polynomial, b: Polynomial, factor: float) -> dict[Powers, float]:
    """A + factor·B without terms that cancel."""
    result = defaultdict(float, a)
    for powers, weight in b.items():
        result[powers] += factor * weight
    largest = max(map(abs, result.values()), default=0.0)
    return {powers: weight for powers, weight in result.items() if abs(weight) > EXACT_FRACTION * largest}


def _square_parts(polynomial: Polynomial) -> Iterator[tuple[Polynomial, Polynomial]]:
    """Ways to write a polynomial as S²·R: with the largest square taken out, then with none.

    The sign of S decides which root is meant where: with √(S²) in its place the formula would be wrong on
    some rows.
    """
    width = len(next(iter(polynomial)))
    fractions = {powers: _fraction(weight) for powers, weight in polynomial.items()}
    known = {powers: weight for powers, weight in fractions.items() if weight is not None}
    if len(known) == len(fractions):
        yield from _without_squares(known, width)
    yield {(0,) * width: 1.0}, polynomial


def _fraction(value: float) -> Fraction | None:
    near = Fraction(value).limit_denominator(LARGEST_DENOMINATOR)
    return near if abs(float(near) - value) <= EXACT_FRACTION * abs(value) else None


def _without_squares(
    polynomial: Mapping[Powers, Fraction], width: int
) -> Iterator[tuple[Polynomial, Polynomial]]:
    import sympy

    symbols = sympy.symbols(f"x:{width}")
    terms = {powers: sympy.Rational(w.numerator, w.denominator) for powers, w in polynomial.items()}
    constant, factors = sympy.Poly.from_dict(terms, *symbols).sqf_list()
    outside = sympy.Poly(1, *symbols)
    inside = sympy.Poly(constant, *symbols)
    for factor, multiplicity in factors:
        outside *= factor ** (multiplicity // 2)
        inside *= factor ** (multiplicity % 2)
    if outside.total_degree() > 0:
        yield _floats(outside), _floats(inside)


def _floats(polynomial: object) -> dict[Powers, float]:
    return {tuple(powers): float(weight) for powers, weight in polynomial.terms()}  # type: ignore[attr-defined]
