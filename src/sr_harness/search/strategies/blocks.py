"""Two building blocks that together make the target, by least squares over all pairs: works with noise.

For each outer function u the peeled target t = u⁻¹(y) is compared with a shelf of blocks in three ways:

- products: ln|t| = c + Σ p·ln|input| + q·ln|a| + r·ln|b| (a block may also stand for exp(β·b));
- sums: t = α·a + β·b + γ;
- quotients: t = P/Q with few terms, through t·m = P - t·(Q - m) for simple m.

Rows are weighted so that errors count as errors of the original target, and the best few are fitted again by
non-linear least squares when they enter the front.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sr_harness.engine import Expression, build
from sr_harness.search.blocks import Blocks
from sr_harness.search.forms import product, weighted_sum
from sr_harness.search.problem import Problem
from sr_harness.search.sparse import forward, least_squares, ranked_columns, ranked_pairs
from sr_harness.search.strategies.base import Strategy
from sr_harness.search.transforms import TRANSFORMS, Transform
from sr_harness.search.view import Input, View
from sr_harness.search.workspace import Workspace

Floats = NDArray[np.float64]

ROWS = 300
FEWEST_ROWS = 20
LIMIT = 1_600
MOST_INPUTS = 6
SINGLES, PAIRS = 4, 6
"""How many blocks and pairs of blocks are offered for each outer function."""

SURE_SIGN = 0.98
"""How nearly a product must have one sign in common with the target, relative to their sizes."""

MOST_TERMS = 4
"""Terms of sums that are found greedily."""

LEFT = 0.02
"""Part of the peeled target's variation that blocks may leave before they are no longer offered."""

NEAR = 0.1
"""How far exponents may be from multiples of a half."""

QUOTIENT_COLUMNS, QUOTIENT_TERMS, NORMALISERS = 60, 5, 4
LOGARITHMIC = ("y", "log y", "exp y", "sin y", "cos y")
"""Outer functions for products; powers of y make no difference to them."""


class _Peeled(NamedTuple):
    """An outer function, the target inside it, and the weight of each row."""

    transform: Transform
    target: Floats
    weights: Floats


class TwoBlocks(Strategy):
    """y = u(c·x^p·a^q·b^r), u(α·a + β·b + γ) or u(P/Q)."""

    name: ClassVar[str] = "blocks"
    summary: ClassVar[str] = "y = u(product, sum or quotient of two building blocks), by least squares"
    share: ClassVar[float] = 0.4

    def obstacle(self, problem: Problem) -> str | None:
        """Among so many pairs some fit a few rows by chance."""
        return f"fewer than {FEWEST_ROWS} rows" if problem.rows < FEWEST_ROWS else super().obstacle(problem)

    def propose(self, space: Workspace) -> Iterator[Expression]:
        """For each view products, then quotients, then sums."""
        for view in space.views:
            if 0 < len(view.inputs) <= MOST_INPUTS:
                yield from _View(space, view).run()


