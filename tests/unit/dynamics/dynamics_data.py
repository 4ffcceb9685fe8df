"""Trajectories of systems whose law is known, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.integrate import solve_ivp

from sr_harness.evaluator.dynamics import TrajectorySet


def simulate(
    slope: Callable[[float, np.ndarray], Sequence[float]],
    names: str,
    starts: Sequence[Sequence[float]],
    *,
    duration: float = 10.0,
    samples: int = 101,
    noise: float = 0.0,
    seed: int = 1,
) -> TrajectorySet:
    """Runs of a system; noise is a share of each state's standard deviation."""
    rng = np.random.default_rng(seed)
    times = np.linspace(0, duration, samples)
    runs = []
    for start in starts:
        found = solve_ivp(slope, (0, duration), start, t_eval=times, rtol=1e-10, atol=1e-12).y
        found = found + noise * found.std(axis=1, keepdims=True) * rng.standard_normal(found.shape)
        runs.append((times, dict(zip(names, found, strict=True))))
    return TrajectorySet.from_arrays(runs)


def hunt(noise: float = 0.0) -> TrajectorySet:
    """x' = 1.2 x - 0.8 x y, y' = 0.5 x y - y."""
    return simulate(
        lambda _t, z: [1.2 * z[0] - 0.8 * z[0] * z[1], 0.5 * z[0] * z[1] - z[1]],
        "xy",
        [(1.0, 0.5), (2.0, 1.0), (0.5, 0.5), (1.5, 2.0)],
        noise=noise,
    )


def swing(noise: float = 0.0) -> TrajectorySet:
    """q' = p, p' = -2.3 sin q - 0.15 p, from one run whose end is held out."""
    return simulate(
        lambda _t, z: [z[1], -2.3 * np.sin(z[0]) - 0.15 * z[1]],
        "qp",
        [(2.5, 0.0)],
        duration=12.0,
        samples=200,
        noise=noise,
    )
