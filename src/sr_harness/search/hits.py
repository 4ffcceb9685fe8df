"""From a match between values on a few rows to a formula with constants fitted on all rows.

A match says only that numbers agree. Here its parts are evaluated on every row of the sample, the linear
constants are found by least squares, exponents are made simple, and what does not agree after all is dropped.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sr_harness.engine import Expression, build
from sr_harness.search.forms import Factor, product, weighted_sum
from sr_harness.search.problem import Problem
from sr_harness.search.sparse import least_squares

Floats = NDArray[np.float64]

NEGLIGIBLE = 1e-9
"""A term that contributes less than this part of the largest is not there."""

AGREES = 1e-14
"""Largest relative sum of squares that a match may leave on all rows."""

STEPS = (1.0, 0.5, 1 / 3, 0.25)
"""Exponents are multiples of these."""


def linear(
    target: Floats, divisor: Sequence[Factor], columns: Sequence[Expression], sample: Problem
) -> Expression | None:
    """`Σ weight · column / divisor` for the target, or None where the rows disagree.

    Args:
        target: Values on the rows of the sample.
        divisor: Factors by which the target was multiplied.
        columns: Terms of the sum; those that contribute nothing are left out.
        sample: The rows.
    """
    left = target * _values(divisor, sample)
    matrix = np.column_stack([sample.predict(column) for column in columns])
    if not (np.isfinite(left).all() and np.isfinite(matrix).all()):
        return None
    weights, residual = least_squares(matrix, left)
    if residual > AGREES:
        return None
    part = np.abs(weights) * np.max(np.abs(matrix), axis=0)
    kept = [place for place in range(len(columns)) if part[place] > NEGLIGIBLE * np.max(part)]
    weights, residual = least_squares(matrix[:, kept], left)
    weights = np.where(np.abs(weights - np.round(weights)) < 1e-11, np.round(weights), weights)
    terms = [columns[place] for place in kept]
    if len(kept) == 1 and not _is_one(terms[0]):
        return product([(terms[0], 1.0), *_inverse(divisor)], float(weights[0]))
    inner = weighted_sum([float(w) for w in weights], terms)
    return product([(inner, 1.0), *_inverse(divisor)]) if divisor else inner


def power_product(
    target: Floats,
    bases: Sequence[Expression],
    exponents: Sequence[Expression],
    sample: Problem,
) -> Expression | None:
    """`c · Π base^p · exp(Σ b · exponent)` for the target; None where the rows disagree or a p is odd."""
    with np.errstate(all="ignore"):
        logs = [np.log(np.abs(sample.predict(base))) for base in bases]
        left = np.log(np.abs(target))
    others = [sample.predict(exponent) for exponent in exponents]
    matrix = np.column_stack([np.ones(target.size), *logs, *others])
    if not (np.isfinite(left).all() and np.isfinite(matrix).all()):
        return None
    weights, residual = least_squares(matrix, left)
    if residual > AGREES:
        return None
    raw, rates = weights[1 : len(bases) + 1], weights[len(bases) + 1 :]
    for step in STEPS:
        powers = np.round(raw / step) * step
        if np.max(np.abs(powers - raw), initial=0.0) < 1e-5:
            pairs = [(base, float(p)) for base, p in zip(bases, powers, strict=True) if p]
            if exponents:
                inner = weighted_sum([float(w) for w in rates], exponents)
                pairs.append((build.call("exp", inner), 1.0))
            return with_factor(target, pairs, sample)
    return None


def with_factor(target: Floats, pairs: Sequence[Factor], sample: Problem) -> Expression | None:
    """The product with the factor that fits best, or None where the rows disagree."""
    values = _values(pairs, sample)
    if not pairs or not np.isfinite(values).all():
        return None
    weights, residual = least_squares(values[:, None], target)
    return product(pairs, float(weights[0])) if residual < AGREES else None


def _values(pairs: Sequence[Factor], sample: Problem) -> Floats:
    values = np.ones(sample.rows)
    with np.errstate(all="ignore"):
        for base, exponent in pairs:
            values = values * sample.predict(base) ** exponent
    return values


def _inverse(pairs: Sequence[Factor]) -> list[Factor]:
    """The reciprocal of a product, a quotient turned over."""
    turned: list[Factor] = []
    for base, exponent in pairs:
        if base.op == "div":
            turned += [
                (part, e)
                for part, e in zip(base.args, (-exponent, exponent), strict=True)
                if not _is_one(part)
            ]
        else:
            turned.append((base, -exponent))
    return turned


def _is_one(expression: Expression) -> bool:
    return expression.op == "num" and expression.value == 1.0
