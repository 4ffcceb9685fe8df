"""The tool `discover`."""

from __future__ import annotations

from sr_harness.errors import ToolError
from sr_harness.search import DEFAULT_WORK, STRATEGIES, Budget
from sr_harness.search import discover as search
from sr_harness.tools.context import Result, ToolContext, checked_work, search_answer


def discover(
    ctx: ToolContext,
    strategies: list[str] | None = None,
    work: int = DEFAULT_WORK,
    start: list[str] | None = None,
) -> Result:
    """Search for formulas with a portfolio of strategies under one budget.

    Args:
        ctx: The data.
        strategies: Names of strategies, run in this order; default: all, cheapest first.
        work: Most model evaluations to spend.
        start: Formulas found before; they compete like any other and cannot be lost to a worse one.

    Returns:
        As `fit_family`.
    """
    unknown = [name for name in strategies or () if name not in STRATEGIES]
    if unknown:
        raise ToolError(f"there is no strategy {unknown[0]!r}; there are {', '.join(STRATEGIES)}")
    formulas = [ctx.read(formula) for formula in start or ()]
    budget = Budget(work=checked_work(work))
    found = search(ctx.problem, budget=budget, seed=ctx.seed, strategies=strategies or None, start=formulas)
    return search_answer(ctx, found)