class _View:
    """The comparisons for one view, on some of its rows."""

    def __init__(self, space: Workspace, view: View) -> None:
        self.space, self.view = space, view
        rows = slice(None, ROWS)
        inputs = [Input(item.expression, item.values[rows]) for item in view.inputs]
        space.charge(LIMIT / 8)
        self.blocks = Blocks(inputs, LIMIT)
        self.inputs = inputs
        scale = None if view.factor is None else _ratio(space.sample.target[rows], view.target[rows])
        self.peeled = []
        for transform in TRANSFORMS:
            target = transform.target(view.target)
            if target is not None:
                weights = transform.weights(view.target[rows], scale)
                self.peeled.append(_Peeled(transform, target[rows], weights))

    def run(self) -> Iterator[Expression]:
        """Products are cheapest and most usual."""
        for peeled in self.peeled:
            if peeled.transform.name in LOGARITHMIC:
                yield from self.products(peeled)
        for peeled in self.peeled:
            yield from self.quotients(peeled)
        for peeled in self.peeled:
            yield from self.sums(peeled)

    def wrap(self, peeled: _Peeled, inner: Expression) -> Expression:
        """The formula of the problem that belongs to an inner one."""
        return self.view.wrap(peeled.transform.wrap(inner))

    def charge(self, columns: int, rows: int) -> None:
        """The work of looking at all pairs of some columns."""
        self.space.charge(columns * columns * (rows + 200) / 4e6)

    def products(self, peeled: _Peeled) -> Iterator[Expression]:
        """Regressions of ln|t| on the inputs' logarithms and one or two blocks."""
        if np.any(peeled.target == 0):
            return
        search = _Products(peeled, self.inputs, self.blocks)
        if not search.matrix.shape[1]:
            return
        self.charge(search.matrix.shape[1], len(search.matrix))
        for columns in _hits(search.matrix, search.logs, search.fixed, search.weights):
            inner = search.product(columns)
            if inner is not None:
                yield self.wrap(peeled, inner)

    def sums(self, peeled: _Peeled) -> Iterator[Expression]:
        """One or two blocks, with and without a constant."""
        blocks = self.blocks.everything
        matrix = np.column_stack([block.values for block in blocks])
        self.charge(matrix.shape[1], len(matrix))
        ones = np.ones((len(matrix), 1))
        for columns in _hits(matrix, peeled.target, ones, peeled.weights):
            terms = [blocks[column].expression for column in columns]
            yield self._sum(peeled, matrix[:, list(columns)], terms)
            yield self._sum(
                peeled, np.column_stack([matrix[:, list(columns)], ones]), [*terms, build.num(1.0)]
            )
        weighted, target = matrix * peeled.weights[:, None], peeled.target * peeled.weights
        for fit in forward(weighted, target, MOST_TERMS, charge=self.space.charge):
            if fit.residual < LEFT and len(fit.columns) > 2:
                terms = [blocks[column].expression for column in fit.columns]
                yield self._sum(peeled, matrix[:, list(fit.columns)], terms)

    def _sum(self, peeled: _Peeled, matrix: Floats, terms: Sequence[Expression]) -> Expression:
        values, _ = least_squares(matrix * peeled.weights[:, None], peeled.target * peeled.weights)
        return self.wrap(peeled, weighted_sum([float(value) for value in values], terms))

    def quotients(self, peeled: _Peeled) -> Iterator[Expression]:
        """Sparse linear relations between products of powers and the same times t."""
        one = Input(build.num(1.0), np.ones(peeled.target.size))
        whole = [one, *(item for item in self.blocks.products if _is_whole(item.expression))][
            :QUOTIENT_COLUMNS
        ]
        plain = np.column_stack([item.values for item in whole])
        times = plain * peeled.target[:, None]
        for place in range(min(NORMALISERS, len(whole))):
            others = [column for column in range(len(whole)) if column != place]
            matrix = np.column_stack([plain, -times[:, others]])
            weights = peeled.weights / np.maximum(
                np.abs(plain[:, place]), 1e-3 * np.max(np.abs(plain[:, place]))
            )
            target = times[:, place] * weights
            for fit in forward(matrix * weights[:, None], target, QUOTIENT_TERMS, charge=self.space.charge):
                below = [column - len(whole) for column in fit.columns if column >= len(whole)]
                above = [column for column in fit.columns if column < len(whole)]
                if not below or not above or fit.residual > LEFT:
                    continue
                top = [whole[column] for column in above]
                bottom = [whole[place], *(whole[others[column]] for column in below)]
                yield self.wrap(peeled, _quotient(peeled, top, bottom))


def _quotient(peeled: _Peeled, above: Sequence[Input], below: Sequence[Input]) -> Expression:
    """P/Q with the first term of Q of weight one, by iterated linear fits with weights 1/Q."""
    top = np.column_stack([item.values for item in above])
    first, rest = below[0].values, np.column_stack([item.values for item in below[1:]])
    matrix = np.column_stack([top, -rest * peeled.target[:, None]])
    target, line = first * peeled.target, first
    values = np.zeros(matrix.shape[1])
    for _ in range(4):
        size = np.maximum(np.abs(line), 1e-6 * np.max(np.abs(line)))
        values, _ = least_squares(matrix * (peeled.weights / size)[:, None], target * peeled.weights / size)
        line = first + rest @ values[len(above) :]
    numbers = [float(value) for value in values]
    upper = weighted_sum(numbers[: len(above)], [item.expression for item in above])
    lower = weighted_sum([1.0, *numbers[len(above) :]], [item.expression for item in below])
    return build.div(upper, lower)


