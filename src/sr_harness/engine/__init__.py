"""The expression engine: read, print, evaluate, fit and compare formulas.

    >>> from sr_harness.engine import parse, evaluate, render
    >>> formula = parse("a*x**2 + sin(x)")
    >>> evaluate(formula, {"a": 2, "x": [0.0, 1.0]}).shape
    (2,)

Expressions are immutable values (`Expression`); `build` constructs them without text.
"""

from __future__ import annotations

from .build import bind, substitute
from .equivalence import Equivalence, equivalent
from .evaluation import compile_, evaluate, jacobian, to_callable
from .expression import Expression, complexity, parameters, relations, variables
from .fitting import FitResult, fit
from .latexing import latex
from .numbers import recognise
from .parser import parse
from .rendering import render
from .rounding import without_rounding
from .simplification import simplify
from .snapping import free_numbers, snap
from .structure import Structure
from .symbolic import to_sympy

__all__ = [
    "Equivalence",
    "Expression",
    "FitResult",
    "Structure",
    "bind",
    "compile_",
    "complexity",
    "equivalent",
    "evaluate",
    "fit",
    "free_numbers",
    "jacobian",
    "latex",
    "parameters",
    "parse",
    "recognise",
    "relations",
    "render",
    "simplify",
    "snap",
    "substitute",
    "to_callable",
    "to_sympy",
    "variables",
    "without_rounding",
]
