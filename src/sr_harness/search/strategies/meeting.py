"""Meet in the middle: two or three short sub-expressions that together make the target.

Tables of sub-expressions grow from the inputs (`sr_harness.search.stones`), and while they grow the target is
peeled: for each outer function the inner target t is compared with them by joins that look at all pairs at
once (`sr_harness.search.joins`).

- Logarithms: ln|t| in the span of ln|inputs| and one, two or three entries, so t = c · Π input^p · a^q · b^r
  with any exponents, or with exp(β·b).
- Sums: t·a = β·b + a constant or a quadratic polynomial, with a and b products of a monomial and a stone.

So a formula of twice the size of the entries is found at the cost of their size. Exact data only.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import lru_cache
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sr_harness.engine import Expression, build
from sr_harness.search import hits
from sr_harness.search.forms import product
from sr_harness.search.joins import Outside, cross_join, distinct, outside, parallel, self_join, span
from sr_harness.search.problem import Problem
from sr_harness.search.stones import Stones
from sr_harness.search.strategies.base import Strategy
from sr_harness.search.transforms import TRANSFORMS, Transform
from sr_harness.search.view import Input, View
from sr_harness.search.workspace import Workspace

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

FEWEST_ROWS = 24
SPARE_ROWS = 24
"""Rows beyond the dimension of the known span on which directions are compared."""

LOG_PEELED = ("y", "exp y", "log y", "sin y", "cos y")
"""Outer functions that are no powers: those are the business of the exponents."""

NEAR, FAR = 800, 5_000
"""Products of a monomial and a stone by which the target is multiplied, shortest first."""

WIDER = 5
"""How many times more of them there are on the other side, where they cost less."""

SHORT, SHORTEST = 1_200, 100
"""For products of three entries: how many there are to choose from, for two of them and for the third."""

MOST_SMALLER = 2

MOST_HITS = 6
"""Matches of one join that are looked at."""

HIT_WORK = 2
NUMBERS_A_UNIT = 6_000.0
"""Numbers that a join handles for one unit of work."""


class Meeting(Strategy):
    """Products and sums of two or three short sub-expressions."""

    name: ClassVar[str] = "meeting"
    summary: ClassVar[str] = "y = u(two short sub-expressions that meet in the middle)"
    share: ClassVar[float] = 0.05

    def obstacle(self, problem: Problem) -> str | None:
        """With few rows many pairs would agree by chance."""
        return f"fewer than {FEWEST_ROWS} rows" if problem.rows < FEWEST_ROWS else super().obstacle(problem)

    def propose(self, space: Workspace) -> Iterator[Expression]:
        """Products of powers first, then sums; then the same in the views with fewer inputs."""
        if not space.view.inputs:
            return
        whole = _Middle(space, space.view)
        yield from whole.powers()
        yield from whole.sums(NEAR)
        for view in _smaller(space):
            smaller = _Middle(space, view)
            yield from smaller.powers()
            yield from smaller.sums(NEAR)
            yield from smaller.threes()
        yield from whole.threes()


class MeetingFar(Meeting):
    """The same with longer sub-expressions."""

    name: ClassVar[str] = "meeting_far"
    summary: ClassVar[str] = "y = u(two longer sub-expressions that meet in the middle)"
    share: ClassVar[float] = 0.1

    def propose(self, space: Workspace) -> Iterator[Expression]:
        """Sums of longer products, in fewer inputs first."""
        for view in (*_smaller(space), space.view):
            if view.inputs:
                yield from _Middle(space, view).sums(FAR)


def _smaller(space: Workspace) -> list[View]:
    """The smallest views, without those that have no input left."""
    fewer = [view for view in space.views if 0 < len(view.inputs) < len(space.view.inputs)]
    return fewer[:MOST_SMALLER]


class _Known(NamedTuple):
    """A span that a sum may use freely: terms and their values, one a column."""

    terms: list[Expression]
    values: Floats


class _Middle:
    """The tables of one view, and the comparisons of its target with them."""

    def __init__(self, space: Workspace, view: View) -> None:
        self._space = space
        self._view = view
        self._stones = _grown(view)
        self._charge(self._stones.numbers)
        self._peeled = [(t, target) for t in TRANSFORMS if (target := t.target(view.target)) is not None]
        self._book: _Logarithms | None = None

    def powers(self) -> Iterator[Expression]:
        """Products of powers of the inputs and of one or two entries."""
        book = self._logarithms()
        yield from self._power_products(book, np.arange(len(book.vectors)), ())

    def threes(self) -> Iterator[Expression]:
        """Products of powers of the inputs and of three short entries."""
        book = self._logarithms()
        short = np.arange(min(SHORT, len(book.vectors)))
        for known in short[:SHORTEST]:
            yield from self._power_products(book, short[short != known], (int(known),))

    def sums(self, reach: int) -> Iterator[Expression]:
        """t·a = β·b + a constant, then + a quadratic polynomial."""
        left, right = self._stones.multipliers(reach), self._stones.terms(WIDER * reach)
        multipliers = np.concatenate([np.ones((1, self._stones.rows.size)), left.values])
        for known in (_constant(self._stones.inputs), _quadratic(self._stones.inputs)):
            rows = known.values.shape[1] + SPARE_ROWS
            if rows > self._stones.rows.size:
                continue
            self._charge(right.values[:, :rows].size)
            basis = span(known.values[:rows])
            terms = outside(right.values[:, :rows], basis)
            for transform, target in self._peeled:
                self._charge(multipliers[:, :rows].size)
                multiples = outside(multipliers[:, :rows] * target[self._stones.rows[:rows]], basis)
                for a, b in _matches(multiples, terms):
                    self._space.charge(HIT_WORK)
                    divisor = [] if a == 0 else [(left.expression(a - 1), 1.0)]
                    columns = known.terms if b is None else [*known.terms, right.expression(b)]
                    yield from self._whole(
                        transform, hits.linear(target, divisor, columns, self._space.sample)
                    )

    def _power_products(
        self, book: _Logarithms, entries: Indices, known: tuple[int, ...]
    ) -> Iterator[Expression]:
        for transform, target in self._peeled:
            if transform.name not in LOG_PEELED or np.any(target == 0):
                continue
            self._charge(entries.size * book.vectors.shape[1])
            for match in book.matches(target, entries, known):
                self._space.charge(HIT_WORK)
                bases, exponents = book.parts((*known, *match))
                yield from self._whole(
                    transform, hits.power_product(target, bases, exponents, self._space.sample)
                )

    def _whole(self, transform: Transform, inner: Expression | None) -> Iterator[Expression]:
        if inner is not None:
            yield self._view.wrap(transform.wrap(inner))

    def _logarithms(self) -> _Logarithms:
        if self._book is None:
            self._charge(2 * self._stones.stones.values.size)
            self._book = _Logarithms(self._stones)
        return self._book

    def _charge(self, numbers: float) -> None:
        self._space.charge(numbers / NUMBERS_A_UNIT)


class _Logarithms:
    """Logarithms of stones, and arguments as logarithms of their exponentials, shortest first.

    None is a product of powers of the inputs, and no two are the same up to such a product.
    """

    def __init__(self, stones: Stones) -> None:
        self._stones = stones
        self._inputs = [item for item in stones.inputs if not np.any(item.values == 0)]
        count = min(3 + len(self._inputs) + SPARE_ROWS, stones.rows.size)
        self._rows = stones.rows[:count]
        with np.errstate(all="ignore"):
            logs = np.log(np.abs(stones.stones.values[:, :count]))
            fixed = [np.log(np.abs(item.values[:count])) for item in self._inputs]
        usable = np.flatnonzero(np.isfinite(logs).all(axis=1))
        # Exponents stand before the stones, so that of exp(x) as either the one with a free factor is kept.
        vectors = np.concatenate([stones.arguments.values[:, :count], logs[usable]])
        costs = np.concatenate([stones.arguments.costs + 1.0, stones.stones.costs[usable]])
        source = np.concatenate([-1 - np.arange(len(stones.arguments)), usable])
        order = np.argsort(costs, kind="stable")
        self._basis = span(np.column_stack([np.ones(count), *fixed]))
        parts = outside(vectors[order], self._basis)
        kept = distinct(parts)
        self.vectors = parts.unit[kept]
        self._source = source[order][kept]

    def matches(self, target: Floats, entries: Indices, known: tuple[int, ...]) -> list[tuple[int, ...]]:
        """Single entries, then pairs, that together with known ones make the logarithm of the target."""
        left = np.log(np.abs(target[self._rows]))
        basis = self._basis
        if known:
            basis = span(np.column_stack([basis, self.vectors[list(known)].T]))
        rest = outside(left[None], basis)
        if not rest.clear.size:
            return []
        others = outside(self.vectors[entries], np.column_stack([basis, rest.unit[0]]))
        twos = self_join(others)
        a, b = entries[twos.first], entries[twos.second]
        if known:
            new = ~parallel(outside(self.vectors[a], basis), outside(self.vectors[b], basis))
            a, b = a[new], b[new]
        found: list[tuple[int, ...]] = [(int(entries[place]),) for place in others.inside[:MOST_HITS]]
        return [*found, *_first(a, b)]

    def parts(self, match: tuple[int, ...]) -> tuple[list[Expression], list[Expression]]:
        """Bases of powers, the inputs first, and exponents of e."""
        places = [int(self._source[entry]) for entry in match]
        bases = [item.expression for item in self._inputs]
        bases += [self._stones.stones.expression(place) for place in places if place >= 0]
        return bases, [self._stones.arguments.expression(-1 - place) for place in places if place < 0]


@lru_cache(maxsize=2)
def _grown(view: View) -> Stones:
    return Stones(view)


def _matches(multiples: Outside, terms: Outside) -> list[tuple[int, int | None]]:
    """Multiples in the known span (with None), then pairs of a multiple and a term."""
    pairs = cross_join(multiples, terms)
    alone = [(int(place), None) for place in multiples.inside[:MOST_HITS]]
    return [*alone, *_first(pairs.first, pairs.second)]


def _first(left: Indices, right: Indices) -> list[tuple[int, int]]:
    return [(int(a), int(b)) for a, b in zip(left[:MOST_HITS], right[:MOST_HITS], strict=True)]


def _constant(inputs: tuple[Input, ...]) -> _Known:
    return _Known([build.num(1.0)], np.ones((inputs[0].values.size, 1)))


def _quadratic(inputs: tuple[Input, ...]) -> _Known:
    """1, the inputs, their squares and their products."""
    known = _constant(inputs)
    terms = [*known.terms, *(item.expression for item in inputs)]
    columns = [known.values[:, 0], *(item.values for item in inputs)]
    for a, b in itertools.combinations_with_replacement(inputs, 2):
        pairs = [(a.expression, 2.0)] if a is b else [(a.expression, 1.0), (b.expression, 1.0)]
        terms.append(product(pairs))
        columns.append(a.values * b.values)
    return _Known(terms, np.column_stack(columns))
