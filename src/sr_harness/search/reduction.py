"""Smaller problems inside a problem: factors divided out, pairs of inputs merged.

If y = x^p · h(others), dividing by x^p takes x out of the problem. If y depends on two inputs only through
their product, quotient, sum or difference, that combination takes their place. Whether it is so is judged
with a polynomial
surrogate: with fewer inputs the same number of columns reaches a higher degree, so a true reduction lowers
    the
residual variance and a false one raises it. The judgement is a hint, not a proof: what is found in a smaller
problem is measured on the whole one like any other formula.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from math import comb

import numpy as np
from numpy.typing import NDArray

from sr_harness.engine import Expression, build
from sr_harness.search.forms import power
from sr_harness.search.view import Input, View

Floats = NDArray[np.float64]

FACTORS = (1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, -3.0, 1.5, -1.5, 4.0, -4.0, 5.0, -5.0)
COLUMNS = 84
HIGHEST_DEGREE = 16
CONVINCING = 1.0
"""A reduction is taken if it lowers the residual variance of the surrogate below this part of the former."""

ROWS = 336

ROUNDING = 1e-27
"""A surrogate that leaves less is exact: the target is a polynomial, and nothing is to be reduced."""

TRIAL_WORK = 10


def reductions(view: View, charge: Callable[[float], None]) -> list[View]:
    """Ever smaller views of a problem, the smallest first; the given one is the last.

    Args:
        view: The problem.
        charge: Called with the work of each trial fit.
    """
    chain = [view]
    current = _Surrogate(view.inputs).residuals([view.target])[0]
    while len(chain[-1].inputs) > 1 and current > ROUNDING:
        trials = [trial for group in _smaller(chain[-1], charge) for trial in group]
        if not trials:
            break
        variance, best = min(trials, key=lambda trial: trial[0])
        if variance >= CONVINCING * current:
            break
        current = variance
        chain.append(best)
    return chain[::-1]


Trial = tuple[float, View]


def _smaller(view: View, charge: Callable[[float], None]) -> Iterator[list[Trial]]:
    """Every view with one input less, with the residual variance of its surrogate."""
    for place, item in enumerate(view.inputs):
        charge(TRIAL_WORK)
        others = view.inputs[:place] + view.inputs[place + 1 :]
        divided = [(p, target) for p in FACTORS if (target := _divided(view, item, p)) is not None]
        variances = _Surrogate(others).residuals([target for _, target in divided])
        yield [
            (
                variance * _strangeness(p),
                View(others, target, times_power(view.factor, item.expression, p)),
            )
            for variance, (p, target) in zip(variances, divided, strict=True)
        ]
    for a, b in itertools.combinations(range(len(view.inputs)), 2):
        others = tuple(item for place, item in enumerate(view.inputs) if place not in (a, b))
        for merged in _merged(view.inputs[a], view.inputs[b]):
            charge(TRIAL_WORK)
            inputs = (merged, *others)
            variance = _Surrogate(inputs).residuals([view.target])[0]
            yield [(variance, View(inputs, view.target, view.factor))]


def _strangeness(exponent: float) -> float:
    """Unusual exponents need a little more evidence: neighbours of the true one look nearly as good."""
    return 1.0 + 0.1 * (exponent != round(exponent)) + 0.05 * (abs(exponent) > 2)


def times_power(factor: Expression | None, base: Expression, exponent: float) -> Expression:
    """A factor, or 1, times a power; a negative power goes below the line."""
    if exponent > 0:
        raised = power(base, exponent)
        return raised if factor is None else build.mul(factor, raised)
    return build.div(build.num(1.0) if factor is None else factor, power(base, -exponent))


def _divided(view: View, item: Input, exponent: float) -> Floats | None:
    x = item.values
    if np.any(x == 0) or (exponent != round(exponent) and np.any(x < 0)):
        return None
    with np.errstate(all="ignore"):
        divided: Floats = view.target / x**exponent
    return divided if np.isfinite(divided).all() and np.ptp(divided) > 0 else None


def _merged(a: Input, b: Input) -> Iterator[Input]:
    """The two inputs as one."""
    x, z = a.expression, b.expression
    yield Input(build.mul(x, z), a.values * b.values)
    if not np.any(b.values == 0):
        yield Input(build.div(x, z), a.values / b.values)
    if not np.any(a.values == 0):
        yield Input(build.div(z, x), b.values / a.values)
    yield from sums(a, b)


def sums(a: Input, b: Input) -> Iterator[Input]:
    """Two inputs as their difference, their sum, and the sum of their squares."""
    x, z = a.expression, b.expression
    yield Input(build.sub(x, z), a.values - b.values)
    yield Input(build.add(x, z), a.values + b.values)
    if x.op in ("var", "pow") and z.op in ("var", "pow"):
        yield Input(build.add(power(x, 2.0), power(z, 2.0)), a.values**2 + b.values**2)


def polynomial_bases(inputs: Sequence[Input]) -> list[Floats]:
    """Orthonormal columns that span the polynomials of some inputs on the first rows.

    One basis in the inputs and, where each keeps its sign, one in the logarithms of their sizes; none without
    inputs, or with too few rows.
    """
    columns = [item.values[:ROWS] for item in inputs]
    degree = _degree(len(columns), columns[0].size) if columns else 0
    if degree == 0:
        return []
    powers = whole_exponents(len(columns), degree)
    bases = [np.linalg.qr(chebyshev_products(columns, powers))[0]]
    if all(np.all(column > 0) or np.all(column < 0) for column in columns):
        bases.append(np.linalg.qr(chebyshev_products([np.log(np.abs(c)) for c in columns], powers))[0])
    return bases


class _Surrogate:
    """Polynomials of some inputs, and what they leave of a target.

    The better of the bases counts.
    """

    def __init__(self, inputs: Sequence[Input]) -> None:
        self._bases = polynomial_bases(inputs)

    def residuals(self, targets: Sequence[Floats]) -> list[float]:
        """For each target the residual variance per degree of freedom over the target's sum of squares."""
        if not self._bases or not targets:
            return [np.inf] * len(targets)
        y = np.column_stack([target[:ROWS] / np.max(np.abs(target[:ROWS])) for target in targets])
        total = np.sum((y - y.mean(axis=0)) ** 2, axis=0)
        total[total == 0] = np.nan
        best = np.full(len(targets), np.inf)
        for basis in self._bases:
            rest = y - basis @ (basis.T @ y)
            left = np.einsum("ij,ij->j", rest, rest) / total / (len(y) - basis.shape[1])
            best = np.fmin(best, left)
        return [float(value) for value in best]


