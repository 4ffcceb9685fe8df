"""Which of several formulas to believe: the shortest description of formula and residuals together.

The length, in nats, of a formula f with k free constants on n rows is

    (n - k)/2 · ln(nmse)  +  NODE · size  +  Σ cost(constant)

where nmse = 1 - R². A constant is a part of a formula without inputs, 2 or 1/(4π), and counts as one node.
It costs what it takes to write it: little for a small integer or fraction, and for an arbitrary number the
digits that the residuals can resolve, ½·ln(n / nmse). So a formula with plain constants beats an
interpolation with as many free constants as rows, and noise is not worth describing.
The rule follows J. Rissanen, "Modeling by shortest data description", Automatica 14 (1978).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sr_harness.engine import Expression

NODE = 2.0
"""Nats for naming one node out of about eight usual ones."""

EXACT = 1e-11
"""Below this 1 - R² a formula is exact in float64."""

FLOOR = 1e-20
"""Residuals below this are rounding: two exact formulas differ in length only."""

FACTORS = ((1.0, 0.0), (math.pi, 1.0), (1 / math.pi, 1.0))
"""What small fractions are multiplied by to give plain numbers, with the nats that it costs."""

LARGEST_ABOVE, LARGEST_BELOW = 100, 12
"""Largest numerator and denominator of a plain fraction."""

MOST_ROWS = 1000
"""Beyond this many rows more of them do not buy a longer formula: the model is never exactly true."""

ARBITRARY = 2
"""Nodes that an arbitrary number counts beyond its own: less than its nats, so that the front keeps both."""

OPERATION, NAMED = 0.5, 1.0
"""Nats for an operation within a constant, and for π or e."""

PLAIN = 1e-12
"""Relative difference within which a number is a plain one."""


class Weight(NamedTuple):
    """What a formula is made of.

    Attributes:
        size: Node count, a part without inputs counting as one node.
        costs: Nats for each such part, None where it holds a number that is not plain.
        free: Numbers that are not plain, in order.
    """

    size: int
    costs: tuple[float | None, ...]
    free: tuple[float, ...]

    @property
    def weight(self) -> int:
        """The size, with an arbitrary number counting as `ARBITRARY` nodes more."""
        return self.size + ARBITRARY * len(self.free)


def weigh(expression: Expression) -> Weight:
    """Count the nodes and the constants of a formula."""
    from sr_harness.engine.expression import fold

    closed: dict[int, tuple[bool, float | None]] = {}

    def price(node: Expression, parts: list[tuple[bool, float | None]]) -> tuple[bool, float | None]:
        result: tuple[bool, float | None] = (False, None)
        if node.op == "num" and node.value is not None:
            result = (True, plain_cost(node.value))
        elif node.op == "const":
            result = (True, NAMED)
        elif parts and all(part[0] for part in parts) and node.op not in ("sum", "gather"):
            costs = [part[1] for part in parts]
            result = (True, None if None in costs else OPERATION + sum(cost or 0.0 for cost in costs))
        closed[id(node)] = result
        return result

    fold(expression, price)
    size, costs, free = 0, [], []
    stack = [expression]
    while stack:
        node = stack.pop()
        size += 1 + (node.op in ("sum", "gather"))
        whole, cost = closed[id(node)]
        if not whole:
            stack.extend(reversed(node.args))
            continue
        costs.append(cost)
        free += [value for value in _numbers(node) if plain_cost(value) is None]
    return Weight(size, tuple(costs), tuple(free))


def _numbers(expression: Expression) -> list[float]:
    from sr_harness.engine.expression import postorder

    return [
        float(node.value) for node in postorder(expression) if node.op == "num" and node.value is not None
    ]


def plain_value(value: float) -> float:
    """The plain number that a number is but for the last digits, else the number itself."""
    for factor, _ in FACTORS:
        for below in range(1, LARGEST_BELOW + 1):
            above = abs(value) / factor * below
            if not above <= LARGEST_ABOVE + 1:
                break
            near = round(above)
            if 0 < near <= LARGEST_ABOVE and abs(above - near) <= PLAIN * max(1.0, above):
                return math.copysign(near * factor / below, value)
    return value


def plain_cost(value: float) -> float | None:
    """Nats for a number a person would write down, or None if it is none.

    Integers, fractions with denominators up to 12, the same times π, and decimals of up to 3 digits.
    """
    size = abs(value)
    if not math.isfinite(value):
        return None
    for factor, extra in FACTORS:
        for below in range(1, LARGEST_BELOW + 1):
            above = size / factor * below
            if above > LARGEST_ABOVE + 1:
                break
            near = round(above)
            close = abs(above - near) <= PLAIN * max(1.0, above)
            if near <= LARGEST_ABOVE and close and (near > 0 or size == 0):
                return extra + math.log1p(near) + math.log(below)
    digits = f"{size:.12e}"
    mantissa = digits.split("e", maxsplit=1)[0].replace(".", "").rstrip("0")
    return len(mantissa) * math.log(10) + 1.0 if len(mantissa) <= 3 else None


def judged_error(train: float, validation: float, rows: float, validation_rows: float) -> float:
    """The error to go by where some rows were held out: that on all rows together.

    A formula that follows the noise of its training rows is wrong on the others by more than chance; then it
    is their error that counts.

    Args:
        train: 1 - R² on the rows that were fitted.
        validation: 1 - R² on the rows that were not.
        rows: Number of the former.
        validation_rows: Number of the latter.
    """
    together = (rows * train + validation_rows * validation) / (rows + validation_rows)
    chance = 1.0 + 4.0 * math.sqrt(2.0 / validation_rows)
    return max(together, validation / chance)


def description_length(nmse: float, size: int, costs: Iterable[float | None], rows: float) -> float:
    """Length in nats; lower is better, 0 is about "the mean says as much".

    Args:
        nmse: 1 - R² on the rows that judge.
        size: Node count of the formula, see `Weight`.
        costs: Nats for each of its constants, None for an arbitrary one.
        rows: Rows it was fitted on, or their effective number.
    """
    if not math.isfinite(nmse):
        return math.inf
    n = min(rows, MOST_ROWS)
    error = max(nmse, FLOOR)
    arbitrary = 0.5 * math.log(max(n, 2) / min(error, 1.0))
    free, cost = 0, 0.0
    for plain in costs:
        if plain is None or plain > arbitrary:
            free += 1
            cost += arbitrary
        else:
            cost += plain
    return 0.5 * max(n - free, 0) * math.log(error) + NODE * size + cost
