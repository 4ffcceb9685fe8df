"""Every expression of formula_eval.json: its value, or a refusal; never an exception."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from ari.pipeline.claim_gate.formula_eval import evaluate

VECTORS = json.loads((Path(__file__).parent / "vectors" / "formula_eval.json").read_text())["vectors"]


def _expression(vector: dict[str, object]) -> object:
    made = vector.get("expr_gen")
    if not isinstance(made, dict):
        return vector["expr"]
    tail = made.get("then_repeat", "") * made.get("then_times", 0)
    return str(made["repeat"]) * made["times"] + str(made["mid"]) + tail


def _variable(value: object) -> object:
    return float(value["$f"]) if isinstance(value, dict) else value


def _meets(result: object, ok: bool, wanted: dict[str, object]) -> bool:
    if wanted.get("reject"):
        return not ok
    expected = wanted["value"]
    if not ok or isinstance(result, bool) != isinstance(expected, bool):
        return False
    if isinstance(expected, list):
        return isinstance(result, list) and all(map(math.isclose, result, expected))
    return math.isclose(result, expected, rel_tol=1e-9) and not isinstance(result, list)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["id"])
def test_expression(vector: dict[str, object]) -> None:
    variables = {name: _variable(value) for name, value in vector["vars"].items()}
    evaluation = evaluate(_expression(vector), variables)
    answers = [vector["expect"], *vector["accept"]]
    assert any(_meets(evaluation.value, evaluation.ok, answer) for answer in answers), evaluation
    assert evaluation.ok == (not evaluation.reason)
