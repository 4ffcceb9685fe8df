"""Tidy formulas from numbers: products of powers, weighted sums, quotients.

Everything here prints as a person would write it: no factor 1, no power 1, signs in front of terms,
negative powers below the line.
"""

from __future__ import annotations

from collections.abc import Sequence

from sr_harness.engine import Expression, build

Factor = tuple[Expression, float]


def power(base: Expression, exponent: float) -> Expression:
    """`base ** exponent`; a half is a root."""
    if base.op == "sqrt" and exponent % 2 == 0:
        return power(base.args[0], exponent / 2)
    if exponent == 1:
        return base
    if exponent == 0.5:
        return build.call("sqrt", base)
    return build.pow_(base, build.num(exponent))


def product(factors: Sequence[Factor], coefficient: float = 1.0) -> Expression:
    """`coefficient · Π base ** exponent`."""
    above = [power(base, exponent) for base, exponent in factors if exponent > 0]
    below = [power(base, -exponent) for base, exponent in factors if exponent < 0]
    if coefficient not in (1.0, -1.0) or not above:
        above.insert(0, build.num(coefficient))
    elif coefficient == -1.0:
        above[0] = build.neg(above[0])
    top = chain(above)
    return build.div(top, chain(below)) if below else top


def chain(factors: Sequence[Expression]) -> Expression:
    """The product of one or more expressions, left to right."""
    result = factors[0]
    for factor in factors[1:]:
        result = build.mul(result, factor)
    return result


def scaled(term: Expression, coefficient: float) -> Expression:
    """`coefficient · term`; a quotient takes the coefficient into its numerator."""
    if coefficient == 1.0:
        return term
    if term.op == "num" and term.value is not None:
        return build.num(term.value * coefficient)
    if coefficient == -1.0:
        return build.neg(term)
    if term.op == "div" and term.args[0].op == "num":
        return build.div(scaled(term.args[0], coefficient), term.args[1])
    return build.mul(build.num(coefficient), term)


def weighted_sum(
    coefficients: Sequence[float], terms: Sequence[Expression], offset: float = 0.0
) -> Expression:
    """`Σ coefficient · term + offset`, without terms of weight 0, a positive term first if there is one."""
    pairs = [(float(c), term) for c, term in zip(coefficients, terms, strict=True) if c != 0]
    if offset != 0:
        pairs.append((float(offset), build.num(1.0)))
    if not pairs:
        return build.num(0.0)
    first = next((place for place, (c, _) in enumerate(pairs) if c > 0), 0)
    pairs.insert(0, pairs.pop(first))
    result = scaled(pairs[0][1], pairs[0][0])
    for coefficient, term in pairs[1:]:
        if coefficient < 0:
            result = build.sub(result, scaled(term, -coefficient))
        else:
            result = build.add(result, scaled(term, coefficient))
    return result
