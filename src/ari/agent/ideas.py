"""Research ideas: families for data, starts for commands and programs, and a panel where a model is.

Without a model the ideas follow from the experiment and the profile of its data. With one, a panel proposes
them (`ari.agent.panel`), and these here take its place where it cannot, or follow where it has too few.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ari.pipeline.experiment_spec import Experiment, Parameter, Value
from ari.settings import OFFLINE

if TYPE_CHECKING:
    from pydantic_ai.models import Model

MOST_PLAN = 2_000
"""Characters of an idea's plan that the nodes which take it up are told."""


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


def find_ideas(
    experiment: Experiment,
    profile: DataProfile | None,
    *,
    seed: int,
    model: str = OFFLINE,
    checkpoint: Path | None = None,
    survey: str = "",
    inherited: Sequence[str] = (),
) -> dict[str, Any]:
    """The ideas of a study, the most promising first.

    Args:
        experiment: What is studied.
        profile: The facts about its data; None where there are none.
        seed: Seed of the study.
        model: Whom the panel consists of.
        checkpoint: The study: its training rows are profiled, its settings and prompts count.
        survey: What is known of the subject.
        inherited: Titles of ideas that are there already.

    Returns:
        `ideas` as in `idea.json`; `concerns` where the panel did not work as it should.
    """
    usual = _usual_ideas(experiment, profile, seed)
    if model == OFFLINE or checkpoint is None:
        return {"ideas": usual}
    from ari.agent.models import resolve_model
    from ari.agent.panel import FEWEST_IDEAS, Brief, convene
    from ari.agent.prompts import Prompts

    def member(name: str) -> Model:
        return resolve_model(model, checkpoint=checkpoint, purpose=f"ideas: {name}")

    brief = Brief(
        experiment,
        {} if profile is None else _statistics(experiment, checkpoint),
        survey=survey,
        strategies=() if profile is None else _strategies(profile),
        inherited=inherited,
    )
    result = convene(brief, member, Prompts.of(checkpoint).text)
    enough = len(result.ideas) + len(inherited) >= FEWEST_IDEAS and result.ideas
    ideas = result.ideas if enough else [*result.ideas, *usual]
    concerns = list(result.concerns)
    if not result.ideas:
        concerns.append("the ideas are those that the study would have had without a model")
    return {"ideas": ideas} | ({"concerns": concerns} if concerns else {})


def _usual_ideas(experiment: Experiment, profile: DataProfile | None, seed: int) -> list[dict[str, Any]]:
    if profile is not None:
        return symbolic_ideas(experiment, profile)
    return code_ideas(experiment) if experiment.kind == "code" else command_ideas(experiment, seed=seed)


def _statistics(experiment: Experiment, checkpoint: Path) -> dict[str, Any]:
    """The profile of the training rows, as the tools for statistics and relationships describe them."""
    from ari.agents.symbolic_regression.briefing import diagnostics
    from ari.agents.symbolic_regression.toolbox import Toolbox
    from ari.evaluation.data import choose_inputs, open_train
    from sr_harness.tools import ToolContext

    context, target, time = open_train(checkpoint), experiment.target or "", experiment.time
    inputs = choose_inputs(context, target, experiment.inputs, time=time)
    return diagnostics(Toolbox(ToolContext(context, target, inputs, 0, checkpoint, time), work=1))


def _strategies(profile: DataProfile) -> tuple[str, ...]:
    """What a node may be told to search."""
    from sr_harness.search import STRATEGIES

    names = tuple(name for name in STRATEGIES if name != "network" or profile.network)
    return (*names, "trajectories") if profile.derivative else names


def plan_of(idea: Mapping[str, Any]) -> dict[str, Any]:
    """What a node that takes up an idea is told of it."""
    plan = {key: idea[key] for key in ("strategies", "params", "hypothesis") if key in idea}
    if "hypothesis" in idea:
        plan["experiment_plan"] = str(idea["experiment_plan"])[:MOST_PLAN]
    return plan


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


def code_ideas(experiment: Experiment) -> list[dict[str, Any]]:
    """Where programs that are yet to be written may start: plainly, or with what usually limits them."""
    starts = {
        "A plain program": "Write the simplest program that answers the question correctly, and measure it.",
        "The known bottleneck first": "Write it around what usually limits such a task, and measure it.",
    }
    return [
        {
            "title": title,
            "experiment_plan": (
                f"## §1 Start\n{start}\n"
                "## §2 Improve\nChange one thing at a time and keep what betters "
                f"{experiment.primary_metric}.\n"
                "## §3 Refutation\nTake single changes out again; repeat under other seeds and sizes.\n"
            ),
            "primary_metric": experiment.primary_metric,
            "alternatives_considered": [other for other in starts if other != title],
            "_pinned": False,
        }
        for title, start in starts.items()
    ]


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
