"""The right-hand side of a system as a function of time and state.

Owns how formulas become slopes: states by name, inputs interpolated between their samples, fixed fields of
a network. Works on one state at a time; `sr_harness.search.systems` has the batched one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sr_harness.errors import ProblemError

if TYPE_CHECKING:
    from sr_harness.engine import Expression
    from sr_harness.evaluator.dynamics.trajectories import Trajectory, TrajectorySet

Floats = NDArray[np.float64]

Slope = Callable[[float, Floats], Floats]


def check_formulas(formulas: Mapping[str, Expression], runs: TrajectorySet) -> None:
    """Refuse formulas that the states, inputs and fields of a system do not suffice for.

    Raises:
        ProblemError: A state without a formula, a formula of something else, an unknown name, a parameter, or
            a look into the past, which a state alone does not hold.
    """
    from sr_harness import engine
    from sr_harness.engine.expression import postorder

    missing = [name for name in runs.states if name not in formulas]
    foreign = [name for name in formulas if name not in runs.states]
    if missing or foreign:
        raise ProblemError(
            f"a system needs one formula for each of its states {', '.join(runs.states)}; "
            + (f"missing: {', '.join(missing)}" if missing else f"not a state: {', '.join(foreign)}")
        )
    known = {*runs.states, *runs.inputs, runs.time, *(runs.network.fields if runs.network else ())}
    for state, formula in formulas.items():
        unknown = [name for name in engine.variables(formula) if name not in known]
        if unknown:
            raise ProblemError(
                f"the formula of {state!r} reads {unknown[0]!r}, which is neither a state nor an input; "
                f"there are {', '.join(sorted(known))}"
            )
        if engine.parameters(formula):
            raise ProblemError(
                f"the formula of {state!r} has parameters without a value: "
                f"{', '.join(engine.parameters(formula))}"
            )
        if any(node.op == "delay" for node in postorder(formula)):
            raise ProblemError(
                f"the formula of {state!r} looks into the past with delay(…); only equations in the present "
                "state can be integrated"
            )


def slope_of(formulas: Mapping[str, Expression], runs: TrajectorySet, run: Trajectory) -> Slope:
    """The right-hand side along one run, on states flattened in the order of `runs.states`."""
    from sr_harness.engine.program import compile_program, execute

    inputs = _Inputs(run, smooth=runs.smooth_inputs)
    programs = [compile_program(formulas[name]) for name in runs.states]
    if runs.network is not None:
        return _network_slope(formulas, runs, inputs)

    def slope(t: float, y: Floats) -> Floats:
        values: dict[str, Any] = dict(zip(runs.states, y, strict=True))
        values.update(inputs.at(t))
        values[runs.time] = np.float64(t)
        result = np.empty(len(programs))
        for place, program in enumerate(programs):
            result[place] = execute(program, [values[leaf.column] for leaf in program.leaves])
        return result

    return slope


def _network_slope(formulas: Mapping[str, Expression], runs: TrajectorySet, inputs: _Inputs) -> Slope:
    from sr_harness import engine

    network = runs.network
    assert network is not None
    size = network.nodes
    axis = network.structure.time_axis

    def slope(t: float, y: Floats) -> Floats:
        data: dict[str, Any] = dict(network.fields)
        for place, name in enumerate(runs.states):
            data[name] = y[place * size : (place + 1) * size][None]
        data.update({name: np.asarray(values)[None] for name, values in inputs.at(t).items()})
        data[runs.time] = np.array([t])
        if axis is not None:
            data[axis] = np.array([t])
        parts = [
            np.broadcast_to(
                engine.evaluate(formulas[name], data, structure=network.structure), (1, size)
            ).ravel()
            for name in runs.states
        ]
        return np.concatenate(parts)

    return slope


class _Inputs:
    """Inputs between their samples."""

    def __init__(self, run: Trajectory, *, smooth: bool) -> None:
        self._curves: dict[str, Callable[[float], Floats]] = {
            name: curve(run.times, values, smooth=smooth) for name, values in run.inputs.items()
        }

    def at(self, t: float) -> dict[str, Floats]:
        """Values by name at a time."""
        return {name: interpolate(t) for name, interpolate in self._curves.items()}


def curve(times: Floats, values: Floats, *, smooth: bool) -> Any:  # noqa: ANN401 - an interpolant of scipy
    """Interpolant of one input: a cubic spline if it is smooth, else cubics without overshoot."""
    from scipy.interpolate import CubicSpline, PchipInterpolator

    method = CubicSpline if smooth and len(times) > 3 else PchipInterpolator
    return method(times, values, axis=0, extrapolate=True)
