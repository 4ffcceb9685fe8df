"""Constructors of expressions: checked, canonical, and nothing else.

A minus sign in front of a number becomes part of the number, so that every expression built here has a
text that parses back to it. No constructor computes anything else; `simplify` does that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from ..errors import ExpressionError, UnknownNameError
from .expression import Expression, fold, with_args
from .functions import ALIASES, CONSTANTS, FUNCTIONS

Operand = Expression | float | int


def num(value: float) -> Expression:
    """The number `value` (an integer is a float here)."""
    number = float(value)
    if not math.isfinite(number):
        raise ExpressionError(
            f"a formula cannot contain the number {number}; only finite numbers have a text"
        )
    return Expression("num", value=number)


def const(name: str) -> Expression:
    """A named constant: `pi` or `e`."""
    if name not in CONSTANTS:
        raise UnknownNameError(name, f"there is no constant {name!r}; there are {', '.join(CONSTANTS)}")
    return Expression("const", name=name, value=CONSTANTS[name])


def var(name: str, index: tuple[str, ...] = ()) -> Expression:
    """The column `name`; `index` only inside a graph term."""
    if not name or "\0" in name:
        raise ExpressionError(f"a column cannot be called {name!r}: its name is empty or contains NUL")
    return Expression("var", name=name, index=index)


def param(name: str, value: float | None = None) -> Expression:
    """A free parameter, with the start value for a fit if there is one."""
    if not name:
        raise ExpressionError("a parameter needs a name, as in param('a')")
    if value is not None and not math.isfinite(value):
        raise ExpressionError(f"the start value of param({name!r}) must be finite, not {value}")
    return Expression("param", name=name, value=None if value is None else float(value))


def as_expression(value: Operand) -> Expression:
    """An expression unchanged, a number as `num`."""
    return value if isinstance(value, Expression) else num(value)


def add(a: Operand, b: Operand) -> Expression:
    """The sum `a + b`."""
    return Expression("add", (as_expression(a), as_expression(b)))


def sub(a: Operand, b: Operand) -> Expression:
    """The difference `a - b`."""
    return Expression("sub", (as_expression(a), as_expression(b)))


def mul(a: Operand, b: Operand) -> Expression:
    """The product `a * b`."""
    return Expression("mul", (as_expression(a), as_expression(b)))


def div(a: Operand, b: Operand) -> Expression:
    """The quotient `a / b`."""
    return Expression("div", (as_expression(a), as_expression(b)))


def pow_(a: Operand, b: Operand) -> Expression:
    """The power `a ** b`."""
    return Expression("pow", (as_expression(a), as_expression(b)))


def neg(a: Operand) -> Expression:
    """`-a`; the sign of a number becomes part of the number."""
    operand = as_expression(a)
    if operand.op == "num" and operand.value is not None:
        return num(-operand.value)
    return Expression("neg", (operand,))


def call(name: str, *args: Operand) -> Expression:
    """The function `name` of the language applied to `args`."""
    canonical = ALIASES.get(name, name)
    if canonical == "pow" and len(args) == 2:
        return pow_(*args)
    spec = FUNCTIONS.get(canonical)
    if spec is None:
        raise UnknownNameError(name, f"there is no function {name!r}; there are {', '.join(FUNCTIONS)}")
    if len(args) < spec.least or (spec.most is not None and len(args) > spec.most):
        wanted = f"{spec.least}" if spec.most == spec.least else f"at least {spec.least}"
        raise ExpressionError(f"{canonical} takes {wanted} argument(s), {len(args)} given")
    return Expression(canonical, tuple(as_expression(a) for a in args))


def graph_sum(relation: str, index: tuple[str, ...], body: Operand) -> Expression:
    """`sum[j](A[i,j], body)`: for each target node the sum of `body` over the relation's rows at it."""
    return _graph("sum", relation, index, body)


def gather(relation: str, index: tuple[str, ...], body: Operand) -> Expression:
    """`gather(A[i,j], body)`: `body` on each row of the relation, not summed."""
    return _graph("gather", relation, index, body)


def _graph(op: str, relation: str, index: tuple[str, ...], body: Operand) -> Expression:
    if len(index) not in (2, 3) or len(set(index)) != len(index):
        raise ExpressionError(f"a relation has two or three different indices, target first, not {index!r}")
    return Expression(op, (as_expression(body),), name=relation, index=index)


def grouped_param(
    label: Expression, name: str, value: Mapping[str, float] | None = None, default: float | None = None
) -> Expression:
    """A parameter that has its own value for each label in the column `label`.

    Args:
        label: The column of labels (a variable).
        name: Name of the parameter.
        value: The value of each label known so far; numeric labels are written as their text.
        default: The value for every other label.
    """
    if label.op != "var" or not name:
        raise ExpressionError("grouped_param needs a column of labels and a name")
    table = tuple((str(key), float(number)) for key, number in (value or {}).items())
    if not all(math.isfinite(number) for _, number in table):
        raise ExpressionError(f"the values of grouped_param {name!r} must be finite")
    return Expression("group", (label,), name=name, value=default, table=table)


def delay(a: Operand, lag: float) -> Expression:
    """`a` as it was `lag` earlier along the time axis."""
    if not math.isfinite(lag) or lag < 0:
        raise ExpressionError(f"the lag of delay must be a finite number >= 0, not {lag}")
    return Expression("delay", (as_expression(a),), value=float(lag))


def substitute(expr: Expression, replacements: Mapping[str, Operand]) -> Expression:
    """Replace every variable or parameter whose name is a key; all replacements happen at once."""
    table = {name: as_expression(value) for name, value in replacements.items()}

    def swap(node: Expression, args: list[Expression]) -> Expression:
        if node.op in ("var", "param") and node.name in table:
            return table[node.name]
        if node.op == "neg":
            return neg(args[0]) if args[0] is not node.args[0] else node
        return with_args(node, tuple(args))

    return fold(expr, swap)


def bind(expr: Expression, values: Mapping[str, float | Mapping[str, float]]) -> Expression:
    """Put numbers in place of the parameters named in `values`; variables of the same name stay.

    Args:
        expr: The formula.
        values: Parameter -> its value, or grouped parameter -> the value of each label. Labels that are not
            mentioned keep the value they have.
    """

    def swap(node: Expression, args: list[Expression]) -> Expression:
        value = values.get(node.name) if node.op in ("param", "group") and node.name is not None else None
        if node.op == "param" and value is not None and not isinstance(value, Mapping):
            return num(value)
        if node.op == "group" and isinstance(value, Mapping):
            return grouped_param(node.args[0], node.name or "", {**dict(node.table), **value}, node.value)
        if node.op == "neg":
            return neg(args[0]) if args[0] is not node.args[0] else node
        return with_args(node, tuple(args))

    return fold(expr, swap)
