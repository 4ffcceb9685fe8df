"""Make `context.data`: an infection that spreads along contacts and leaves no immunity (the SIS model).

    d x_i / d t = -delta * x_i + beta * (1 - x_i) * sum over contacts j of x_j

where x_i is the probability that household i is infected, integrated with the classical fourth-order
Runge-Kutta method. The seed is fixed, so the data are the same each time.
Usage: `python generate.py [--noise SD] [--output DIR]`
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sr_harness.core import write_context_data

HERE = Path(__file__).resolve().parent
NODES = 24
CONTACTS = 40
RECOVERY = 0.55  # delta, a day
INFECTION = 0.3  # beta, a contact and day; above the onset of an epidemic, so that the infection stays
DURATION_D = 12.0
STEP_D = 0.02
STEPS_PER_SAMPLE = 10
SEED = 8

Array = NDArray[np.float64]
Edges = NDArray[np.int64]


def draw(generator: np.random.Generator) -> Edges:
    """Draw contacts until every household has one; each contact is an edge in both directions."""
    pairs = np.array([(i, j) for i in range(NODES) for j in range(i)])
    while True:
        chosen = pairs[np.sort(generator.choice(len(pairs), CONTACTS, replace=False))]
        edges = np.concatenate([chosen, chosen[:, ::-1]])
        if len(np.unique(edges[:, 0])) == NODES:
            return edges[np.lexsort(edges.T[::-1])]


def rate(edges: Edges, infected: Array) -> Array:
    """Return d x / d t in 1 per day."""
    pressure = np.bincount(edges[:, 0], weights=infected[edges[:, 1]], minlength=NODES)
    return INFECTION * (1 - infected) * pressure - RECOVERY * infected


def integrate(edges: Edges, start: Array) -> tuple[Array, Array]:
    """Return sample times [time] and states [time, node]."""
    samples = round(DURATION_D / STEP_D) // STEPS_PER_SAMPLE + 1
    states = np.empty((samples, NODES))
    states[0] = x = start
    for sample in range(1, samples):
        for _ in range(STEPS_PER_SAMPLE):
            k1 = rate(edges, x)
            k2 = rate(edges, x + STEP_D / 2 * k1)
            k3 = rate(edges, x + STEP_D / 2 * k2)
            k4 = rate(edges, x + STEP_D * k3)
            x = x + STEP_D / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        states[sample] = x
    return np.arange(samples, dtype=np.float64) * (STEP_D * STEPS_PER_SAMPLE), states


def generate(output: Path, *, noise: float = 0.0) -> Path:
    """Simulate and write; `noise` is the standard deviation of the measured states and rates."""
    generator = np.random.default_rng(SEED)
    edges = draw(generator)
    time, infected = integrate(edges, generator.uniform(0.0, 0.2, NODES) * (generator.random(NODES) < 0.5))
    change = np.array([rate(edges, state) for state in infected])
    change += noise * generator.standard_normal(change.shape)
    infected = infected + noise * generator.standard_normal(infected.shape)
    return write_context_data(
        output,
        num_nodes=NODES,
        overwrite=True,
        variables={
            "infected": {
                "values": infected,
                "axes": ["time", "node"],
                "description": "Probability that the household is infected.",
            },
            "change": {
                "values": change,
                "axes": ["time", "node"],
                "description": "Change of that probability in 1 per day.",
            },
            "A": {
                "values": edges,
                "axes": ["edge", "endpoint"],
                "kind": "relation",
                "description": "Which household is in contact with which; each contact stands there twice.",
            },
        },
        axes={
            "time": {"values": np.round(time, 10), "description": "Time in days."},
            "node": {"values": [f"h{i}" for i in range(NODES)], "description": "Household."},
            "edge": {"size": len(edges), "description": "Position of the contact."},
            "endpoint": {"values": ["target", "source"], "description": "Order of the two ends."},
        },
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--noise", type=float, default=0.0, help="standard deviation of states and rates")
    parser.add_argument("--output", type=Path, default=HERE / "context.data")
    options = parser.parse_args()
    print(generate(options.output, noise=options.noise))


if __name__ == "__main__":
    main()
