"""Products of powers, found by linear regression between logarithms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sr_harness.engine import Expression
from sr_harness.search.forms import product, weighted_sum
from sr_harness.search.monomials import Atom, input_atoms, term_values
from sr_harness.search.scan import golden_section
from sr_harness.search.sparse import SparseFit, forward, least_squares
from sr_harness.search.strategies.base import Strategy
from sr_harness.search.workspace import Workspace

Floats = NDArray[np.float64]

STEPS = (1.0, 1 / 2, 1 / 3, 1 / 4)
"""Exponents are tried as multiples of these, and as they come."""

OFFSETS = 24
"""Offsets tried on each side of the target's range before the best is refined."""


class PowerLaw(Strategy):
    """y = c · Π x^p, and the same plus an offset."""

    name: ClassVar[str] = "power_law"
    summary: ClassVar[str] = "y = c · product of powers (+ offset)"
    share: ClassVar[float] = 0.1

    def propose(self, space: Workspace) -> Iterator[Expression]:
        """For each number of factors the best ones, exponents snapped and raw."""
        atoms = [a for a in input_atoms(space.view.inputs, (1.0,)) if not np.any(a.values == 0)]
        y = space.sample.target
        if not atoms:
            return
        if not np.any(y == 0):
            for fit in _log_fits(atoms, y, space):
                yield from _laws(atoms, fit, y)
        for offset in _offsets(atoms, y, space):
            for fit in _log_fits(atoms, y - offset, space):
                yield from _laws(atoms, fit, y, with_offset=True)


def _log_fits(atoms: Sequence[Atom], y: Floats, space: Workspace) -> Iterator[SparseFit]:
    """Regressions of ln|y| on 1 and ln|x|, one for each number of factors."""
    logs = np.column_stack([np.ones(y.size), *(np.log(np.abs(atom.values)) for atom in atoms)])
    with np.errstate(divide="ignore"):
        target = np.log(np.abs(y))
    if np.isfinite(target).all():
        yield from forward(logs, target, len(atoms), start=(0,), charge=space.charge)


def _laws(
    atoms: Sequence[Atom], fit: SparseFit, y: Floats, *, with_offset: bool = False
) -> Iterator[Expression]:
    """Formulas of one regression: exponents snapped ever less, the factor fitted on the target itself."""
    raw = np.zeros(len(atoms))
    for column, weight in zip(fit.columns, fit.coefficients, strict=True):
        if column > 0:
            raw[column - 1] = weight
    tried: set[tuple[float, ...]] = set()
    for step in STEPS:
        snapped = tuple(float(round(p / step) * step) for p in raw)
        if snapped in tried or not any(snapped) or np.max(np.abs(np.array(snapped) - raw)) > 0.3 * step:
            continue
        tried.add(snapped)
        yield from _with_factor(atoms, snapped, y, with_offset)
    yield from _with_factor(atoms, tuple(float(p) for p in raw), y, with_offset)


def _with_factor(
    atoms: Sequence[Atom], powers: tuple[float, ...], y: Floats, with_offset: bool
) -> Iterator[Expression]:
    values = term_values(atoms, powers)
    if not np.isfinite(values).all() or not np.any(values):
        return
    pairs = [(atom.expression, p) for atom, p in zip(atoms, powers, strict=True) if p]
    if with_offset:
        weights, _ = least_squares(np.column_stack([values, np.ones(y.size)]), y)
        yield weighted_sum([float(weights[0])], [product(pairs)], float(weights[1]))
        return
    weights, _ = least_squares(values[:, None], y)
    factor = float(weights[0])
    if abs(abs(factor) - 1.0) < 0.02:
        yield product(pairs, float(np.sign(factor)))
    if factor != 0:
        yield product(pairs, factor)


def _offsets(atoms: Sequence[Atom], y: Floats, space: Workspace) -> list[float]:
    """The offset on either side of the target for which ln|y - b| is most nearly linear in ln|x|."""
    logs = np.column_stack([np.ones(y.size), *(np.log(np.abs(atom.values)) for atom in atoms)])
    width = float(np.ptp(y))
    if width == 0 or not np.isfinite(width) or y.size <= logs.shape[1] + 1:
        return []
    found = []
    for edge, side in ((float(y.min()), -1.0), (float(y.max()), 1.0)):
        distances = width * np.logspace(-4, 2, OFFSETS)
        space.charge(4 * OFFSETS)
        errors = [_curvature(logs, y - (edge + side * d)) for d in distances]
        best = int(np.argmin(errors))
        low, high = distances[max(best - 1, 0)], distances[min(best + 1, OFFSETS - 1)]

        def curvature(log_distance: float, edge: float = edge, side: float = side) -> float:
            return _curvature(logs, y - (edge + side * np.exp(log_distance)))

        found.append(edge + side * float(np.exp(golden_section(curvature, np.log(low), np.log(high)))))
    return found


def _curvature(logs: Floats, shifted: Floats) -> float:
    target = np.log(np.abs(shifted))
    return least_squares(logs, target - target.mean())[1] if np.isfinite(target).all() else np.inf
