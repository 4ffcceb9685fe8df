"""States along time: what is measured of a dynamical system, run by run.

Owns how runs are read off a `context.data` directory. Time is an axis called `time` or `t`, or a variable of
that name on the states' own axis (the column of a table); another name can be given. Every further axis of
the states counts runs, except the axis of the nodes of a network, which stays within a run. In a table a new
run begins where time does not increase. Samples with missing states are left out of their run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sr_harness.errors import ProblemError
from sr_harness.evaluator.dynamics.derivative import SMALLEST

if TYPE_CHECKING:
    from sr_harness.core import AgentContext
    from sr_harness.engine import Structure

Floats = NDArray[np.float64]

TIME_NAMES = ("time", "t")

WHOLE_RUNS = 3
"""From this many runs on whole runs are held out, else the end of each."""

HELD_OUT = 0.25
"""Share of the runs, or of the time of each, that is held out; at least one run."""


@dataclass(frozen=True)
class Trajectory:
    """One run.

    Attributes:
        times: Strictly increasing [time].
        states: Measured states by name, each [time] or [time, node].
        inputs: What acts on the system from outside, known at the same times, of the same shapes.
    """

    times: Floats
    states: Mapping[str, Floats]
    inputs: Mapping[str, Floats] = field(default_factory=dict)

    def part(self, start: int, stop: int) -> Trajectory:
        """The samples from `start` to before `stop`."""
        cut = slice(start, stop)
        return Trajectory(
            self.times[cut],
            {name: values[cut] for name, values in self.states.items()},
            {name: values[cut] for name, values in self.inputs.items()},
        )

    def __len__(self) -> int:
        return len(self.times)


@dataclass(frozen=True)
class Network:
    """What the nodes of a system are connected by.

    Attributes:
        fields: Relations, and fields of nodes and edges that do not change, by name.
        structure: Axes of these fields, of states and of inputs, for the engine.
        nodes: Number of nodes.
    """

    fields: Mapping[str, NDArray[Any]]
    structure: Structure
    nodes: int


@dataclass(frozen=True)
class TrajectorySet:
    """All runs of one system.

    Attributes:
        states: Names of the states.
        inputs: Names of what acts from outside.
        runs: The runs, in the order of the data; none is empty.
        time: Name of time.
        network: Connections between nodes, or None.
        notes: What was left out, one sentence each.
        smooth_inputs: Whether inputs are smooth, so that splines may join their samples; else curves without
            overshoot do.
    """

    states: tuple[str, ...]
    inputs: tuple[str, ...]
    runs: tuple[Trajectory, ...]
    time: str
    network: Network | None = None
    notes: tuple[str, ...] = ()
    smooth_inputs: bool = False

    @classmethod
    def from_arrays(
        cls,
        runs: Sequence[tuple[NDArray[Any], Mapping[str, NDArray[Any]]]],
        inputs: Sequence[Mapping[str, NDArray[Any]]] | None = None,
        *,
        time: str = "t",
    ) -> TrajectorySet:
        """Build the set from runs that are given as times and states by name.

        Args:
            runs: Times [time] and states [time] of each run.
            inputs: Inputs of each run by name [time].
            time: Name of time.

        Raises:
            ProblemError: No run is long enough.
        """
        given = [{}] * len(runs) if inputs is None else list(inputs)
        trajectories = [
            Trajectory(_floats(times), _all_floats(states), _all_floats(outside))
            for (times, states), outside in zip(runs, given, strict=True)
        ]
        names = tuple(trajectories[0].states) if trajectories else ()
        outside_names = tuple(trajectories[0].inputs) if trajectories else ()
        return _checked(cls(names, outside_names, tuple(trajectories), time))

    @classmethod
    def from_context(
        cls,
        context: AgentContext,
        states: Sequence[str],
        inputs: Sequence[str] | None = None,
        *,
        time: str | None = None,
    ) -> TrajectorySet:
        """Read the runs of some states off a context.

        Args:
            context: The data.
            states: Variables that make up the state; all on the same axes.
            inputs: Variables, on some of those axes, that act from outside; default: those that do not change
                along time, since others may be states in disguise or their derivatives.
            time: Axis or variable that holds the times; default: `time` or `t`.

        Raises:
            ProblemError: An unknown name, no time, states on different axes, or no run that is long enough.
        """
        from sr_harness.evaluator.dynamics.reading import read_runs

        return _checked(read_runs(context, tuple(states), inputs, time))

    @property
    def samples(self) -> int:
        """Samples of all runs together."""
        return sum(len(run) for run in self.runs)

    def spread(self, name: str) -> float:
        """Standard deviation of a state over all runs; 1 where it does not vary."""
        values = np.concatenate([run.states[name].ravel() for run in self.runs])
        return float(np.std(values)) or 1.0

    def held_out(self) -> tuple[TrajectorySet, TrajectorySet]:
        """Split into what formulas are fitted to and what judges them.

        From three runs on the last quarter of the runs judges, at least one of them; with fewer runs
        the last quarter of the time of each.
        """
        if len(self.runs) >= WHOLE_RUNS:
            kept = len(self.runs) - max(1, round(HELD_OUT * len(self.runs)))
            return replace(self, runs=self.runs[:kept]), replace(self, runs=self.runs[kept:])
        first, last = [], []
        for run in self.runs:
            cut = max(SMALLEST, round((1 - HELD_OUT) * len(run)))
            first.append(run.part(0, cut))
            if len(run) - cut >= 2:
                # The last sample of the fitted part is where the judged part begins.
                last.append(run.part(cut - 1, len(run)))
        return replace(self, runs=tuple(first)), replace(self, runs=tuple(last))


def _floats(values: NDArray[Any]) -> Floats:
    return np.asarray(values, dtype=np.float64)


def _all_floats(arrays: Mapping[str, NDArray[Any]]) -> dict[str, Floats]:
    return {name: _floats(values) for name, values in arrays.items()}


def _checked(found: TrajectorySet) -> TrajectorySet:
    """The set without runs that are too short.

    Raises:
        ProblemError: None is left.
    """
    long = tuple(run for run in found.runs if len(run) >= SMALLEST)
    if not long:
        raise ProblemError(
            f"no run of {', '.join(found.states)} has {SMALLEST} samples along {found.time!r}; "
            "there is no derivative to estimate"
        )
    short = len(found.runs) - len(long)
    note = (f"{short} runs with fewer than {SMALLEST} samples were left out",) if short else ()
    return replace(found, runs=long, notes=(*found.notes, *note))
