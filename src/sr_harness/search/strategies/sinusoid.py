"""Oscillations: a sine of an input with unknown frequency and phase, scaled by a simple factor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sr_harness.engine import Expression, build
from sr_harness.search.monomials import Dictionary, build_dictionary, input_atoms
from sr_harness.search.polish import fit_template
from sr_harness.search.scan import Moving, scan
from sr_harness.search.sparse import least_squares
from sr_harness.search.strategies.base import Strategy
from sr_harness.search.view import View
from sr_harness.search.workspace import Workspace

Floats = NDArray[np.float64]

FREQUENCIES = 160
"""Trial frequencies for one argument; together they span 0.1 to 40 periods over the data."""

MOST_ARGUMENTS = 12
MOST_PREFACTORS = 3
MOST_FITTED = 3
TREND_HANDICAP = 1.01
"""A trend must earn its place: the residual with it counts this much more."""


class _Wave(NamedTuple):
    """A scanned wave: residual, frequency, columns of argument and prefactor, and if it has a trend."""

    residual: float
    rate: float
    argument: int
    prefactor: int | None
    trend: bool


class Sinusoid(Strategy):
    """y = a + b·m·sin(w·u + p), alone and with a trend or a second wave."""

    name: ClassVar[str] = "sinusoid"
    summary: ClassVar[str] = "y = a + b·m·sin(w·u + p) (+ trend, + second wave)"
    share: ClassVar[float] = 0.15

    def propose(self, space: Workspace) -> Iterator[Expression]:
        """Scan frequencies for each argument, fit the best, then look for a second wave in what is left."""
        for view in dict.fromkeys((space.views[0], space.view)):
            atoms = input_atoms(view.inputs, (1.0, 2.0, -1.0))
            if atoms and view.target.size >= 6:
                book = build_dictionary(atoms, most_factors=2, degree=2.0, limit=MOST_ARGUMENTS)
                yield from _waves(book, view, space)


def _waves(book: Dictionary, view: View, space: Workspace) -> Iterator[Expression]:
    y = view.target
    found: list[_Wave] = []
    for column in range(len(book)):
        rates = _frequencies(book.matrix[:, column])
        for prefactor in (None, *range(min(len(book), MOST_PREFACTORS))):
            for trend in (False, True):
                space.charge(FREQUENCIES / 8)
                fixed = _fixed(book, column, trend=trend)
                for residual, rate in scan(_moving(book, column, prefactor), fixed, y, rates, valleys=2):
                    handicap = TREND_HANDICAP if trend else 1.0
                    found.append(_Wave(residual * handicap, rate, column, prefactor, trend))
    found.sort(key=lambda wave: wave.residual)
    for wave in found[:MOST_FITTED]:
        template = view.wrap(_template(book, wave, y))
        fitted = fit_template(template, space)
        if fitted is None:
            continue
        yield fitted
        second = _second_wave(book, wave, fitted, view, space)
        if second is not None:
            yield second


def _second_wave(
    book: Dictionary, wave: _Wave, fitted: Expression, view: View, space: Workspace
) -> Expression | None:
    """The sum of the first wave and the best wave of the same argument in its residuals."""
    if view.factor is not None:
        return None
    rest = view.target - space.sample.predict(fitted)
    if not np.isfinite(rest).all() or not np.any(rest):
        return None
    space.charge(FREQUENCIES / 8)
    moving, fixed = _moving(book, wave.argument, None), _fixed(book, wave.argument, trend=False)
    valleys = scan(moving, fixed, rest, _frequencies(book.matrix[:, wave.argument]), valleys=1)
    if not valleys:
        return None
    other = _template(book, _Wave(*valleys[0], wave.argument, None, False), rest, suffix="2")
    return fit_template(build.add(_template(book, wave, view.target), other), space)


def _frequencies(argument: Floats) -> Floats:
    """Angular frequencies: fine at the low end, then evenly up to what the rows can resolve."""
    spread = float(np.ptp(argument))
    most = 2 * np.pi * min(40.0, max(2.0, argument.size / 3))
    low = np.geomspace(0.1 * 2 * np.pi, 2 * np.pi, FREQUENCIES // 4, endpoint=False)
    high = np.linspace(2 * np.pi, most, FREQUENCIES - FREQUENCIES // 4)
    return np.concatenate([low, high]) / spread


def _moving(book: Dictionary, column: int, prefactor: int | None) -> Moving:
    argument = book.matrix[:, column]
    front = np.ones(argument.size) if prefactor is None else book.matrix[:, prefactor]

    def columns(rates: Floats) -> tuple[Floats, ...]:
        phase = np.outer(argument, rates)
        return front[:, None] * np.sin(phase), front[:, None] * np.cos(phase)

    return columns


def _fixed(book: Dictionary, column: int, *, trend: bool) -> Floats:
    argument = book.matrix[:, column]
    ones = np.ones(argument.size)
    return np.column_stack([ones, argument] if trend else [ones])


def _template(book: Dictionary, wave: _Wave, y: Floats, *, suffix: str = "") -> Expression:
    """The formula to fit, with amplitude and phase in place of the two linear coefficients."""
    moving = _moving(book, wave.argument, wave.prefactor)(np.array([wave.rate]))
    weights, _ = least_squares(np.column_stack([*moving, _fixed(book, wave.argument, trend=wave.trend)]), y)
    amplitude, phase = float(np.hypot(weights[0], weights[1])), float(np.arctan2(weights[1], weights[0]))
    argument = book.term(wave.argument)
    inner = build.add(
        build.mul(build.param("w" + suffix, wave.rate), argument), build.param("p" + suffix, phase)
    )
    body = build.mul(build.param("b" + suffix, amplitude), build.call("sin", inner))
    if wave.prefactor is not None:
        body = build.mul(book.term(wave.prefactor), body)
    if wave.trend:
        body = build.add(body, build.mul(build.param("t" + suffix, float(weights[3])), argument))
    return build.add(body, build.param("a" + suffix, float(weights[2])))
