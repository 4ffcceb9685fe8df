"""Numbers written as a person would: 3 for 2.9999999999999996, 1/(4π) for 0.07957747154594767.

Only the last digits change, so the values of a formula stay the same but for rounding.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import TYPE_CHECKING

from sr_harness.search.forms import chain
from sr_harness.search.selection import FACTORS, LARGEST_BELOW, plain_value

if TYPE_CHECKING:
    from sr_harness.engine import Expression


def tidied(expression: Expression, taken: Collection[str] = ()) -> Expression:
    """The formula with numbers that are plain but for the last digits written plainly.

    Args:
        expression: The formula.
        taken: Names of columns; π is written only where no column bears that name.
    """
    from sr_harness.engine import build
    from sr_harness.engine.expression import fold, with_args

    def swap(node: Expression, args: list[Expression]) -> Expression:
        if node.op == "num" and node.value is not None and not node.value.is_integer():
            value = plain_value(node.value)
            multiple = None if "pi" in taken else multiple_of_pi(value)
            return multiple if multiple is not None else build.num(value)
        if node.op == "mul" and _is_quotient_of_one(args[0]) and args[0] is not node.args[0]:
            return build.div(args[1], args[0].args[1])
        return with_args(node, tuple(args))

    return fold(expression, swap)


def _is_quotient_of_one(expression: Expression) -> bool:
    return expression.op == "div" and expression.args[0].op == "num" and expression.args[0].value == 1.0


def multiple_of_pi(value: float) -> Expression | None:
    """A small fraction times π or over π as an expression, None for any other number."""
    from sr_harness.engine import build

    for factor, _ in FACTORS[1:]:
        for below in range(1, LARGEST_BELOW + 1):
            above = round(abs(value) / factor * below)
            if above == 0 or math.copysign(above * factor / below, value) != value:
                continue
            pi, top, bottom = build.const("pi"), [build.num(float(above))], []
            if below > 1:
                bottom.append(build.num(float(below)))
            (top if factor > 1 else bottom).append(pi)
            upper = pi if top[0].value == 1.0 and len(top) == 2 else chain(top)
            whole = build.div(upper, chain(bottom)) if bottom else upper
            return build.neg(whole) if value < 0 else whole
    return None
