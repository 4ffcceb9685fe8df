"""From the notations that models use to the one expression language.

Owns what may be changed about a text before it is parsed: a left side is dropped, `^` becomes a power,
typographic signs, LaTeX commands, `np.` and `math.` go, `params[0]` becomes a constant `c0`, and a Python
function becomes the expression that it returns. Nothing here judges a formula: what does not parse afterwards
is refused by the parser, with the place.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

MODULES = frozenset({"np", "numpy", "math", "torch", "jnp", "tf", "sp", "sympy"})
LONGEST = 20_000

_SIGNS = str.maketrans({"−": "-", "–": "-", "×": "*", "·": "*", "⋅": "*", "÷": "/", "²": "**2", "³": "**3"})
_LEFT_SIDE = re.compile(r"^\s*[^=<>()]*(?:\([^()=]*\))?\s*(?:=|≈|~|:=|\\approx)\s*(?!=)")
_FUNCTION = re.compile(r"\\(sin|cos|tan|exp|log|ln|sqrt|tanh|sinh|cosh|arcsin|arccos|arctan)\b")
_FRACTION = re.compile(r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_BRACED = re.compile(r"(\^|\*\*|\\sqrt)\s*\{([^{}]*)\}")


def spellings(text: str) -> Iterator[str]:
    """Ways to read a text as a formula, the most literal first; no two are equal."""
    seen: set[str] = set()
    plain = _bare(text)
    for candidate in (text.strip(), plain, _from_latex(plain), _from_python(plain)):
        if candidate and len(candidate) <= LONGEST and candidate not in seen:
            seen.add(candidate)
            yield candidate


def _bare(text: str) -> str:
    """Without quotes and fences around it, the left side, and signs that mean an operator."""
    stripped = text.strip().strip("`$").strip()
    stripped = stripped.removeprefix("\\(").removesuffix("\\)").removeprefix("\\[").removesuffix("\\]")
    stripped = _LEFT_SIDE.sub("", stripped, count=1).strip().rstrip(".,;")
    return stripped.translate(_SIGNS).replace("^", "**")


def _from_latex(text: str) -> str:
    if "\\" not in text:
        return ""
    for command in ("\\left", "\\right", "\\,", "\\;", "\\!", "\\quad"):
        text = text.replace(command, " ")
    text = re.sub(r"\\(?:cdot|times)\b", "*", text)
    text = re.sub(r"\\(?:mathrm|text|operatorname)\s*\{([^{}]*)\}", r"\1", text)
    for _ in range(20):  # innermost braces first; deeper nesting than this is no formula anyone reads
        changed = _FRACTION.sub(r"((\1)/(\2))", _BRACED.sub(r"\1(\2)", text))
        if changed == text:
            break
        text = changed
    text = _FUNCTION.sub(r"\1", text)
    return text.replace("\\pi", "pi").replace("{", "(").replace("}", ")").replace("\\", "").strip()


def _from_python(text: str) -> str:
    """An expression of Python without modules and subscripts of constants; empty where it is none."""
    try:
        return ast.unparse(_Plain({}).visit(ast.parse(text, mode="eval").body))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""


def returned(code: str) -> list[str]:
    """What a piece of Python computes: what its functions return, or else what it assigns last.

    Intermediate assignments are put in place of their names.
    """
    try:
        body = ast.parse(code).body
        functions = [node for node in body if isinstance(node, ast.FunctionDef)]
        found = [formula for function in functions for formula in _of_statements(function.body)]
        return found or _of_statements(body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def _of_statements(statements: list[ast.stmt]) -> list[str]:
    known: dict[str, ast.expr] = {}
    found, last = [], ""
    for statement in statements:
        if isinstance(statement, ast.Return) and statement.value is not None:
            found.append(ast.unparse(_Plain(known).visit(statement.value)))
        elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            value = _Plain(known).visit(statement.value)
            known[statement.targets[0].id] = value
            last = ast.unparse(value)
    return found or ([last] if last else [])


class _Plain(ast.NodeTransformer):
    """Puts names in place, and leaves modules and subscripts out."""

    def __init__(self, known: dict[str, ast.expr]) -> None:
        self._known = known

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id in MODULES:
            return ast.Name(node.attr)
        return self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, int):
            return ast.Name(f"c{node.slice.value}")
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            return ast.Name(node.slice.value)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self._known.get(node.id, node)
