"""From an `Expression` back to text of the language.

Promises: with `digits=None`, `parse(render(e)) == e` for every expression that `build` or `parse` makes;
numbers have the shortest text that gives the same float64; no recursion.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

import numpy as np

from .expression import Expression
from .functions import CONSTANTS

ADDITIVE, MULTIPLICATIVE, UNARY, POWER, ATOM = 1, 2, 3, 4, 5
PRECEDENCE: Final = {
    "add": ADDITIVE,
    "sub": ADDITIVE,
    "mul": MULTIPLICATIVE,
    "div": MULTIPLICATIVE,
    "neg": UNARY,
    "pow": POWER,
}
_SYMBOL: Final = {"add": " + ", "sub": " - ", "mul": "*", "div": "/", "pow": "**"}


def precedence(node: Expression) -> int:
    """How tightly the text of `node` holds together; a negative number is like a unary minus."""
    if node.op == "num" and is_negative(node):
        return UNARY
    return PRECEDENCE.get(node.op, ATOM)


def is_negative(node: Expression) -> bool:
    """Whether `node` is a number written with a minus sign (-0.0 included)."""
    return node.op == "num" and node.value is not None and bool(np.signbit(node.value))


def needs_parentheses(node: Expression, position: int, child: Expression) -> bool:
    """Whether operand number `position` of the operator `node` must stand in parentheses."""
    inner, outer = precedence(child), PRECEDENCE[node.op]
    if node.op == "neg":
        return inner < UNARY or is_negative(child)
    if node.op == "pow":
        return inner < ATOM if position == 0 else inner < UNARY
    if position == 0:
        return inner < outer
    return inner <= outer or inner == UNARY


def number_text(value: float, digits: int | None = None) -> str:
    """The shortest text of a float; `digits` limits the significant digits."""
    if digits is not None:
        value = float(f"{value:.{digits}g}")
    if value == int(value) and abs(value) < 1e6:
        return ("-" if np.signbit(value) and value == 0 else "") + str(int(value))
    plain = repr(value)
    if plain.endswith(".0"):
        plain = plain[:-2]
    scientific = np.format_float_scientific(value, trim="-", exp_digits=1).replace("+", "").replace(".e", "e")
    if "e" in plain:
        return scientific
    return scientific if len(scientific) + 2 < len(plain) else plain


def name_text(name: str, names: Collection[str] | None = None) -> str:
    """A column's name as the language reads it: in backticks unless it is a plain identifier."""
    plain = name[0].isidentifier() and all(("a" + c).isidentifier() for c in name)
    if plain and (name not in CONSTANTS or (names is not None and name in names)):
        return name
    return "`" + name.replace("`", "``") + "`"


def quoted(text: str) -> str:
    """A text in single quotes, a quote inside doubled."""
    return "'" + text.replace("'", "''") + "'"


def render(
    expr: Expression,
    *,
    digits: int | None = None,
    names: Collection[str] | None = None,
) -> str:
    """The text of a formula.

    Args:
        expr: The expression.
        digits: Significant digits of the numbers; None writes them so that they read back unchanged.
        names: The columns that the reader will pass to `parse`; a column called `pi` or `e` is then
            written without backticks, and the constant of that name as a number.

    Returns:
        Text that `parse` reads back to the same expression (for `digits=None`).
    """
    pieces: list[str] = []
    stack: list[Expression | str] = [expr]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            pieces.append(item)
            continue
        stack.extend(reversed(_parts(item, lambda v: number_text(v, digits), names)))
    return "".join(pieces)


def _parts(
    node: Expression, number: Callable[[float], str], names: Collection[str] | None
) -> list[Expression | str]:
    """The text of one node as a row of strings and operands."""
    if not node.args or node.op == "group":
        return [_leaf(node, number, names)]
    if node.op in _SYMBOL:
        left, right = (_wrapped(node, k, arg) for k, arg in enumerate(node.args))
        return [*left, _SYMBOL[node.op], *right]
    if node.op == "neg":
        return ["-", *_wrapped(node, 0, node.args[0])]
    if node.op in ("sum", "gather"):
        index = ",".join(node.index)
        head = f"sum[{','.join(node.index[1:])}](" if node.op == "sum" else "gather("
        return [f"{head}{name_text(node.name or '', names)}[{index}], ", node.args[0], ")"]
    if node.op == "delay":
        return ["delay(", node.args[0], f", {number(node.value or 0.0)})"]
    row: list[Expression | str] = [f"{node.op}("]
    for arg in node.args:
        row += [arg, ", "]
    row[-1] = ")"
    return row


def _wrapped(node: Expression, position: int, child: Expression) -> list[Expression | str]:
    return ["(", child, ")"] if needs_parentheses(node, position, child) else [child]


def _leaf(node: Expression, number: Callable[[float], str], names: Collection[str] | None) -> str:
    name = node.name or ""
    if node.op == "num":
        assert node.value is not None
        return number(node.value)
    if node.op == "const":
        return name if names is None or name not in names else repr(node.value)
    if node.op == "param":
        start = "" if node.value is None else f", value={number(node.value)}"
        return f"param({quoted(name)}{start})"
    if node.op == "group":
        pairs = ", ".join(f"{quoted(label)}: {number(value)}" for label, value in node.table)
        default = "" if node.value is None else f", default={number(node.value)}"
        label = _leaf(node.args[0], number, names)
        return f"grouped_param({label}, name={quoted(name)}, value={{{pairs}}}{default})"
    index = f"[{','.join(node.index)}]" if node.index else ""
    return name_text(name, names) + index
