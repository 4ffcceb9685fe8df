"""Problems that several tests search, generated on the spot."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sr_harness.core import AgentContext
from sr_harness.search import Problem


def table(seed: int, rows: int, **ranges: tuple[float, float]) -> dict[str, np.ndarray]:
    """Uniform columns."""
    rng = np.random.default_rng(seed)
    return {name: rng.uniform(low, high, rows) for name, (low, high) in ranges.items()}


def problem(data: Mapping[str, np.ndarray], target: np.ndarray) -> Problem:
    return Problem.from_arrays(data, target)


def oscillators(seed: int, nodes: int = 8, times: int = 40, coupling: float = 0.7) -> AgentContext:
    """Coupled phase oscillators on a random directed graph: phases, own frequencies, and exact velocities."""
    rng = np.random.default_rng(seed)
    linked = rng.random((nodes, nodes)) < 0.35
    np.fill_diagonal(linked, False)
    edges = np.argwhere(linked)
    theta = rng.uniform(-np.pi, np.pi, (times, nodes))
    omega = rng.uniform(0.5, 2.0, nodes)
    difference = theta[:, edges[:, 1]] - theta[:, edges[:, 0]]
    pull = np.zeros((times, nodes))
    for edge, (target, _) in enumerate(edges):
        pull[:, target] += np.sin(difference[:, edge])
    return AgentContext(
        data={
            "theta": theta,
            "omega": omega,
            "velocity": omega + coupling * pull,
            "A": edges.astype(np.int64),
            "time": np.arange(times) * 0.1,
            "node": np.arange(nodes),
            "edge": np.arange(len(edges)),
            "endpoint": np.array(["target", "source"]),
        },
        variable_axes={
            "theta": ("time", "node"),
            "omega": ("node",),
            "velocity": ("time", "node"),
            "A": ("edge", "endpoint"),
        },
        relation_names=("A",),
        num_nodes=nodes,
        axis_metadata={
            "time": {"source": "values", "size": times},
            "node": {"source": "size", "size": nodes},
            "edge": {"source": "size", "size": len(edges)},
            "endpoint": {"source": "values", "size": 2},
        },
    )
