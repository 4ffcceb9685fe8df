"""Fit the free parameters of a formula to data.

Promises: the same seed and data give the same result; parameters that enter linearly are solved for
exactly, whatever their size (3e8 or 6.6e-34); the result says whether it converged and why it stopped;
rows that cannot be used are named in an error instead of being optimised over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import AlignmentError, FitError
from .binding import Binding, bind
from .build import bind as bind_values
from .expression import Expression, parameters
from .group_fitting import fit_groups
from .grouping import has_groups
from .kernels import Array
from .least_squares import ROUNDING, Objective, Outcome, Point, descend, polish
from .linearity import linear_parameters
from .program import Program, compile_program
from .rounding import rounded
from .starts import best_distinct, candidate_values, combinations, screen, subset, sweep
from .structure import Structure

SAMPLE: Final = 1_000
"""Rows on which starts are compared; the final descent uses all of them."""
_SCREEN_ROWS: Final = 200
_SCREEN_STARTS: Final = 400
_SHORT, _LONG = 30, 200
_SMALLEST_SCALE: Final = 1e-290
"""Derivatives are divided by the target's size; a smaller one would let them overflow."""


@dataclass(frozen=True)
class FitResult:
    """What a fit found.

    Attributes:
        expression: The formula with numbers in place of its parameters.
        template: The formula that was fitted.
        parameters: Value of each parameter.
        loss: (Weighted) mean square of the residuals; inf where the formula has no finite value, or where
            the mean square is too large for float64.
        r2: 1 - loss / variance of the target.
        converged: Whether the loss can locally not be lowered further.
        reason: Why the fit stopped, in words.
        evaluations: Work done, in evaluations of the formula on all rows.
        rows: Number of rows.
        groups: Value of each label of each grouped parameter.
    """

    expression: Expression
    template: Expression
    parameters: dict[str, float]
    loss: float
    r2: float
    converged: bool
    reason: str
    evaluations: int
    rows: int
    groups: dict[str, dict[str, float]] = field(default_factory=dict)


def fit(
    expr: Expression,
    data: Mapping[str, ArrayLike],
    target: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    seed: int = 0,
    restarts: int = 8,
    max_evaluations: int = 2_000,
    structure: Structure | None = None,
    local: bool = False,
) -> FitResult:
    """Least-squares fit of `expr` to `target`.

    Args:
        expr: The formula; its `param('…')` are free, their `value=` is tried first. Of a `grouped_param` each
            label that occurs in the data has a value of its own; `default=` is not fitted.
        data: Columns by name.
        target: The values to be matched, of the shape that the formula has on `data`.
        weights: Weight of each row's squared residual; None counts all the same.
        seed: For the choice of starts; the same seed gives the same result.
        restarts: How many starts are followed for the parameters that do not enter linearly.
        max_evaluations: Limit of the work, in evaluations of the formula on all rows.
        structure: Axes and relations of the data, where they are not one table.
        local: Descend from the parameters' `value=` only, without looking for other starts.

    Returns:
        A `FitResult`; a formula that is finite nowhere in the parameter space gives `loss=inf`.

    Raises:
        FitError: rows of the target or of a column that the formula reads are not finite (they are named),
            or the formula cannot be computed on some rows whatever its parameters are.
        AlignmentError: the target does not have the shape of the formula's values.
    """
    task = Task(data, structure, target, weights, seed, max(1, restarts), local=local)
    with np.errstate(all="ignore"):
        if has_groups(expr):
            return fit_groups(expr, task, max_evaluations, _fit)
        return _fit(expr, task, max_evaluations)


class Task(NamedTuple):
    """What is asked of a fit, whatever form the formula is brought into."""

    data: Mapping[str, ArrayLike]
    structure: Structure | None
    target: ArrayLike
    weights: ArrayLike | None
    seed: int
    restarts: int
    local: bool


def _fit(expr: Expression, task: Task, max_evaluations: int) -> FitResult:
    """Fit a formula whose free numbers are all plain parameters."""
    data, structure = task.data, task.structure
    program = compile_program(expr)
    binding = bind(program, data, structure)
    wanted = _checked_target(task.target, binding)
    _check_inputs(binding)
    linear = linear_parameters(expr)
    names = (*linear, *(name for name in parameters(expr) if name not in linear))
    roots, scale = _weights_and_scale(task.weights, wanted)
    objective = Objective(binding, names, len(linear), wanted.reshape(-1), roots, scale)
    limit = float(max_evaluations) * objective.rows
    if len(linear) == len(names):
        outcome = _solve_directly(objective)
    else:
        if task.local:
            starts = [_given_start(objective)]
        else:
            starts = _starting_points(
                expr, data, objective, structure, seed=task.seed, count=task.restarts, limit=0.6 * limit
            )
        outcome = _follow(objective, starts, limit)
    return _report(expr, objective, outcome._replace(point=rounded(objective, outcome.point)))


