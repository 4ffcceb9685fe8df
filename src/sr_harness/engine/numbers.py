"""Simple numbers: which ones stand near a fitted value, and how simple each is.

The candidates are whole numbers, small fractions and short decimals, also times pi, 1/pi, pi**2, sqrt(pi),
sqrt(2), sqrt(3) or e. The cost of a candidate is roughly the number of bits needed to write it down.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final, NamedTuple

from .build import call, const, div, mul, neg, num, pow_
from .expression import Expression, fold, with_args
from .rendering import number_text

_PI: Final = const("pi")
_FACTORS: Final[tuple[tuple[float, Expression, bool, float], ...]] = (
    (math.pi, _PI, True, 4.5),
    (1.0 / math.pi, _PI, False, 4.5),
    (math.pi**2, pow_(_PI, 2.0), True, 5.0),
    (math.pi**-2, pow_(_PI, 2.0), False, 5.0),
    (math.sqrt(math.pi), call("sqrt", _PI), True, 5.0),
    (1.0 / math.sqrt(math.pi), call("sqrt", _PI), False, 5.0),
    (math.sqrt(2.0), call("sqrt", num(2.0)), True, 4.0),
    (math.sqrt(3.0), call("sqrt", num(3.0)), True, 4.0),
    (1.0 / math.sqrt(2.0 * math.pi), call("sqrt", mul(2.0, _PI)), False, 6.0),
    (math.e, const("e"), True, 5.0),
)
"""(value, expression, whether it stands above the line, cost)."""
_SHORT_TEXT: Final = 9
"""Numbers of at most so many characters are read as they are."""
_DENOMINATORS: Final = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 64, 120)


class Simple(NamedTuple):
    """A simple number: its value, how it is written, and how many bits that takes."""

    value: float
    expression: Expression
    cost: float


def simple_numbers(value: float, tolerance: float) -> list[Simple]:
    """Simple numbers within `tolerance` (relative) of `value`, the simplest first."""
    if value == 0.0 or not math.isfinite(value):
        return []
    found: dict[float, Simple] = {}
    for candidate in [*_rationals(value), *_decimals(value), *_multiples(value)]:
        if abs(candidate.value - value) <= tolerance * abs(value):
            known = found.get(candidate.value)
            if known is None or candidate.cost < known.cost:
                found[candidate.value] = candidate
    return sorted(found.values(), key=lambda c: (c.cost, c.value))


def recognise(expr: Expression, *, tolerance: float = 1e-12) -> Expression:
    """Write long numbers in closed form: 0.2820947917738782 as 1/(2*sqrt(pi)).

    The result is for reading: it may have more nodes, and its values differ by what the tolerance allows.

    Args:
        expr: The formula.
        tolerance: Largest relative difference; closed forms are only taken that are far simpler than chance
            agreement to so many digits would need.
    """
    from .simplification import simplify

    most_bits = 0.5 * math.log2(1.0 / tolerance)

    def swap(node: Expression, args: list[Expression]) -> Expression:
        if node.op != "num" or node.value is None or len(number_text(node.value)) <= _SHORT_TEXT:
            return with_args(node, tuple(args))
        closed = next(iter(simple_numbers(node.value, tolerance)), None)
        return closed.expression if closed is not None and closed.cost <= most_bits else node

    closed = fold(expr, swap)
    return simplify(closed) if closed != expr else expr


def _fraction(numerator: int, denominator: int) -> Expression:
    sign = num(float(numerator))
    return sign if denominator == 1 else div(sign, float(denominator))


def _nearest(value: float) -> list[Fraction]:
    if abs(value) > 1e6:
        return []
    fractions = {Fraction(round(value * d), d) for d in _DENOMINATORS}
    return sorted(f for f in fractions if f != 0)


def _rationals(value: float) -> list[Simple]:
    rows = []
    for f in _nearest(value):
        cost = math.log2(abs(f.numerator) + 1) + 1.5 * math.log2(f.denominator)
        rows.append(Simple(float(f), _fraction(f.numerator, f.denominator), cost))
    return rows


def _decimals(value: float) -> list[Simple]:
    rows = []
    for digits in range(1, 7):
        short = float(f"{value:.{digits}g}")
        exponent = abs(math.floor(math.log10(abs(short))))
        rows.append(Simple(short, num(short), 3.33 * digits + math.log2(exponent + 1)))
    return rows


def _multiples(value: float) -> list[Simple]:
    rows = []
    for factor, shape, above, cost in _FACTORS:
        for f in _nearest(value / factor):
            size = math.log2(abs(f.numerator) + 1) + 1.5 * math.log2(f.denominator)
            exact = float(f) * factor
            rows.append(Simple(exact, _scaled(f, shape, above=above), cost + size))
    return rows


def _scaled(f: Fraction, shape: Expression, *, above: bool) -> Expression:
    """`numerator * shape / denominator`, or with the shape below the line."""
    if above:
        top = (
            shape
            if f.numerator == 1
            else (neg(shape) if f.numerator == -1 else mul(float(f.numerator), shape))
        )
        return top if f.denominator == 1 else div(top, float(f.denominator))
    bottom = shape if f.denominator == 1 else mul(float(f.denominator), shape)
    return div(float(f.numerator), bottom)
