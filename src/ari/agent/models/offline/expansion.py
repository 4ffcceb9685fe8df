"""How the offline researcher decides what to try next below a node."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from ari.agent.task import Proposal
from ari.pipeline.experiment_spec import Experiment, Parameter

GOOD_NRMSE = 1e-3
"""Below this a formula describes the data well enough to be tested rather than replaced."""

EXACT_NRMSE = 1e-9
"""Below this nothing is left to improve in float64."""

RANDOM_TRIES = 200
"""How often a configuration is drawn before the parameter space counts as exhausted."""

_IMPROVEMENTS: tuple[dict[str, Any], ...] = (
    {"refine": True},
    {"strategies": ["composite"]},
    {"strategies": ["rational", "polynomial"]},
    {"strategies": ["genetic"]},
)


def propose(facts: dict[str, Any]) -> Proposal:
    """The next experiment below a node, from the node's result and from what its children already try."""
    if facts.get("idea") is not None:
        return _draft(facts["idea"], facts["idea_index"])
    if facts["experiment"]["kind"] == "symbolic":
        return _propose_symbolic(facts)
    return _propose_command(facts)


def _draft(idea: dict[str, Any], index: int) -> Proposal:
    plan = {key: idea[key] for key in ("strategies", "params") if key in idea}
    return Proposal(
        label="draft",
        summary=f"{idea['title']}: a hypothesis not tried yet.",
        plan=plan | {"idea_index": index},
    )


def _counts(facts: dict[str, Any]) -> dict[str, int]:
    labels = [child["label"] for child in facts["children"]]
    return {label: labels.count(label) for label in set(labels)}


# ------------------------------------------------------------------------------------------ symbolic


def _propose_symbolic(facts: dict[str, Any]) -> Proposal:
    node = facts["node"]
    if node["status"] == "errored":
        return Proposal(
            label="debug",
            summary="The parent gave no usable formula; fall back to the simplest families.",
            plan={"strategies": ["constant", "linear", "power_law"]},
        )
    formula = node["submission"].get("formula", "")
    for label in _symbolic_order(facts):
        proposal = _symbolic_child(label, facts, formula)
        if proposal is not None:
            return proposal
    return _symbolic_validation(facts, formula)


def _symbolic_order(facts: dict[str, Any]) -> tuple[str, ...]:
    nrmse = facts["node"]["metrics"].get("nrmse")
    counts = _counts(facts)
    if nrmse is None or nrmse > GOOD_NRMSE:
        first = (
            ("improve", "draft")
            if counts.get("draft", 0) >= counts.get("improve", 0) + 1
            else ("draft", "improve")
        )
        return (*first, "ablation", "validation")
    if nrmse < EXACT_NRMSE:
        return ("ablation", "validation", "draft")
    return (
        ("improve", "ablation", "validation", "draft")
        if not counts
        else ("ablation", "validation", "draft", "improve")
    )


def _symbolic_child(label: str, facts: dict[str, Any], formula: str) -> Proposal | None:
    done = _counts(facts).get(label, 0)
    if label == "draft":
        return _draft(facts["next_idea"], facts["next_idea_index"]) if facts.get("next_idea") else None
    if label == "improve" and done < len(_IMPROVEMENTS):
        step = (done + sum(a["label"] == "improve" for a in facts["ancestors"])) % len(_IMPROVEMENTS)
        plan = _IMPROVEMENTS[step]
        what = (
            "Refine the parent's formula"
            if plan.get("refine")
            else f"Search on with {', '.join(plan['strategies'])}"
        )
        return Proposal(
            label="improve", summary=f"{what}, starting from {formula}.", plan={"formula": formula, **plan}
        )
    if label == "ablation" and done < 2 and facts["node"]["label"] != "ablation":
        return Proposal(
            label="ablation",
            summary=f"Take part {done + 1} out of {formula} and see what it was worth.",
            plan={"formula": formula, "part": done},
        )
    if label == "validation" and done < 1 and facts["node"]["label"] != "validation":
        return _symbolic_validation(facts, formula)
    return None


def _symbolic_validation(facts: dict[str, Any], formula: str) -> Proposal:
    repeat = _counts(facts).get("validation", 0)
    return Proposal(
        label="validation",
        summary=f"Fit the form of {formula} again on other splits of the rows and measure the spread.",
        plan={"formula": formula, "repeat": repeat},
    )


# ------------------------------------------------------------------------------------------ command


def _propose_command(facts: dict[str, Any]) -> Proposal:
    experiment = Experiment.model_validate(facts["experiment"] | {"question": ""})
    node = facts["node"]
    current = {p.name: p.baseline for p in experiment.parameters} | node["plan"].get("params", {})
    tried = [
        tuple(entry["params"].get(p.name, p.baseline) for p in experiment.parameters)
        for entry in facts["tried"]
    ]
    if node["status"] == "errored":
        return _command_debug(experiment, facts, current, tried)
    counts = _counts(facts)
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
    tried = facts["tried"]
    varied = {
        p.name: len({repr(entry["params"].get(p.name, p.baseline)) for entry in tried})
        for p in experiment.parameters
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
