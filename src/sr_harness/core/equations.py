"""Finding expressions in prose: where does `y = 1 + x**2` stand in a sentence, and is it a law?

A scanner of tokens, not a parser: it reads the longest prefix of a text that looks like an expression and
says of what it consists. It serves the leak lint (`sr_harness.core.leaks`); formulas that are to be
evaluated are the business of `sr_harness.engine`.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field

_FUNCTIONS = frozenset(
    {"sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan", "asin", "acos", "atan"}
    | {"exp", "log", "ln", "log10", "log2", "sqrt", "abs", "sigmoid", "sign", "sec", "csc", "cot", "pow"}
)
_UNITS = frozenset(
    {"m", "s", "kg", "g", "mg", "t", "K", "mol", "cd", "A", "N", "J", "W", "Pa", "V", "C", "Hz", "h", "d"}
    | {"min", "mm", "cm", "km", "nm", "um", "µm", "μm", "L", "l", "mL", "ml", "ppm", "ppb", "rad", "deg"}
    | {"bar", "hPa", "kPa", "MPa", "kHz", "MHz", "GHz", "kJ", "MJ", "kW", "MW", "eV", "keV", "MeV", "GeV"}
    | {"year", "years", "yr", "day", "days", "hour", "hours", "week", "month", "second", "seconds", "sr"}
    | {"minute", "minutes", "unit", "units", "lx", "lm", "Wb", "mmol", "mV", "mA", "dB", "px"}
)
_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\.\d+)|(?P<name>[^\W\d²³][^\W²³]*)"
    r"|(?P<power>[²³])|(?P<operator>\*\*|[-+*/^·×÷−])|(?P<open>\()|(?P<close>\))|(?P<other>.))",
    re.DOTALL,
)
_ASSIGNMENT = re.compile(r"(?<![<>!=:≤≥])={1,2}(?!=)")
_LEFT_SIDE = re.compile(r"(?P<name>[^\W\d²³][^\W²³]*)(?:\([^()]*\))?[²³]?\s*$")
_AFTER_NUMBER = re.compile(r"\d\s*$")
_UNIT_WORDS = frozenset({"unit", "units", "in", "单位"})
_START = re.compile(r"(?<![\w.)])\w")
_LONGEST_EXPRESSION = 300  # characters; without a limit a hostile text costs quadratic time


@dataclass
class Expression:
    """The longest prefix of a text that reads as an expression, and what it consists of."""

    text: str = ""
    names: set[str] = field(default_factory=set)
    calls: set[str] = field(default_factory=set)
    operators: set[str] = field(default_factory=set)
    starts_with_number: bool = False
    has_spaced_operator: bool = False


def find_equation(text: str, names: Collection[str]) -> str | None:
    """Return an equation, or an expression in the variables `names`, that stands in `text`; None without."""
    return _assignment(text, names) or _bare(text, names)


def _assignment(text: str, names: Collection[str]) -> str | None:
    for sign in _ASSIGNMENT.finditer(text):
        left = _LEFT_SIDE.search(text, 0, sign.start())
        if left is None or left["name"].lower() in _UNIT_WORDS or _AFTER_NUMBER.search(text[: left.start()]):
            continue  # `1 atm = …` converts a unit
        right = read_expression(text[sign.end() :])
        if _is_law(right, names):
            return f"{left[0].strip()} = {right.text}"
    return None


def _is_law(expression: Expression, names: Collection[str]) -> bool:
    plain = expression.names - expression.calls
    if not expression.names or not (expression.operators or expression.calls):
        return False
    if expression.starts_with_number and plain <= _UNITS and not expression.calls:
        quantity = expression.operators <= {"/"} or not plain & set(names)
        if quantity:
            return False  # such as 1852/3600 m/s or 3e8m/s
    if expression.calls or not expression.operators <= {"-", "−", "/"}:
        return True
    if any(len(name) == 1 or name in names for name in plain):
        return True
    return expression.has_spaced_operator and "/" in expression.operators  # else `row-number`, `on/standby`


def _bare(text: str, names: Collection[str]) -> str | None:
    """An expression without an equals sign, such as `sin(x)` or `A*exp(-t/tau)`."""
    strong = {"**", "^", "*", "+", "·", "×", "²", "³"}
    start = _START.search(text)
    while start:
        found = read_expression(text[start.start() :])
        plain = found.names - found.calls
        known = {name for name in plain if name in names and name not in _UNITS}
        if known and (found.calls or found.operators & strong):
            return found.text
        if plain and found.calls and found.operators & (strong | {"-", "−"}):
            return found.text
        start = _START.search(text, start.start() + max(1, len(found.text)))
    return None


def read_expression(text: str) -> Expression:
    """Read the longest prefix of `text` that is an expression."""
    text = text[:_LONGEST_EXPRESSION]
    whole, pending = Expression(), Expression()
    depth, after_operand, last_name = 0, False, ""
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup or "other"
        value, gap = token[kind], token.start(kind) > token.start()
        called = kind == "open" and after_operand and last_name in _FUNCTIONS
        if not _continues(kind, value, gap, depth, called=called, after_operand=after_operand):
            break
        depth += (kind == "open") - (kind == "close")
        if not pending.text:
            pending.starts_with_number = kind == "number"
        pending.text = text[: token.end()]
        if kind == "name":
            pending.names.add(value)
        elif called:
            pending.calls.add(last_name)
        elif kind in {"operator", "power"}:
            pending.operators.add(value)
            pending.has_spaced_operator |= gap
        last_name = value if kind == "name" else ""
        after_operand = kind in {"number", "name", "power", "close"}
        if after_operand and depth == 0:
            whole = _copy(pending)
    return whole


def _copy(expression: Expression) -> Expression:
    return Expression(
        expression.text.strip(),
        set(expression.names),
        set(expression.calls),
        set(expression.operators),
        expression.starts_with_number,
        expression.has_spaced_operator,
    )


def _continues(kind: str, value: str, gap: bool, depth: int, *, called: bool, after_operand: bool) -> bool:
    """Whether a token can stand where it stands in an expression."""
    if kind == "number":
        return not after_operand
    if kind == "name":  # directly behind a number or a bracket it is a product, as in 3x
        return not after_operand or not gap
    if kind == "operator":
        return after_operand or value in {"-", "−", "+"}
    if kind == "power":
        return after_operand and not gap
    if kind == "open":
        return not after_operand or called
    return kind == "close" and depth > 0 and after_operand
