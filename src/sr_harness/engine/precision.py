"""The value of a formula at one point with many digits, so that rounding cannot mislead.

Promises: bounded time. A point at which an intermediate result overflows in float64 is refused, because an
arbitrary-precision exponential of such a number can take for ever.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from . import kernels
from .expression import Expression, fold

DIGITS: Final = 60
_DIGITS_TRIED: Final = (DIGITS, 100, 400, 1_000)
_SETTLED: Final = 45


def is_tame(expr: Expression, point: Mapping[str, float]) -> bool:
    """Whether no intermediate result at the point is infinite in float64 (NaN is allowed)."""
    tame = True

    def compute(node: Expression, args: list[float]) -> float:
        nonlocal tame
        value = _float_value(node, args, point)
        tame = tame and not math.isinf(value)
        return value

    with np.errstate(all="ignore"):
        fold(expr, compute)
    return tame


def _float_value(node: Expression, args: list[float], point: Mapping[str, float]) -> float:
    if node.op in ("num", "const"):
        return float(node.value or 0.0)
    if not node.args:
        return float(point[node.name or ""])
    values = [np.float64(arg) for arg in args]
    if node.op in ("min", "max"):
        return float(np.min(values) if node.op == "min" else np.max(values))
    return float(kernels.BINARY[node.op](*values) if len(values) == 2 else kernels.UNARY[node.op](*values))


def relative_difference(
    a: Expression, b: Expression, point: Mapping[str, float], floor: float
) -> float | None:
    """How far two formulas lie apart at a point, relative to the larger one or to `floor`.

    Returns:
        The difference; infinity where only one of them has a real value, 0 where neither has; None where
        the point is not tame or no number of digits settles the values.
    """
    import mpmath  # type: ignore[import-untyped]

    if not (is_tame(a, point) and is_tame(b, point)):
        return None
    left, right = settled(a, point), settled(b, point)
    if left is None or right is None:
        return None
    with mpmath.workdps(DIGITS):
        if mpmath.isnan(left) or mpmath.isnan(right):
            return 0.0 if mpmath.isnan(left) and mpmath.isnan(right) else math.inf
        if mpmath.isinf(left) or mpmath.isinf(right):
            return 0.0 if left == right else math.inf
        size = max(abs(left), abs(right), mpmath.mpf(floor))
        return float(abs(left - right) / size) if size else 0.0


def settled(expr: Expression, point: Mapping[str, float]) -> Any:  # noqa: ANN401
    """The value at a point, with so many digits that more of them do not change it; None where none suffice.

    Cancellation, as in `(1 - cos(x))/x**2` near zero, and the sine of a huge number eat digits.
    """
    import mpmath

    before: Any = None
    for digits in _DIGITS_TRIED:
        with mpmath.workdps(digits):
            value = precise(expr, point)
            if before is not None and _same(before, value, mpmath):
                return value
            before = value
    return None


def _same(a: Any, b: Any, m: Any) -> bool:  # noqa: ANN401
    if m.isnan(a) or m.isnan(b):
        return bool(m.isnan(a) and m.isnan(b))
    return bool(a == b or abs(a - b) <= m.mpf(10) ** (-_SETTLED) * max(abs(a), abs(b)))


def precise(expr: Expression, point: Mapping[str, float]) -> Any:  # noqa: ANN401
    """The value at a point, as a multi-precision number; NaN where it is not a real number."""
    import mpmath

    functions = _functions(mpmath)

    def compute(node: Expression, args: list[Any]) -> Any:  # noqa: ANN401
        if node.op == "num":
            return mpmath.mpf(repr(node.value))
        if node.op == "const":
            return +mpmath.pi if node.name == "pi" else +mpmath.e
        if node.op in ("var", "param"):
            return mpmath.mpf(point[node.name or ""])
        if any(isinstance(arg, mpmath.mpc) for arg in args):
            return mpmath.nan
        try:
            value = functions[node.op](*args)
        except (ZeroDivisionError, ValueError, OverflowError):
            return mpmath.nan
        return value if isinstance(value, mpmath.mpf) else mpmath.nan

    return fold(expr, compute)


def _functions(m: Any) -> dict[str, Any]:  # noqa: ANN401
    return {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "div": lambda a, b: a / b,
        "pow": lambda a, b: a**b,
        "neg": lambda a: -a,
        "sin": m.sin,
        "cos": m.cos,
        "tan": m.tan,
        "sinh": m.sinh,
        "cosh": m.cosh,
        "tanh": m.tanh,
        "arcsin": m.asin,
        "arccos": m.acos,
        "arctan": m.atan,
        "exp": m.exp,
        "log": lambda a: m.log(a) if a > 0 else m.nan,
        "log10": lambda a: m.log10(a) if a > 0 else m.nan,
        "log2": lambda a: m.log(a, 2) if a > 0 else m.nan,
        "sqrt": m.sqrt,
        "abs": abs,
        "sigmoid": lambda a: 1 / (1 + m.exp(-a)),
        "sign": m.sign,
        "sec": m.sec,
        "csc": m.csc,
        "cot": m.cot,
        "sech": m.sech,
        "inv": lambda a: 1 / a,
        "min": min,
        "max": max,
    }
