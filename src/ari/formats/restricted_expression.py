"""Which expressions a metric contract may hold: a small part of Python's expressions, never evaluated here.

Allowed: numbers, names, `+ - * /`, comparisons (chained ones too), `and`, `or`, `not`, `a if c else b`, and
calls of the listed functions with plain arguments. Everything else is refused, whatever it would do.
"""

from __future__ import annotations

import ast

FUNCTIONS = frozenset({"abs", "geomean", "max", "mean", "min", "sqrt", "sum"})
"""The functions that may be called."""

MAX_LENGTH = 2000
"""Longest expression, in characters."""

MAX_DEPTH = 600
"""Deepest nesting; a sum of n terms nests n deep."""

_ALLOWED = (
    ast.Expression,
    ast.BinOp,
    ast.UnaryOp,
    ast.BoolOp,
    ast.Compare,
    ast.IfExp,
    ast.Call,
    ast.Name,
    ast.Constant,
    ast.Load,
    ast.Add,
    ast.Sub,
    ast.Mult,
    ast.Div,
    ast.USub,
    ast.UAdd,
    ast.Not,
    ast.And,
    ast.Or,
    ast.Lt,
    ast.LtE,
    ast.Gt,
    ast.GtE,
    ast.Eq,
    ast.NotEq,
)


def refusal(text: object) -> str:
    """Say why an expression is not allowed.

    Args:
        text: The expression.

    Returns:
        The reason; empty when it is allowed.
    """
    if not isinstance(text, str) or not text.strip():
        return "an expression is text that is not empty"
    if len(text) > MAX_LENGTH:
        return f"an expression has at most {MAX_LENGTH} characters"
    if "\n" in text.strip() or "\r" in text.strip():
        return "an expression stands on one line"
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "it is not an expression"
    stack: list[tuple[ast.AST, int]] = [(tree, 0)]
    while stack:
        node, depth = stack.pop()
        why = _refused(node) if depth <= MAX_DEPTH else f"it nests deeper than {MAX_DEPTH}"
        if why:
            return why
        stack.extend((child, depth + 1) for child in ast.iter_child_nodes(node))
    return ""


def _refused(node: ast.AST) -> str:
    if not isinstance(node, _ALLOWED):
        return f"{type(node).__name__} is not allowed"
    if isinstance(node, ast.Constant) and (
        isinstance(node.value, bool) or not isinstance(node.value, (int, float))
    ):
        return "only numbers are allowed as constants"
    if isinstance(node, ast.Name) and node.id.startswith("__"):
        return "names with two leading underscores are not allowed"
    if isinstance(node, ast.Call):
        plain = isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS
        if not plain or node.keywords or any(isinstance(arg, ast.Starred) for arg in node.args):
            return f"only {', '.join(sorted(FUNCTIONS))} may be called, with plain arguments"
    return ""
