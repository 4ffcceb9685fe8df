"""The vocabulary of the expression language: which functions and constants exist, and how they print.

Owns names and arities only; what the functions compute is in `kernels`.
"""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import Final, NamedTuple


class FunctionSpec(NamedTuple):
    """One function: how many arguments it takes (`most` is None where there is no upper limit)."""

    least: int
    most: int | None
    latex: str


def _unary(latex: str) -> FunctionSpec:
    return FunctionSpec(1, 1, latex)


FUNCTIONS: Final = MappingProxyType(
    {
        "sin": _unary(r"\sin"),
        "cos": _unary(r"\cos"),
        "tan": _unary(r"\tan"),
        "sinh": _unary(r"\sinh"),
        "cosh": _unary(r"\cosh"),
        "tanh": _unary(r"\tanh"),
        "arcsin": _unary(r"\arcsin"),
        "arccos": _unary(r"\arccos"),
        "arctan": _unary(r"\arctan"),
        "exp": _unary(r"\exp"),
        "log": _unary(r"\log"),
        "log10": _unary(r"\log_{10}"),
        "log2": _unary(r"\log_{2}"),
        "sqrt": _unary(r"\sqrt"),
        "abs": _unary(""),
        "sigmoid": _unary(r"\operatorname{sigmoid}"),
        "sign": _unary(r"\operatorname{sign}"),
        "sec": _unary(r"\sec"),
        "csc": _unary(r"\csc"),
        "cot": _unary(r"\cot"),
        "sech": _unary(r"\operatorname{sech}"),
        "inv": _unary(r"\operatorname{inv}"),
        "min": FunctionSpec(2, None, r"\min"),
        "max": FunctionSpec(2, None, r"\max"),
    }
)
"""Every function of the language by its one canonical name."""

ALIASES: Final = MappingProxyType(
    {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "ln": "log", "sgn": "sign", "Abs": "abs"}
)
"""Other spellings that are read and turned into the canonical name; `log` is the natural logarithm."""

CONSTANTS: Final = MappingProxyType({"pi": math.pi, "e": math.e})
"""Names that stand for a number unless a column bears the name."""

OPERATORS: Final = frozenset({"add", "sub", "mul", "div", "pow", "neg"})
GRAPH_FORMS: Final = frozenset({"sum", "gather", "aggr", "targ", "sour"})
SPECIAL_FORMS: Final = GRAPH_FORMS | {"param", "grouped_param", "delay", "pow"}
