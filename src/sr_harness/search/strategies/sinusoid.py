"""Oscillations: a sine of an input with unknown frequency and phase, scaled by a simple factor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sr_harness.engine import Expression, build
from sr_harness.search.monomials import Dictionary, build_dictionary, column_atoms
from sr_harness.search.polish import fit_template
from sr_harness.search.scan import Basis, scan
from sr_harness.search.sparse import least_squares
from sr_harness.search.strategies.base import Strategy
from sr_harness.search.workspace import Workspace

Floats = NDArray[np.float64]

FREQUENCIES = 160
"""Trial frequencies for one argument; together they span 0.1 to 40 periods over the data."""

MOST_ARGUMENTS = 20
MOST_PREFACTORS = 4
MOST_FITTED = 5


class Sinusoid(Strategy):
    """y = a + b·m·sin(w·u + p), alone and with a trend or a second wave."""

    name: ClassVar[str] = "sinusoid"
    summary: ClassVar[str] = "y = a + b·m·sin(w·u + p) (+ trend, + second wave)"
    share: ClassVar[float] = 0.15

    def propose(self, space: Workspace) -> Iterator[Expression]:
        """Scan frequencies for each argument, fit the most promising, then look for a second wave in what is left."""
        atoms = column_atoms(space.sample.data, (1.0, 2.0, -1.0))
        if not atoms or space.sample.rows < 6:
            return
        book = build_dictionary(atoms, most_factors=2, degree=2.0, limit=MOST_ARGUMENTS)
        y = space.sample.target
        found: list[tuple[float, float, int, int | None, bool]] = []
        for column in range(len(book)):
            argument = book.matrix[:, column]
            for prefactor in [None, *range(min(len(book), MOST_PREFACTORS))]:
                for trend in (False, True):
                    space.charge(3 * FREQUENCIES)
                    basis = _basis(argument, _front(book, prefactor, y), trend)
                    for residual, rate in scan(basis, y, _frequencies(argument), valleys=2):
                        found.append((residual * (1.0 + 0.01 * trend), rate, column, prefactor, trend))
        found.sort(key=lambda item: item[0])
        for _, rate, column, prefactor, trend in found[:MOST_FITTED]:
            template = _wave(book, column, prefactor, rate, trend, y)
            fitted = fit_template(template, space)
            if fitted is None:
                continue
            yield fitted
            second = self._second_wave(book, column, fitted, template, space)
            if second is not None:
                yield second

    def _second_wave(
        self, book: Dictionary, column: int, fitted: Expression, template: Expression, space: Workspace
    ) -> Expression | None:
        """The sum of the first wave and the best wave of the same argument in its residuals."""
        rest = space.sample.target - space.sample.predict(fitted)
        if not np.isfinite(rest).all() or not np.any(rest):
            return None
        argument = book.matrix[:, column]
        space.charge(3 * FREQUENCIES)
        valleys = scan(_basis(argument, np.ones(rest.size), False), rest, _frequencies(argument), valleys=1)
        if not valleys:
            return None
        other = _wave(book, column, None, valleys[0][1], False, rest, suffix="2")
        return fit_template(build.add(template, other), space)


def _front(book: Dictionary, prefactor: int | None, y: Floats) -> Floats:
    return np.ones(y.size) if prefactor is None else book.matrix[:, prefactor]


def _frequencies(argument: Floats) -> Floats:
    """Angular frequencies: fine at the low end, then evenly up to what the rows can resolve."""
    spread = float(np.ptp(argument))
    most = 2 * np.pi * min(40.0, max(2.0, argument.size / 3))
    low = np.geomspace(0.1 * 2 * np.pi, 2 * np.pi, FREQUENCIES // 4, endpoint=False)
    high = np.linspace(2 * np.pi, most, FREQUENCIES - FREQUENCIES // 4)
    return np.concatenate([low, high]) / spread


def _basis(argument: Floats, front: Floats, trend: bool) -> Basis:
    ones = np.ones(argument.size)

    def columns(rate: float) -> Floats:
        phase = rate * argument
        parts = [front * np.sin(phase), front * np.cos(phase), ones]
        return np.column_stack([*parts, argument] if trend else parts)

    return columns


def _wave(
    book: Dictionary,
    column: int,
    prefactor: int | None,
    rate: float,
    trend: bool,
    y: Floats,
    suffix: str = "",
) -> Expression:
    """The template with amplitude and phase in place of the two linear coefficients."""
    argument = book.matrix[:, column]
    weights, _ = least_squares(_basis(argument, _front(book, prefactor, y), trend)(rate), y)
    amplitude, phase = float(np.hypot(weights[0], weights[1])), float(np.arctan2(weights[1], weights[0]))
    inner = build.add(
        build.mul(build.param("w" + suffix, rate), book.term(column)), build.param("p" + suffix, phase)
    )
    body = build.mul(build.param("b" + suffix, amplitude), build.call("sin", inner))
    if prefactor is not None:
        body = build.mul(book.term(prefactor), body)
    if trend:
        body = build.add(body, build.mul(build.param("t" + suffix, float(weights[3])), book.term(column)))
    return build.add(body, build.param("a" + suffix, float(weights[2])))
