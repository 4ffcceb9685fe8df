"""The child process of `equivalence`: everything that can hang runs here, where it can be stopped.

Run as `python -m sr_harness.engine.algebra_worker`. It reads one JSON request, `{"a", "b", "names",
"positive"}`, from standard input and writes `true` to standard output if SymPy shows the difference of the
formulas to be zero, else `false`.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from .expression import Expression
from .parser import parse
from .symbolic import to_sympy

_MEMORY = 2_000_000_000


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
    a, b = (parse(request[side], names=request["names"]) for side in ("a", "b"))
    try:
        answer = is_zero(a, b, request["positive"])
    except (
        RecursionError,
        MemoryError,
        NotImplementedError,
        TypeError,
        ValueError,
        AttributeError,
        KeyError,
    ):
        # SymPy fails in many ways on expressions that it cannot handle; each of them means "not shown"
        answer = False
    print(json.dumps(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main())
