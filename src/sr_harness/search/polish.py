"""What is done to a good formula: simpler constants, simpler form, fewer terms.

Every variant is only an offer: it is measured like any other formula, and the front keeps what is better.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from sr_harness.errors import AlignmentError, FitError
from sr_harness.search.constants import plain_constants
from sr_harness.search.selection import EXACT, plain_cost

if TYPE_CHECKING:
    from sr_harness.engine import Expression, FitResult
    from sr_harness.search.problem import Problem
    from sr_harness.search.workspace import Workspace

FIT_WORK = 60
"""Charged for one fit of constants, and the most evaluations it may take."""

FEW_EVALUATIONS = 20
"""Most evaluations of a fit to all rows of a large table; it starts where that to a sample ended."""

LINEAR_FIT_WORK = 4
"""Charged where all constants enter linearly and are solved for at once."""

SNAP_WORK = 120
"""Charged for one attempt at simpler constants."""

ROUNDING = 1e-7
ROUNDING_ZERO = 1e-12
"""Relative and absolute differences that least squares may leave between a number and the plain one meant."""

LONGEST = 45
"""Formulas of more nodes than this are neither snapped nor taken apart term by term."""


def variants(expression: Expression, space: Workspace) -> Iterator[Expression]:
    """Simplified, fitted, snapped and pruned forms of a formula, best prospects first."""
    from sr_harness import engine

    simple = engine.simplify(rounded(expression))
    yield simple
    simple = engine.simplify(expression)
    yield simple
    template = loosened(simple)
    result = None if template is None else fit_result(template, space)
    best = simple if result is None else result.expression
    yield best
    if expression.size > LONGEST:
        return
    if result is not None:
        yield from _plain(result, best, space)
    for shorter in pruned(best):
        again = refit(shorter, space)
        if again is None and loosened(shorter) is None and space.problem.graph is None:
            again = shorter  # nothing to fit; on a network it may also lie on fewer axes than the target
        if again is not None:
            yield again
            yield engine.simplify(again)


def _plain(result: FitResult, best: Expression, space: Workspace) -> Iterator[Expression]:
    """Forms with plain constants: by standard errors, or exactly where nothing but rounding is left."""
    from sr_harness import engine

    arrays = space.sample.arrays_for(best)
    if 1.0 - result.r2 < EXACT:
        snapped = snap(best, space)
        if snapped is not None:
            yield snapped
            yield engine.simplify(snapped)
    else:
        yield from plain_constants(result, arrays, lambda template: fit_result(template, space))


def refit(expression: Expression, space: Workspace) -> Expression | None:
    """The formula with its free constants fitted anew; None if it has none or no fit exists."""
    template = loosened(expression)
    return None if template is None else fit_template(template, space)


def fit_template(template: Expression, space: Workspace) -> Expression | None:
    """A template fitted on the sample from its start values; None where no finite fit exists."""
    result = fit_result(template, space)
    return None if result is None else result.expression


def fit_result(template: Expression, space: Workspace) -> FitResult | None:
    """The fit of a template on the sample from its start values; None where no finite one exists."""
    from sr_harness import engine
    from sr_harness.engine.linearity import linear_parameters

    free = engine.parameters(template)
    space.charge(FIT_WORK if len(linear_parameters(template)) < len(free) else LINEAR_FIT_WORK)
    arrays = space.sample.arrays_for(template)
    try:
        with np.errstate(all="ignore"):
            return engine.fit(
                template,
                arrays.data,
                arrays.target,
                structure=arrays.structure,
                local=True,
                max_evaluations=FIT_WORK,
            )
    except (FitError, AlignmentError):
        # Without its other terms a formula may lie on fewer axes than the target.
        return None


def on_all_rows(expression: Expression, problem: Problem, *, plain: bool) -> Iterator[Expression]:
    """The formula with its free constants fitted to every row; then, if so wished, with plain constants.

    Args:
        expression: A formula that was found on a sample.
        problem: All rows.
        plain: Whether to look for plain constants that all rows permit.
    """
    from sr_harness import engine

    template = loosened(expression)
    if template is None:
        return
    arrays = problem.arrays_for(template)

    def fit(formula: Expression) -> FitResult:
        return engine.fit(
            formula,
            arrays.data,
            arrays.target,
            structure=arrays.structure,
            local=True,
            max_evaluations=FEW_EVALUATIONS,
        )

    try:
        with np.errstate(all="ignore"):
            result = fit(template)
            yield result.expression
            if plain:
                yield from plain_constants(result, arrays, fit)
    except (FitError, AlignmentError):
        return


def snap(expression: Expression, space: Workspace) -> Expression | None:
    """The formula with plain constants where the loss does not suffer; None where the engine cannot."""
    from sr_harness import engine

    if all(
        plain_cost(node.value) is not None for node in _number_nodes(expression) if node.value is not None
    ):
        return None
    space.charge(SNAP_WORK)
    arrays = space.sample.arrays_for(expression)
    try:
        with np.errstate(all="ignore"):
            return engine.snap(expression, arrays.data, arrays.target, structure=arrays.structure)
    except (FitError, AlignmentError):
        return None


def rounded(expression: Expression) -> Expression:
    """The formula with numbers that are plain but for rounding made plain."""
    from sr_harness.engine import build
    from sr_harness.engine.expression import fold, with_args

    def swap(node: Expression, args: list[Expression]) -> Expression:
        if node.op == "num" and node.value is not None:
            return build.num(nearest_plain(node.value))
        return with_args(node, tuple(args))

    return fold(expression, swap)


def nearest_plain(value: float) -> float:
    """The simple fraction or short decimal that a number is but for rounding, else the number itself."""
    if abs(value) < ROUNDING_ZERO:
        return 0.0
    for below in range(1, 13):
        near = round(value * below) / below if abs(value) < 1e6 else value
        if near != 0 and abs(value - near) <= ROUNDING * abs(value):
            return near
    short = float(f"{value:.4g}")
    return short if abs(value - short) <= 1e-12 * abs(value) else value


def loosened(expression: Expression) -> Expression | None:
    """The formula with a parameter for each number that is not plain, started there; None if none is."""
    from sr_harness.engine import build
    from sr_harness.engine.expression import fold, with_args

    count = 0

    def swap(node: Expression, args: list[Expression]) -> Expression:
        nonlocal count
        if node.op == "num" and node.value is not None and plain_cost(node.value) is None:
            count += 1
            return build.param(f"c{count}", node.value)
        return with_args(node, tuple(args))

    template = fold(expression, swap)
    return template if count else None


def pruned(expression: Expression) -> list[Expression]:
    """The formula with one operand of one sum, difference, product or quotient left out, for each of them."""
    from sr_harness.engine import build

    found: dict[Expression, None] = {}
    for node in _distinct(expression):
        if node.op in ("add", "sub"):
            kept_right = node.args[1] if node.op == "add" else build.neg(node.args[1])
            replacements = [node.args[0], kept_right]
        elif node.op in ("mul", "div"):
            replacements = [node.args[0]]
            if node.op == "mul":
                replacements.append(node.args[1])
        else:
            continue
        for replacement in replacements:
            found.setdefault(replace_node(expression, node, replacement))
    return [shorter for shorter in found if shorter.size > 1 or shorter.op == "var"]


def replace_node(expression: Expression, old: Expression, new: Expression) -> Expression:
    """The formula with every occurrence of one sub-formula replaced."""
    from sr_harness.engine.expression import fold, with_args

    return fold(expression, lambda node, args: new if node == old else with_args(node, tuple(args)))


def _distinct(expression: Expression) -> Iterator[Expression]:
    from sr_harness.engine.expression import postorder

    return postorder(expression)


def _number_nodes(expression: Expression) -> Iterator[Expression]:
    return (node for node in _distinct(expression) if node.op == "num")
