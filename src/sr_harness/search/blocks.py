"""A shelf of building blocks: simple sub-formulas of a view's inputs with their values.

Products of powers, sums and differences of two of them, functions of either, and products of a function and
a simple factor. Every block is finite and varies; of blocks that are proportional the first stays.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from sr_harness.engine import build
from sr_harness.search.monomials import build_dictionary, fingerprint, input_atoms, varies
from sr_harness.search.view import Input

Floats = NDArray[np.float64]
Values = Callable[[Floats], Floats]

FUNCTIONS: dict[str, Values] = {
    "sin": np.sin,
    "cos": np.cos,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "tanh": np.tanh,
}
MULTIPLIED = 200
"""How many functions, and how many stones, are multiplied by factors as far as there is room."""

LARGEST = 1e30
PRODUCTS, SIMPLE, ARGUMENTS, FACTORS = 120, 14, 70, 12
"""How many products of powers there are; how many of them are added up, are arguments, are factors."""

ONE = build.num(1.0)


class Shelf:
    """Blocks in the order in which they were put there, up to a limit."""

    def __init__(self, limit: int) -> None:
        self.blocks: list[Input] = []
        self._limit = limit
        self._seen: set[bytes] = set()

    def put(self, block: Input) -> None:
        """Offer a block."""
        values = block.values
        if len(self.blocks) >= self._limit or not np.isfinite(values).all() or not varies(values):
            return
        if np.max(np.abs(values)) > LARGEST:
            return
        key = fingerprint(values, max(1, values.size // 48))
        if key not in self._seen:
            self._seen.add(key)
            self.blocks.append(block)

    @property
    def matrix(self) -> Floats:
        """The values side by side, rows by blocks."""
        return np.column_stack([block.values for block in self.blocks])


class Blocks:
    """The shelves of one view.

    Attributes:
        products: Products of powers of the inputs.
        stones: Sums of two products and functions, none of them a product of powers.
        everything: The simplest of these, and functions and stones times simple factors.
    """

    def __init__(self, inputs: Sequence[Input], limit: int) -> None:
        atoms = input_atoms(inputs, (1.0, -1.0, 2.0, -2.0))
        book = build_dictionary(atoms, most_factors=3, degree=4.0, limit=PRODUCTS)
        self.products = [Input(book.term(column), book.matrix[:, column]) for column in range(len(book))]
        with np.errstate(all="ignore"):
            stones = Shelf(limit // 2)
            sums = list(_sums(self.products[:SIMPLE]))
            _put_all(stones, sums)
            _put_all(stones, _beside_one(self.products[:ARGUMENTS]))
            arguments = [*self.products[:ARGUMENTS], *sums[: 2 * ARGUMENTS]]
            functions = Shelf(limit // 2)
            _put_all(functions, _functions(arguments))
            _put_all(stones, _interleaved([functions.blocks, list(_beside_one(functions.blocks[:120]))]))
            everything = Shelf(limit)
            _put_all(everything, self.products)
            _put_all(everything, _interleaved([functions.blocks[:MULTIPLIED], stones.blocks[:MULTIPLIED]]))
            used = _interleaved([functions.blocks[:MULTIPLIED], stones.blocks[: MULTIPLIED // 2]])
            _put_all(everything, _times(_factors(inputs), list(used)))
        self.stones = stones.blocks
        self.everything = everything.blocks


def _factors(inputs: Sequence[Input]) -> list[Input]:
    """Inputs, products of two, one over an input, squares."""
    one_over = input_atoms(inputs, (-1.0,))
    below = [build_dictionary([atom], most_factors=1, degree=1.0, limit=1) for atom in one_over]
    found = [
        *inputs,
        *(
            Input(build.mul(a.expression, b.expression), a.values * b.values)
            for a, b in itertools.combinations(inputs, 2)
        ),
        *(Input(book.term(0), book.matrix[:, 0]) for book in below if len(book)),
        *(Input(build.pow_(item.expression, build.num(2.0)), item.values**2) for item in inputs),
    ]
    return found[:FACTORS]


def _put_all(shelf: Shelf, blocks: Iterable[Input]) -> None:
    for block in blocks:
        shelf.put(block)


def _interleaved(groups: Sequence[Sequence[Input]]) -> Iterable[Input]:
    """The first of each group, then the second of each, and so on."""
    for several in itertools.zip_longest(*groups):
        yield from (block for block in several if block is not None)


def _sums(items: Sequence[Input]) -> Iterable[Input]:
    for a, b in itertools.combinations(items, 2):
        yield Input(build.sub(a.expression, b.expression), a.values - b.values)
        yield Input(build.add(a.expression, b.expression), a.values + b.values)


def _beside_one(items: Sequence[Input]) -> Iterable[Input]:
    for item in items:
        yield Input(build.add(ONE, item.expression), 1.0 + item.values)
        yield Input(build.sub(ONE, item.expression), 1.0 - item.values)


def _functions(items: Sequence[Input]) -> Iterable[Input]:
    for item in items:
        for name, function in FUNCTIONS.items():
            yield Input(build.call(name, item.expression), function(item.values))


def _times(factors: Sequence[Input], blocks: Sequence[Input]) -> Iterable[Input]:
    for block in blocks:
        for factor in factors:
            yield Input(build.mul(factor.expression, block.expression), factor.values * block.values)
