"""The tools `list_parts` and `ablate_formula`: what a formula is made of, and what each part is worth."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sr_harness.engine import build
from sr_harness.errors import ExpressionError, FitError, ToolError
from sr_harness.tools.context import Result, ToolContext

if TYPE_CHECKING:
    from sr_harness.engine import Expression


class Part(NamedTuple):
    """A part that can be taken out, and what is left without it."""

    id: str
    kind: str
    text: str
    rest: Expression


def list_parts(ctx: ToolContext, formula: str) -> Result:
    """List the parts that can be taken out of a formula: its outermost terms and factors, and each input.

    Args:
        ctx: The data.
        formula: The formula.

    Returns:
        `parts`: per part its `id` for `ablate_formula`, its kind (`term`, `factor` or `input`) and text.
    """
    return {"parts": [{"id": p.id, "kind": p.kind, "text": p.text} for p in parts_of(ctx.read(formula))]}


def ablate_formula(ctx: ToolContext, formula: str, part: str) -> Result:
    """Take one part out of a formula and fit the numbers of the rest again.

    An input is taken out by a constant in its place, which is fitted.

    Args:
        ctx: The data.
        formula: The formula.
        part: Id of a part as `list_parts` gives it.

    Returns:
        `candidates`: what is left, as of `fit_family`.
    """
    from sr_harness import engine

    parts = parts_of(ctx.read(formula))
    chosen = next((p for p in parts if p.id == part), None)
    if chosen is None:
        raise ToolError(f"{formula} has no part {part!r}; it has {', '.join(p.id for p in parts) or 'none'}")
    template, values = engine.free_numbers(chosen.rest, whole=False)
    rest = _fit(ctx, template) if values or engine.parameters(template) else chosen.rest
    simple = engine.simplify(rest)
    return {"candidates": [ctx.row(ctx.measure(simple, f"without {chosen.text}"))]}


def parts_of(expression: Expression) -> list[Part]:
    """The parts that can be taken out of a formula, each with what is left without it."""
    from sr_harness import engine

    found = [
        Part(f"term {place}", "term", engine.render(term, digits=6), rest)
        for place, (term, rest) in enumerate(_outermost(expression, ("add", "sub")), start=1)
    ]
    if not found:
        found = [
            Part(f"factor {place}", "factor", engine.render(factor, digits=6), rest)
            for place, (factor, rest) in enumerate(_outermost(expression, ("mul", "div")), start=1)
        ]
    names = engine.variables(expression)
    for name in names:
        constant = build.param(f"level of {name}", 1.0)
        found.append(Part(f"input {name}", "input", name, engine.substitute(expression, {name: constant})))
    return found


def _outermost(expression: Expression, ops: tuple[str, str]) -> list[tuple[Expression, Expression]]:
    """The operands of the outermost sum or product, each with what is left without it."""
    plus, minus = ops
    invert = build.neg if plus == "add" else lambda factor: build.div(build.num(1.0), factor)
    combine = build.add if plus == "add" else build.mul
    operands: list[Expression] = []
    pending = [(expression, False)]
    while pending:
        node, inverted = pending.pop()
        if node.op in (plus, minus):
            pending.append((node.args[1], inverted != (node.op == minus)))
            pending.append((node.args[0], inverted))
        else:
            operands.append(invert(node) if inverted else node)
    if len(operands) < 2:
        return []
    pairs = []
    for place, operand in enumerate(operands):
        rest = [other for index, other in enumerate(operands) if index != place]
        joined = rest[0]
        for other in rest[1:]:
            joined = combine(joined, other)
        pairs.append((operand, joined))
    return pairs


def _fit(ctx: ToolContext, template: Expression) -> Expression:
    from sr_harness import engine

    arrays = ctx.problem.arrays_for(template)
    try:
        result = engine.fit(template, arrays.data, arrays.target, seed=ctx.seed, structure=arrays.structure)
        return result.expression
    except (FitError, ExpressionError) as error:
        raise ToolError(f"without that part the formula cannot be fitted: {error}") from error
