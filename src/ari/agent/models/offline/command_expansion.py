"""What the offline researcher tries next below a node of a command study."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from ari.agent.models.offline.proposals import label_counts, tried_params
from ari.agent.task import Proposal
from ari.pipeline.experiment_spec import Experiment, Parameter

RANDOM_TRIES = 200
"""How often a configuration is drawn before the parameter space counts as exhausted."""


def propose_command(facts: dict[str, Any]) -> Proposal:
    """The next configuration: a repair after a failure, else one change, a repeat, or one change undone."""
    experiment = Experiment.model_validate(facts["experiment"] | {"question": ""})
    node = facts["node"]
    current = {p.name: p.baseline for p in experiment.parameters} | node["plan"].get("params", {})
    tried = [
        tuple(params.get(p.name, p.baseline) for p in experiment.parameters) for params in tried_params(facts)
    ]
    if node["status"] == "errored":
        return _command_debug(experiment, facts, current, tried)
    counts = label_counts(facts)
    if counts.get("improve", 0) >= 2 and not counts.get("validation") and node["label"] != "validation":
        return _command_validation(current)
    if counts.get("improve", 0) >= 2 and not counts.get("ablation"):
        ablation = _command_ablation(experiment, current, tried)
        if ablation:
            return ablation
    return _command_improve(experiment, facts, current, tried) or _command_validation(current)


def _command_validation(current: dict[str, Any]) -> Proposal:
    return Proposal(
        label="validation",
        summary="Repeat this configuration more often and measure the spread.",
        plan={"params": current},
    )


def _command_ablation(
    experiment: Experiment, current: dict[str, Any], tried: list[tuple[Any, ...]]
) -> Proposal | None:
    for parameter in experiment.parameters:
        if current[parameter.name] == parameter.baseline:
            continue
        params = current | {parameter.name: parameter.baseline}
        if _key(experiment, params) not in tried:
            return Proposal(
                label="ablation",
                summary=f"Put {parameter.name} back to {parameter.baseline!r}: what was the change worth?",
                plan={"params": params, "changed": parameter.name},
            )
    return None


def _command_debug(
    experiment: Experiment, facts: dict[str, Any], current: dict[str, Any], tried: list[tuple[Any, ...]]
) -> Proposal:
    working: dict[str, Any] = next(
        (a["plan"].get("params", {}) for a in reversed(facts["ancestors"]) if a["status"] == "completed"), {}
    )
    for parameter in experiment.parameters:
        for level in (working.get(parameter.name, parameter.baseline), *parameter.levels):
            params = current | {parameter.name: level}
            if _key(experiment, params) not in tried:
                failure = _short(facts["node"].get("error"))
                summary = f"The parent failed ({failure}); set {parameter.name} to {level!r}."
                return Proposal(
                    label="debug", summary=summary, plan={"params": params, "changed": parameter.name}
                )
    return Proposal(
        label="debug",
        summary="The parent failed; run the same configuration once more.",
        plan={"params": current},
    )


def _short(error: str | None) -> str:
    text = (error or "no reason recorded").splitlines()[0]
    return text if len(text) <= 80 else text[:77] + "…"


def _command_improve(
    experiment: Experiment, facts: dict[str, Any], current: dict[str, Any], tried: list[tuple[Any, ...]]
) -> Proposal | None:
    for parameter, level in _moves(experiment, facts, current):
        params = current | {parameter.name: level}
        if _key(experiment, params) not in tried:
            summary = f"Change {parameter.name} from {current[parameter.name]!r} to {level!r}."
            return Proposal(
                label="improve", summary=summary, plan={"params": params, "changed": parameter.name}
            )
    rng = random.Random(facts.get("seed", 0))
    for _ in range(RANDOM_TRIES):
        params = {p.name: rng.choice(p.levels) for p in experiment.parameters}
        if _key(experiment, params) not in tried:
            summary = "Every single change has been tried; take a configuration at random."
            return Proposal(label="improve", summary=summary, plan={"params": params})
    return None


def _moves(
    experiment: Experiment, facts: dict[str, Any], current: dict[str, Any]
) -> Iterator[tuple[Parameter, Any]]:
    """Single changes, most informative first: parameters never varied, then steps up and down."""
    tried = tried_params(facts)
    varied = {
        p.name: len({repr(params.get(p.name, p.baseline)) for params in tried}) for p in experiment.parameters
    }
    ordered = sorted(experiment.parameters, key=lambda p: varied[p.name])
    for parameter in ordered:
        if varied[parameter.name] <= 1 and len(parameter.levels) > 1:
            yield parameter, parameter.levels[len(parameter.levels) // 2 if parameter.ordered else -1]
    for distance in (1, 2, 4, 8, 16):
        for parameter in ordered:
            place = (
                parameter.levels.index(current[parameter.name])
                if current[parameter.name] in parameter.levels
                else 0
            )
            for step in (distance, -distance):
                if 0 <= place + step < len(parameter.levels):
                    yield parameter, parameter.levels[place + step]


def _key(experiment: Experiment, params: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(params.get(p.name, p.baseline) for p in experiment.parameters)
