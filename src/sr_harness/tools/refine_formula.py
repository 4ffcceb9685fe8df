"""The tool `refine_formula`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sr_harness.engine import build
from sr_harness.errors import ExpressionError, FitError
from sr_harness.search import DEFAULT_WORK
from sr_harness.tools.context import Result, ToolContext, checked_work

if TYPE_CHECKING:
    from sr_harness.engine import Expression

FIT_COST = 60
"""Model evaluations charged for one fit."""

ROWS = 2_000
"""Neighbours are fitted on at most this many rows, evenly spaced, and judged on all."""


def refine_formula(ctx: ToolContext, formula: str, work: int = DEFAULT_WORK) -> Result:
    """Fit a formula's numbers anew, and try formulas that differ from it by one change.

    The changes: a free factor, a free power, an offset, one more term linear in an input, one more factor
    that is a power of an input.

    Args:
        ctx: The data.
        formula: The formula to start from.
        work: Most model evaluations to spend.

    Returns:
        `candidates` as of `fit_family`, the start among them; `work_used`.
    """
    start = ctx.read(formula)
    found = {start: ctx.measure(start, "start")}
    left = checked_work(work)
    for template in _neighbours(start, ctx.problem.names):
        if left < FIT_COST:
            break
        left -= FIT_COST
        fitted = _fitted(ctx, template)
        if fitted is not None:
            found.setdefault(fitted, ctx.measure(fitted, "refined"))
    finite = [candidate for candidate in found.values() if candidate.nmse < float("inf")]
    ordered = sorted(finite, key=lambda candidate: (candidate.length, candidate.complexity))
    return {"candidates": [ctx.row(candidate) for candidate in ordered], "work_used": work - left}


def _neighbours(start: Expression, names: tuple[str, ...]) -> Iterator[Expression]:
    from sr_harness import engine

    template, values = engine.free_numbers(start)
    if values:
        yield template
    whole, values = engine.free_numbers(start, whole=True)
    if values and whole != template:
        yield whole
    new = build.param("new", None)
    yield build.mul(new, template)
    yield build.add(template, new)
    yield build.pow_(template, build.param("new", 1.0))
    for name in names:
        yield build.add(template, build.mul(new, build.var(name)))
        yield build.mul(template, build.pow_(build.var(name), build.param("new", 0.1)))


def _fitted(ctx: ToolContext, template: Expression) -> Expression | None:
    from sr_harness import engine

    arrays = ctx.problem.arrays_for(template)
    step = max(1, ctx.problem.rows // ROWS) if arrays.structure is None else 1
    columns = {name: values[::step] for name, values in arrays.data.items()}
    try:
        result = engine.fit(
            template, columns, arrays.target[::step], seed=ctx.seed, structure=arrays.structure
        )
    except (FitError, ExpressionError):
        return None  # this neighbour has no finite value on these data; the others may
    return engine.simplify(result.expression)
