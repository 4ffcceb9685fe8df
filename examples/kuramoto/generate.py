"""Make `context.data`: coupled phase oscillators on a directed random network (Kuramoto's model).

    d theta_i / d t = omega_i + K * sum over edges j -> i of sin(theta_j - theta_i)

integrated with the classical fourth-order Runge-Kutta method. The seed is fixed, so the data are the same
each time. Usage: `python generate.py [--noise SD] [--output DIR]`
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sr_harness.core import write_context_data

HERE = Path(__file__).resolve().parent
NODES = 12
EDGES = 36
COUPLING = 0.45  # below the onset of synchrony, so that phase differences keep moving
DURATION_S = 20.0
STEP_S = 0.01
STEPS_PER_SAMPLE = 10
SEED = 20

Array = NDArray[np.float64]


class Network(NamedTuple):
    """Who acts on whom, and how fast each oscillator turns when it is alone."""

    edges: NDArray[np.int64]
    omega: Array

    def velocity(self, theta: Array) -> Array:
        """Return d theta / d t in radians per second."""
        target, source = self.edges.T
        pull = np.zeros(NODES)
        np.add.at(pull, target, np.sin(theta[source] - theta[target]))
        return self.omega + COUPLING * pull


def draw(generator: np.random.Generator) -> Network:
    """Draw a network in which every node has at least one incoming edge and none acts on itself."""
    pairs = np.array([(i, j) for i in range(NODES) for j in range(NODES) if i != j])
    while True:
        edges = pairs[np.sort(generator.choice(len(pairs), EDGES, replace=False))]
        if len(np.unique(edges[:, 0])) == NODES:
            return Network(edges, generator.uniform(-1.5, 1.5, NODES))


def integrate(velocity: Callable[[Array], Array], start: Array) -> tuple[Array, Array]:
    """Return sample times [time] and states [time, node]."""
    samples = round(DURATION_S / STEP_S) // STEPS_PER_SAMPLE + 1
    states = np.empty((samples, start.size))
    states[0] = theta = start
    for sample in range(1, samples):
        for _ in range(STEPS_PER_SAMPLE):
            k1 = velocity(theta)
            k2 = velocity(theta + STEP_S / 2 * k1)
            k3 = velocity(theta + STEP_S / 2 * k2)
            k4 = velocity(theta + STEP_S * k3)
            theta = theta + STEP_S / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        states[sample] = theta
    return np.arange(samples, dtype=np.float64) * (STEP_S * STEPS_PER_SAMPLE), states


def generate(output: Path, *, noise: float = 0.0) -> Path:
    """Simulate and write; `noise` is the standard deviation of the velocity's error in radians per second."""
    generator = np.random.default_rng(SEED)
    network = draw(generator)
    time, theta = integrate(network.velocity, generator.uniform(-np.pi, np.pi, NODES))
    measured = np.array([network.velocity(state) for state in theta])
    measured += noise * generator.standard_normal(measured.shape)
    return write_context_data(
        output,
        num_nodes=NODES,
        overwrite=True,
        variables={
            "theta": {
                "values": theta,
                "axes": ["time", "node"],
                "description": "Phase of each oscillator in radians, counted on beyond a full turn.",
            },
            "dtheta": {
                "values": measured,
                "axes": ["time", "node"],
                "description": "Phase velocity of each oscillator in radians per second.",
            },
            "omega": {
                "values": network.omega,
                "axes": ["node"],
                "description": "Phase velocity of each oscillator on its own, in radians per second.",
            },
            "A": {
                "values": network.edges,
                "axes": ["edge", "endpoint"],
                "kind": "relation",
                "description": "Which oscillator is acted on by which.",
            },
        },
        axes={
            "time": {"values": np.round(time, 10), "description": "Time in seconds."},
            "node": {"values": [f"n{i}" for i in range(NODES)], "description": "Oscillator."},
            "edge": {"size": EDGES, "description": "Position of the connection."},
            "endpoint": {"values": ["target", "source"], "description": "Order of the two ends."},
        },
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--noise", type=float, default=0.0, help="standard deviation in radians per second")
    parser.add_argument("--output", type=Path, default=HERE / "context.data")
    options = parser.parse_args()
    print(generate(options.output, noise=options.noise))


if __name__ == "__main__":
    main()
