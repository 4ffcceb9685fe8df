"""The offline researcher as a model of the agent library: the same loop, driven by rules."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters

from ari.agent.briefing import task_briefing
from ari.agent.loop import trace_records
from ari.agent.models import check_model, resolve_model
from ari.agent.task import NodeTask
from ari.errors import ConfigError
from ari.pipeline.experiment_spec import Experiment

EXPERIMENT = Experiment(title="t", question="Why?", kind="symbolic", primary_metric="nrmse", target="y")
TASK = NodeTask(
    checkpoint="c",
    node_id="n0",
    parent_id=None,
    label="draft",
    depth=0,
    order=0,
    plan={"strategies": ["power_law", "rational"]},
    experiment=EXPERIMENT,
    higher_is_better=False,
)


def conversation(*results: dict[str, Any] | str) -> list[ModelMessage]:
    """A node's conversation in which the tools have answered so; a text stands for a refused call."""
    messages: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart(task_briefing(TASK))])]
    for number, result in enumerate(results):
        call = ToolCallPart("tool", {}, tool_call_id=f"call-{number}")
        messages.append(ModelResponse(parts=[call]))
        outcome = "retried" if isinstance(result, str) else "success"
        answered = ToolReturnPart("tool", result, tool_call_id=f"call-{number}", outcome=outcome)
        messages.append(ModelRequest(parts=[answered]))
    return messages


def answer(messages: list[ModelMessage]) -> ToolCallPart | TextPart:
    model = resolve_model("offline")
    response = asyncio.run(model.request(messages, None, ModelRequestParameters()))
    return response.parts[0]


def found(nrmse: float) -> dict[str, Any]:
    row = {"formula": "a**2", "nrmse": nrmse, "complexity": 3, "description_length": -5.0}
    return {"candidates": [row]}


def test_the_first_thing_it_does_is_look_at_the_data():
    assert answer(conversation()).tool_name == "describe_data"


def test_another_result_leads_to_another_action():
    exact = answer(conversation({"rows": 9}, found(1e-13)))
    poor = answer(conversation({"rows": 9}, found(0.4)))
    assert exact.tool_name == "snap_formula"
    assert (poor.tool_name, poor.args["family"]) == ("fit_family", "rational")


def test_a_refused_call_is_answered_by_another_and_not_by_giving_up():
    assert answer(conversation({"rows": 9}, "negative values")).args["family"] == "rational"


def test_it_ends_with_words():
    done = answer(conversation({"rows": 9}, found(1e-13), {"candidates": []}, {"formula": "a**2"}))
    assert isinstance(done, TextPart)
    assert done.content == "Submitted a**2: best of power_law, rational."


def test_the_same_conversation_gives_the_same_answer():
    messages = conversation({"rows": 9}, found(0.4))
    assert answer(messages) == answer(messages)


def test_the_trace_holds_roles_and_contents_only():
    records = list(trace_records(conversation({"rows": 9}, "refused")))
    assert [record["role"] for record in records] == ["user", "assistant", "tool", "assistant", "tool"]
    assert all(set(record) == {"role", "content"} for record in records)


def test_an_unknown_model_is_refused_by_name():
    with pytest.raises(ConfigError, match=r"there is no model 'prov-x/some-model:free@2026'"):
        check_model("prov-x/some-model:free@2026")
