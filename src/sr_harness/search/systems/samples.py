"""The runs of a system as columns for a search: smoothed states, estimated slopes, noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sr_harness.evaluator.dynamics import TrajectorySet, estimate_derivative
from sr_harness.evaluator.dynamics.derivative import SMALLEST
from sr_harness.search.problem import GraphView, Problem

if TYPE_CHECKING:
    from sr_harness.engine import Expression

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SystemSamples:
    """All samples of all runs, one after another.

    Attributes:
        runs: The runs they come from.
        states: Smoothed states by name, [sample] or [sample, node].
        slopes: Estimated derivatives, alike.
        inputs: Inputs, alike.
        times: [sample].
        noise: Standard deviation of the measurement noise of each state.
        width: Samples in the windows that smoothed, the widest of all runs and states.
        edges: Where runs begin; the number of samples is the last entry.
    """

    runs: TrajectorySet
    states: Mapping[str, Floats]
    slopes: Mapping[str, Floats]
    inputs: Mapping[str, Floats]
    times: Floats
    noise: Mapping[str, float]
    width: int
    edges: NDArray[np.int64]

    @classmethod
    def of(cls, runs: TrajectorySet) -> SystemSamples:
        """Smooth the runs and estimate their slopes; runs too short for that are left out."""
        states: dict[str, Floats] = {}
        slopes: dict[str, Floats] = {}
        noise: dict[str, float] = {}
        width = 0
        usable = [run for run in runs.runs if len(run) >= SMALLEST]
        for name in runs.states:
            found = [estimate_derivative(run.states[name], run.times) for run in usable]
            states[name] = np.concatenate([part.values for part in found])
            slopes[name] = np.concatenate([part.slopes for part in found])
            noise[name] = float(np.median(np.concatenate([np.atleast_1d(part.noise) for part in found])))
            width = max(width, *(part.width for part in found))
        return cls(
            runs=runs,
            states=states,
            slopes=slopes,
            inputs={name: np.concatenate([run.inputs[name] for run in usable]) for name in runs.inputs},
            times=np.concatenate([run.times for run in usable]),
            noise=noise,
            width=width,
            edges=np.cumsum([0, *(len(run) for run in usable)]),
        )

    @property
    def columns(self) -> dict[str, Floats]:
        """What formulas may read: states and inputs."""
        return {**self.states, **self.inputs}

    @property
    def parts(self) -> list[slice]:
        """The samples of each run."""
        return [slice(int(a), int(b)) for a, b in zip(self.edges[:-1], self.edges[1:], strict=True)]

    def values(self, formula: Expression) -> Floats:
        """A right-hand side on all samples, shaped like a state; not finite where it is undefined."""
        from sr_harness import engine

        shape = next(iter(self.states.values())).shape
        network = self.runs.network
        data: dict[str, Any] = {**self.columns, self.runs.time: self.times}
        with np.errstate(all="ignore"):
            if network is None:
                found = engine.evaluate(formula, data)
            else:
                data.update(network.fields)
                found = engine.evaluate(formula, self._with_time_axis(data), structure=network.structure)
        return np.broadcast_to(np.asarray(found, dtype=np.float64), shape)

    def jacobian(self, template: Expression, values: Mapping[str, float]) -> tuple[Floats, Floats]:
        """A right-hand side with parameters on all samples, and its derivatives by them, last axis."""
        from sr_harness import engine

        shape = next(iter(self.states.values())).shape
        network = self.runs.network
        data: dict[str, Any] = {**self.columns, self.runs.time: self.times}
        structure = None
        if network is not None:
            data = self._with_time_axis({**data, **network.fields})
            structure = network.structure
        found, slopes = engine.jacobian(template, data, values, structure=structure)
        return np.broadcast_to(found, shape), np.broadcast_to(slopes, (*shape, slopes.shape[-1]))

    def _with_time_axis(self, data: dict[str, Any]) -> dict[str, Any]:
        network = self.runs.network
        if network is not None and network.structure.time_axis is not None:
            data[network.structure.time_axis] = self.times
        return data

    def problem(
        self, state: str, validation: SystemSamples | None = None, *, with_time: bool = False
    ) -> Problem:
        """The slope of one state as a discovery problem.

        Args:
            state: Whose slope.
            validation: Samples that are held out.
            with_time: Whether formulas may read the time.
        """
        network = self.runs.network
        shape = self.slopes[state].shape
        flat = {name: values.ravel() for name, values in self.columns.items()}
        if with_time:
            moments = self.times if network is None else self.times[:, None]
            flat[self.runs.time] = np.ascontiguousarray(np.broadcast_to(moments, shape)).ravel()
        if network is None:
            held = None if validation is None else validation.problem(state, with_time=with_time)
            return Problem.from_arrays(flat, self.slopes[state], target_name=f"d{state}_dt", validation=held)
        constant = _node_fields(network.fields, network.structure.node_axis, network.structure.variable_axes)
        for name in constant:
            flat[name] = np.broadcast_to(np.asarray(network.fields[name], np.float64), shape).ravel()
        graph = GraphView(
            fields={**self.columns, **network.fields},
            structure=network.structure,
            node_fields=(*self.columns, *constant),
            edge_fields=dict(network.structure.variable_structures),
            relations=network.structure.relation_names,
            shape=shape,
        )
        columns = {name: np.ascontiguousarray(values) for name, values in flat.items()}
        return Problem(
            columns,
            self.slopes[state].ravel(),
            tuple(columns),
            f"d{state}_dt",
            structure=network.structure,
            graph=graph,
        )


def _node_fields(
    fields: Mapping[str, Any], node: str | None, axes: Mapping[str, Sequence[str]]
) -> tuple[str, ...]:
    """Numeric fields that lie on the nodes alone."""
    return tuple(
        name
        for name, values in fields.items()
        if tuple(axes[name]) == (node,) and np.asarray(values).dtype.kind in "biuf"
    )
