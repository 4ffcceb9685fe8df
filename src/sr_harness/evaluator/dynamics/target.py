"""The target form `dx_dt`: the derivative of the variable `x` along time, estimated when it is asked for.

A variable that bears such a name comes first; the form is read only where there is none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sr_harness.errors import ProblemError, UnknownChoiceError
from sr_harness.evaluator.dynamics.derivative import SMALLEST, estimate_derivative
from sr_harness.evaluator.dynamics.reading import check_state, flattened, node_axis, runs_of, time_axis

if TYPE_CHECKING:
    from sr_harness.core import AgentContext
    from sr_harness.evaluator.dynamics.reading import TimeAxis

Floats = NDArray[np.float64]

_FORM = re.compile(r"d(?P<state>.+)_dt")


@dataclass(frozen=True)
class DerivedContext:
    """A context with an estimated derivative among its variables.

    Attributes:
        context: The data; what varies along time on the axes of the state is smoothed.
        measured: The data as they were.
        state: The variable whose derivative was taken.
        target: Name of the derivative.
        time: Name of time.
        notes: How it was estimated, one sentence each.
    """

    context: AgentContext
    measured: AgentContext
    state: str
    target: str
    time: str
    notes: tuple[str, ...]


def derivative_target(context: AgentContext, target: str) -> str | None:
    """The variable whose derivative a target asks for, or None if the target is a variable or no such form.

    Raises:
        UnknownChoiceError: The form of a derivative, but there is no such variable.
    """
    form = _FORM.fullmatch(target)
    if form is None or target in context.variable_axes:
        return None
    if form["state"] not in context.variable_axes:
        raise UnknownChoiceError(
            f"there is no variable {target!r}, nor a variable {form['state']!r} whose derivative along time "
            f"it could mean; there are {', '.join(map(repr, context.variables))}"
        )
    return form["state"]


def with_derivative(context: AgentContext, target: str, *, time: str | None = None) -> DerivedContext:
    """Add the derivative that a target asks for.

    The derivative is NaN at samples of runs that are too short or whose value is missing. The state itself
    and every other variable that varies along time on the same axes are replaced by their smoothed values,
    since noise in what a formula reads biases what it finds; clean series stay as they are but for rounding.

    Args:
        context: The data.
        target: `dx_dt` for a variable `x`.
        time: Axis or variable that holds the times; default: `time` or `t`.

    Raises:
        ProblemError: The target is no derivative, there is no time, or no run is long enough.
    """
    state = derivative_target(context, target)
    if state is None:
        raise ProblemError(
            f"{target!r} is no derivative; write dx_dt for that of a variable x, if no variable has that name"
        )
    check_state(context, state)
    where = time_axis(context, state, time)
    arrays: dict[str, NDArray[Any]] = {}
    slopes, smoothed, text = _estimated(context, state, where)
    arrays[target], arrays[state] = slopes, smoothed
    for name in _companions(context, state, where):
        arrays[name] = _estimated(context, name, where)[1]
    found = replace(
        context,
        data={**context.data, **arrays},
        variable_axes={**context.variable_axes, target: context.variable_axes[state]},
        variable_descriptions={
            **context.variable_descriptions,
            target: f"Derivative of {state} along {where.name}, estimated from its samples.",
        },
    )
    return DerivedContext(found, context, state, target, where.name, (text,))


def _companions(context: AgentContext, state: str, where: TimeAxis) -> list[str]:
    """Variables beside the state that vary along time and are measured like it."""
    axes = set(context.variable_axes[state])
    return [
        name
        for name, own in context.variable_axes.items()
        if name not in (state, where.name)
        and set(own) == axes
        and name not in context.variable_structures
        and np.asarray(context.data[name]).dtype.kind == "f"
    ]


def _estimated(context: AgentContext, name: str, where: TimeAxis) -> tuple[Floats, Floats, str]:
    """Slopes and smoothed values of a variable in its own shape, and a sentence on how."""
    axes = context.variable_axes[name]
    node = node_axis(context, name)
    flat = flattened(context, name, axes, where.axis, node)
    slopes, smoothed = np.full_like(flat, np.nan), flat.copy()
    times = np.asarray(context.data[where.name], dtype=np.float64)
    choices = []
    for samples in runs_of(context, name, where):
        if samples.rows.size < SMALLEST:
            continue
        found = estimate_derivative(flat[samples.rows, samples.place], times[samples.rows])
        slopes[samples.rows, samples.place] = found.slopes
        smoothed[samples.rows, samples.place] = found.values
        spread = np.std(found.values, axis=0)
        share = float(np.mean(found.noise / np.where(spread > 0, spread, 1.0)))
        choices.append((found.width, found.degree, share))
    if not choices:
        raise ProblemError(f"no run of {name!r} has {SMALLEST} samples along {where.name!r}")
    width, degree, _ = sorted(choices)[len(choices) // 2]
    noise = float(np.median([share for _, _, share in choices]))
    text = (
        f"d{name}_dt was estimated along {where.name!r} by local polynomials of degree {degree} over {width} "
        f"samples in {len(choices)} run{'s' if len(choices) != 1 else ''}; the noise of {name} is about "
        f"{noise:.1e} of its standard deviation"
    )
    return (
        _restored(slopes, axes, where.axis, node, context),
        _restored(smoothed, axes, where.axis, node, context),
        text,
    )


def _restored(
    flat: Floats, axes: tuple[str, ...], time: str, node: str | None, context: AgentContext
) -> Floats:
    """From [time, run, node or 1] back to the variable's own axes."""
    runs = [axis for axis in axes if axis not in (time, node)]
    order = [time, *runs, *([node] if node else [])]
    full = flat.reshape([context.axis_length(axis) for axis in order])
    return np.ascontiguousarray(np.transpose(full, [order.index(axis) for axis in axes]))