def _checked_target(target: ArrayLike, binding: Binding) -> Array:
    wanted = np.asarray(target)
    if wanted.dtype.kind not in "fiub":
        raise FitError(f"the target holds values of type {wanted.dtype}; only real numbers can be fitted")
    wanted = wanted.astype(np.float64, copy=False)
    if binding.graph is None and all(a is None or np.ndim(a) == 0 for a in binding.arrays):
        binding.shape = wanted.shape  # a formula of numbers alone is the same on every row
    if wanted.shape != binding.shape:
        raise AlignmentError(
            f"the target has shape {wanted.shape}, but the formula has shape {binding.shape} on these data"
        )
    if wanted.size == 0:
        raise FitError("there are no rows to fit; give at least one")
    _refuse_rows("the target", ~np.isfinite(wanted).reshape(-1))
    return wanted


def _check_inputs(binding: Binding) -> None:
    for leaf, array in zip(binding.program.leaves, binding.arrays, strict=True):
        if array is not None and np.asarray(array).dtype.kind == "f":
            _refuse_rows(f"the column {leaf.column!r}", ~np.isfinite(array).reshape(-1))


def _refuse_rows(what: str, bad: NDArray[np.bool_]) -> None:
    if not bad.any():
        return
    rows = np.flatnonzero(bad)
    shown = ", ".join(map(str, rows[:10])) + (f", … ({len(rows)} in all)" if len(rows) > 10 else "")
    raise FitError(
        f"{what} is NaN or infinite in row{'s' if len(rows) > 1 else ''} {shown} (counted from 0); "
        "remove these rows or fill them before fitting"
    )


def _weights_and_scale(weights: ArrayLike | None, wanted: Array) -> tuple[Array | None, float]:
    """Square roots of the weights normalised to mean one, and the size of the target."""
    largest = float(np.max(np.abs(wanted)))
    scale = largest * float(np.sqrt(np.mean((wanted / largest) ** 2))) if largest > 0.0 else 1.0
    scale = max(scale, _SMALLEST_SCALE)
    if weights is None:
        return None, scale
    given = np.asarray(weights, dtype=np.float64)
    if given.shape != wanted.shape:
        raise AlignmentError(f"the weights have shape {given.shape}, the target has shape {wanted.shape}")
    if not np.isfinite(given).all() or np.any(given < 0.0) or not np.any(given > 0.0):
        raise FitError("weights must be finite and not negative, and one at least must be positive")
    flat = given.reshape(-1)
    return np.sqrt(flat / np.mean(flat)), scale


def _solve_directly(objective: Objective) -> Outcome:
    point = objective.point(np.empty(0))
    if point is None:
        _refuse_undefined(objective)
        return Outcome(_nowhere(objective), False, "the formula is not finite on these data")
    if not objective.names:
        return Outcome(point, True, "there is nothing to fit")
    return Outcome(polish(objective, point), True, "all parameters enter linearly: solved directly")


def _nowhere(objective: Objective) -> Point:
    given = _given_values(objective.binding.program)
    values = np.array([given.get(name, 1.0) for name in objective.names])
    return Point(values[objective.linear_count :], values[: objective.linear_count], np.inf)


def _refuse_undefined(objective: Objective) -> None:
    """Name the rows on which a formula without non-linear parameters has no value, where others have one."""
    values = objective.parameters(np.empty(0), np.ones(objective.linear_count))
    blocks = objective.blocks(values, objective.linear_seeds)
    bad = np.concatenate([~np.isfinite(rows).all(axis=1) for rows in blocks])
    if not bad.all():
        _refuse_rows("the formula's value", bad)


