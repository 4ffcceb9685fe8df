"""The tool `compare_formulas`."""

from __future__ import annotations

from sr_harness.tools.context import Result, ToolContext


def compare_formulas(ctx: ToolContext, a: str, b: str) -> Result:
    """Decide whether two formulas are the same function.

    Args:
        ctx: The data, whose ranges are where the formulas are compared numerically.
        a: One formula.
        b: The other.

    Returns:
        `verdict` (`equivalent`, `different`, `unknown`), `witness` (where they differ) and `how`.
        `how`.
    """
    from sr_harness import engine

    ranges = {
        name: (float(values.min()), float(values.max()))
        for name, values in ctx.problem.data.items()
        if values.min() < values.max()
    }
    answer = engine.equivalent(ctx.read(a), ctx.read(b), ranges=ranges)
    return {"verdict": answer.verdict, "witness": answer.witness, "how": answer.how}
