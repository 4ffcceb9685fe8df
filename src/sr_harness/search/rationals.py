"""Quotients of sparse polynomials, read off an exact linear relation.

t = P/Q with polynomials P and Q in some atoms means P - t·Q = 0: a relation among the monomials and the
monomials times t, found by `first_relation` without search.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import comb

import numpy as np
from numpy.typing import NDArray

from sr_harness.engine import Expression, build
from sr_harness.search.forms import weighted_sum
from sr_harness.search.monomials import Atom, Dictionary, build_dictionary
from sr_harness.search.relations import Relation, first_relation

Floats = NDArray[np.float64]

Powers = tuple[float, ...]
Terms = list[tuple[float, Powers]]


def polynomial_dictionary(atoms: Sequence[Atom], limit: int) -> Dictionary:
    """Monomials with whole, positive powers, lowest degree first, the constant included."""
    fitting = [d for d in range(1, 13) if comb(len(atoms) + d, d) <= 4 * limit]
    degree = float(max(fitting, default=1))
    return build_dictionary(atoms, most_factors=6, degree=degree, limit=limit, constant=True)


def rational_forms(book: Dictionary, target: Floats) -> Iterator[Expression]:
    """The simplest quotient of polynomials that equals the target, differently normalised.

    Args:
        book: Monomials, constant first.
        target: Values of t on the dictionary's rows.

    Yields:
        A few equal formulas, or nothing if there is no such quotient.
    """
    count = min(len(book), (target.size - 3) // 2)
    if count < 1:
        return
    rows = min(target.size, 2 * count + 40)
    plain = book.matrix[:rows, :count]
    height = float(np.max(np.abs(target))) or 1.0
    matrix = np.empty((rows, 2 * count))
    matrix[:, 0::2] = plain
    matrix[:, 1::2] = plain * (target[:rows, None] / height)
    if not np.isfinite(matrix).all():
        return
    involving = np.zeros(2 * count, dtype=bool)
    involving[1::2] = True
    relation = first_relation(matrix, involving)
    if relation is not None:
        yield from _quotients(book, relation, height)


def _quotients(book: Dictionary, relation: Relation, height: float) -> Iterator[Expression]:
    above: Terms = []
    below: Terms = []
    for column, weight in zip(relation.columns, relation.coefficients, strict=True):
        if column % 2:
            below.append((weight / height, book.powers[column // 2]))
        else:
            above.append((-weight, book.powers[column // 2]))
    if not above or not below:
        return
    above, below = _without_common_factor(above, below)
    for scale in (below[0][0], above[0][0], below[-1][0]):
        top = _polynomial(book, [(weight / scale, powers) for weight, powers in above])
        if len(below) == 1 and not any(below[0][1]):
            yield _polynomial(book, [(weight / below[0][0], powers) for weight, powers in above])
            return
        yield build.div(top, _polynomial(book, [(weight / scale, powers) for weight, powers in below]))


def _polynomial(book: Dictionary, terms: Terms) -> Expression:
    return weighted_sum([weight for weight, _ in terms], [book.expression(powers) for _, powers in terms])


def _without_common_factor(above: Terms, below: Terms) -> tuple[Terms, Terms]:
    """Divide numerator and denominator by the powers that all their terms share."""
    common = np.min([powers for _, powers in (*above, *below)], axis=0)

    def divided(terms: Terms) -> Terms:
        return [(weight, tuple(float(p) for p in np.subtract(powers, common))) for weight, powers in terms]

    return divided(above), divided(below)
