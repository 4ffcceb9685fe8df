"""Many short trajectories at once: a batch of starts and constants through one right-hand side.

The classical fourth-order Runge-Kutta method with a fixed number of steps between samples, on arrays of
[copy, segment], so that thousands of segments and all their finite differences cost a few operations a step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sr_harness.evaluator.dynamics.field import curve

if TYPE_CHECKING:
    from sr_harness.engine import Expression
    from sr_harness.evaluator.dynamics import TrajectorySet

Floats = NDArray[np.float64]

MOST_SUBSTEPS = 32


@dataclass(frozen=True)
class Segments:
    """Pieces of runs, all of one number of samples; a shorter one repeats its last time.

    Attributes:
        times: [segment, sample].
        states: Measured states [segment, sample, state].
        real: Which samples are measured ones, [segment, sample].
        sources: Run of each segment.
    """

    times: Floats
    states: Floats
    real: NDArray[np.bool_]
    sources: NDArray[np.int64]


def cut(runs: TrajectorySet, length: int, most: int) -> Segments:
    """Cut runs into segments of `length` samples that share their end samples.

    Args:
        runs: Runs without nodes.
        length: Samples in a segment, at least 2; longer runs' rests of fewer than half of it join none.
        most: Most samples of all segments together; of more, segments at even distances are taken.
    """
    pieces = []
    for source, run in enumerate(runs.runs):
        size = min(length, len(run))
        for start in range(0, max(1, len(run) - 1), max(1, size - 1)):
            stop = min(start + size, len(run))
            if start == 0 or stop - start > max(2, size // 2):
                pieces.append((source, start, stop))
    keep = max(1, most // length)
    if len(pieces) > keep:
        pieces = [pieces[place] for place in np.linspace(0, len(pieces) - 1, keep).round().astype(int)]
    longest = max(stop - start for _, start, stop in pieces)
    times, states, real, sources = [], [], [], []
    for source, start, stop in pieces:
        index = np.minimum(np.arange(start, start + longest), stop - 1)
        run = runs.runs[source]
        times.append(run.times[index])
        states.append(np.column_stack([run.states[name][index] for name in runs.states]))
        real.append(np.arange(start, start + longest) < stop)
        sources.append(source)
    return Segments(np.array(times), np.array(states), np.array(real), np.array(sources))


class Flow:
    """A system of formulas as a map from starts and constants to the states at the samples of segments."""

    def __init__(
        self, templates: Mapping[str, Expression], names: Sequence[str], runs: TrajectorySet
    ) -> None:
        """Prepare.

        Args:
            templates: Right-hand side of each state, with parameters.
            names: The parameters, in the order of the constants that `run` takes.
            runs: The runs that the segments are cut from.
        """
        from sr_harness.engine.program import compile_program

        self.runs, self.names = runs, tuple(names)
        self.programs = [compile_program(templates[state]) for state in runs.states]
        read = {leaf.column for program in self.programs for leaf in program.leaves}
        self.inputs = [name for name in runs.inputs if name in read]
        self._curves: dict[tuple[int, str], Any] = {}

    def run(self, segments: Segments, constants: Floats, starts: Floats, substeps: int) -> Floats:
        """States [copy, segment, sample, state].

        Args:
            segments: Where the samples are.
            constants: [copy, parameter].
            starts: State at the first sample of each segment [copy, segment, state].
            substeps: Steps between two samples.
        """
        fixed: dict[str, Any] = {name: constants[:, place, None] for place, name in enumerate(self.names)}
        state = [starts[:, :, place] for place in range(starts.shape[2])]
        result = np.empty((*starts.shape[:2], segments.times.shape[1], starts.shape[2]))
        result[:, :, 0] = starts
        with np.errstate(all="ignore"):
            for sample in range(segments.times.shape[1] - 1):
                step = (segments.times[:, sample + 1] - segments.times[:, sample]) / substeps
                for inner in range(substeps):
                    state = self._step(segments, fixed, state, segments.times[:, sample] + inner * step, step)
                for place, values in enumerate(state):
                    result[:, :, sample + 1, place] = values
        return result

    def _step(
        self, segments: Segments, fixed: dict[str, Any], state: list[Floats], t: Floats, step: Floats
    ) -> list[Floats]:
        half = step / 2
        middle, last = self._outside(segments, t + half), self._outside(segments, t + step)
        first = self._slope(fixed, state, self._outside(segments, t))
        second = self._slope(fixed, _moved(state, first, half), middle)
        third = self._slope(fixed, _moved(state, second, half), middle)
        fourth = self._slope(fixed, _moved(state, third, step), last)
        sixth = step / 6
        return [
            x + sixth * (a + 2 * (b + c) + d)
            for x, a, b, c, d in zip(state, first, second, third, fourth, strict=True)
        ]

    def _slope(self, fixed: dict[str, Any], state: list[Floats], outside: dict[str, Any]) -> list[Floats]:
        from sr_harness.engine.program import execute

        values = {**fixed, **outside, **dict(zip(self.runs.states, state, strict=True))}
        return [
            execute(program, [values[leaf.column] for leaf in program.leaves]) for program in self.programs
        ]

    def _outside(self, segments: Segments, t: Floats) -> dict[str, Any]:
        """Time, and the inputs that formulas read, at one time of each segment."""
        found: dict[str, Any] = {self.runs.time: t}
        for name in self.inputs:
            values = np.empty(t.size)
            for source in np.unique(segments.sources):
                here = segments.sources == source
                values[here] = self._curve(int(source), name)(t[here])
            found[name] = values
        return found

    def _curve(self, source: int, name: str) -> Any:  # noqa: ANN401 - an interpolant of scipy
        key = (source, name)
        if key not in self._curves:
            run = self.runs.runs[source]
            self._curves[key] = curve(run.times, run.inputs[name], smooth=self.runs.smooth_inputs)
        return self._curves[key]

    def substeps(self, segments: Segments, constants: Floats, starts: Floats, tolerance: Floats) -> int:
        """Steps between samples so that doubling them moves no state by more than its tolerance [state]."""
        count = 1
        coarse = self.run(segments, constants[None], starts[None], count)
        while count < MOST_SUBSTEPS:
            fine = self.run(segments, constants[None], starts[None], 2 * count)
            with np.errstate(all="ignore"):
                moved = np.abs(fine - coarse) / tolerance
            moved = moved[np.isfinite(moved)]
            if moved.size and float(moved.max()) <= 1.0:
                return count
            count, coarse = 2 * count, fine
        return count


def _moved(state: list[Floats], slope: list[Floats], step: Floats) -> list[Floats]:
    return [x + step * s for x, s in zip(state, slope, strict=True)]
