"""What a search for a system finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sr_harness.search.candidate import finite

if TYPE_CHECKING:
    from sr_harness.engine import Expression
    from sr_harness.evaluator.dynamics import TrajectoryError
    from sr_harness.search.budget import StopReason


@dataclass(frozen=True)
class Constant:
    """A fitted constant with its standard error; None where the data do not say, 0 if it was made plain."""

    state: str
    value: float
    error: float | None


@dataclass(frozen=True)
class SystemCandidate:
    """One right-hand side for every state.

    Attributes:
        formulas: By state.
        nmse: Mean square residual of each state on the fitted runs, in units of its variance; None where
            constants were not fitted by integration.
        constants: Fitted constants, in the order of the formulas.
        judged: Trajectory error on what was held out (see `sr_harness.evaluator.dynamics.judging`).
        length: Description length in nats; the lowest is believed.
        complexity: Node count of all formulas.
    """

    formulas: Mapping[str, Expression]
    nmse: Mapping[str, float] | None
    constants: tuple[Constant, ...]
    judged: TrajectoryError
    length: float
    complexity: int

    def to_row(self) -> dict[str, Any]:
        """JSON types; numbers finite or None."""
        from sr_harness import engine

        return {
            "formulas": {state: engine.render(formula) for state, formula in self.formulas.items()},
            "complexity": self.complexity,
            "trajectory_error": finite(self.judged.error),
            "trajectory_error_by_state": {
                name: finite(value) for name, value in self.judged.by_state.items()
            },
            "integrations": dict(self.judged.outcomes),
            "residual": None
            if self.nmse is None
            else {name: finite(value**0.5) for name, value in self.nmse.items()},
            "description_length": finite(self.length),
            "constants": [
                {
                    "state": constant.state,
                    "value": finite(constant.value),
                    "standard_error": None if constant.error is None else finite(constant.error),
                }
                for constant in self.constants
            ],
        }


@dataclass(frozen=True)
class SystemDiscovery:
    """What was found.

    Attributes:
        best: The system to believe; None only if the search was stopped at once.
        candidates: Systems that were judged, the best first.
        states: Names of the states.
        inputs: Names of what acts from outside.
        noise: Estimated noise of each state as a share of its standard deviation.
        samples: Samples in the fitted and in the held-out part.
        held_out: What was held out, in words.
        notes: One sentence each.
        work_used: Units of work.
        stop_reason: `finished`, `work`, `time` or `cancelled`.
    """

    best: SystemCandidate | None
    candidates: tuple[SystemCandidate, ...]
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    noise: Mapping[str, float]
    samples: tuple[int, int]
    held_out: str
    notes: tuple[str, ...] = field(default=())
    work_used: int = 0
    stop_reason: StopReason = "finished"

    def to_document(self) -> dict[str, Any]:
        """JSON types; numbers finite or None."""
        return {
            "states": list(self.states),
            "inputs": list(self.inputs),
            "best": None if self.best is None else self.best.to_row(),
            "candidates": [candidate.to_row() for candidate in self.candidates],
            "noise": {name: finite(value) for name, value in self.noise.items()},
            "samples": {"fitted": self.samples[0], "held_out": self.samples[1]},
            "held_out": self.held_out,
            "notes": list(self.notes),
            "work_used": self.work_used,
            "stop_reason": self.stop_reason,
        }
