"""Which parameters enter a formula linearly, and through what the others enter.

Pure tree analysis; nothing is evaluated.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from .expression import Expression, parameters, postorder

CONSTANT, AFFINE, NONLINEAR = 0, 1, 2


def degrees(expr: Expression, free: Collection[str]) -> dict[int, int]:
    """How each node (by id) depends on the parameters in `free`: not at all, affinely, or otherwise."""
    found: dict[int, int] = {}
    for node in postorder(expr):
        inner = [found[id(arg)] for arg in node.args]
        found[id(node)] = _degree(node, inner, free)
    return found


def _degree(node: Expression, inner: list[int], free: Collection[str]) -> int:
    if node.op == "param":
        return AFFINE if node.name in free else CONSTANT
    if not inner or max(inner) == CONSTANT:
        return CONSTANT
    if node.op in ("add", "sub", "neg", "sum", "gather", "delay"):
        return max(inner)
    if node.op == "mul":
        return min(sum(inner), NONLINEAR)
    if node.op == "div":
        return inner[0] if inner[1] == CONSTANT else NONLINEAR
    return NONLINEAR


def linear_parameters(expr: Expression) -> tuple[str, ...]:
    """A set of parameters in which, jointly, the formula is affine.

    Of two parameters that multiply each other the one that appears first is taken as linear.
    """
    names = parameters(expr)
    if degrees(expr, names)[id(expr)] <= AFFINE:
        return names
    chosen: list[str] = []
    for name in names:
        if degrees(expr, {*chosen, name})[id(expr)] <= AFFINE:
            chosen.append(name)
    return tuple(chosen)


class Entry(NamedTuple):
    """How a parameter enters: `argument` is affine in it, `operation` is what is done to that argument."""

    argument: Expression
    operation: str
    position: int


def entry_of(expr: Expression, name: str) -> Entry | None:
    """The first operation of the formula in which the parameter `name` stops being affine.

    Where there is none (the parameter only multiplies another one), the operation that it is a direct
    operand of; None where the formula is the parameter itself.
    """
    degree = degrees(expr, {name})
    direct: Entry | None = None
    for node in postorder(expr):
        for position, arg in enumerate(node.args):
            if degree[id(node)] == NONLINEAR and degree[id(arg)] == AFFINE:
                return Entry(arg, node.op, position)
            if direct is None and arg.op == "param" and arg.name == name:
                direct = Entry(node, node.op, position)
    return direct
