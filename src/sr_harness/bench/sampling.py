"""From a problem to arrays: training rows, test rows, and rows outside the sampled ranges.

Promises: the same problem id and seed give the same arrays, on any machine and in any order of calls; a row
on which the true formula is not real, not finite or huge is rejected and drawn again; noise is on the
training target alone.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sr_harness.bench.problems import BenchProblem, Dynamics, Range
from sr_harness.errors import BenchmarkError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sr_harness.engine import Expression

Floats = NDArray[np.float64]

HUGE: Final = 1e12
TRIES: Final = 400
LARGEST_STATE: Final = 1e8
TRAIN, TEST, OUTSIDE, NOISE, FRESH_INSIDE, FRESH_OUTSIDE = range(1, 7)
"""Independent streams of random numbers."""


class Rows(NamedTuple):
    """Inputs by name and the values of the true formula."""

    columns: dict[str, Floats]
    target: Floats


class BenchData(NamedTuple):
    """What a problem looks like to a method, and what it is judged on.

    Attributes:
        train: Training rows, their target with noise.
        clean: The training target without noise.
        test: Other rows from the same ranges, without noise.
        outside: Rows of which at least one input lies outside its range; can be few or none where the
            formula is not real there. For a dynamical system, the test trajectory again.
    """

    train: Rows
    clean: Floats
    test: Rows
    outside: Rows


def make_data(
    problem: BenchProblem, *, rows: int = 500, test_rows: int = 500, noise: float = 0.0, seed: int = 0
) -> BenchData:
    """The arrays of a problem.

    Args:
        problem: The problem.
        rows: Training rows. A dynamical system gives all rows of its training trajectories instead.
        test_rows: Rows of each of the two test sets.
        noise: Standard deviation of the Gaussian noise, as a share of the target's root mean square.
        seed: The same seed gives the same arrays.

    Raises:
        BenchmarkError: The formula is real on too little of the box.
    """
    if problem.dynamics is not None:
        train, test = _trajectory_rows(problem, problem.dynamics)
        outside = test
    else:
        train = _draw(problem, problem.ranges, rows, _rng(problem, seed, TRAIN))
        test = _draw(problem, problem.ranges, test_rows, _rng(problem, seed, TEST))
        outside = _draw_outside(problem, test_rows, _rng(problem, seed, OUTSIDE))
    clean = train.target
    level = noise * float(np.sqrt(np.mean(np.square(clean))))
    noisy = clean + level * _rng(problem, seed, NOISE).standard_normal(clean.size)
    return BenchData(Rows(train.columns, noisy), clean, test, outside)


class Fresh(NamedTuple):
    """Points that no method has seen: in the ranges, and in ranges of up to three times the width."""

    inside: Rows
    outside: Rows
    ranges: dict[str, tuple[float, float]]


def fresh_points(problem: BenchProblem, *, count: int = 400, seed: int = 0) -> Fresh:
    """Points for the verdict, without noise; `outside` can be few where the formula is not real there."""
    ranges = sampled_ranges(problem)
    inside = _draw(problem, ranges, count, _rng(problem, seed, FRESH_INSIDE))
    wide = [Range(item.name, *_widened(item, 1.0)) for item in ranges]
    outside = _draw(problem, wide, count, _rng(problem, seed, FRESH_OUTSIDE), least=0)
    return Fresh(inside, outside, {item.name: (item.low, item.high) for item in ranges})


def sampled_ranges(problem: BenchProblem) -> tuple[Range, ...]:
    """Where the inputs live: the table's ranges, or the box around the training trajectories."""
    if problem.dynamics is None:
        return problem.ranges
    train, _ = _trajectory_rows(problem, problem.dynamics)
    return tuple(
        Range(name, float(values.min()), float(values.max())) for name, values in train.columns.items()
    )


def values_of(expression: Expression, columns: Mapping[str, Floats], rows: int) -> Floats:
    """Values of a formula on every row; not finite where it is undefined."""
    from sr_harness import engine

    values = np.asarray(engine.evaluate(expression, columns), dtype=np.float64)
    return np.array(np.broadcast_to(values, (rows,)))


def _rng(problem: BenchProblem, seed: int, stream: int) -> np.random.Generator:
    return np.random.default_rng([seed, stream, zlib.crc32(problem.id.encode())])


