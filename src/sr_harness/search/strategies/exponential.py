"""Growth, decay and logarithms: exponentials of an input or a simple product, with a scale and an offset."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sr_harness.engine import Expression, build
from sr_harness.search.forms import weighted_sum
from sr_harness.search.monomials import Dictionary, build_dictionary, input_atoms
from sr_harness.search.polish import fit_template
from sr_harness.search.scan import Moving, scan
from sr_harness.search.sparse import least_squares
from sr_harness.search.strategies.base import Strategy
from sr_harness.search.transforms import IDENTITY, RECIPROCAL, Transform
from sr_harness.search.view import View
from sr_harness.search.workspace import Workspace

Floats = NDArray[np.float64]

RATES = np.concatenate([-np.logspace(1.5, -1.5, 16), np.logspace(-1.5, 1.5, 16)])
"""Trial rates in units of one over the spread of the exponent's argument."""

MOST_ARGUMENTS = 24
MOST_PREFACTORS = 4
MOST_FITTED = 4


class _Found(NamedTuple):
    """A scanned exponential: its residual, its rate, and the columns of its argument and prefactor."""

    residual: float
    rate: float
    argument: int
    prefactor: int | None


class Exponential(Strategy):
    """y = a + b·m·exp(k·u), its reciprocal, and y = a + b·log(u), with u and m products of few powers."""

    name: ClassVar[str] = "exponential"
    summary: ClassVar[str] = "y = a + b·m·exp(k·u), 1/(a + b·exp(k·u)) or a + b·log(u)"
    share: ClassVar[float] = 0.12

    def propose(self, space: Workspace) -> Iterator[Expression]:
        """Scan the rate of each argument, then fit the most promising to full precision."""
        for view in dict.fromkeys((space.views[0], space.view)):
            atoms = input_atoms(view.inputs, (1.0, -1.0, 2.0))
            if not atoms or view.target.size < 4:
                continue
            book = build_dictionary(atoms, most_factors=3, degree=3.0, limit=MOST_ARGUMENTS)
            yield from _logarithms(book, view, space)
            for transform in (IDENTITY, RECIPROCAL):
                target = transform.target(view.target)
                if target is not None:
                    yield from _exponentials(book, view, transform, target, space)


def _logarithms(book: Dictionary, view: View, space: Workspace) -> Iterator[Expression]:
    y = view.target
    for column in range(len(book)):
        values = book.matrix[:, column]
        if values.min() <= 0:
            continue
        space.charge()
        weights, _ = least_squares(np.column_stack([np.log(values), np.ones(y.size)]), y)
        term = build.call("log", book.term(column))
        yield view.wrap(weighted_sum([float(weights[0])], [term], float(weights[1])))


def _exponentials(
    book: Dictionary, view: View, transform: Transform, target: Floats, space: Workspace
) -> Iterator[Expression]:
    """Best rates over all arguments and prefactors, the most promising fitted and offered."""
    found: list[_Found] = []
    for column in range(len(book)):
        argument = book.matrix[:, column]
        rates = RATES / float(np.ptp(argument))
        for prefactor in (None, *range(min(len(book), MOST_PREFACTORS))):
            space.charge(RATES.size / 4)
            moving = _moving(argument, _front(book, prefactor))
            valleys = scan(moving, np.ones((target.size, 1)), target, rates, valleys=1)
            found += [_Found(*valley, column, prefactor) for valley in valleys]
    found.sort(key=lambda item: item.residual)
    for item in found[:MOST_FITTED]:
        for inner in _templates(book, item, target):
            fitted = fit_template(view.wrap(transform.wrap(inner)), space)
            if fitted is not None:
                yield fitted


def _front(book: Dictionary, prefactor: int | None) -> Floats:
    return np.ones(len(book.matrix)) if prefactor is None else book.matrix[:, prefactor]


def _moving(argument: Floats, front: Floats) -> Moving:
    centred = argument - 0.5 * (argument.max() + argument.min())
    return lambda rates: (front[:, None] * np.exp(np.outer(centred, rates)),)


def _templates(book: Dictionary, found: _Found, target: Floats) -> Iterator[Expression]:
    """With and without offset, started at what the scan found."""
    with np.errstate(all="ignore"):
        wave = _front(book, found.prefactor) * np.exp(found.rate * book.matrix[:, found.argument])
    if not np.isfinite(wave).all() or not np.any(wave):
        return
    term = build.call("exp", build.mul(build.param("k", found.rate), book.term(found.argument)))
    if found.prefactor is not None:
        term = build.mul(book.term(found.prefactor), term)
    weights, _ = least_squares(np.column_stack([wave, np.ones(target.size)]), target)
    yield build.add(build.mul(build.param("b", float(weights[0])), term), build.param("a", float(weights[1])))
    weights, _ = least_squares(wave[:, None], target)
    yield build.mul(build.param("b", float(weights[0])), term)
