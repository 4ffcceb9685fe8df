"""From a `context.data` directory to runs: where time is, and which axes count what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sr_harness.errors import ProblemError, UnknownChoiceError
from sr_harness.evaluator.dynamics.derivative import SMALLEST, checked_times
from sr_harness.evaluator.dynamics.trajectories import TIME_NAMES, Network, Trajectory, TrajectorySet

if TYPE_CHECKING:
    from sr_harness.core import AgentContext

Floats = NDArray[np.float64]


class TimeAxis(NamedTuple):
    """Where time is.

    Attributes:
        axis: The axis that the samples lie on.
        name: The axis or variable that holds the times.
    """

    axis: str
    name: str


class Samples(NamedTuple):
    """The samples of one run within a variable that has been flattened to [time, run, node or 1]."""

    place: int
    rows: NDArray[np.int64]


def time_axis(context: AgentContext, state: str, time: str | None = None) -> TimeAxis:
    """Where time is for a state.

    Raises:
        ProblemError: There is none, or it does not belong to the state.
    """
    axes = context.variable_axes[state]
    for name in (time,) if time is not None else TIME_NAMES:
        if name in axes:
            return TimeAxis(name, name)
        if name in context.variable_axes and len(context.variable_axes[name]) == 1:
            axis = context.variable_axes[name][0]
            if axis in axes:
                return TimeAxis(axis, name)
    wanted = repr(time) if time is not None else " or ".join(map(repr, TIME_NAMES))
    problem = ProblemError if time is None else UnknownChoiceError
    raise problem(
        f"{state!r} has no time: none of its axes, {_listed(axes)}, is called {wanted}, "
        "and no variable of that name lies on one of them. Call the axis or column of the times 'time', "
        "or name it"
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names)) or "none"


def check_state(context: AgentContext, name: str) -> None:
    """Refuse what cannot be a state.

    Raises:
        ProblemError: Unknown, a relation, a field of edges, or text.
    """
    from sr_harness.search.problem import check_names

    check_names([name], context.variables, "variable")
    if name in context.relation_names or name in context.variable_structures:
        raise ProblemError(f"{name!r} lies on edges; a state is a variable of nodes or of the whole system")
    if np.asarray(context.data[name]).dtype.kind not in "biuf":
        raise ProblemError(f"{name!r} does not hold numbers; a state is a numeric variable")


def node_axis(context: AgentContext, state: str) -> str | None:
    """The axis of the nodes of a network if the state lies on it."""
    if not context.relation_names:
        return None
    from sr_harness.engine import Structure

    found = Structure.from_context(context).node_axis
    return found if found in context.variable_axes[state] else None


def runs_of(context: AgentContext, name: str, where: TimeAxis) -> Iterator[Samples]:
    """The runs of a variable with finite values only, each along increasing time."""
    flat = flattened(context, name, context.variable_axes[name], where.axis, node_axis(context, name))
    times = np.asarray(context.data[where.name])
    if times.dtype.kind not in "biuf":
        raise ProblemError(f"{where.name!r} does not hold numbers; state times as numbers in one unit")
    times = times.astype(np.float64)
    if where.name in context.variable_axes:
        starts = np.flatnonzero(np.diff(times) <= 0) + 1
    else:
        checked_times(times, flat.shape[0])
        starts = np.empty(0, dtype=np.int64)
    for rows in np.split(np.arange(flat.shape[0]), starts):
        for place in range(flat.shape[1]):
            usable = np.isfinite(flat[rows, place]).all(axis=-1) & np.isfinite(times[rows])
            if usable.any():
                yield Samples(place, rows[usable])


def flattened(context: AgentContext, name: str, axes: Sequence[str], time: str, node: str | None) -> Floats:
    """A variable broadcast to the axes of a state and arranged as [time, run, node or 1].

    Raises:
        ProblemError: It does not lie on those axes.
    """
    own = context.variable_axes.get(name, (name,))
    if any(axis not in axes for axis in own) or len(set(own)) != len(own):
        raise ProblemError(f"{name!r} lies on the axes {list(own)}, which are not all among {list(axes)}")
    runs = [axis for axis in axes if axis not in (time, node)]
    order = [time, *runs, *([node] if node else [])]
    values = np.asarray(context.data[name], dtype=np.float64)
    values = np.transpose(values, sorted(range(len(own)), key=lambda place: order.index(own[place])))
    sizes = {axis: context.axis_length(axis) for axis in order}
    values = values.reshape([sizes[axis] if axis in own else 1 for axis in order])
    full = np.broadcast_to(values, [sizes[axis] for axis in order])
    return np.ascontiguousarray(full).reshape(sizes[time], -1, sizes[node] if node else 1)


def read_runs(
    context: AgentContext, states: tuple[str, ...], inputs: Sequence[str] | None, time: str | None
) -> TrajectorySet:
    """The runs; see `TrajectorySet.from_context`."""
    if not states:
        raise ProblemError("name at least one state")
    for name in states:
        check_state(context, name)
    axes = context.variable_axes[states[0]]
    for name in states[1:]:
        if set(context.variable_axes[name]) != set(axes):
            raise ProblemError(
                f"the states {states[0]!r} and {name!r} lie on different axes, {list(axes)} and "
                f"{list(context.variable_axes[name])}; the states of one system are measured together"
            )
    where = time_axis(context, states[0], time)
    if where.name in states:
        raise ProblemError(f"{where.name!r} holds the times and cannot be a state")
    node = node_axis(context, states[0])
    outside = _inputs(context, states, inputs, where, node)
    names = (*states, *outside)
    arrays = {name: flattened(context, name, axes, where.axis, node) for name in names}
    everything = np.concatenate([arrays[name] for name in names], axis=-1)
    joined = _AllNames(context, states[0], where, everything)
    runs = [
        _run(joined.times, samples, arrays, (states, outside), nodes=node is not None) for samples in joined
    ]
    return TrajectorySet(
        states, outside, tuple(runs), where.name, _network(context, where.axis, (*states, *outside), node)
    )


class _AllNames:
    """Runs in which every state and input is finite."""

    def __init__(self, context: AgentContext, state: str, where: TimeAxis, everything: Floats) -> None:
        self.times = np.asarray(context.data[where.name], dtype=np.float64)
        self._found = [
            Samples(
                samples.place, samples.rows[np.isfinite(everything[samples.rows, samples.place]).all(axis=-1)]
            )
            for samples in runs_of(context, state, where)
        ]

    def __iter__(self) -> Iterator[Samples]:
        return (samples for samples in self._found if samples.rows.size)


def _run(
    times: Floats,
    samples: Samples,
    arrays: dict[str, Floats],
    names: tuple[Sequence[str], Sequence[str]],
    *,
    nodes: bool,
) -> Trajectory:
    states, inputs = names

    def series(name: str) -> Floats:
        values: Floats = arrays[name][samples.rows, samples.place]
        return values if nodes else values[:, 0]

    return Trajectory(
        times[samples.rows], {name: series(name) for name in states}, {name: series(name) for name in inputs}
    )


def _inputs(
    context: AgentContext,
    states: Sequence[str],
    inputs: Sequence[str] | None,
    where: TimeAxis,
    node: str | None,
) -> tuple[str, ...]:
    """Names of what acts from outside and is no fixed field of a network."""
    axes = context.variable_axes[states[0]]
    fixed = _fixed_fields(context, node)
    if inputs is not None:
        from sr_harness.search.problem import check_names

        check_names(inputs, [*context.variables, *context.axes], "input")
        both = [name for name in inputs if name in states]
        if both:
            raise ProblemError(f"{both[0]!r} is a state; leave it out of the inputs")
        return tuple(name for name in inputs if name not in fixed)
    return tuple(
        name
        for name, own in context.variable_axes.items()
        if name not in states
        and name not in fixed
        and where.axis not in own
        and own
        and set(own) <= set(axes)
        and np.asarray(context.data[name]).dtype.kind in "biuf"
    )


def _fixed_fields(context: AgentContext, node: str | None) -> tuple[str, ...]:
    """Relations, and fields of nodes and edges that depend on nothing else."""
    if node is None:
        return ()
    fixed = list(context.relation_names)
    for name, own in context.variable_axes.items():
        if name not in fixed and (own == (node,) or (name in context.variable_structures and len(own) == 1)):
            fixed.append(name)
    return tuple(fixed)


def _network(context: AgentContext, time: str, changing: Sequence[str], node: str | None) -> Network | None:
    if node is None:
        return None
    from sr_harness.engine import Structure

    fixed = _fixed_fields(context, node)
    fields: dict[str, NDArray[Any]] = {name: np.asarray(context.data[name]) for name in fixed}
    structure = Structure(
        variable_axes={
            **{name: context.variable_axes[name] for name in fixed},
            **dict.fromkeys(changing, (time, node)),
        },
        variable_structures={
            name: relation for name, relation in context.variable_structures.items() if name in fixed
        },
        relation_names=tuple(context.relation_names),
        num_nodes=context.num_nodes,
        node_axis=node,
        time_axis=time,
    )
    return Network(fields, structure, int(context.num_nodes or 0))


__all__ = [
    "SMALLEST",
    "TimeAxis",
    "check_state",
    "flattened",
    "node_axis",
    "read_runs",
    "runs_of",
    "time_axis",
]