def _draw(
    problem: BenchProblem,
    ranges: Sequence[Range],
    count: int,
    rng: np.random.Generator,
    *,
    beyond: Sequence[Range] | None = None,
    least: int | None = None,
) -> Rows:
    """`count` rows on which the formula is real; only rows that leave the box `beyond`, where it is given."""
    block = max(4 * count, 256)
    kept: list[Floats] = []
    have = 0
    for _ in range(TRIES):
        inputs = np.column_stack([rng.uniform(item.low, item.high, block) for item in ranges])
        if beyond is not None:
            inputs = inputs[_leaves(inputs, beyond)]
        columns = {item.name: inputs[:, place].copy() for place, item in enumerate(ranges)}
        target = values_of(problem.truth, columns, len(inputs))
        good = np.isfinite(target) & (np.abs(target) < HUGE)
        kept.append(np.column_stack([inputs, target])[good])
        have += int(good.sum())
        if have >= count:
            break
    if have < (count if least is None else least):
        raise BenchmarkError(
            f"problem {problem.id}: the formula is real on {have} of {TRIES * block} points of its ranges, "
            f"too few for {count} rows; narrow the ranges in the table"
        )
    table = np.concatenate(kept)[:count]
    columns = {item.name: table[:, place].copy() for place, item in enumerate(ranges)}
    return Rows(columns, table[:, -1].copy())


def _leaves(inputs: Floats, box: Sequence[Range]) -> NDArray[np.bool_]:
    lows, highs = np.array([item.low for item in box]), np.array([item.high for item in box])
    outside: NDArray[np.bool_] = np.any((inputs < lows) | (inputs > highs), axis=1)
    return outside


def _draw_outside(problem: BenchProblem, count: int, rng: np.random.Generator) -> Rows:
    wide = [Range(item.name, *_widened(item, 0.5)) for item in problem.ranges]
    return _draw(problem, wide, count, rng, beyond=problem.ranges, least=0)


def _widened(item: Range, share: float) -> tuple[float, float]:
    """The interval made longer by `share` of its width at each end, without a change of sign."""
    margin = share * (item.high - item.low)
    low = item.low - margin if item.low < 0 else item.low / 2
    return low, item.high + margin


def _trajectory_rows(problem: BenchProblem, dynamics: Dynamics) -> tuple[Rows, Rows]:
    """Training rows (all trajectories but the last) and test rows (the last; the only one serves as both)."""
    parts = []
    for states in _trajectories(problem.names, dynamics):
        columns = {name: states[:, place].copy() for place, name in enumerate(problem.names)}
        target = values_of(problem.truth, columns, len(states))
        good = np.isfinite(target)
        parts.append(Rows({name: values[good] for name, values in columns.items()}, target[good]))
    training = parts[:-1] or parts
    joined = {name: np.concatenate([part.columns[name] for part in training]) for name in problem.names}
    train = Rows(joined, np.concatenate([part.target for part in training]))
    if train.target.size == 0 or parts[-1].target.size == 0:
        raise BenchmarkError(f"problem {problem.id}: a trajectory has no row on which the formula is real")
    return train, parts[-1]


def _trajectories(names: Sequence[str], dynamics: Dynamics) -> list[Floats]:
    """States [time, state] by the classical fourth-order Runge-Kutta method, each cut where it blows up."""

    def slope(states: Floats) -> Floats:
        columns = {name: states[:, place] for place, name in enumerate(names)}
        return np.column_stack([values_of(part, columns, len(states)) for part in dynamics.rhs])

    step = dynamics.dt / dynamics.substeps
    states = np.array(dynamics.starts, dtype=np.float64)
    history = [states]
    with np.errstate(all="ignore"):
        for _ in range(round(dynamics.t_end / dynamics.dt)):
            for _ in range(dynamics.substeps):
                first = slope(states)
                second = slope(states + step / 2 * first)
                third = slope(states + step / 2 * second)
                fourth = slope(states + step * third)
                states = states + step / 6 * (first + 2 * second + 2 * third + fourth)
            history.append(states)
        stacked = np.stack(history)
        good = np.all(np.isfinite(stacked) & (np.abs(stacked) < LARGEST_STATE), axis=2)
    columns = (good[:, place] for place in range(good.shape[1]))
    ends = [len(fine) if fine.all() else int(np.argmin(fine)) for fine in columns]
    return [stacked[:end, place] for place, end in enumerate(ends)]
