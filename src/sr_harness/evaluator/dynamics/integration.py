"""Trajectories of a right-hand side, within hard limits.

`integrate` promises to return: a state that blows up, a right-hand side that is not defined, a step that
vanishes and work that does not end are outcomes, not faults. Work is counted in evaluations of the right-hand
side, so the outcome does not depend on the machine; a ceiling in seconds is there for callers who need one.

The method is Dormand and Prince's of order 8 (E. Hairer, S. Nørsett, G. Wanner, Solving Ordinary Differential
Equations I, 1993). Where it makes no headway, as in stiff systems, Radau IIA of order 5 goes on from
where it stood (E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, 1996).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

Outcome = Literal["done", "blow-up", "undefined", "evaluations", "time", "no step"]

TOLERANCE = 1e-8
EXPLICIT_SHARE = 0.25
"""Part of the evaluations that the explicit method may use before the implicit one takes over."""


@dataclass(frozen=True)
class Limits:
    """When an integration ends before its time.

    Attributes:
        evaluations: Most evaluations of the right-hand side.
        seconds: Most seconds, or None.
        growth: A state beyond this factor times `scale` has blown up.
    """

    evaluations: int = 20_000
    seconds: float | None = None
    growth: float = 100.0


@dataclass(frozen=True)
class Integrated:
    """States at the times asked for.

    Attributes:
        states: [time, state]; NaN from where the integration ended.
        outcome: `done`, or why it ended early.
        evaluations: Evaluations of the right-hand side.
    """

    states: Floats
    outcome: Outcome
    evaluations: int


class _Ended(Exception):  # noqa: N818 - control flow
    def __init__(self, outcome: Outcome) -> None:
        self.outcome: Outcome = outcome


def integrate(
    slope: Callable[[float, Floats], Floats],
    start: Floats,
    times: Floats,
    *,
    scale: Floats,
    limits: Limits | None = None,
) -> Integrated:
    """Solve dx/dt = slope(t, x) from `start` at the first of `times`.

    Args:
        slope: The right-hand side, of the shape of `start`.
        start: State at the first time [state].
        times: Increasing times [time] at which states are wanted.
        scale: Usual size of each state [state]; tolerances are relative to it, and so is a blow-up.
        limits: When to give up.
    """
    run = _Run(slope, start, times, scale, limits or Limits())
    outcome: Outcome = "done"
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            run.all()
        except _Ended as ended:
            outcome = ended.outcome
    return Integrated(run.states, outcome, run.used)


class _Run:
    """One integration: what is done, what is used up."""

    def __init__(
        self,
        slope: Callable[[float, Floats], Floats],
        start: Floats,
        times: Floats,
        scale: Floats,
        limits: Limits,
    ) -> None:
        self.slope, self.times, self.limits = slope, times, limits
        self.scale = np.where(scale > 0, scale, 1.0)
        self.bound = limits.growth * np.maximum(self.scale, np.abs(start))
        self.states = np.full((len(times), start.size), np.nan)
        self.states[0] = start
        self.reached = 1
        self.used = 0
        self.most = limits.evaluations
        self.began = time.monotonic()

    def all(self) -> None:
        """Integrate to the last time.

        Raises:
            _Ended: It could not be reached.
        """
        from scipy.integrate import DOP853, Radau

        self.most = int(EXPLICIT_SHARE * self.limits.evaluations)
        try:
            self.solve(DOP853)
        except _Ended as ended:
            if ended.outcome not in ("evaluations", "no step"):
                raise
            self.most = self.limits.evaluations
            self.solve(Radau)

    def solve(self, method: Any) -> None:  # noqa: ANN401 - a solver class of scipy
        """Go on from the last state that was reached."""
        if self.reached == len(self.times):
            return
        first = self.reached - 1
        try:
            solver = method(
                self.counted,
                self.times[first],
                self.states[first],
                self.times[-1],
                rtol=TOLERANCE,
                atol=TOLERANCE * self.scale,
            )
            while solver.status == "running":
                solver.step()
                if solver.status == "failed":
                    raise _Ended("no step")
                self.record(solver)
        except (ValueError, np.linalg.LinAlgError):
            # The implicit solver meets infinite slopes or a singular matrix: there is no next step.
            raise _Ended("undefined") from None

    def record(self, solver: Any) -> None:  # noqa: ANN401 - a solver of scipy
        """Fill in the times that the last step has passed, and see whether it blew up."""
        upto = int(np.searchsorted(self.times, solver.t, side="right"))
        if upto > self.reached:
            self.states[self.reached : upto] = solver.dense_output()(self.times[self.reached : upto]).T
            self.reached = upto
        if not (np.abs(solver.y) <= self.bound).all():
            raise _Ended("blow-up" if np.isfinite(solver.y).all() else "undefined")

    def counted(self, t: float, y: Floats) -> Floats:
        """The right-hand side, counted."""
        self.used += 1
        if self.used > self.most:
            raise _Ended("evaluations")
        if self.limits.seconds is not None and time.monotonic() - self.began > self.limits.seconds:
            raise _Ended("time")
        return np.asarray(self.slope(t, y), dtype=np.float64)
