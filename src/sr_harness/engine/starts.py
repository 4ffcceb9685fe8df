"""Where to start the fit of the parameters that do not enter linearly.

Each parameter gets a list of plausible values from the data: frequencies up to the sampling limit inside a
sine, rates on a logarithmic scale around the inverse of what they multiply inside an exponential, offsets
across the range of what they are added to, common exponents in a power. Combinations are screened on few
rows, all at once, with the linear parameters solved for each. Everything is deterministic for a seed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import SRError
from .binding import Binding
from .evaluation import jacobian
from .expression import Expression, parameters
from .kernels import Array, Value
from .least_squares import Objective
from .linearity import Entry, entry_of
from .program import differentiate
from .structure import Structure

_PERIODIC: Final = frozenset({"sin", "cos", "tan", "sec", "csc", "cot"})
_RATES: Final = (1.0, -1.0, 0.3, -0.3, 3.0, -3.0, 0.1, -0.1, 10.0, -10.0, 0.03, -0.03, 30.0, -30.0)
_EXPONENTS: Final = (2.0, 0.5, -1.0, 1.0, 3.0, -2.0, -0.5, 1.5, -1.5, -3.0, 4.0, 0.25, -4.0, 0.1)
_DECADES: Final = (1.0, -1.0, 0.1, -0.1, 10.0, -10.0, 0.01, -0.01, 100.0, -100.0, 1e-3, 1e3)
_BATCH_CELLS: Final = 400_000


def candidate_values(
    expr: Expression,
    name: str,
    data: Mapping[str, ArrayLike],
    guess: Mapping[str, float],
    structure: Structure | None,
) -> list[float]:
    """Plausible start values of one parameter, the given start value first."""
    values = [guess[name]]
    entry = entry_of(expr, name)
    if entry is not None:
        values += _from_entry(entry, name, data, guess, structure)
    values += _DECADES
    clean = [v for v in values if np.isfinite(v)]
    return list(dict.fromkeys(clean))


def _from_entry(
    entry: Entry,
    name: str,
    data: Mapping[str, ArrayLike],
    guess: Mapping[str, float],
    structure: Structure | None,
) -> list[float]:
    names = parameters(entry.argument)
    try:
        value, slopes = jacobian(entry.argument, data, {n: guess[n] for n in names}, structure=structure)
    except SRError:
        # the argument stands inside a graph term and cannot be computed by itself; plain decades remain
        return []
    with np.errstate(all="ignore"):
        factor = slopes[..., names.index(name)].ravel()
        rest = value.ravel() - guess[name] * factor
    usable = np.isfinite(factor) & np.isfinite(rest)
    factor, rest = factor[usable], rest[usable]
    if not np.any(factor):
        return []
    with np.errstate(all="ignore"):
        return _values_for(entry, factor, rest)


def _values_for(entry: Entry, factor: Array, rest: Array) -> list[float]:
    span = float(np.ptp(factor))
    size = float(np.max(np.abs(factor)))
    if entry.operation in _PERIODIC:
        if span < 1e-9 * size:
            return [k * np.pi / 4 / size for k in range(-3, 5)]
        steps = np.arange(1, min(160, 4 * factor.size) + 1) * (np.pi / 2 / span)
        return [float(sign * b) for b in steps for sign in (1.0, -1.0)]
    if entry.operation == "pow" and entry.position == 1:
        return [p / size for p in _EXPONENTS]
    values = [rate / (span if span > 1e-9 * size else size) for rate in _RATES]
    if np.any(rest):
        ratios = -rest[factor != 0.0] / factor[factor != 0.0]
        values += [float(q) for q in np.quantile(ratios, (0.5, 0.1, 0.9, 0.25, 0.75, 0.0, 1.0))]
        level = float(np.sqrt(np.mean(rest**2))) / size
        values += [level * rate for rate in _RATES]
        reach = float(np.ptp(ratios))
        values += [float(np.max(ratios)) + 0.1 * reach, float(np.min(ratios)) - 0.1 * reach]
    return values


def combinations(choices: list[list[float]], count: int, rng: np.random.Generator) -> Array:
    """Combinations of the candidates: all of them where they are few, else a draw that favours the first."""
    total = 1
    for options in choices:
        total = min(total * len(options), count + 1)
    if total <= count:
        grids = np.meshgrid(*[np.array(options) for options in choices], indexing="ij")
        return np.stack([grid.ravel() for grid in grids], axis=1)
    rows = [[options[0] for options in choices]]
    for position, options in enumerate(choices):
        for value in options[1 : 1 + max(4, count // (4 * len(choices)))]:
            row = list(rows[0])
            row[position] = value
            rows.append(row)
    draws = rng.random((max(0, count - len(rows)), len(choices))) ** 1.5
    drawn = [
        [options[int(len(options) * u)] for options, u in zip(choices, draw, strict=True)] for draw in draws
    ]
    return np.array(rows + drawn)


def screen(objective: Objective, starts: Array) -> Array:
    """The loss at every start, with the linear parameters at their best; infinite where not finite."""
    losses = np.empty(len(starts))
    cells = max(1, math.prod(objective.binding.full_shape)) * (objective.linear_count + 1)
    batch = max(1, _BATCH_CELLS // cells)
    for first in range(0, len(starts), batch):
        losses[first : first + batch] = _screen_batch(objective, starts[first : first + batch])
    objective.rows_done += len(starts) * objective.rows
    return losses


def sweep(
    objective: Objective, starts: Array, losses: Array, choices: list[list[float]]
) -> tuple[Array, Array]:
    """Add to the screened starts those that differ from the best one in one parameter at a time.

    The best is taken anew before each parameter, the last parameter first: a sum of terms is so built up
    term by term.
    """
    for position in reversed(range(len(choices))):
        best = starts[int(np.argmin(losses))]
        line = np.repeat(best[None, :], len(choices[position]), axis=0)
        line[:, position] = choices[position]
        starts = np.vstack([starts, line])
        losses = np.concatenate([losses, screen(objective, line)])
    return starts, losses


def _screen_batch(objective: Objective, starts: Array) -> Array:
    binding, count = objective.binding, objective.linear_count
    spread: tuple[int, ...] = (-1, *([1] * len(binding.full_shape)))
    values: dict[str, Value] = {name: np.float64(0.0) for name in objective.names[:count]}
    for position, name in enumerate(objective.names[count:]):
        values[name] = starts[:, position].reshape(spread)
    shape = (len(starts), *binding.full_shape)
    rows = np.empty((len(starts), objective.rows, count + 1))
    with np.errstate(all="ignore"):
        leaves = binding.leaf_values(values)
        value, tangents = differentiate(binding.program, leaves, objective.linear_seeds, binding.graph_step)
        for column in range(count):
            rows[:, :, column] = _flat(tangents.get(column, 0.0), shape)
        rows[:, :, count] = objective.target - _flat(value, shape)
        rows /= objective.scale
        if objective.weights is not None:
            rows *= objective.weights[None, :, None]
        sound = np.isfinite(rows).all(axis=(1, 2))
        rows[~sound] = 0.0
        losses = _residual_after_projection(rows)
    losses[~sound | ~np.isfinite(losses)] = np.inf
    return losses


def _residual_after_projection(rows: Array) -> Array:
    """Squared length of the last column outside the span of the others, for a stack of matrices."""
    if rows.shape[2] == 1:
        total: Array = np.sum(rows[:, :, 0] ** 2, axis=1)
        return total
    if rows.shape[1] < rows.shape[2]:
        return np.zeros(len(rows))
    corner: Array = np.asarray(np.linalg.qr(rows, mode="r"))[:, -1, -1]
    return corner**2


def _flat(value: Value, shape: tuple[int, ...]) -> Array:
    array = np.asarray(value, dtype=np.float64)
    return np.broadcast_to(array, shape).reshape(shape[0], -1)


def best_distinct(starts: Array, losses: Array, count: int) -> list[Array]:
    """The `count` best starts that are not next to a better one."""
    chosen: list[Array] = []
    for position in np.argsort(losses, kind="stable"):
        if not np.isfinite(losses[position]) or len(chosen) == count:
            break
        start = starts[position]
        near = any(np.all(np.abs(start - other) <= 0.02 * np.abs(other) + 1e-12) for other in chosen)
        if not near:
            chosen.append(start)
    return chosen


def subset(binding: Binding, rows: NDArray[np.intp]) -> Binding:
    """The same program on some rows of a table."""
    arrays = [a if a is None or np.ndim(a) == 0 else np.asarray(a).reshape(-1)[rows] for a in binding.arrays]
    return Binding(binding.program, arrays, (len(rows),))
