"""Dynamics: derivatives from samples, runs of a system, and formulas judged by integrated trajectories.

Nothing here searches; `sr_harness.search.systems` does.
"""

from __future__ import annotations

from sr_harness.evaluator.dynamics.derivative import Derivative, estimate_derivative
from sr_harness.evaluator.dynamics.integration import Integrated, Limits, integrate
from sr_harness.evaluator.dynamics.judging import TrajectoryError, trajectory_error
from sr_harness.evaluator.dynamics.target import DerivedContext, derivative_target, with_derivative
from sr_harness.evaluator.dynamics.trajectories import Network, Trajectory, TrajectorySet

__all__ = [
    "Derivative",
    "DerivedContext",
    "Integrated",
    "Limits",
    "Network",
    "Trajectory",
    "TrajectoryError",
    "TrajectorySet",
    "derivative_target",
    "estimate_derivative",
    "integrate",
    "trajectory_error",
    "with_derivative",
]
