"""Replace fitted numbers by simple ones where the data do not object.

One number after the other, the one with the simplest neighbour first, is set to a simple value and the
others are fitted again; it stays there if the loss does not suffer beyond the tolerance. Integers that the
formula already has are left alone, and exponents are tried like any other number.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from .build import num, param, substitute
from .evaluation import jacobian
from .expression import Expression, fold, parameters, with_args
from .fitting import FitResult, fit
from .least_squares import column_norms
from .numbers import Simple, simple_numbers
from .simplification import simplify
from .structure import Structure

_EXACT: Final = 1e-26
"""Mean square residual relative to the target's, below which a formula counts as exact on its data."""
_MOST_NUMBERS: Final = 40
_NOISE: Final = 5.0
"""Growth of the loss, in units of loss/rows, that one snapped number may cause."""
_VANISHING: Final = 0.5
"""Relative width from which on zero is tried as well."""
_PREFIX: Final = "number "


def free_numbers(expr: Expression, *, whole: bool = False) -> tuple[Expression, dict[str, float]]:
    """Turn the numbers of a formula into parameters.

    Args:
        expr: The formula.
        whole: Also free numbers that are whole.

    Returns:
        The formula with a parameter in place of each number, with the number as its start value, and those
        numbers by the parameters' names.
    """
    values: dict[str, float] = {}

    def swap(node: Expression, args: list[Expression]) -> Expression:
        if node.op == "num" and node.value is not None and (whole or not node.value.is_integer()):
            name = f"{_PREFIX}{len(values) + 1}"
            values[name] = node.value
            return param(name, node.value)
        return with_args(node, tuple(args))

    # equal numbers at different places are different parameters, so shared nodes must be told apart
    return fold(_unshared(expr), swap), values


def _unshared(expr: Expression) -> Expression:
    """The same formula in which no number is one object at two places (up to a bound on its size)."""
    if expr.size > 20_000:
        return expr
    stack: list[tuple[Expression, bool]] = [(expr, False)]
    built: list[Expression] = []
    while stack:
        node, ready = stack.pop()
        if not ready:
            stack.append((node, True))
            stack.extend((arg, False) for arg in reversed(node.args))
            continue
        count = len(node.args)
        args = tuple(built[len(built) - count :])
        del built[len(built) - count :]
        built.append(
            Expression(node.op, args, value=node.value, name=node.name, index=node.index, table=node.table)
        )
    return built[0]


def snap(
    expr: Expression,
    data: Mapping[str, ArrayLike],
    target: ArrayLike,
    *,
    tolerance: float = 1e-3,
    weights: ArrayLike | None = None,
    structure: Structure | None = None,
) -> Expression:
    """Replace numbers by nearby simple ones where the loss does not suffer.

    Args:
        expr: The formula, without free parameters.
        data: Columns by name.
        target: What the formula describes.
        tolerance: How much the loss may grow, relative to what it is, beyond what noise explains; a formula
            that is exact stays exact.
        weights: As in `fit`.
        structure: As in `fit`.

    Returns:
        The formula, simplified, with simple numbers where possible; numbers that stay are fitted again.
    """
    template, values = free_numbers(expr)
    if not values or len(values) > _MOST_NUMBERS or parameters(expr):
        return expr
    task = _Task(data, target, weights, structure)
    current = task.refit(template)
    if not np.isfinite(current.loss):
        return expr
    best = current.loss
    fixed: dict[str, Expression] = {}
    open_names = list(values)
    while open_names:
        # a number that noise alone could have moved raises the loss by about 1/rows of itself
        growth = tolerance + _NOISE * (len(fixed) + 1) / current.rows
        limit = max(best * (1.0 + growth), _EXACT * task.mean_square)
        name, options = _most_promising(
            open_names, current.parameters, task.widths(current, limit - current.loss)
        )
        open_names.remove(name)
        for option in options:
            trial = substitute(template, {**fixed, name: option.expression})
            result = task.refit(_started(trial, current.parameters))
            if result.loss <= limit:
                fixed[name] = option.expression
                current = result
                break
    return simplify(current.expression)


class _Task:
    """The data that snapping is judged on."""

    def __init__(
        self,
        data: Mapping[str, ArrayLike],
        target: ArrayLike,
        weights: ArrayLike | None,
        structure: Structure | None,
    ) -> None:
        self.data, self.target, self.weights, self.structure = data, target, weights, structure
        self.mean_square = float(np.mean(np.square(np.asarray(target, dtype=np.float64))))

    def refit(self, template: Expression) -> FitResult:
        """Fit what is still free, from where it is."""
        return fit(
            template,
            self.data,
            self.target,
            weights=self.weights,
            restarts=1,
            structure=self.structure,
            local=True,
        )

    def widths(self, result: FitResult, room: float) -> dict[str, float]:
        """How far each free number may move, relatively, until the loss has grown by `room`.

        The other numbers may follow, so it is the inverse of the normal matrix that counts.
        """
        names = parameters(result.template)
        _, slopes = jacobian(result.template, self.data, result.parameters, structure=self.structure)
        matrix = slopes.reshape(-1, len(names))
        sizes = column_norms(matrix)
        scaled = matrix / sizes
        with np.errstate(all="ignore"):
            inverse = np.diag(np.linalg.pinv(scaled.T @ scaled, hermitian=True))
            reach = 1.5 * np.sqrt(max(room, 0.0) * len(matrix) * np.abs(inverse)) / sizes
            relative = reach / np.abs([result.parameters[name] for name in names])
        return {
            name: float(np.clip(width, 1e-12, _VANISHING)) if np.isfinite(width) else _VANISHING
            for name, width in zip(names, relative, strict=True)
        }


def _most_promising(
    names: list[str], values: Mapping[str, float], widths: Mapping[str, float]
) -> tuple[str, list[Simple]]:
    """The number whose simplest neighbour is simplest, with its neighbours to be tried in turn."""
    best: tuple[float, str, list[Simple]] | None = None
    for name in names:
        options = _options(values[name], widths.get(name, 1e-9))
        cost = options[0].cost if options else np.inf
        if best is None or cost < best[0]:
            best = (cost, name, options)
    assert best is not None
    return best[1], best[2]


def _options(value: float, width: float) -> list[Simple]:
    options = simple_numbers(value, width)[:6]
    return [Simple(0.0, num(0.0), 0.0), *options] if width >= _VANISHING else options


def _started(template: Expression, values: Mapping[str, float]) -> Expression:
    return substitute(template, {n: param(n, values[n]) for n in parameters(template) if n in values})
