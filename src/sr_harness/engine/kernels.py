"""What every operation computes, in float64, and its partial derivatives.

Promises: nothing here warns if the caller has silenced NumPy's floating-point state; NaN and infinity are
values like any other; integers have become floats before they arrive.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Value: TypeAlias = Any
"""An array or a NumPy scalar: everything here works on both, and the result is what NumPy makes of them."""
Kernel = Callable[..., Value]

LN10: Final = float(np.log(10.0))
LN2: Final = float(np.log(2.0))


def _sigmoid(x: Value, out: Value = None) -> Value:
    return np.reciprocal(np.add(np.exp(np.negative(x)), 1.0), out=out)


def _sec(x: Value, out: Value = None) -> Value:
    return np.reciprocal(np.cos(x), out=out)


def _csc(x: Value, out: Value = None) -> Value:
    return np.reciprocal(np.sin(x), out=out)


def _cot(x: Value, out: Value = None) -> Value:
    return np.reciprocal(np.tan(x), out=out)


def _sech(x: Value, out: Value = None) -> Value:
    return np.reciprocal(np.cosh(x), out=out)


def _cube(x: Value, out: Value = None) -> Value:
    return np.multiply(np.square(x), x, out=out)


def _fourth(x: Value, out: Value = None) -> Value:
    return np.square(np.square(x), out=out)


def _fifth(x: Value, out: Value = None) -> Value:
    return np.multiply(np.square(np.square(x)), x, out=out)


def _sixth(x: Value, out: Value = None) -> Value:
    return np.square(np.multiply(np.square(x), x), out=out)


def _eighth(x: Value, out: Value = None) -> Value:
    return np.square(np.square(np.square(x)), out=out)


def _inverse_square(x: Value, out: Value = None) -> Value:
    return np.reciprocal(np.square(x), out=out)


def _three_halves(x: Value, out: Value = None) -> Value:
    return np.multiply(x, np.sqrt(x), out=out)


def _inverse_sqrt(x: Value, out: Value = None) -> Value:
    return np.reciprocal(np.sqrt(x), out=out)


def _identity(x: Value, out: Value = None) -> Value:
    return np.positive(x, out=out)


UNARY: Final[dict[str, Kernel]] = {
    "neg": np.negative,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "arcsin": np.arcsin,
    "arccos": np.arccos,
    "arctan": np.arctan,
    "exp": np.exp,
    "log": np.log,
    "log10": np.log10,
    "log2": np.log2,
    "sqrt": np.sqrt,
    "abs": np.absolute,
    "sigmoid": _sigmoid,
    "sign": np.sign,
    "sec": _sec,
    "csc": _csc,
    "cot": _cot,
    "sech": _sech,
    "inv": np.reciprocal,
}
BINARY: Final[dict[str, Kernel]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "pow": np.power,
    "min": np.minimum,
    "max": np.maximum,
}
POWERS: Final[dict[float, Kernel]] = {
    -2.0: _inverse_square,
    -1.0: np.reciprocal,
    -0.5: _inverse_sqrt,
    0.5: np.sqrt,
    1.0: _identity,
    1.5: _three_halves,
    2.0: np.square,
    3.0: _cube,
    4.0: _fourth,
    5.0: _fifth,
    6.0: _sixth,
    8.0: _eighth,
}
"""Powers with a constant exponent that are faster, and no less exact, than the general one."""


_UNARY_SLOPE: Final[dict[str, Callable[[Value, Value], Value]]] = {
    "neg": lambda x, y: -1.0,
    "sin": lambda x, y: np.cos(x),
    "cos": lambda x, y: -np.sin(x),
    "tan": lambda x, y: 1.0 + y * y,
    "sinh": lambda x, y: np.cosh(x),
    "cosh": lambda x, y: np.sinh(x),
    "tanh": lambda x, y: 1.0 - y * y,
    "arcsin": lambda x, y: 1.0 / np.sqrt(1.0 - x * x),
    "arccos": lambda x, y: -1.0 / np.sqrt(1.0 - x * x),
    "arctan": lambda x, y: 1.0 / (1.0 + x * x),
    "exp": lambda x, y: y,
    "log": lambda x, y: np.reciprocal(x),
    "log10": lambda x, y: np.reciprocal(x * LN10),
    "log2": lambda x, y: np.reciprocal(x * LN2),
    "sqrt": lambda x, y: np.divide(0.5, y),
    "abs": lambda x, y: np.sign(x),
    "sigmoid": lambda x, y: y * (1.0 - y),
    "sign": lambda x, y: 0.0,
    "sec": lambda x, y: y * np.tan(x),
    "csc": lambda x, y: np.divide(-y, np.tan(x)),
    "cot": lambda x, y: -(1.0 + y * y),
    "sech": lambda x, y: -y * np.tanh(x),
    "inv": lambda x, y: -y * y,
}


def slope(op: str, x: Value, y: Value) -> Value:
    """Derivative of the unary operation `op` at `x`, where `y` is its value there."""
    return _UNARY_SLOPE[op](x, y)


def slopes(op: str, a: Value, b: Value, y: Value, *, need_a: bool, need_b: bool) -> tuple[Value, Value]:
    """Partial derivatives of `mul`, `div` or `pow`; one that is not needed may be None."""
    if op == "mul":
        return b, a
    if op == "div":
        inverse = np.reciprocal(b) if need_a or need_b else None
        return inverse, (-y * inverse if need_b and inverse is not None else None)
    return _power_slopes(a, b, y, need_a=need_a, need_b=need_b)


def _power_slopes(a: Value, b: Value, y: Value, *, need_a: bool, need_b: bool) -> tuple[Value, Value]:
    by_base = b * np.power(a, np.subtract(b, 1.0)) if need_a else None
    by_exponent = None
    if need_b:
        # the limit at a = 0 with a positive exponent is 0, where log(a) alone would give 0 * -inf
        by_exponent = np.where(np.equal(y, 0.0), 0.0, y * np.log(a))
    return by_base, by_exponent
