"""Growth, decay and logarithms: exponentials of an input or a simple product, with a scale and an offset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sr_harness.engine import Expression, build
from sr_harness.search.forms import weighted_sum
from sr_harness.search.monomials import Dictionary, build_dictionary, column_atoms
from sr_harness.search.polish import fit_template
from sr_harness.search.scan import Basis, scan
from sr_harness.search.sparse import least_squares
from sr_harness.search.strategies.base import Strategy
from sr_harness.search.workspace import Workspace

Floats = NDArray[np.float64]

RATES = np.concatenate([-np.logspace(1.5, -1.5, 16), np.logspace(-1.5, 1.5, 16)])
"""Trial rates in units of one over the spread of the exponent's argument."""

MOST_ARGUMENTS = 40
MOST_FITTED = 6


class Exponential(Strategy):
    """y = a + b·m·exp(k·u) and y = a + b·log(u), with u and m products of few powers."""

    name: ClassVar[str] = "exponential"
    summary: ClassVar[str] = "y = a + b·m·exp(k·u) or a + b·log(u)"
    share: ClassVar[float] = 0.1

    def propose(self, space: Workspace) -> Iterator[Expression]:
        """Scan the rate of each argument, then fit the most promising to full precision."""
        atoms = column_atoms(space.sample.data, (1.0, -1.0, 2.0))
        if not atoms or space.sample.rows < 4:
            return
        book = build_dictionary(atoms, most_factors=3, degree=3.0, limit=MOST_ARGUMENTS)
        yield from self._logarithms(book, space)
        yield from self._exponentials(book, space)

    def _logarithms(self, book: Dictionary, space: Workspace) -> Iterator[Expression]:
        y = space.sample.target
        for column in range(len(book)):
            values = book.matrix[:, column]
            if values.min() <= 0:
                continue
            space.charge(2)
            logs = np.log(values)
            weights, _ = least_squares(np.column_stack([logs, np.ones(y.size)]), y)
            term = build.call("log", book.term(column))
            yield weighted_sum([float(weights[0])], [term], float(weights[1]))

    def _exponentials(self, book: Dictionary, space: Workspace) -> Iterator[Expression]:
        """Best rates over all arguments and prefactors, the most promising fitted and offered."""
        y = space.sample.target
        prefactors = [None, *range(min(len(book), 6))]
        found: list[tuple[float, float, int, int | None]] = []
        for column in range(len(book)):
            argument = book.matrix[:, column]
            spread = float(np.ptp(argument))
            for prefactor in prefactors:
                space.charge(2 * RATES.size)
                front = np.ones(y.size) if prefactor is None else book.matrix[:, prefactor]
                for residual, rate in scan(_basis(argument, front), y, RATES / spread, valleys=1):
                    found.append((residual, rate, column, prefactor))
        found.sort(key=lambda item: item[0])
        for _, rate, column, prefactor in found[:MOST_FITTED]:
            for template in _templates(book, column, prefactor, rate, y):
                fitted = fit_template(template, space)
                if fitted is not None:
                    yield fitted


def _basis(argument: Floats, front: Floats) -> Basis:
    centre = 0.5 * (argument.max() + argument.min())

    def columns(rate: float) -> Floats:
        with np.errstate(all="ignore"):
            return np.column_stack([front * np.exp(rate * (argument - centre)), np.ones(argument.size)])

    return columns


def _templates(
    book: Dictionary, column: int, prefactor: int | None, rate: float, y: Floats
) -> Iterator[Expression]:
    """With and without offset, started at what the scan found."""
    argument = book.matrix[:, column]
    front = np.ones(y.size) if prefactor is None else book.matrix[:, prefactor]
    with np.errstate(all="ignore"):
        wave = front * np.exp(rate * argument)
    if not np.isfinite(wave).all() or not np.any(wave):
        return
    inner = build.mul(build.param("k", rate), book.term(column))
    term = build.call("exp", inner)
    if prefactor is not None:
        term = build.mul(book.term(prefactor), term)
    for offset in (True, False):
        columns: Sequence[Floats] = [wave, np.ones(y.size)] if offset else [wave]
        weights, _ = least_squares(np.column_stack(columns), y)
        body = build.mul(build.param("b", float(weights[0])), term)
        yield build.add(body, build.param("a", float(weights[1]))) if offset else body
