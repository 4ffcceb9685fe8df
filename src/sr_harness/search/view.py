"""A problem as a strategy sees it: inputs that may be expressions, a target, and the way back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sr_harness.engine import Expression, build

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Input:
    """An input of a view: an expression of the original inputs, with its values."""

    expression: Expression
    values: Floats


@dataclass(frozen=True, eq=False)
class View:
    """Inputs, a target, and how a formula between them becomes one of the original problem.

    Attributes:
        inputs: What the formula may be made of; each varies.
        target: What it must give.
        factor: Expression by which the original target was divided, or None.
    """

    inputs: tuple[Input, ...]
    target: Floats
    factor: Expression | None = None

    def wrap(self, inner: Expression) -> Expression:
        """The formula of the original problem that belongs to one of this view."""
        if self.factor is None:
            return inner
        if _is_one(inner):
            return self.factor
        if inner.op == "div" and _is_one(inner.args[0]):
            return build.div(self.factor, inner.args[1])
        return build.mul(self.factor, inner)


def whole(data: Mapping[str, Floats], target: Floats) -> View:
    """The view that changes nothing, without inputs that do not vary."""
    inputs = [Input(build.var(name), values) for name, values in data.items() if np.ptp(values) > 0]
    return View(tuple(inputs), target)


def _is_one(expression: Expression) -> bool:
    return expression.op == "num" and expression.value == 1.0
