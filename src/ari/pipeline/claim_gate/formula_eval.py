"""Evaluating the restricted expressions of a metric contract: never raises, never hangs.

The grammar is that of `ari.formats.restricted_expression`. Values are finite numbers, arrays of finite
numbers, or the truth of a comparison; the three do not mix. Arrays of one length go element by element, a
number goes with every element, and a comparison of arrays holds when it holds for every element. Whatever
is not a finite number (a missing name, division by zero, overflow, NaN) makes the whole expression fail with
a reason: an expression that cannot be computed never counts as fulfilled.
"""

from __future__ import annotations

import ast
import math
import operator
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from numbers import Real
from typing import NamedTuple

from ari.formats.restricted_expression import refusal

Number = float
Value = float | bool | list[float]


class Evaluation(NamedTuple):
    """What came of an expression.

    Attributes:
        ok: Whether it has a value.
        value: A float, a list of floats or a bool; None when there is none.
        reason: Why there is no value; empty when there is one.
    """

    ok: bool
    value: Value | None
    reason: str


class _CannotEvaluateError(Exception):
    """Carries the reason out of the tree; never leaves this module."""


_ARITHMETIC: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[float, float], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


def evaluate(expr: object, variables: Mapping[str, object]) -> Evaluation:
    """Evaluate a restricted expression.

    Args:
        expr: The expression; anything but text is refused.
        variables: Name to a number or a flat array of numbers. Only names that are used are looked at.

    Returns:
        The value, or why there is none.
    """
    body = _parsed(expr) if isinstance(expr, str) else refusal(expr)
    if isinstance(body, str):
        return Evaluation(False, None, body)
    try:
        return Evaluation(True, _Scope(variables).value(body), "")
    except _CannotEvaluateError as error:
        return Evaluation(False, None, str(error))
    except RecursionError:
        return Evaluation(False, None, "it nests too deep")


@lru_cache(maxsize=512)
def _parsed(expr: str) -> ast.expr | str:
    """Parse an expression once, or say why it is refused; a study uses few formulas many times."""
    return refusal(expr) or ast.parse(expr.strip(), mode="eval").body


def names_in(expr: str) -> tuple[str, ...]:
    """Name the variables of an allowed expression, in order of first appearance; functions are left out."""
    if refusal(expr):
        return ()
    tree = ast.parse(expr.strip(), mode="eval")
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in called]
    found.sort(key=lambda node: node.col_offset)
    return tuple(dict.fromkeys(node.id for node in found))


class _Scope:
    """The variables, and the walk over the tree; long chains are walked in loops, not by recursion."""

    def __init__(self, variables: Mapping[str, object]) -> None:
        self._variables = variables

    def value(self, node: ast.expr) -> Value:
        node, negations = _strip(node, (ast.USub, ast.UAdd))
        if negations:
            inner = _number_or_array(self.value(node))
            odd = sum(isinstance(sign, ast.USub) for sign in negations) % 2
            return _each(operator.neg, inner) if odd else inner
        while isinstance(node, ast.IfExp):
            node = node.body if self._truth(node.test) else node.orelse
        if isinstance(node, ast.Constant):
            return _finite(node.value, "a constant")
        if isinstance(node, ast.Name):
            return self._variable(node.id)
        if isinstance(node, ast.BinOp):
            return self._arithmetic(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.UnaryOp | ast.Compare | ast.BoolOp):
            return self._truth(node)
        raise _CannotEvaluateError(f"{type(node).__name__} is not allowed")

    def _truth(self, node: ast.expr) -> bool:
        node, negations = _strip(node, (ast.Not,))
        if isinstance(node, ast.BoolOp):
            every = isinstance(node.op, ast.And)
            found = every
            for part in node.values:  # the left side may guard the right one
                found = self._truth(part)
                if found is not every:
                    break
        elif isinstance(node, ast.Compare):
            found = self._compare(node)
        else:
            value = self.value(node)
            if not isinstance(value, bool):
                raise _CannotEvaluateError("a condition must be a comparison, not a number")
            found = value
        return found is not bool(len(negations) % 2)

    def _compare(self, node: ast.Compare) -> bool:
        left = _number_or_array(self.value(node.left))
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            right = _number_or_array(self.value(comparator))
            holds = _COMPARISONS[type(op)]
            if not all(holds(a, b) for a, b in _pairs(left, right)):
                return False
            left = right
        return True

    def _variable(self, name: str) -> Value:
        if name in self._variables:
            return _bound(self._variables[name], name)
        for key in self._variables:  # the parser normalises identifiers, the data need not
            if isinstance(key, str) and unicodedata.normalize("NFKC", key) == name:
                return _bound(self._variables[key], name)
        raise _CannotEvaluateError(f"there is no value for {name!r}")

    def _arithmetic(self, node: ast.BinOp) -> Value:
        chain: list[ast.BinOp] = []
        first: ast.expr = node
        while isinstance(first, ast.BinOp):
            chain.append(first)
            first = first.left
        total = _number_or_array(self.value(first))
        for step in reversed(chain):
            right = _number_or_array(self.value(step.right))
            total = _combine(_ARITHMETIC[type(step.op)], total, right)
        return total

    def _call(self, node: ast.Call) -> Value:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        arguments = [_number_or_array(self.value(argument)) for argument in node.args]
        if name in ("abs", "sqrt"):
            if len(arguments) != 1:
                raise _CannotEvaluateError(f"{name} takes one argument")
            return _each(abs if name == "abs" else _sqrt, arguments[0])
        numbers = [n for argument in arguments for n in _elements(argument)]
        if not numbers:
            raise _CannotEvaluateError(f"{name} of nothing")
        return _finite(_AGGREGATES[name](numbers), f"the result of {name}")


