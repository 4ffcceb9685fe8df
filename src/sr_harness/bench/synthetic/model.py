"""What a synthetic system is: arrays with descriptions, a target, and the law behind it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sr_harness.core import Axis, Variable

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Sample:
    """One draw of a system.

    Attributes:
        variables: Everything that is written, the target without noise among them.
        axes: The axes of the variables.
        formula: The law in the expression language, in terms of the variables.
        constants: The constants of the law by the names that people use for them.
        num_nodes: Number of nodes of a network.
    """

    variables: Mapping[str, Variable]
    axes: Mapping[str, Axis]
    formula: str
    constants: Mapping[str, float] = field(default_factory=dict)
    num_nodes: int | None = None


@dataclass(frozen=True)
class System:
    """A system that can be drawn: its size is rows of a table, or samples in time."""

    name: str
    summary: str
    target: str
    rows: int
    draw: Callable[[int, np.random.Generator], Sample]


def integrate(slope: Callable[[Floats], Floats], start: Floats, step: float, samples: int) -> Floats:
    """States [sample, …] at multiples of `step`, by the classical fourth-order Runge-Kutta method.

    Ten steps of integration lie between two samples.
    """
    inner = step / 10
    states = np.empty((samples, *start.shape))
    states[0] = state = start
    for sample in range(1, samples):
        for _ in range(10):
            first = slope(state)
            second = slope(state + inner / 2 * first)
            third = slope(state + inner / 2 * second)
            fourth = slope(state + inner * third)
            state = state + inner / 6 * (first + 2 * second + 2 * third + fourth)
        states[sample] = state
    return states
