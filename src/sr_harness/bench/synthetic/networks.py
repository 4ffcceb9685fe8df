"""Systems on networks: every node acts on its neighbours, and the law holds at every node."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sr_harness.bench.synthetic.model import Floats, Sample, System, integrate
from sr_harness.core import Axis, Variable

Edges = NDArray[np.int64]


def _epidemic(rows: int, rng: np.random.Generator) -> Sample:
    """An infection that spreads along contacts and from which people recover without immunity."""
    nodes, infection, recovery, step = 24, 0.35, 0.6, 0.1
    edges = _random_graph(nodes, 4, rng)

    def slope(share: Floats) -> Floats:
        return infection * (1 - share) * _gathered(edges, share[edges[:, 1]], nodes) - recovery * share

    states = integrate(slope, rng.uniform(0.0, 0.25, nodes), step, rows)
    return _network(
        states,
        np.array([slope(state) for state in states]),
        edges,
        step,
        names=("infected", "change"),
        texts=(
            "Probability that the household is infected.",
            "Change of that probability in 1 per day.",
            "Contacts between households: who can be infected by whom.",
            "Household.",
        ),
        unit="days",
        formula=f"{infection}*(1 - infected)*sum[j](A[i,j], infected[j]) - {recovery}*infected",
        constants={"infection": infection, "recovery": recovery},
    )


def _ring(rows: int, rng: np.random.Generator) -> Sample:
    """Oscillators on a ring, each pulled by its two neighbours with a lag."""
    nodes, coupling, lag, step = 16, 0.8, 0.3, 0.1
    places = np.arange(nodes)
    edges = np.concatenate([np.column_stack([places, (places + side) % nodes]) for side in (1, -1)])
    own = rng.uniform(-1.0, 1.0, nodes)

    def slope(phase: Floats) -> Floats:
        target, source = edges.T
        return own + coupling * _gathered(edges, np.sin(phase[source] - phase[target] - lag), nodes)

    states = integrate(slope, rng.uniform(-np.pi, np.pi, nodes), step, rows)
    sample = _network(
        states,
        np.array([slope(state) for state in states]),
        edges,
        step,
        names=("phase", "velocity"),
        texts=(
            "Phase of the oscillator in radians, counted on beyond a full turn.",
            "Phase velocity in radians per second.",
            "Which oscillator is acted on by which.",
            "Oscillator.",
        ),
        unit="seconds",
        formula=f"own + {coupling}*sum[j](A[i,j], sin(phase[j] - phase[i] - {lag}))",
        constants={"coupling": coupling, "lag": lag},
    )
    alone = Variable(own, "Phase velocity of the oscillator on its own in radians per second.", ["node"])
    return Sample(
        {**sample.variables, "own": alone}, sample.axes, sample.formula, sample.constants, sample.num_nodes
    )


def _gathered(edges: Edges, values: Floats, nodes: int) -> Floats:
    """Sum of the edges' values at their targets."""
    total: Floats = np.bincount(edges[:, 0], weights=values, minlength=nodes).astype(np.float64)
    return total


def _random_graph(nodes: int, degree: int, rng: np.random.Generator) -> Edges:
    """Symmetric, without loops, with `degree` neighbours on average and at least one for each node."""
    chosen = rng.random((nodes, nodes)) < degree / (nodes - 1)
    upper = np.triu(chosen, 1)
    for node in np.flatnonzero(~(upper | upper.T).any(axis=1)):
        other = (node + 1 + rng.integers(nodes - 1)) % nodes
        upper[min(node, other), max(node, other)] = True
    return np.argwhere(upper | upper.T)


def _network(
    states: Floats,
    rates: Floats,
    edges: Edges,
    step: float,
    *,
    names: tuple[str, str],
    texts: tuple[str, str, str, str],
    unit: str,
    formula: str,
    constants: dict[str, float],
) -> Sample:
    """States and rates [time, node] with the relation `A` as a sample."""
    samples, nodes = states.shape
    return Sample(
        variables={
            names[0]: Variable(states, texts[0], ["time", "node"]),
            names[1]: Variable(rates, texts[1], ["time", "node"]),
            "A": Variable(edges, texts[2], ["edge", "endpoint"], kind="relation"),
        },
        axes={
            "time": Axis(f"Time in {unit}.", values=np.round(step * np.arange(samples), 10)),
            "node": Axis(texts[3], values=[f"n{place}" for place in range(nodes)]),
            "edge": Axis("Position of the connection.", size=len(edges)),
            "endpoint": Axis("Order of the two ends.", values=["target", "source"]),
        },
        formula=formula,
        constants=constants,
        num_nodes=nodes,
    )


NETWORKS = (
    System("epidemic", "an infection on a random contact network", "change", 60, _epidemic),
    System("oscillator_ring", "oscillators on a ring that hear each other late", "velocity", 60, _ring),
)
