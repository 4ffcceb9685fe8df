"""The tool `fit_family`."""

from __future__ import annotations

from dataclasses import replace

from sr_harness.errors import ToolError
from sr_harness.search import DEFAULT_WORK, STRATEGIES, Budget
from sr_harness.search import discover as search
from sr_harness.tools.context import Result, ToolContext, checked_work, search_answer


def fit_family(
    ctx: ToolContext, family: str, inputs: list[str] | None = None, work: int = DEFAULT_WORK
) -> Result:
    """Fit one family of formulas to the data.

    Args:
        ctx: The data.
        family: `constant`, `linear`, `power_law`, `polynomial`, `rational`, `exponential`, `sinusoid`,
            `trigonometric`, `composite`, `network` or `genetic`.
        inputs: Inputs to use; default: all.
        work: Most model evaluations to spend.

    Returns:
        `candidates`: formulas with complexity, nrmse (error in units of the target's standard deviation),
        r2 and description length in nats, the one to believe first; `work_used`; `stop_reason`; `notes`.
    """
    if family not in STRATEGIES:
        raise ToolError(f"there is no family {family!r}; there are {', '.join(STRATEGIES)}")
    unknown = [name for name in inputs or () if name not in ctx.problem.data]
    if unknown:
        raise ToolError(f"there is no input {unknown[0]!r}; there are {', '.join(ctx.problem.names)}")
    narrowed = replace(ctx, inputs=tuple(inputs)) if inputs else ctx
    budget = Budget(work=checked_work(work))
    return search_answer(ctx, search(narrowed.problem, budget=budget, seed=ctx.seed, strategies=[family]))
