"""The child process of `equivalence`: everything that can hang runs here, where it can be stopped.

Run as `python -m sr_harness.engine.algebra_worker`. It reads one JSON request from standard input and
writes one JSON line per finding to standard output, the cheap ones first, so that what is known when the
time is up is not lost:

    {"point": k, "difference": d}     the relative difference at point k, computed with 60 digits
    {"zero": true | false}            whether SymPy shows the difference to be zero
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from .expression import Expression, fold
from .parser import parse
from .symbolic import to_sympy

DIGITS = 60
_MEMORY = 2_000_000_000


def precise(expr: Expression, point: dict[str, float]) -> Any:  # noqa: ANN401
    """The value at a point, as a multi-precision number; NaN where it is not a real number."""
    import mpmath

    functions = _functions(mpmath)

    def compute(node: Expression, args: list[Any]) -> Any:  # noqa: ANN401
        if node.op == "num":
            return mpmath.mpf(repr(node.value))
        if node.op == "const":
            return +mpmath.pi if node.name == "pi" else +mpmath.e
        if node.op in ("var", "param"):
            return mpmath.mpf(point[node.name or ""])
        if any(isinstance(arg, mpmath.mpc) for arg in args):
            return mpmath.nan
        try:
            value = functions[node.op](*args)
        except (ZeroDivisionError, ValueError, OverflowError):
            return mpmath.nan
        return value if isinstance(value, mpmath.mpf) else mpmath.nan

    return fold(expr, compute)


def _functions(m: Any) -> dict[str, Any]:  # noqa: ANN401
    return {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "div": lambda a, b: a / b,
        "pow": lambda a, b: a**b,
        "neg": lambda a: -a,
        "sin": m.sin,
        "cos": m.cos,
        "tan": m.tan,
        "sinh": m.sinh,
        "cosh": m.cosh,
        "tanh": m.tanh,
        "arcsin": m.asin,
        "arccos": m.acos,
        "arctan": m.atan,
        "exp": m.exp,
        "log": lambda a: m.log(a) if a > 0 else m.nan,
        "log10": lambda a: m.log10(a) if a > 0 else m.nan,
        "log2": lambda a: m.log(a, 2) if a > 0 else m.nan,
        "sqrt": m.sqrt,
        "abs": abs,
        "sigmoid": lambda a: 1 / (1 + m.exp(-a)),
        "sign": m.sign,
        "sec": m.sec,
        "csc": m.csc,
        "cot": m.cot,
        "sech": m.sech,
        "inv": lambda a: 1 / a,
        "min": min,
        "max": max,
    }


def findings(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Answer a request; see the module's text."""
    import mpmath

    a, b = (parse(request[side], names=request["names"]) for side in ("a", "b"))
    with mpmath.workdps(DIGITS):
        for number, point in enumerate(request["points"]):
            left, right = precise(a, point), precise(b, point)
            size = max(abs(left), abs(right), mpmath.mpf(request["floor"]))
            if mpmath.isnan(left) != mpmath.isnan(right):
                yield {"point": number, "difference": "domain"}
            elif mpmath.isnan(left):
                yield {"point": number, "difference": None}
            else:
                yield {"point": number, "difference": float(abs(left - right) / size) if size else 0.0}
    if request["symbolic"]:
        yield {"zero": is_zero(a, b, request["positive"])}


def is_zero(a: Expression, b: Expression, positive: list[str]) -> bool:
    """Whether SymPy simplifies the difference to zero, by the cheapest way that succeeds."""
    import sympy as sp

    difference = to_sympy(a, positive=positive, exact=True) - to_sympy(b, positive=positive, exact=True)
    if difference == 0:
        return True
    ways = (sp.expand, lambda d: sp.numer(sp.together(d)).expand(), sp.simplify, _logs_and_powers)
    return any(way(difference) == 0 for way in ways)


def _logs_and_powers(difference: Any) -> Any:  # noqa: ANN401
    import sympy as sp

    return sp.simplify(sp.expand_log(sp.powdenest(sp.expand(difference.rewrite(sp.exp)))))


def main() -> int:
    """Serve one request."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    request = json.load(sys.stdin)
    try:
        for finding in findings(request):
            print(json.dumps(finding), flush=True)
    except (RecursionError, MemoryError, NotImplementedError, TypeError, ValueError, AttributeError, KeyError):
        # SymPy fails in many ways on expressions that it cannot handle; each of them means "not shown"
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
