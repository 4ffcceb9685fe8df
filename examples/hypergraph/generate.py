"""Make `context.data`: a habit that people pick up from single friends and from pairs of friends.

    d x_i / d t = -x_i + beta * (1 - x_i) * sum over friends j of x_j
                       + gamma * (1 - x_i) * sum over groups {i, j, k} of x_j * x_k

where x_i is the probability that person i has the habit and time is counted in the mean time after which it
is dropped, integrated with the classical fourth-order Runge-Kutta method. The seed is fixed, so the data are
the same each time. Usage: `python generate.py [--noise SD] [--output DIR]`
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
NODES = 20
FRIENDSHIPS = 30
GROUPS = 25
ALONE = 0.2  # beta: too weak by itself for the habit to stay
TOGETHER = 0.9  # gamma
DURATION = 8.0
STEP = 0.01
STEPS_PER_SAMPLE = 10
SEED = 5

Array = NDArray[np.float64]
Relation = NDArray[np.int64]


class People(NamedTuple):
    """Who is a friend of whom, and who meets in threes; targets first."""

    pairs: Relation
    triples: Relation

    def rate(self, x: Array) -> Array:
        """Return d x / d t."""
        single = np.bincount(self.pairs[:, 0], weights=x[self.pairs[:, 1]], minlength=NODES)
        target, first, second = self.triples.T
        double = np.bincount(target, weights=x[first] * x[second], minlength=NODES)
        return -x + (1 - x) * (ALONE * single + TOGETHER * double)


def draw(generator: np.random.Generator) -> People:
    """Draw friendships (two edges each) and groups (three rows each, one for each member as the target)."""
    candidates = np.array([(i, j) for i in range(NODES) for j in range(i)])
    chosen = candidates[np.sort(generator.choice(len(candidates), FRIENDSHIPS, replace=False))]
    pairs = np.concatenate([chosen, chosen[:, ::-1]])
    groups = np.sort([generator.choice(NODES, 3, replace=False) for _ in range(GROUPS)], axis=1)
    groups = np.unique(groups, axis=0)
    triples = np.concatenate([groups, groups[:, [1, 0, 2]], groups[:, [2, 0, 1]]])
    return People(pairs[np.lexsort(pairs.T[::-1])], triples[np.lexsort(triples.T[::-1])])


def integrate(rate: Callable[[Array], Array], start: Array) -> tuple[Array, Array]:
    """Return sample times [time] and states [time, node]."""
    samples = round(DURATION / STEP) // STEPS_PER_SAMPLE + 1
    states = np.empty((samples, NODES))
    states[0] = x = start
    for sample in range(1, samples):
        for _ in range(STEPS_PER_SAMPLE):
            k1 = rate(x)
            k2 = rate(x + STEP / 2 * k1)
            k3 = rate(x + STEP / 2 * k2)
            k4 = rate(x + STEP * k3)
            x = x + STEP / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        states[sample] = x
    return np.arange(samples, dtype=np.float64) * (STEP * STEPS_PER_SAMPLE), states


def generate(output: Path, *, noise: float = 0.0) -> Path:
    """Simulate and write; `noise` is the standard deviation of the measured states and rates."""
    generator = np.random.default_rng(SEED)
    people = draw(generator)
    time, habit = integrate(people.rate, generator.uniform(0.0, 0.9, NODES))
    change = np.array([people.rate(state) for state in habit])
    change += noise * generator.standard_normal(change.shape)
    habit = habit + noise * generator.standard_normal(habit.shape)
    return write_context_data(
        output,
        num_nodes=NODES,
        overwrite=True,
        variables={
            "habit": {
                "values": habit,
                "axes": ["time", "node"],
                "description": "Probability that the person has the habit.",
            },
            "change": {
                "values": change,
                "axes": ["time", "node"],
                "description": "Change of that probability per unit of time.",
            },
            "A": {
                "values": people.pairs,
                "axes": ["pair", "pair_end"],
                "kind": "relation",
                "description": "Who sees whom in twos; each friendship stands there twice.",
            },
            "T": {
                "values": people.triples,
                "axes": ["triple", "triple_end"],
                "kind": "relation",
                "description": "Who meets in threes; each group stands there once for each member.",
            },
        },
        axes={
            "time": {
                "values": np.round(time, 10),
                "description": "Time in units of the mean time for which a person keeps the habit.",
            },
            "node": {"values": [f"p{i}" for i in range(NODES)], "description": "Person."},
            "pair": {"size": len(people.pairs), "description": "Position of the friendship."},
            "pair_end": {"values": ["target", "source"], "description": "Order of the two ends."},
            "triple": {"size": len(people.triples), "description": "Position of the meeting."},
            "triple_end": {
                "values": ["target", "source1", "source2"],
                "description": "Order of the three members.",
            },
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