def _degree(inputs: int, rows: int) -> int:
    """The highest degree with few enough columns."""
    most = min(COLUMNS, rows // 4)
    return max((d for d in range(1, HIGHEST_DEGREE + 1) if comb(inputs + d, d) <= most), default=0)


def chebyshev_products(columns: Sequence[Floats], powers: NDArray[np.int64]) -> Floats:
    """Products of Chebyshev polynomials of the columns, each scaled to -1 … 1."""
    result = np.ones((columns[0].size, len(powers)))
    for column, degrees in zip(columns, powers.T, strict=True):
        low, high = float(column.min()), float(column.max())
        unit = (2 * column - low - high) / (high - low) if high > low else np.zeros_like(column)
        result *= np.polynomial.chebyshev.chebvander(unit, int(degrees.max()))[:, degrees]
    return result


@lru_cache(maxsize=128)
def whole_exponents(count: int, degree: int) -> NDArray[np.int64]:
    """All vectors of `count` whole exponents with a sum up to `degree`."""
    if count == 1:
        return np.arange(degree + 1)[:, None]
    blocks = []
    for first in range(degree + 1):
        rest = whole_exponents(count - 1, degree - first)
        blocks.append(np.column_stack([np.full(len(rest), first), rest]))
    return np.concatenate(blocks)
