"""The network examples: sound data that obey the law, which is found from rates and from states alone."""

from __future__ import annotations

import re
import runpy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sr_harness.core import AgentContext, inspect_context_data, load_context_data
from sr_harness.engine import Structure, equivalent, evaluate, parse
from sr_harness.evaluator.dynamics import TrajectorySet
from sr_harness.search import Budget, Problem, discover
from sr_harness.search.systems import discover_system

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

LAWS = {
    "kuramoto": "omega + 0.45*sum[j](A[i,j], sin(theta[j] - theta[i]))",
    "sis": "0.3*(1 - infected)*sum[j](A[i,j], infected[j]) - 0.55*infected",
    "hypergraph": "(1 - habit)*(0.2*sum[j](A[i,j], habit[j]) + 0.9*sum[j,k](T[i,j,k], habit[j]*habit[k]))"
    " - habit",
}
STATES = {"kuramoto": "theta", "sis": "infected", "hypergraph": "habit"}


def described(name: str) -> dict[str, str]:
    text = (EXAMPLES / name / "experiment.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^- (\w+): (.+)$", text, re.MULTILINE))


def context(name: str) -> AgentContext:
    return AgentContext.from_directory(EXAMPLES / name / "context.data")


def assert_same(found: object, name: str) -> None:
    names = list(context(name).data)
    verdict = equivalent(parse(str(found), names=names), parse(LAWS[name], names=names)).verdict
    assert verdict == "equivalent", found


@pytest.mark.parametrize("name", ["sis", "hypergraph"])
def test_the_data_are_sound_and_what_the_script_makes(name: str, tmp_path: Path) -> None:
    committed = EXAMPLES / name / "context.data"
    report = inspect_context_data(committed)
    assert report["valid"] and report["warnings"] == []
    script = runpy.run_path(str(EXAMPLES / name / "generate.py"))
    made = load_context_data(script["generate"](tmp_path / "context.data"))["data"]
    for variable, values in load_context_data(committed)["data"].items():
        if np.issubdtype(values.dtype, np.number):
            np.testing.assert_allclose(made[variable], values, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", LAWS)
def test_the_data_obey_the_law(name: str) -> None:
    data = context(name)
    values = evaluate(
        parse(LAWS[name], names=list(data.data)), data.data, structure=Structure.from_context(data)
    )
    np.testing.assert_allclose(values, data.data[described(name)["target"]], atol=1e-12)


@pytest.mark.parametrize("name", LAWS)
def test_the_network_strategy_finds_the_law(name: str) -> None:
    asked = described(name)
    problem = Problem.from_context(context(name), asked["target"], asked["inputs"].split(", "))
    found = discover(problem, budget=Budget(5000), strategies=["network"])
    assert found.stop_reason == "exact"
    assert_same(found.best.expression, name)


@pytest.mark.parametrize("name", ["sis", "hypergraph"])
def test_the_law_is_found_from_states_alone(name: str) -> None:
    found = discover_system(TrajectorySet.from_context(context(name), [STATES[name]]), strategies=["network"])
    assert_same(found.best.formulas[STATES[name]], name)
    assert found.best.judged.error < 1e-5


def test_the_form_of_the_law_is_found_from_noisy_states() -> None:
    data = context("sis")
    states = np.asarray(data.data["infected"])
    noise = 0.01 * states.std() * np.random.default_rng(0).standard_normal(states.shape)
    noisy = replace(data, data={**data.data, "infected": states + noise})
    found = discover_system(TrajectorySet.from_context(noisy, ["infected"]), strategies=["network"])
    formula = str(found.best.formulas["infected"])
    numbers = sorted(float(text) for text in re.findall(r"\d\.\d+", formula))
    assert numbers == pytest.approx([0.3, 0.55], rel=0.03)
    assert "sum[j](A[i,j], (1 - infected[i])*infected[j])" in formula
