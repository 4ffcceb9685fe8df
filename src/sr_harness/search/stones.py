"""The tables that sub-expressions are taken from when two of them are to meet in the middle.

`Stones` grows three tables from the inputs of a view: monomials, arguments (inputs, their products, sums and
differences), and stones: what a person would apply to an argument, and sums of two inputs or squares.
"""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sr_harness.engine import Expression
from sr_harness.search.forms import power
from sr_harness.search.monomials import Dictionary, build_dictionary, input_atoms
from sr_harness.search.subexpressions import Table, apply, products, shortest_pairs, sums
from sr_harness.search.view import Input, View

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

ROWS = 96
"""Rows on which tables hold values."""

MOST_ENTRIES = 30_000
MONOMIALS = (((1.0, -1.0, 2.0, -2.0), 4, 600), ((0.5, -0.5, 3.0, -3.0, 1.0, -1.0), 2, 150))
"""Exponents, most factors, most terms: whole powers of up to four inputs, then roots and cubes of two."""

MOST_ARGUMENTS = 730
MOST_SIMPLE = 200
MOST_FACTORS = 8
FUNCTIONS = (
    "sin",
    "cos",
    "1 + x",
    "1 - x",
    "1 - x²",
    "1 + x²",
    "log",
    "tanh",
    "cosh",
    "exp - 1",
    "exp + 1",
    "exp",
)
SCALED = ("sin", "cos", "exp - 1", "exp + 1")
SCALES = (0.5, 2.0)
"""Some functions are also applied to these multiples of simple arguments."""


class Stones:
    """Monomials, arguments and stones of a view on some of its rows.

    Attributes:
        rows: Places of these rows among those of the view.
        inputs: The inputs on these rows.
        monomials: Products of powers of inputs.
        arguments: What functions are applied to.
        stones: Functions of arguments, and sums of two.
        numbers: How many numbers it took to grow them.
    """

    def __init__(self, view: View) -> None:
        """Grow the tables."""
        count = min(ROWS, view.target.size)
        self.rows: Indices = np.linspace(0, view.target.size - 1, count).astype(np.int64)
        self.inputs = tuple(Input(item.expression, item.values[self.rows]) for item in view.inputs)
        self.monomials, self.arguments, self.stones = (Table(count, MOST_ENTRIES) for _ in range(3))
        self.numbers = 0
        self._add_monomials()
        self._add_stones(self._add_arguments())

    def multipliers(self, count: int) -> Table:
        """Monomials, stones, and their shortest products, the stones also inverted and under a root."""
        table = self.terms(count)
        for exponent in (-1.0, 0.5, -0.5):
            with np.errstate(all="ignore"):
                raised = self.stones.values**exponent
            table.add(raised, partial(self._raised, exponent=exponent), self.stones.costs + 0.5)
            products(table, self._factors, shortest_pairs(self._factors, count), exponent)
        return table

    def terms(self, count: int) -> Table:
        """Monomials, stones, and their shortest products."""
        table = Table(self.rows.size, MOST_ENTRIES)
        for part in (self.monomials, self.stones):
            table.add(part.values, part.expression, part.costs)
        products(table, self._factors, shortest_pairs(self._factors, count))
        return table

    @property
    def _factors(self) -> tuple[Table, Table]:
        return self.monomials, self.stones

    def _raised(self, entry: int, exponent: float) -> Expression:
        return power(self.stones.expression(entry), exponent)

    def _add_monomials(self) -> None:
        for exponents, factors, limit in MONOMIALS:
            book = self._dictionary(exponents, factors, limit)
            self.monomials.add(book.matrix.T, book.term, _lengths(book))

    def _add_arguments(self) -> int:
        """Inputs, products of two, differences, their multiples, then others. Returns how many are simple."""
        table = self.arguments
        singles = self._dictionary((1.0,), 1, MOST_ARGUMENTS)
        own = table.add(singles.matrix.T, singles.term, 1.0)
        book = self._dictionary((1.0, -1.0), MOST_FACTORS, MOST_ARGUMENTS)
        lengths = _lengths(book) + [max(powers) <= 0 for powers in book.powers]
        two = [place for place, powers in enumerate(book.powers) if sum(map(abs, powers)) <= 2]
        table.add(book.matrix[:, two].T, lambda row: book.term(two[row]), lengths[two])
        differences = sums(table, table, *_upper(own), -1.0)
        products(table, (table, table), (np.repeat(differences, own.size), np.tile(own, differences.size)))
        simple = min(len(table), MOST_SIMPLE)
        sums(table, table, *_upper(own), 1.0)
        table.add(book.matrix.T, book.term, lengths)
        return simple

    def _add_stones(self, simple: int) -> None:
        """Sums of two inputs or squares, functions of all arguments, and of multiples of the simple ones."""
        own = np.arange(min(len(self.inputs), simple))
        squares = Table(self.rows.size, MOST_ENTRIES)
        apply(squares, "square", self.arguments, own)
        for source in (self.arguments, squares):
            for sign in (-1.0, 1.0):
                sums(self.stones, source, *_upper(np.arange(min(own.size, len(source)))), sign)
        every = np.arange(len(self.arguments))
        for function in FUNCTIONS:
            self.numbers += every.size * self.rows.size
            apply(self.stones, function, self.arguments, every)
        for function, scale in itertools.product(SCALED, SCALES):
            self.numbers += simple * self.rows.size
            apply(self.stones, function, self.arguments, np.arange(simple), scale)

    def _dictionary(self, exponents: tuple[float, ...], factors: int, limit: int) -> Dictionary:
        atoms = input_atoms(self.inputs, exponents)
        book = build_dictionary(atoms, most_factors=factors, degree=2.0 * factors, limit=limit)
        self.numbers += book.matrix.size
        return book


def _lengths(book: Dictionary) -> Floats:
    """What each term adds to the length of a formula."""
    lengths = np.zeros(len(book))
    for powers in np.array(book.powers).reshape(len(book), -1).T:
        kinds = [powers == 0, powers == 1, powers == -1, np.abs(powers) == 2, np.abs(powers) < 1]
        lengths += np.select(kinds, [0.0, 1.0, 1.25, 1.75, 2.0], 2.5)
    return lengths


def _upper(entries: Indices) -> tuple[Indices, Indices]:
    """Each pair of entries once."""
    first, second = np.triu_indices(entries.size, k=1)
    return entries[first], entries[second]