def _strip(node: ast.expr, signs: tuple[type[ast.unaryop], ...]) -> tuple[ast.expr, list[ast.unaryop]]:
    found: list[ast.unaryop] = []
    while isinstance(node, ast.UnaryOp) and isinstance(node.op, signs):
        found.append(node.op)
        node = node.operand
    return node, found


def _bound(value: object, name: str) -> float | list[float]:
    """Turn what is bound to a name into a number or an array."""
    if isinstance(value, Real) and not isinstance(value, bool):
        return _finite(value, repr(name))
    elements = value if isinstance(value, list | tuple) else _array(value)
    if elements is None:
        raise _CannotEvaluateError(f"{name!r} is neither a number nor an array of numbers")
    if not elements:
        raise _CannotEvaluateError(f"{name!r} is an empty array")
    return [_finite(element, f"an element of {name!r}") for element in elements]


def _array(value: object) -> Sequence[object] | None:
    """Read an array of NumPy without importing it."""
    if type(value).__module__ != "numpy" or getattr(value, "ndim", 0) != 1:
        return None
    elements: list[object] = value.tolist()  # type: ignore[attr-defined]
    return elements


def _finite(value: object, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise _CannotEvaluateError(f"{what} is not a number")
    try:
        number = float(value)
    except (OverflowError, ValueError, TypeError):
        raise _CannotEvaluateError(f"{what} is too large") from None
    if not math.isfinite(number):
        raise _CannotEvaluateError(f"{what} is not a finite number")
    return number


def _number_or_array(value: Value) -> float | list[float]:
    if isinstance(value, bool):
        raise _CannotEvaluateError("the truth of a comparison is not a number")
    return value


def _elements(value: float | list[float]) -> list[float]:
    return value if isinstance(value, list) else [value]


def _pairs(a: float | list[float], b: float | list[float]) -> Iterator[tuple[float, float]]:
    if isinstance(a, list) and isinstance(b, list):
        if len(a) != len(b):
            raise _CannotEvaluateError(f"arrays of {len(a)} and {len(b)} elements do not go together")
        yield from zip(a, b, strict=True)
    elif isinstance(a, list):
        yield from ((element, b) for element in a if not isinstance(b, list))
    else:
        yield from ((a, element) for element in _elements(b))


def _combine(
    operation: Callable[[float, float], float], a: float | list[float], b: float | list[float]
) -> float | list[float]:
    try:
        results = [_finite(operation(x, y), "an intermediate result") for x, y in _pairs(a, b)]
    except ZeroDivisionError:
        raise _CannotEvaluateError("division by zero") from None
    return results if isinstance(a, list) or isinstance(b, list) else results[0]


def _each(operation: Callable[[float], float], value: float | list[float]) -> float | list[float]:
    if isinstance(value, list):
        return [operation(element) for element in value]
    return operation(value)


def _sqrt(value: float) -> float:
    if value < 0:
        raise _CannotEvaluateError("the square root of a negative number")
    return math.sqrt(value)


def _sum(numbers: Sequence[float]) -> float:
    try:
        return math.fsum(numbers)
    except OverflowError:
        return math.inf


def _geomean(numbers: Sequence[float]) -> float:
    if min(numbers) <= 0:
        raise _CannotEvaluateError("the geometric mean needs numbers above zero")
    return math.exp(_sum([math.log(number) for number in numbers]) / len(numbers))


_AGGREGATES: dict[str, Callable[[Sequence[float]], float]] = {
    "geomean": _geomean,
    "max": max,
    "mean": lambda numbers: _sum(numbers) / len(numbers),
    "min": min,
    "sum": _sum,
}
