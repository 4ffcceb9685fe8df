"""Plain constants for fitted ones where the data permit it: 1/(4π) for 0.07958 ± 0.00001, not for ± 0.01.

Each fitted constant has a standard error from the Jacobian of the fit. A plain number near it is taken if it
is shorter to write than the digits that the data resolve, by more than the fit suffers; the other constants
then move to their best values given that one (all in the linear approximation, which is checked by a fit at
the end). The length of an arbitrary number of relative standard error s is ln(1/s) and a little for its sign
and order of magnitude; see `sr_harness.search.selection` for the principle.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from sr_harness.engine import Expression, FitResult
    from sr_harness.engine.numbers import Simple
    from sr_harness.search.problem import Arrays

Floats = NDArray[np.float64]
Refit = Callable[["Expression"], "FitResult | None"]

MOST = 16
"""Formulas with more numbers are left alone."""

MOST_VARIANTS = 2

FAR = 3.0
"""Standard errors that a constant may be moved by."""

SIGN_AND_SIZE = 1.5
MARGIN = 2.0
"""Nats for sign and magnitude of an arbitrary number, and by which a plain number must be shorter."""

DECIMAL = 2.0
"""Nats by which a decimal is dearer than a fraction of the same length: laws seldom hold one."""

UNDETERMINED = 1e3
"""Largest relative standard error; beyond it the data say nothing about a constant."""

LOOSE = 3.0
"""Nats in favour of any plain number where the data leave even the magnitude open."""

JOINT = 3.0
"""Standard deviations that the growth of the residual by all moves together may exceed its expectation."""


@dataclass
class _State:
    """Constants still free: values, covariance of their relative errors, and what the moves so far cost."""

    names: list[str]
    values: Floats
    covariance: Floats
    chi2: float = 0.0

    def error(self, place: int) -> float:
        """Relative standard error."""
        return float(np.sqrt(max(self.covariance[place, place], 0.0)))

    def fix(self, place: int, value: float) -> None:
        """Move one constant and let the others follow."""
        variance = max(float(self.covariance[place, place]), 1e-300)
        move = value / self.values[place] - 1.0
        along = self.covariance[:, place] / variance
        self.chi2 += move**2 / variance
        moved = self.values * (1.0 + along * move)
        keep = np.arange(len(self.names)) != place
        rest = self.covariance - np.outer(along, self.covariance[place])
        scale = np.where(moved == 0, 1.0, self.values / np.where(moved == 0, 1.0, moved))
        self.covariance = (rest * np.outer(scale, scale))[np.ix_(keep, keep)]
        self.values = moved[keep]
        self.names = [name for name, kept in zip(self.names, keep, strict=True) if kept]


Fixed = list[tuple[str, "Expression"]]


def plain_constants(result: FitResult, arrays: Arrays, refit: Refit) -> list[Expression]:
    """The formula with plain constants where the data permit.

    Args:
        result: A fit of the formula with all constants free that may become plain.
        arrays: The data that it was fitted to.
        refit: Fits a template from its start values; None where it cannot.

    Returns:
        First the formula with as many plain constants as are justified, then with the surest only; those that
        stay arbitrary are fitted again. None where no constant can be made plain.
    """
    from sr_harness import engine

    state = _state(result, arrays)
    if state is None:
        return []
    fixed = _choose(state)
    found: list[Expression] = []
    while fixed and len(found) < 2 * MOST_VARIANTS:
        starts = {name: engine.build.param(name, value) for name, value in result.parameters.items()}
        again = refit(engine.substitute(result.template, {**starts, **dict(fixed)}))
        if again is not None and again.loss <= result.loss * (1.0 + _growth(len(fixed)) / result.rows):
            # 3/2*x holds one constant, 3*x/2 two: the front may take the one and not the other
            found += [again.expression, engine.simplify(again.expression)]
        fixed = fixed[: len(fixed) // 2]
    return found


def _growth(count: int) -> float:
    """How much the sum of squares may grow, in variances, when so many constants are moved."""
    return count + JOINT * math.sqrt(2.0 * count) + 4.0


def _state(result: FitResult, arrays: Arrays) -> _State | None:
    """Values and relative covariance at the end of a fit; None where it cannot be had."""
    from sr_harness import engine

    names = engine.parameters(result.template)
    free = result.rows - len(names)
    if not 0 < len(names) <= MOST or free < 1 or not 0 < result.loss < math.inf:
        return None
    values = np.array([result.parameters[name] for name in names])
    _, slopes = engine.jacobian(result.template, arrays.data, result.parameters, structure=arrays.structure)
    error = math.sqrt(result.loss) * math.sqrt(result.rows / free)
    with np.errstate(all="ignore"):
        matrix = slopes.reshape(-1, len(names)) * (values / error)
    if not np.isfinite(matrix).all() or np.any(values == 0):
        return None
    _, singular, axes = np.linalg.svd(matrix, full_matrices=False)
    inverse = axes.T / np.maximum(singular, 1.0 / UNDETERMINED)
    return _State(list(names), values, inverse @ inverse.T)


def _choose(state: _State) -> Fixed:
    """Make one constant plain after the other, the one that gains most first, while one gains."""
    fixed: Fixed = []
    while state.names:
        best: tuple[float, int, Simple] | None = None
        for place in range(len(state.names)):
            for option in _options(state, place):
                gain = _gain(state, place, option)
                if gain > 0 and (best is None or gain > best[0]):
                    best = (gain, place, option)
        if best is None:
            return fixed
        _, place, option = best
        fixed.append((state.names[place], option.expression))
        state.fix(place, option.value)
    return fixed


def _options(state: _State, place: int) -> list[Simple]:
    """Plain numbers within reach of a constant."""
    from sr_harness.engine import build
    from sr_harness.engine.numbers import Simple, simple_numbers

    value, error = float(state.values[place]), state.error(place)
    found = simple_numbers(value, min(FAR * error, 0.9))
    if FAR * error >= abs(1.0 / abs(value) - 1.0):
        one = math.copysign(1.0, value)
        found.append(Simple(one, build.num(one), 1.0))
    return found


def _gain(state: _State, place: int, option: Simple) -> float:
    """Nats won by a plain number: those of the arbitrary one less its own and what the fit suffers."""
    error = max(state.error(place), 1e-300)
    arbitrary = max(-math.log(error), 0.0) + SIGN_AND_SIZE
    away = (option.value / float(state.values[place]) - 1.0) / error
    decimal = option.expression.op == "num" and not option.value.is_integer()
    cost = option.cost * math.log(2.0) + DECIMAL * decimal
    undetermined = error >= 1.0
    return arbitrary - cost - 0.5 * away**2 - (0.0 if undetermined else MARGIN) + LOOSE * undetermined
