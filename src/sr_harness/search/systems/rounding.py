"""Constants known to within an error, replaced by short decimals where that is no loss."""

from __future__ import annotations

import math

from sr_harness.engine import Expression, build
from sr_harness.engine.expression import fold, with_args

STRAY = 3.5
"""A short decimal must lie within so many standard errors."""

CHANCE = 10.0
"""Decimals of its length must lie so many standard errors apart, so that it is not met by chance."""

RESOLVED = 1e-6
"""No constant is taken to be known better than to this share of it: integration is not exact."""

DIGITS = 4


def short_decimal(value: float, error: float) -> float | None:
    """The decimal with the fewest digits that a measured constant may stand for, or None."""
    if not (math.isfinite(value) and math.isfinite(error)):
        return None
    spread = max(error, RESOLVED * abs(value))
    if abs(value) <= STRAY * error:
        return None
    for digits in range(1, DIGITS + 1):
        near = float(f"{value:.{digits - 1}e}")
        spacing = 10.0 ** (math.floor(math.log10(abs(value))) - digits + 1)
        if abs(near - value) <= STRAY * spread and spacing >= CHANCE * spread:
            return near
    return None


def freed(formulas: dict[str, Expression]) -> tuple[dict[str, Expression], dict[str, float]]:
    """Formulas with one parameter for each number that is not whole, `c1`, `c2`, … through all of them.

    Returns:
        The formulas by state, and the numbers by parameter.
    """
    values: dict[str, float] = {}

    def swap(node: Expression, args: list[Expression]) -> Expression:
        if node.op == "num" and node.value is not None and not float(node.value).is_integer():
            name = f"c{len(values) + 1}"
            values[name] = float(node.value)
            return build.param(name, node.value)
        return with_args(node, tuple(args))

    return {state: fold(formula, swap) for state, formula in formulas.items()}, values


def without_zeros(formula: Expression) -> Expression:
    """The formula without products with 0 and without what adds 0."""

    def swap(node: Expression, args: list[Expression]) -> Expression:
        zero = [arg.op == "num" and arg.value == 0 for arg in args]
        if node.op == "mul" and any(zero):
            return build.num(0.0)
        if node.op in ("div", "neg", "sum") and zero[0]:
            return build.num(0.0)
        if node.op == "add" and any(zero):
            return args[0] if zero[1] else args[1]
        if node.op == "sub" and zero[1]:
            return args[0]
        if node.op == "sub" and zero[0]:
            return build.neg(args[1])
        return with_args(node, tuple(args))

    return fold(formula, swap)
