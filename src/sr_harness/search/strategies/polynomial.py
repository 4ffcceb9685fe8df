"""Sparse polynomials in the inputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from sr_harness.engine import Expression
from sr_harness.search.forms import weighted_sum
from sr_harness.search.monomials import Dictionary, build_dictionary, input_atoms
from sr_harness.search.sparse import SparseFit, fit_columns, forward
from sr_harness.search.strategies.base import Strategy
from sr_harness.search.workspace import Workspace

MOST_TERMS = 10
MOST_COLUMNS = 300
DEGREES = (2, 3, 4, 6)


class Polynomial(Strategy):
    """Sums of few products of whole powers, degree by degree."""

    name: ClassVar[str] = "polynomial"
    summary: ClassVar[str] = "y = sum of few products of whole powers"
    share: ClassVar[float] = 0.2

    def propose(self, space: Workspace) -> Iterator[Expression]:
        """For each degree: greedy supports, with offset and without; dense where few inputs allow it."""
        atoms = input_atoms(space.view.inputs, tuple(float(p) for p in range(1, DEGREES[-1] + 1)))
        y = space.sample.target
        size = 0
        for degree in DEGREES:
            book = build_dictionary(
                atoms, most_factors=4, degree=float(degree), limit=MOST_COLUMNS, constant=True
            )
            if len(book) <= max(size, 1):
                continue
            size = len(book)
            space.charge(size)
            for fit in forward(book.matrix, y, MOST_TERMS, start=(0,), charge=space.charge):
                yield polynomial(book, fit)
            for fit in forward(book.matrix[:, 1:], y, MOST_TERMS, charge=space.charge):
                yield polynomial(book, fit, shift=1)
            if size <= 12 and size < y.size:
                yield polynomial(book, fit_columns(book.matrix, y, range(size)))


def polynomial(book: Dictionary, fit: SparseFit, shift: int = 0) -> Expression:
    """The weighted sum of a support; `shift` is the number of leading columns that were left away."""
    places = sorted(range(len(fit.columns)), key=lambda p: (not any(book.powers[fit.columns[p] + shift]), p))
    columns = [fit.columns[p] + shift for p in places]
    return weighted_sum([fit.coefficients[p] for p in places], [book.term(c) for c in columns])
