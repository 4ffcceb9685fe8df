"""A table of distinct sub-expressions with their values on a few dozen rows.

Grown bottom-up: products of powers, functions of simple arguments, sums, products of what is there. An entry
is kept if it is finite, varies, and is proportional to none before it, so an unknown factor costs nothing.
The number of entries is bounded; a full table takes nothing more. Expressions are built only when asked for.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sr_harness.engine import Expression, build
from sr_harness.search.forms import product

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

SMALLEST, LARGEST = 1e-100, 1e100
"""Entries of another magnitude are left out: their squares are no numbers."""

WIDEST = 1e6
"""An entry whose largest value is more than this multiple of its median says something about one row only."""

RESOLUTION = 1e-9
"""Unit vectors that differ less than this in two random projections are the same entry."""

Describe = Callable[[int], Expression]
"""From the position within a block of offered values to the expression."""


class Table:
    """Distinct sub-expressions, simplest first as far as they are offered so."""

    def __init__(self, rows: int, limit: int) -> None:
        self._limit = limit
        self._values = np.empty((0, rows))
        self._costs = np.empty(0)
        self._seen = np.empty(0, dtype=np.int64)
        self._projections = np.random.default_rng(rows).normal(size=(rows, 2))
        self._blocks: list[tuple[int, Indices, Describe]] = []

    def __len__(self) -> int:
        return len(self._values)

    @property
    def values(self) -> Floats:
        """One row an entry, one column a data row."""
        return self._values

    @property
    def costs(self) -> Floats:
        """How long each entry is, roughly in symbols."""
        return self._costs

    def add(self, values: Floats, describe: Describe, costs: Floats | float) -> Indices:
        """Offer entries.

        Args:
            values: One row an entry.
            describe: Builds the expression of a row.
            costs: Their length, one for each or one for all.

        Returns:
            Positions of those that were kept.
        """
        with np.errstate(all="ignore"):
            height = np.max(np.abs(values), axis=1, initial=0.0)
            usable = (height > SMALLEST) & (height < LARGEST)
            usable &= (
                np.max(values, axis=1, initial=-np.inf) - np.min(values, axis=1, initial=np.inf)
                > 1e-10 * height
            )
            usable &= np.median(np.abs(values[:, ::4]), axis=1) > height / WIDEST
        candidates = np.flatnonzero(usable)
        keys = self._keys(values[candidates] / height[candidates, None])
        _, first = np.unique(keys, return_index=True)
        first = np.sort(first)
        fresh = first[~np.isin(keys[first], self._seen)][: self._limit - len(self)]
        kept = candidates[fresh]
        begin = len(self)
        self._values = np.concatenate([self._values, values[kept]])
        self._costs = np.concatenate([self._costs, np.broadcast_to(costs, len(values))[kept]])
        self._seen = np.concatenate([self._seen, keys[fresh]])
        self._blocks.append((begin, kept, describe))
        return np.arange(begin, len(self))

    def expression(self, entry: int) -> Expression:
        """The expression of an entry."""
        begin, kept, describe = next(block for block in reversed(self._blocks) if block[0] <= entry)
        return describe(int(kept[entry - begin]))

    def _keys(self, scaled: Floats) -> Indices:
        """A number for each direction, the same for a vector and its multiples."""
        unit = scaled / np.sqrt(np.einsum("ij,ij->i", scaled, scaled))[:, None]
        seen = unit @ self._projections
        seen *= np.where(seen[:, :1] < 0, -1.0, 1.0)
        whole = np.round(seen / RESOLUTION).astype(np.int64)
        keys: Indices = whole[:, 0] * np.int64(2_654_435_761) + whole[:, 1]
        return keys


def apply(into: Table, function: str, source: Table, entries: Indices, scale: float = 1.0) -> Indices:
    """Add f(scale · entry) for some entries of a table; see `NUMERIC` for f."""
    with np.errstate(all="ignore"):
        values = NUMERIC[function](scale * source.values[entries])

    def describe(row: int) -> Expression:
        return SYMBOLIC[function](_scaled(source.expression(int(entries[row])), scale))

    cost = PRICES[function] + 0.5 * (scale != 1.0)
    return into.add(values, describe, source.costs[entries] + cost)


def sums(into: Table, source: Table, left: Indices, right: Indices, sign: float) -> Indices:
    """Add left + sign · right for pairs of entries of a table."""
    values = source.values[left] + sign * source.values[right]

    def describe(row: int) -> Expression:
        combine = build.add if sign > 0 else build.sub
        return combine(source.expression(int(left[row])), source.expression(int(right[row])))

    return into.add(values, describe, source.costs[left] + source.costs[right])


def products(
    into: Table, tables: tuple[Table, Table], entries: tuple[Indices, Indices], power: float = 1.0
) -> Indices:
    """Add first · second**power for pairs of entries of two tables."""
    (left, right), (first, second) = tables, entries
    with np.errstate(all="ignore"):
        values = left.values[first] * right.values[second] ** power

    def describe(row: int) -> Expression:
        bases = (left.expression(int(first[row])), right.expression(int(second[row])))
        return product([(bases[0], 1.0), (bases[1], power)])

    costs = left.costs[first] + right.costs[second] + 0.5 * (power not in (1.0, -1.0))
    return into.add(values, describe, costs)


def _scaled(argument: Expression, scale: float) -> Expression:
    if scale == 1.0:
        return argument
    if scale == 0.5:
        return build.div(argument, build.num(2.0))
    return build.mul(build.num(scale), argument)


def _one(sign: float, power: float) -> tuple[Callable[[Floats], Floats], Callable[[Expression], Expression]]:
    combine = build.add if sign > 0 else build.sub

    def symbolic(x: Expression) -> Expression:
        return combine(build.num(1.0), x if power == 1 else build.pow_(x, build.num(power)))

    return (lambda x: 1.0 + sign * x**power), symbolic


def _call(name: str) -> Callable[[Expression], Expression]:
    return lambda x: build.call(name, x)


_PLUS, _MINUS, _PLUS_SQUARE, _MINUS_SQUARE = _one(1, 1), _one(-1, 1), _one(1, 2), _one(-1, 2)

NUMERIC: dict[str, Callable[[Floats], Floats]] = {
    "sin": np.sin,
    "cos": np.cos,
    "exp": np.exp,
    "log": np.log,
    "tanh": np.tanh,
    "cosh": np.cosh,
    "exp - 1": np.expm1,
    "exp + 1": lambda x: np.exp(x) + 1.0,
    "1 + x": _PLUS[0],
    "1 - x": _MINUS[0],
    "1 + x²": _PLUS_SQUARE[0],
    "1 - x²": _MINUS_SQUARE[0],
    "sqrt": np.sqrt,
    "square": np.square,
    "arcsin": np.arcsin,
    "arctan": np.arctan,
}
"""What is applied to arguments; not finite where it is not defined."""

PRICES = {
    **dict.fromkeys(
        ("sin", "cos", "1 + x", "1 - x", "1 + x²", "1 - x²", "exp", "log", "square", "sqrt"), 1.0
    ),
    **dict.fromkeys(("tanh", "cosh", "exp - 1", "exp + 1", "arcsin", "arctan"), 2.0),
}
"""What a function adds to the length of its argument."""

SYMBOLIC: dict[str, Callable[[Expression], Expression]] = {
    **{
        name: _call(name) for name in ("sin", "cos", "exp", "log", "tanh", "cosh", "sqrt", "arcsin", "arctan")
    },
    "exp - 1": lambda x: build.sub(build.call("exp", x), build.num(1.0)),
    "exp + 1": lambda x: build.add(build.call("exp", x), build.num(1.0)),
    "1 + x": _PLUS[1],
    "1 - x": _MINUS[1],
    "1 + x²": _PLUS_SQUARE[1],
    "1 - x²": _MINUS_SQUARE[1],
    "square": lambda x: build.pow_(x, build.num(2.0)),
}


def shortest_pairs(tables: tuple[Table, Table], count: int) -> tuple[Indices, Indices]:
    """The pairs of entries of two tables that are shortest together, shortest first."""
    first, second = (np.argsort(table.costs, kind="stable") for table in tables)
    costs_first, costs_second = tables[0].costs[first], tables[1].costs[second]
    widths = np.zeros(first.size, dtype=np.int64)
    for most in np.arange(0.0, 40.0, 0.25):
        widths = np.searchsorted(costs_second, most - costs_first, side="right")
        if widths.sum() >= count:
            break
    left = np.repeat(np.arange(first.size), widths)
    right = np.arange(left.size) - np.repeat(np.cumsum(widths) - widths, widths)
    order = np.argsort(costs_first[left] + costs_second[right], kind="stable")[:count]
    return first[left[order]], second[right[order]]