class _Products:
    """The logarithms of one peeled target, the inputs and the blocks.

    Attributes:
        bases: Inputs without zeros; any of their powers is always in.
        stones: Blocks without zeros.
        matrix: Their logarithms, then the products of powers themselves as exponents, rows by columns.
        fixed: A constant and the logarithms of the bases.
        logs: Logarithm of the target's size.
        weights: Of the rows; an error of ln|t| counts |t| times as much as one of t.
    """

    def __init__(self, peeled: _Peeled, inputs: Sequence[Input], blocks: Blocks) -> None:
        self.peeled = peeled
        self.bases = [item for item in inputs if not np.any(item.values == 0)]
        self.stones = [block for block in blocks.stones if not np.any(block.values == 0)]
        self.exponents = blocks.products
        size = np.abs(peeled.target)
        columns = [np.log(np.abs(block.values)) for block in self.stones]
        columns += [block.values for block in self.exponents]
        self.matrix = np.column_stack(columns) if columns else np.empty((size.size, 0))
        self.fixed = np.column_stack(
            [np.ones(size.size), *(np.log(np.abs(item.values)) for item in self.bases)]
        )
        self.logs = np.log(size)
        self.weights = np.maximum(peeled.weights * size, 1e-6 * np.max(size))

    def product(self, columns: tuple[int, ...]) -> Expression | None:
        """The product of a hit with exponents rounded to halves; None where they are far from that."""
        chosen = np.column_stack([self.fixed, self.matrix[:, list(columns)]]) * self.weights[:, None]
        values = [float(value) for value in least_squares(chosen, self.logs * self.weights)[0]]
        stones = [column for column in columns if column < len(self.stones)]
        factors = [*self.bases, *(self.stones[column] for column in stones)]
        powers = _halves(values[1 : len(factors) + 1])
        if powers is None or not all(powers[len(self.bases) :]):
            return None
        used = [(item, power) for item, power in zip(factors, powers, strict=True) if power]
        pairs = [(item.expression, power) for item, power in used]
        rates = list(zip(columns[len(stones) :], values[len(factors) + 1 :], strict=True))
        exponent = np.zeros(self.logs.size)
        for column, rate in rates:
            exponent += rate * self.exponents[column - len(self.stones)].values
        if rates:
            terms = [self.exponents[column - len(self.stones)].expression for column, _ in rates]
            pairs.append((build.call("exp", weighted_sum([rate for _, rate in rates], terms)), 1.0))
        with np.errstate(all="ignore"):
            shape = np.exp(exponent)
            for item, power in used:
                shape = shape * item.values**power
        return self._scaled(pairs, shape)

    def _scaled(self, pairs: list[tuple[Expression, float]], shape: Floats) -> Expression | None:
        """The product with its factor; None where it is not real or has another sign than the target."""
        if not pairs or not np.isfinite(shape).all():
            return None
        # where noise is larger than the target its sign says nothing
        sizes = np.abs(self.peeled.target)
        if abs(float(np.sum(np.sign(shape * self.peeled.target) * sizes))) < SURE_SIGN * float(np.sum(sizes)):
            return None
        weights = self.peeled.weights
        factor, _ = least_squares((shape * weights)[:, None], self.peeled.target * weights)
        return product(pairs, float(factor[0]))


def _halves(values: Sequence[float]) -> list[float] | None:
    """The numbers as multiples of a half; None where one is far from that."""
    rounded = [round(2.0 * value) / 2.0 for value in values]
    far = any(abs(a - b) > NEAR for a, b in zip(values, rounded, strict=True))
    return None if far else rounded


def _ratio(whole: Floats, divided: Floats) -> Floats:
    """Size of what the target was divided by; 1 where both are 0."""
    with np.errstate(all="ignore"):
        ratio = np.abs(whole / divided)
    return np.where(np.isfinite(ratio), ratio, 1.0)


def _is_whole(expression: Expression) -> bool:
    """Whether a product of powers has nothing below the line."""
    return expression.op != "div"


def _hits(matrix: Floats, target: Floats, fixed: Floats, weights: Floats) -> Iterator[tuple[int, ...]]:
    """The best single columns and pairs beside the fixed ones, as far as they leave little."""
    weighted = matrix * weights[:, None]
    basis = np.linalg.qr(fixed * weights[:, None])[0]
    y = target * weights
    total = float(y @ y)
    for column, left in ranked_columns(weighted, y, SINGLES, basis):
        if left < LEFT * total:
            yield (column,)
    for pair, left in ranked_pairs(weighted, y, PAIRS, basis):
        if left < LEFT * total:
            yield pair
