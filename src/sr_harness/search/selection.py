"""Which of several formulas to believe: the shortest description of formula and residuals together.

The length, in nats, of a formula f with k free constants on n rows is

    (n - k)/2 · ln(nmse)  +  NODE · complexity  +  Σ cost(constant)

where nmse = 1 - R². A constant costs what it takes to write it: little for a small integer or fraction,
and for an arbitrary number the digits that the residuals can resolve, ½·ln(n / nmse). So a formula with
plain constants beats an interpolation with as many free constants as rows, and noise is not worth describing.
The rule follows J. Rissanen, "Modeling by shortest data description", Automatica 14 (1978).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sr_harness.engine import Expression

NODE = 2.0
"""Nats for naming one node out of about eight usual ones."""

EXACT = 1e-11
"""Below this 1 - R² a formula is exact in float64."""

FLOOR = 1e-20
"""Residuals below this are rounding: two exact formulas differ in length only."""

MOST_ROWS = 1000
"""Beyond this many rows more of them do not buy a longer formula: the model is never exactly true."""


def numbers(expression: Expression) -> Iterator[float]:
    """Every number of a formula, in order."""
    stack = [expression]
    while stack:
        node = stack.pop()
        if node.op == "num" and node.value is not None:
            yield float(node.value)
        stack.extend(reversed(node.args))


def plain_cost(value: float) -> float | None:
    """Nats for a number a person would write down, or None if it is none.

    Integers, fractions with denominators up to 12, the same times π, and decimals of up to 3 digits.
    """
    size = abs(value)
    if not math.isfinite(value):
        return None
    for factor, extra in ((1.0, 0.0), (math.pi, 1.0), (1 / math.pi, 1.0)):
        for below in range(1, 13):
            above = size / factor * below
            if above > 101:
                break
            near = round(above)
            if near <= 100 and abs(above - near) <= 1e-12 * max(1.0, above) and (near > 0 or size == 0):
                return extra + math.log1p(near) + math.log(below)
    digits = f"{size:.12e}"
    mantissa = digits.split("e", maxsplit=1)[0].replace(".", "").rstrip("0")
    return len(mantissa) * math.log(10) + 1.0 if len(mantissa) <= 3 else None


def free_constants(expression: Expression) -> list[float]:
    """Numbers of a formula that are not plain, in order."""
    return [value for value in numbers(expression) if plain_cost(value) is None]


def description_length(nmse: float, complexity: int, constants: Iterable[float], rows: float) -> float:
    """Length in nats; lower is better, 0 is about "the mean says as much".

    Args:
        nmse: 1 - R² on the rows that judge.
        complexity: Node count of the formula.
        constants: Its numbers.
        rows: Rows it was fitted on, or their effective number.
    """
    if not math.isfinite(nmse):
        return math.inf
    n = min(rows, MOST_ROWS)
    error = max(nmse, FLOOR)
    arbitrary = 0.5 * math.log(max(n, 2) / min(error, 1.0))
    free, cost = 0, 0.0
    for value in constants:
        plain = plain_cost(value)
        if plain is None or plain > arbitrary:
            free += 1
            cost += arbitrary
        else:
            cost += plain
    return 0.5 * max(n - free, 0) * math.log(error) + NODE * complexity + cost
