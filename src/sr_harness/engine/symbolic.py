"""Formulas as SymPy expressions.

Promises: a column called N, S, E, I, beta, lambda or sin becomes a plain symbol, because no text passes
through SymPy's own reader. SymPy is imported only here, when it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ..errors import ExpressionError
from .expression import Expression, fold

if TYPE_CHECKING:
    import sympy


def to_sympy(
    expr: Expression, *, positive: Collection[str] = (), real: bool = True, exact: bool = False
) -> sympy.Expr:
    """The formula as a SymPy expression.

    Args:
        expr: The formula. Parameters become symbols of their own name; graph terms become undefined
            functions of what they contain.
        positive: Columns that SymPy may take as positive.
        real: Whether the other columns are taken as real.
        exact: Turn every number into the fraction that its decimal text means.

    Returns:
        A SymPy expression whose symbols bear the columns' names.

    Raises:
        ExpressionError: the formula is nested too deep for SymPy, which recurses, or has an undefined part.
    """
    import sympy as sp

    builder = _Builder(sp, frozenset(positive), real, exact)
    try:
        return fold(expr, builder.node)
    except RecursionError:
        raise ExpressionError(
            f"the formula ({expr.size} nodes) is nested too deep for SymPy; simplify or split it first"
        ) from None
    except (TypeError, ValueError) as error:
        # SymPy refuses, for instance, the minimum of something undefined
        raise ExpressionError(f"SymPy cannot hold this formula: {error}") from error


class _Builder:
    def __init__(self, sp: Any, positive: frozenset[str], real: bool, exact: bool) -> None:  # noqa: ANN401
        self.sp, self.positive, self.real, self.exact = sp, positive, real, exact

    def number(self, value: float) -> Any:  # noqa: ANN401
        if value.is_integer() and abs(value) < 2**53:
            return self.sp.Integer(int(value))
        if self.exact:
            fraction = Fraction(repr(value))
            return self.sp.Rational(fraction.numerator, fraction.denominator)
        return self.sp.Float(value)

    def symbol(self, name: str) -> Any:  # noqa: ANN401
        if name in self.positive:
            return self.sp.Symbol(name, positive=True)
        return self.sp.Symbol(name, real=True) if self.real else self.sp.Symbol(name)

    def node(self, node: Expression, args: list[Any]) -> Any:  # noqa: ANN401
        """Translate one node whose operands are translated already."""
        sp, op = self.sp, node.op
        if op == "num":
            return self.number(node.value or 0.0)
        if op == "const":
            return sp.pi if node.name == "pi" else sp.E
        if op in ("var", "param", "group"):
            index = f"[{','.join(node.index)}]" if node.index else ""
            return self.symbol((node.name or "") + index)
        if op in ("sum", "gather"):
            return sp.Function(f"{op}_{node.name}_{'_'.join(node.index)}", real=True)(args[0])
        if op == "delay":
            return sp.Function("delay", real=True)(args[0], self.number(node.value or 0.0))
        return _operations(sp)[op](*args)


def _operations(sp: Any) -> dict[str, Callable[..., Any]]:  # noqa: ANN401
    return {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "div": lambda a, b: a / b,
        "pow": lambda a, b: a**b,
        "neg": lambda a: -a,
        "sin": sp.sin,
        "cos": sp.cos,
        "tan": sp.tan,
        "sinh": sp.sinh,
        "cosh": sp.cosh,
        "tanh": sp.tanh,
        "arcsin": sp.asin,
        "arccos": sp.acos,
        "arctan": sp.atan,
        "exp": sp.exp,
        "log": sp.log,
        "log10": lambda a: sp.log(a, 10),
        "log2": lambda a: sp.log(a, 2),
        "sqrt": sp.sqrt,
        "abs": sp.Abs,
        "sigmoid": lambda a: 1 / (1 + sp.exp(-a)),
        "sign": sp.sign,
        "sec": sp.sec,
        "csc": sp.csc,
        "cot": sp.cot,
        "sech": sp.sech,
        "inv": lambda a: 1 / a,
        "min": sp.Min,
        "max": sp.Max,
    }
