"""Research ideas that need no language model: hypothesis families for data, starting points for a command."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ari.pipeline.experiment_spec import Experiment, Parameter, Value


@dataclass(frozen=True)
class DataProfile:
    """The facts about the data that decide which hypothesis families come first.

    Attributes:
        rows: Training rows.
        positive: Whether the target and at least one input are positive throughout, as a power law asks.
        network: Whether the data hold relations (a graph or hypergraph).
        inputs: Number of inputs.
        derivative: Whether the target is a time derivative, estimated from samples.
    """

    rows: int
    positive: bool
    network: bool
    inputs: int
    derivative: bool = False


@dataclass(frozen=True)
class _Family:
    title: str
    strategies: tuple[str, ...]
    thought: str


_FAMILIES = (
    _Family("Power law", ("power_law",), "products of powers of the inputs, straight lines in logarithms"),
    _Family("Sparse polynomial", ("linear", "polynomial"), "a short sum of products of the inputs"),
    _Family(
        "Composite form", ("composite",), "a short sum inside one outer function, or of simple functions"
    ),
    _Family("Ratio of polynomials", ("rational",), "saturation, poles and asymptotes"),
    _Family("Exponential", ("exponential",), "growth or decay at a constant rate"),
    _Family("Periodic", ("sinusoid",), "oscillation at one frequency"),
    _Family("Free search", ("genetic",), "genetic programming over all operators"),
)
_TRAJECTORIES = _Family(
    "Sum along trajectories",
    ("trajectories",),
    "a short sum whose integral follows the measured states, without estimating slopes",
)
_NETWORK = _Family("Interaction on the network", ("network",), "own dynamics plus a sum over neighbours")


def symbolic_ideas(experiment: Experiment, profile: DataProfile) -> list[dict[str, Any]]:
    """Hypothesis families, the likeliest first: networks, then power laws; for derivatives sums."""
    families = list(_FAMILIES)
    if profile.derivative or not profile.positive:
        families.append(families.pop(0))
    if profile.derivative:
        families.insert(0, _TRAJECTORIES)
    if profile.network:
        families.insert(0, _NETWORK)
    ranked = [family.title for family in families]
    return [_symbolic_idea(experiment, family, ranked) for family in families]


def _symbolic_idea(experiment: Experiment, family: _Family, ranked: Sequence[str]) -> dict[str, Any]:
    plan = (
        f"## §1 Hypothesis\n{experiment.target} follows {family.thought}.\n"
        f"## §2 Experiment\nFit the families {', '.join(family.strategies)} to the training rows, "
        f"snap constants, judge on validation rows.\n"
        f"## §3 Refutation\nAblate each term; repeat on resampled rows; confirm on sealed rows.\n"
    )
    return {
        "title": family.title,
        "experiment_plan": plan,
        "primary_metric": experiment.primary_metric,
        "alternatives_considered": [title for title in ranked if title != family.title],
        "_pinned": False,
        "strategies": list(family.strategies),
    }


def command_ideas(experiment: Experiment, *, seed: int) -> list[dict[str, Any]]:
    """Starting points in the parameter space: baseline, far corner, middle, and two drawn at random."""
    parameters = experiment.parameters
    rng = random.Random(seed)
    starts: list[tuple[str, dict[str, Value]]] = [
        ("Start from the baseline", {p.name: p.baseline for p in parameters}),
        ("Start from the last level of every parameter", {p.name: p.levels[-1] for p in parameters}),
        ("Start from the middle level of every parameter", {p.name: _middle(p) for p in parameters}),
        ("Start from a random configuration", {p.name: rng.choice(p.levels) for p in parameters}),
        ("Start from another random configuration", {p.name: rng.choice(p.levels) for p in parameters}),
    ]
    unique: list[tuple[str, dict[str, Value]]] = []
    for title, params in starts:
        if all(params != other for _, other in unique):
            unique.append((title, params))
    titles = [title for title, _ in unique]
    return [_command_idea(experiment, title, params, titles) for title, params in unique]


def _middle(parameter: Parameter) -> Value:
    return parameter.levels[len(parameter.levels) // 2]


def _command_idea(
    experiment: Experiment, title: str, params: dict[str, Value], titles: Sequence[str]
) -> dict[str, Any]:
    shown = ", ".join(f"{name} = {value!r}" for name, value in params.items()) or "no parameters"
    plan = (
        f"## §1 Start\nRun the command with {shown}.\n"
        f"## §2 Improve\nChange one parameter at a time and keep what raises the score.\n"
        f"## §3 Refutation\nPut single changes back; repeat the best configuration more often.\n"
    )
    return {
        "title": title,
        "experiment_plan": plan,
        "primary_metric": experiment.primary_metric,
        "alternatives_considered": [other for other in titles if other != title],
        "_pinned": False,
        "params": params,
    }
