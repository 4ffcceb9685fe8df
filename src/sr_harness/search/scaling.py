"""Smaller problems by scaling: factors of any power divided out, inputs merged into products of powers.

If y = a^p · h(b · a^q, others), then ln|y| - p · ln|a| depends on one input less. Steps are judged on ln|y|,
where factors add up: p is a regression coefficient and need not be guessed, targets with poles lose their
heavy tails, and what is left tells, with a polynomial surrogate of the other inputs, whether the step was
right. As in `sr_harness.search.reduction` a judgement is a hint, not a proof: what is found in a smaller
problem is measured on the whole one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sr_harness.engine import Expression, build
from sr_harness.search.monomials import fingerprint
from sr_harness.search.reduction import (
    ROUNDING,
    ROWS,
    polynomial_bases,
    reductions,
    sums,
    times_power,
)
from sr_harness.search.view import Input, View

Floats = NDArray[np.float64]

MIXTURES = (1.0, -1.0, 2.0, -2.0, 0.5, -0.5)
"""Powers q with which two inputs are merged."""

DENOMINATORS = (1, 2, 3, 4, 5, 6, 8, 10)
LARGEST_POWER = 6.0
CONFIDENCE = 3.0
"""A power must lie within this many standard errors of its estimate."""

CLOSE = 0.25
"""An estimate with a larger standard error says nothing about the power."""

TOLERANCE, LITTLE = 3.0, 0.02
"""A step may leave this times what was left before, if that is little of the variance of ln|y|."""

MERGED = 1.05
"""A merger needs a little more evidence than a division, which is the simpler explanation."""

TRIAL_WORK = 4.0


@dataclass(frozen=True)
class _Trial:
    variance: float
    view: View
    logs: Floats


def smaller_views(view: View, charge: Callable[[float], None]) -> list[View]:
    """The view and all smaller ones that reduction and scaling find, those with fewest inputs first."""
    views = {_key(found): found for found in (*reductions(view, charge), *scalings(view, charge))}
    return sorted(views.values(), key=lambda found: len(found.inputs))


def _key(view: View) -> tuple[frozenset[Expression], bytes]:
    return frozenset(item.expression for item in view.inputs), fingerprint(view.target)


def scalings(view: View, charge: Callable[[float], None]) -> list[View]:
    """Ever smaller views of a problem, the smallest first; empty where no scaling is found.

    The smallest may have no input left: then the target is a product of powers.

    Args:
        view: The problem.
        charge: Called with the work of each trial.
    """
    if not view.inputs or np.any(view.target == 0):
        return []
    if np.all(view.target < 0):
        factor = build.num(-1.0) if view.factor is None else build.neg(view.factor)
        view = View(view.inputs, -view.target, factor)
    with np.errstate(all="ignore"):
        logs = np.log(np.abs(view.target[:ROWS]))
    if not np.isfinite(logs).all():
        return []
    chain: list[View] = []
    current = _variance(_bases(view.inputs, logs.size), logs)
    while view.inputs:
        trial = _best_step(view, logs, current, charge)
        if trial is None:
            break
        view, logs, current = trial.view, trial.logs, trial.variance
        chain.append(view)
    return chain[::-1]


def _best_step(view: View, logs: Floats, current: float, charge: Callable[[float], None]) -> _Trial | None:
    """The division that leaves least, else the merger; None where either leaves too much."""
    limit = max(current, ROUNDING, min(TOLERANCE * current, LITTLE * float(np.var(logs))))
    for steps in (_divisions, _mergers):
        trials = list(steps(view, logs, charge))
        best = min(trials, key=lambda trial: trial.variance, default=None)
        if best is not None and best.variance < limit:
            return best
    return None


def _divisions(view: View, logs: Floats, charge: Callable[[float], None]) -> Iterator[_Trial]:
    for place, item in enumerate(view.inputs):
        charge(TRIAL_WORK)
        others = view.inputs[:place] + view.inputs[place + 1 :]
        yield from _divided(view, logs, others, item)


def _mergers(view: View, logs: Floats, charge: Callable[[float], None]) -> Iterator[_Trial]:
    for a, b in itertools.combinations(range(len(view.inputs)), 2):
        others = tuple(item for place, item in enumerate(view.inputs) if place not in (a, b))
        first, second = view.inputs[a], view.inputs[b]
        for merged in sums(first, second):
            charge(TRIAL_WORK)
            inputs = (merged, *others)
            variance = MERGED * _variance(_bases(inputs, logs.size), logs)
            yield _Trial(variance, View(inputs, view.target, view.factor), logs)
        for merged in _mixtures(first, second):
            charge(TRIAL_WORK)
            for trial in _divided(view, logs, (merged, *others), first):
                yield _Trial(MERGED * trial.variance, trial.view, trial.logs)


def _mixtures(a: Input, b: Input) -> Iterator[Input]:
    """The inputs b · a^q."""
    for q in MIXTURES:
        if q != round(q) and np.any(a.values <= 0):
            continue
        if q < 0 and np.any(a.values == 0):
            continue
        with np.errstate(all="ignore"):
            values = b.values * a.values**q
        if np.isfinite(values).all() and np.ptp(values) > 0:
            yield Input(times_power(b.expression, a.expression, q), values)


def _divided(view: View, logs: Floats, inputs: tuple[Input, ...], item: Input) -> Iterator[_Trial]:
    """The view of these inputs with the target divided by the power of the item that fits best."""
    if np.any(item.values == 0):
        return
    slope = np.log(np.abs(item.values[:ROWS]))
    for basis in _bases(inputs, logs.size):
        spare = logs.size - basis.shape[1] - 1
        if spare < 1:
            continue
        rest, free = (column - basis @ (basis.T @ column) for column in (logs, slope))
        length = float(free @ free)
        if length <= 1e-20 * float(slope @ slope):
            continue
        estimate = float(free @ rest) / length
        left = rest - estimate * free
        error = np.sqrt(float(left @ left) / spare / length)
        exponent = _plain_power(estimate, error)
        if exponent is None:
            continue
        smaller = _without(view, logs, inputs, item, exponent)
        if smaller is not None:
            yield _Trial(_variance([basis], smaller[1]), *smaller)


def _plain_power(estimate: float, error: float) -> float | None:
    """The simplest fraction within the error of an estimate."""
    if not error < CLOSE or abs(estimate) > LARGEST_POWER:
        return None
    for below in DENOMINATORS:
        near = Fraction(round(estimate * below), below)
        if abs(estimate - float(near)) <= CONFIDENCE * error + 1e-9:
            return float(near)
    return None


def _without(
    view: View, logs: Floats, inputs: tuple[Input, ...], item: Input, exponent: float
) -> tuple[View, Floats] | None:
    """The view of other inputs with a power divided out of the target, and the target's logarithms."""
    if exponent == 0:
        return View(inputs, view.target, view.factor), logs
    base, values = item.expression, item.values
    if exponent != round(exponent) and np.any(values < 0):
        if np.any(values > 0):
            return None
        base, values = build.neg(base), -values
    with np.errstate(all="ignore"):
        target = view.target / values**exponent
    if not np.isfinite(target).all():
        return None
    shorter = logs - exponent * np.log(np.abs(values[:ROWS]))
    return View(inputs, target, times_power(view.factor, base, exponent)), shorter


def _bases(inputs: Sequence[Input], rows: int) -> list[Floats]:
    """See `polynomial_bases`; without inputs the constant is the only polynomial."""
    return polynomial_bases(inputs) if inputs else [np.full((rows, 1), rows**-0.5)]


def _variance(bases: Sequence[Floats], logs: Floats) -> float:
    """The residual variance per degree of freedom over the sum of squares, for the better basis."""
    centred = logs - logs.mean()
    total = float(centred @ centred)
    if total <= ROUNDING:
        return 0.0
    found = [np.inf]
    for basis in bases:
        rest = centred - basis @ (basis.T @ centred)
        found.append(float(rest @ rest) / max(1, logs.size - basis.shape[1]))
    return min(found)
