"""Weighted sums of the inputs themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from sr_harness.engine import Expression, build
from sr_harness.search.forms import weighted_sum
from sr_harness.search.monomials import input_atoms
from sr_harness.search.sparse import SparseFit, fit_columns, forward
from sr_harness.search.strategies.base import Strategy
from sr_harness.search.workspace import Workspace

MOST_TERMS = 10


class Linear(Strategy):
    """Sparse linear models with and without offset: for each number of inputs the best found subset."""

    name: ClassVar[str] = "linear"
    summary: ClassVar[str] = "y = c0 + Σ ci·xi, few inputs first"

    def propose(self, space: Workspace) -> Iterator[Expression]:
        """Subsets by forward choice with exchange, then all inputs."""
        atoms = input_atoms(space.view.inputs, (1.0,))
        if not atoms:
            return
        y = space.sample.target
        terms = [build.num(1.0), *(atom.expression for atom in atoms)]
        matrix = np.column_stack([np.ones(y.size), *(atom.values for atom in atoms)])
        for fit in forward(matrix[:, 1:], y, MOST_TERMS, charge=space.charge):
            yield _expression(fit, terms[1:])
        for fit in forward(matrix, y, MOST_TERMS, start=(0,), charge=space.charge):
            yield _expression(fit, terms)
        if matrix.shape[1] < y.size:
            space.charge(matrix.shape[1])
            yield _expression(fit_columns(matrix, y, range(matrix.shape[1])), terms)


def _expression(fit: SparseFit, terms: list[Expression]) -> Expression:
    order = sorted(range(len(fit.columns)), key=lambda place: (fit.columns[place] == 0, fit.columns[place]))
    return weighted_sum([fit.coefficients[p] for p in order], [terms[fit.columns[p]] for p in order])
