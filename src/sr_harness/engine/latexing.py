r"""Formulas as LaTeX mathematics.

Promises: whatever the columns are called, the output is well formed: braces balance, special characters are
escaped, and a column called `pi`, `sin` or `lambda` cannot be mistaken for a command. It needs `amsmath`.
"""

from __future__ import annotations

import re
from typing import Final

from .expression import Expression
from .functions import FUNCTIONS
from .rendering import ATOM, UNARY, is_negative, number_text, precedence

_GREEK_LETTERS: Final = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "varepsilon", "ζ": "zeta", "η": "eta",
    "θ": "theta", "ι": "iota", "κ": "kappa", "λ": "lambda", "μ": "mu", "ν": "nu", "ξ": "xi", "π": "pi",
    "ρ": "rho", "σ": "sigma", "τ": "tau", "υ": "upsilon", "φ": "varphi", "χ": "chi", "ψ": "psi",
    "ω": "omega", "Γ": "Gamma", "Δ": "Delta", "Θ": "Theta", "Λ": "Lambda", "Ξ": "Xi", "Π": "Pi",
    "Σ": "Sigma", "Υ": "Upsilon", "Φ": "Phi", "Ψ": "Psi", "Ω": "Omega",
}  # fmt: skip
_GREEK: Final = frozenset(_GREEK_LETTERS.values()) - {"pi"} | {"epsilon", "phi"}
_ESCAPES: Final = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "_": r"\_",
    "^": r"\^{}",
    "~": r"\~{}",
    "%": r"\%",
    "&": r"\&",
    "#": r"\#",
    "$": r"\$",
}
_SUBSCRIPTED: Final = re.compile(r"(.*[^\W\d_])_?(\d+)|([^\W_]+)_([^\W_]+)")
_SCIENTIFIC: Final = re.compile(r"(-?[0-9.]+)e(-?[0-9]+)")


def latex_name(name: str) -> str:
    """A column's name as LaTeX: Greek names as letters, trailing digits and one `_` part as an index."""
    match = _SUBSCRIPTED.fullmatch(name)
    if match is not None:
        base = match.group(1) or match.group(3)
        index = match.group(2) or match.group(4)
        shown = index if index.isdigit() else _word(index)
        return f"{_word(base)}_{{{shown}}}"
    return _word(name)


def _word(text: str) -> str:
    if text in _GREEK:
        return "\\" + text
    if text in _GREEK_LETTERS:
        return "\\" + _GREEK_LETTERS[text]
    if len(text) == 1 and text.isascii() and text.isalpha():
        return text
    escaped = "".join(_ESCAPES.get(char, char) for char in text)
    # accented letters and spaces are only right in text mode
    return (
        rf"\mathrm{{{escaped}}}"
        if text.replace("_", "").isalnum() and text.isascii()
        else rf"\text{{{escaped}}}"
    )


def latex_number(value: float, digits: int | None = None) -> str:
    r"""A number, powers of ten written out: `3 \times 10^{8}`."""
    text = number_text(value, digits)
    match = _SCIENTIFIC.fullmatch(text)
    if match is None:
        return text
    mantissa, exponent = match.groups()
    power = f"10^{{{int(exponent)}}}"
    if mantissa in ("1", "-1"):
        return mantissa.replace("1", power)
    return rf"{mantissa} \times {power}"


def latex(expr: Expression, *, digits: int | None = None) -> str:
    """The formula as LaTeX, without dollar signs.

    Args:
        expr: The expression.
        digits: Significant digits of the numbers; None writes them exactly.
    """
    pieces: list[str] = []
    stack: list[Expression | str] = [expr]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            pieces.append(item)
        else:
            stack.extend(reversed(_parts(item, digits)))
    return "".join(pieces)


def _parts(node: Expression, digits: int | None) -> list[Expression | str]:
    op, args = node.op, node.args
    if not args or op == "group":
        return [_leaf(node, digits)]
    if op in ("add", "sub"):
        sign = " + " if op == "add" else " - "
        right_plain = precedence(args[1]) > 1 and not is_negative(args[1]) and args[1].op != "neg"
        return [args[0], sign, *_in_parentheses(args[1], plain=right_plain)]
    if op == "mul":
        return _product(args[0], args[1])
    if op == "div":
        return [r"\frac{", args[0], "}{", args[1], "}"]
    if op == "neg":
        return [
            "-",
            *_in_parentheses(args[0], plain=precedence(args[0]) > UNARY or args[0].op in ("mul", "div")),
        ]
    if op == "pow":
        plain = precedence(args[0]) == ATOM and args[0].op in ("num", "var", "const", "param")
        plain = plain and "times" not in (
            latex_number(args[0].value or 0.0, digits) if args[0].op == "num" else ""
        )
        return ["{", *_in_parentheses(args[0], plain=plain), "}^{", args[1], "}"]
    return _form(node)


def _form(node: Expression) -> list[Expression | str]:
    op, args = node.op, node.args
    if op == "sqrt":
        return [r"\sqrt{", args[0], "}"]
    if op == "abs":
        return [r"\left|", args[0], r"\right|"]
    if op == "inv":
        return [r"\frac{1}{", args[0], "}"]
    if op in ("sum", "gather"):
        index = ",".join(latex_name(letter) for letter in node.index)
        relation = latex_name(node.name or "")
        summed = ",".join(latex_name(letter) for letter in node.index[1:])
        head = rf"\sum_{{{summed}\,:\,({index}) \in {relation}}}" if op == "sum" else r"\operatorname{gather}"
        return [head, r"\left[", args[0], r"\right]"]
    if op == "delay":
        lag = latex_number(node.value or 0.0)
        return [r"\operatorname{delay}_{", lag, r"}\left(", args[0], r"\right)"]
    row: list[Expression | str] = [FUNCTIONS[op].latex, r"\left("]
    for arg in args:
        row += [arg, ", "]
    row[-1] = r"\right)"
    return row


def _in_parentheses(node: Expression, *, plain: bool) -> list[Expression | str]:
    return [node] if plain else [r"\left(", node, r"\right)"]


def _product(left: Expression, right: Expression) -> list[Expression | str]:
    """Juxtaposition, with a dot where two numbers would run into one."""
    left_plain = precedence(left) > 1
    right_plain = precedence(right) >= 2 and precedence(right) != UNARY
    if right.op == "mul":
        right_plain = False
    dot = r" \cdot " if _starts_with_digit(right) and right_plain else r" \, "
    return [*_in_parentheses(left, plain=left_plain), dot, *_in_parentheses(right, plain=right_plain)]


def _starts_with_digit(node: Expression) -> bool:
    first = node
    while first.op in ("mul", "pow") and first.args:
        first = first.args[0]
    return first.op == "num"


def _leaf(node: Expression, digits: int | None) -> str:
    name = node.name or ""
    if node.op == "num":
        return latex_number(node.value or 0.0, digits)
    if node.op == "const":
        return r"\pi" if name == "pi" else r"\mathrm{e}"
    if node.op == "group":
        return rf"{{{latex_name(name)}}}_{{\left[{_leaf(node.args[0], digits)}\right]}}"
    shown = r"\mathrm{pi}" if name == "pi" else latex_name(name)
    if node.index:
        return rf"{{{shown}}}_{{{','.join(latex_name(letter) for letter in node.index)}}}"
    return shown
