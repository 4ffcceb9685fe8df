"""Sums of few products of powers of inputs and of their sines and cosines, all inputs at once.

Angles and their differences appear in the right-hand sides of pendulums, rotors and gliders; with all of
them in one dictionary, an exact sum of up to four products is found by a few greedy regressions.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from sr_harness.engine import Expression, build
from sr_harness.search.forms import weighted_sum
from sr_harness.search.monomials import Atom, Dictionary, admitted, build_dictionary, input_atoms
from sr_harness.search.sparse import best_pairs, fit_columns, forward
from sr_harness.search.strategies.base import Strategy
from sr_harness.search.view import Input, View
from sr_harness.search.workspace import Workspace

MOST_INPUTS = 4
SHORT, MOST_TERMS = 2, 4
MOST_COLUMNS = 260
PAIRS = 3
NUMERIC = {"sin": np.sin, "cos": np.cos}
EXPONENTS = {"sin": (1.0, 2.0, -1.0), "cos": (1.0, -1.0)}
"""The square of a cosine is no term of its own: it is 1 less that of the sine."""


class Trigonometric(Strategy):
    """y = Σ c · Π x^p sin(x)^q cos(x)^r, with differences of two inputs as angles too."""

    name: ClassVar[str] = "trigonometric"
    summary: ClassVar[str] = "y = sum of few products of inputs, their sines and cosines"
    share: ClassVar[float] = 0.1

    def propose(self, space: Workspace) -> Iterator[Expression]:
        """Short sums over plain angles, then with differences among the angles, then longer plain ones."""
        for view in dict.fromkeys((space.view, *space.views)):
            if not 0 < len(view.inputs) <= MOST_INPUTS:
                continue
            for angles, most in _angle_sets(view.inputs):
                atoms = [*_circular(angles), *input_atoms(view.inputs, (1.0, 2.0, -1.0))]
                space.charge(MOST_COLUMNS // 8)
                book = build_dictionary(atoms, most_factors=3, degree=4.0, limit=MOST_COLUMNS, constant=True)
                yield from _sums(space, view, book, most)


def _angle_sets(inputs: tuple[Input, ...]) -> Iterator[tuple[list[Input], int]]:
    """Angles, and the most terms of a sum; sums that need many plain angles may need few differences."""
    plain = list(inputs)
    yield plain, SHORT
    pairs = list(itertools.combinations(inputs, 2))
    if pairs:
        differences = [Input(build.sub(a.expression, b.expression), a.values - b.values) for a, b in pairs]
        yield [*plain, *differences], MOST_TERMS
    yield plain, MOST_TERMS


def _circular(angles: list[Input]) -> list[Atom]:
    atoms = []
    for angle in angles:
        for name, function in NUMERIC.items():
            values = function(angle.values)
            powers = admitted(values, EXPONENTS[name])
            atoms.append(Atom(build.call(name, angle.expression), values, powers))
    return atoms


def _sums(space: Workspace, view: View, book: Dictionary, most: int) -> Iterator[Expression]:
    def formula(columns: tuple[int, ...], coefficients: tuple[float, ...]) -> Expression:
        return view.wrap(weighted_sum(coefficients, [book.term(column) for column in columns]))

    if len(book) < 2:
        return
    for start in ((), (0,)):
        for fit in forward(book.matrix, view.target, most, start=start, charge=space.charge):
            yield formula(fit.columns, fit.coefficients)
    space.charge(len(book) / 8)
    for pair in best_pairs(book.matrix, view.target, PAIRS):
        fit = fit_columns(book.matrix, view.target, pair)
        yield formula(fit.columns, fit.coefficients)