def _starting_points(
    expr: Expression,
    data: Mapping[str, ArrayLike],
    objective: Objective,
    structure: Structure | None,
    *,
    seed: int,
    count: int,
    limit: float,
) -> list[Array]:
    """The most promising starts; finding them may cost `limit` rows of work."""
    rng = np.random.default_rng(seed)
    small = _sample(objective, _SCREEN_ROWS, rng)
    guess = dict.fromkeys(objective.names, 1.0)
    guess.update(_given_values(objective.binding.program))
    nonlinear = objective.names[objective.linear_count :]
    few = data if small is objective else _sampled_data(small)
    choices = [candidate_values(expr, name, few, guess, structure) for name in nonlinear]
    starts = combinations(choices, _SCREEN_STARTS, rng)
    starts = starts[: max(1, int(limit / small.rows))]
    losses = screen(small, starts)
    affordable = small.rows_done + sum(map(len, choices)) * small.rows <= limit
    if len(nonlinear) > 1 and affordable and np.isfinite(losses).any():
        starts, losses = sweep(small, starts, losses, choices)
    if small is not objective:
        objective.rows_done += small.rows_done
    chosen = best_distinct(starts, losses, count)
    if not any(np.array_equal(start, starts[0]) for start in chosen):
        chosen.append(starts[0])
    return chosen


def _given_start(objective: Objective) -> Array:
    given = _given_values(objective.binding.program)
    return np.array([given.get(name, 1.0) for name in objective.names[objective.linear_count :]])


def _given_values(program: Program) -> dict[str, float]:
    values: dict[str, float] = {}
    for leaf in program.leaves:
        if leaf.node.op == "param" and leaf.node.value is not None and leaf.node.name is not None:
            values.setdefault(leaf.node.name, leaf.node.value)
    return values


def _sample(objective: Objective, rows: int, rng: np.random.Generator) -> Objective:
    """The objective on a random choice of rows; the same one where there are few, or on a graph."""
    if objective.rows <= rows or objective.binding.graph is not None:
        return objective
    chosen = np.sort(rng.choice(objective.rows, size=rows, replace=False))
    weights = None if objective.weights is None else objective.weights[chosen]
    return Objective(
        subset(objective.binding, chosen),
        objective.names,
        objective.linear_count,
        objective.target[chosen],
        weights,
        objective.scale,
    )


def _sampled_data(objective: Objective) -> dict[str, ArrayLike]:
    """The columns of a sampled objective by name."""
    return {
        leaf.column: array
        for leaf, array in zip(objective.binding.program.leaves, objective.binding.arrays, strict=True)
        if leaf.node.op == "var"
    }


def _follow(objective: Objective, starts: list[Array], limit: float) -> Outcome:
    """Short descents from every start on few rows, then a long one on all rows from the best."""
    small = _sample(objective, SAMPLE, np.random.default_rng(len(objective.names)))
    share = limit / (len(starts) + 2)
    ends: list[Point] = []
    for start in starts:
        if ends and objective.rows_done > limit:
            break
        before = small.rows_done
        point = small.point(start)
        if point is None:
            continue
        end = descend(small, point, iterations=_SHORT, row_limit=small.rows_done + share).point
        if small is not objective:
            objective.rows_done += small.rows_done - before
        ends.append(end)
        if end.loss <= 1e4 * ROUNDING * small.rows:
            break
    if not ends:
        return Outcome(_nowhere(objective), False, "the formula is not finite at any start")
    for end in sorted(ends, key=lambda e: e.loss)[:3]:
        point = objective.point(end.theta)
        if point is None:
            continue
        allowed = max(limit, objective.rows_done + share)
        outcome = descend(objective, point, iterations=_LONG, row_limit=allowed)
        return outcome._replace(point=polish(objective, outcome.point))
    return Outcome(_nowhere(objective), False, "the formula is not finite on all rows at any optimum")


def _report(expr: Expression, objective: Objective, outcome: Outcome) -> FitResult:
    point = outcome.point
    fitted = {name: float(v) for name, v in objective.parameters(point.theta, point.linear).items()}
    values = {name: fitted[name] for name in parameters(expr)}
    weights = np.ones(objective.rows) if objective.weights is None else objective.weights**2
    scaled = objective.target / objective.scale
    variance = float(np.mean(weights * (scaled - np.average(scaled, weights=weights)) ** 2))
    relative = point.loss / objective.rows
    constant_target = variance <= ROUNDING
    r2 = float(relative <= ROUNDING) if constant_target else 1.0 - relative / variance
    loss = float(np.float64(relative) * objective.scale * objective.scale)
    return FitResult(
        expression=bind_values(expr, values),
        template=expr,
        parameters=values,
        loss=loss,
        r2=r2 if np.isfinite(relative) else -np.inf,
        converged=outcome.converged,
        reason=outcome.reason,
        evaluations=-(-objective.rows_done // objective.rows),
        rows=objective.rows,
    )
