"""The tool `snap_formula`."""

from __future__ import annotations

from sr_harness.errors import ExpressionError, FitError
from sr_harness.tools.context import Result, ToolContext


def snap_formula(ctx: ToolContext, formula: str) -> Result:
    """Replace fitted numbers by simple ones (integers, fractions, multiples of pi) where the data agree.

    Args:
        ctx: The data.
        formula: The formula.

    Returns:
        `candidates` as of `fit_family`: the snapped and the simplified form; empty if nothing can be fitted.
    """
    from sr_harness import engine

    expression = ctx.read(formula)
    arrays = ctx.problem.arrays_for(expression)
    try:
        snapped = engine.snap(expression, arrays.data, arrays.target, structure=arrays.structure)
    except (FitError, ExpressionError) as error:
        return {"candidates": [], "notes": [str(error)]}
    forms = dict.fromkeys((snapped, engine.simplify(snapped)))
    return {"candidates": [ctx.row(ctx.measure(form, "snapped")) for form in forms], "notes": []}
