"""The tool `evaluate_formula`."""

from __future__ import annotations

from sr_harness.evaluator import regression_metrics
from sr_harness.tools.context import Result, ToolContext


def evaluate_formula(ctx: ToolContext, formula: str) -> Result:
    """Measure a formula on the data at hand.

    Args:
        ctx: The data.
        formula: The formula.

    Returns:
        The formula's complexity, description length and metrics: nrmse (in units of the target's standard
        deviation), r2, rmse, mae, max_abs_error (in the target's unit), max_rel_error, n.
    """
    expression = ctx.read(formula)
    row = ctx.row(ctx.measure(expression, "given"))
    metrics = regression_metrics(ctx.problem.target, ctx.problem.predict(expression))
    return row | dict(metrics)
