"""The symbolic-regression agent with scripted models: what it asks, what it believes, when it ends."""

from __future__ import annotations

import asyncio
from itertools import repeat
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart, UserPromptPart
from sr_agent_data import LAW, bench

from ari.agent.models import resolve_model
from ari.agents.symbolic_regression import AgentResult, Shape, find_formula
from ari.agents.symbolic_regression.toolbox import Toolbox
from ari.errors import ConfigError
from ari.testing import Call, Reply, ScriptedModel, ScriptEndedError
from ari.testing.habits import odd_calls, useless_replies

BAD = (
    "I would rather talk about the weather.",
    "",
    Reply(refusal="I cannot help with that."),
    '{"formula": "((((',
    '{"formula": null, "nrmse": 0.0, "exact": true}',
    Reply(calls=(Call("launch_rocket", {"target": "moon"}),)),
    Reply(calls=(Call("fit_family", "{broken"), Call("fit_family", {"family": "astrology"}))),
    Reply(calls=(Call("evaluate_formula", {"formula": "y"}),)),
    Reply(calls=(Call("evaluate_formula", {}), Call("evaluate_formula", {"formula": 7}))),
    Reply.error(500, "overloaded"),
    "<formula>log(-x)</formula> is certainly exact, with nrmse = 0",
    "x" * 50_000,
)


def search(model: ScriptedModel, shape: Shape, **options: Any) -> AgentResult:
    return asyncio.run(find_formula(bench(), model, shape=shape, work=2_000, **options))


def said(messages: list[ModelMessage]) -> str:
    """What the user's side of a conversation says."""
    parts = [part for message in messages if isinstance(message, ModelRequest) for part in message.parts]
    return "\n".join(str(part.content) for part in parts if isinstance(part, UserPromptPart | ToolReturnPart))


def test_the_first_message_holds_the_diagnostics():
    model = ScriptedModel(["nothing"])
    search(model, Shape(1, 1, 1, 1))
    first = said(model.asked[0])
    for part in ('"statistics"', '"relationships"', '"spearman"', '"rows": 96', '"name": "v"'):
        assert part in first


@pytest.mark.parametrize("bad", BAD, ids=range(len(BAD)))
def test_a_bad_reply_costs_a_step_and_nothing_more(bad: Reply | str):
    model = ScriptedModel([bad, f"y = {LAW}"])
    result = search(model, Shape(1, 1, 2, 1))
    assert (result.stop_reason, result.requests) == ("exact", 2)
    assert result.failures == 1
    assert result.best is not None
    assert result.best.formula() == LAW


ODD = odd_calls("evaluate_formula", {"formula": LAW})
USELESS = useless_replies("evaluate_formula", {"formula": LAW})


@pytest.mark.parametrize("habit", ODD)
def test_a_call_in_any_form_is_served(habit: str):
    result = search(ScriptedModel([ODD[habit]]), Shape(1, 1, 1, 1))
    assert (result.stop_reason, result.failures) == ("exact", 0)


@pytest.mark.parametrize("habit", USELESS)
def test_a_useless_reply_costs_a_step_and_nothing_more(habit: str):
    result = search(ScriptedModel([USELESS[habit], f"`{LAW}`"]), Shape(1, 1, 2, 1))
    assert result.stop_reason == "exact"
    assert result.requests <= 2  # what is cut off may hold a whole formula, which is measured like any other


def test_an_exact_formula_ends_the_search_at_once():
    model = ScriptedModel([f"<formula>{LAW}</formula>"])
    result = search(model, Shape(3, 3, 3, 3))
    assert (result.stop_reason, result.requests, result.proposals, result.measured) == ("exact", 1, 1, 1)


def test_it_asks_restarts_times_conversations_times_depth_times_samples():
    model = ScriptedModel(repeat("<formula>c*sin(x)</formula>"))
    shape = Shape(2, 3, 2, 2)
    result = search(model, shape)
    assert (result.stop_reason, result.requests, shape.requests) == ("finished", 24, 24)
    assert len(model.asked) == 24


def test_a_conversation_goes_on_from_the_better_of_its_samples():
    model = ScriptedModel(["<formula>c*cos(x)</formula>", "<formula>c*exp(-x)*v**2</formula>", "a", "b"])
    search(model, Shape(1, 1, 2, 2))
    assert model.asked[0] == model.asked[1]
    assert model.asked[2] == model.asked[3]
    assert "exp(-x)" in said(model.asked[2])
    assert "cos(x)" not in said(model.asked[2])


def test_a_conversation_knows_what_its_restart_found_and_not_what_others_did():
    model = ScriptedModel(repeat("<formula>c*exp(-x)*v**2</formula>"))
    search(model, Shape(2, 2, 1, 1))
    knows = ["exp(-x)*v**2" in said(messages) for messages in model.asked]
    assert knows == [False, True, False, True]


def test_tools_are_really_run_and_their_formulas_measured():
    model = ScriptedModel([Reply.tool("refine_formula", formula="exp(-x)*v**2", work=10**9), "done"])
    result = search(model, Shape(1, 1, 2, 1))
    returned = [
        part for message in model.asked[1] for part in message.parts if isinstance(part, ToolReturnPart)
    ]
    assert returned[0].content["work_used"] <= 1_000
    assert result.measured > 3


def test_nothing_that_a_model_says_of_a_formula_is_believed():
    lie = '{"formula": "3*x", "nrmse": 0.0, "r2": 1.0, "exact": true, "description_length": -1e9}'
    result = search(ScriptedModel([lie]), Shape(1, 1, 1, 1))
    assert result.stop_reason == "finished"
    assert not any(candidate.formula() == "3*x" and candidate.exact for candidate in result.front.candidates)
    assert result.best is not None
    assert result.best.formula() != "3*x"


def test_the_same_replies_give_the_same_result():
    def once() -> tuple[Any, ...]:
        replies = [
            "<formula>c*sin(x*v)</formula>",
            Reply.tool("fit_family", family="polynomial"),
            "`a*x*v + b`",
        ]
        result = search(ScriptedModel(replies), Shape(1, 1, 3, 1))
        return result.front.to_rows(), result.proposals, result.requests

    assert once() == once()


def test_a_model_that_is_gone_is_not_asked_for_ever_and_the_portfolio_steps_in():
    model = ScriptedModel(repeat(Reply.error(503, "down")))
    result = search(model, Shape(5, 5, 5, 5))
    assert (result.requests, result.stop_reason) == (3, "model")
    assert "3 requests in a row failed" in result.notes[0]
    assert "the portfolio searched in its place" in result.notes[1]
    assert result.best is not None
    assert any(candidate.origin == "portfolio" for candidate in result.front.candidates)


def test_a_limit_of_the_run_ends_the_search_with_what_there_is():
    model = ScriptedModel(
        ["<formula>c*exp(-x)*v**2</formula>"]
    )  # the script's end is refused like a budget's
    result = search(model, Shape(1, 1, 9, 1))
    assert (result.stop_reason, result.measured) == ("refused", 1)
    assert "the script has ended" in result.notes[0]
    assert result.best is not None


def test_a_limit_before_anything_was_proposed_is_the_callers_business():
    with pytest.raises(ScriptEndedError):
        search(ScriptedModel([]), Shape(1, 1, 9, 1))


def test_a_server_without_tools_is_asked_without_them():
    offered = []

    class Toolless(ScriptedModel):
        async def request(self, messages, model_settings, model_request_parameters):
            offered.append(len(model_request_parameters.function_tools))
            return await super().request(messages, model_settings, model_request_parameters)

    model = Toolless([Reply.error(400, "this model does not support tools"), f"`{LAW}`"])
    assert search(model, Shape(1, 1, 2, 1)).stop_reason == "exact"
    assert offered[0] > 5
    assert offered[1] == 0


def test_when_the_time_is_up_nobody_is_asked():
    model = ScriptedModel(repeat("<formula>x</formula>"))
    result = search(model, Shape(), seconds=1e-9)
    assert (result.stop_reason, result.requests) == ("time", 0)
    assert result.best is not None  # the baselines


def test_a_known_formula_is_not_lost():
    result = search(ScriptedModel(["no idea"]), Shape(1, 1, 1, 1), start=[LAW])
    assert (result.stop_reason, result.requests) == ("exact", 0)


def test_the_offline_researcher_answers_with_the_portfolio():
    model = resolve_model("offline")
    result = asyncio.run(find_formula(bench(), model, shape=Shape(1, 1, 2, 1), work=20_000))
    assert result.best is not None
    assert result.best.judged_nmse < 0.1
    assert result.proposals > 3


@pytest.mark.parametrize("value", [0, -1, 1_001, 1.5, True])
def test_the_shape_is_made_of_whole_numbers(value: Any):
    with pytest.raises(ConfigError, match="depth of the symbolic-regression agent"):
        Shape(depth=value)


def test_the_tools_are_offered_with_their_arguments_and_without_the_agents_own_business():
    offered = {tool.name: tool for tool in Toolbox(bench().tools, work=100).definitions()}
    assert "submit_formula" not in offered
    schema = offered["fit_family"].parameters_json_schema
    assert schema["required"] == ["family"]
    assert "power_law" in (offered["fit_family"].description or "")
    assert "ctx" not in schema["properties"]


def test_each_request_carries_the_instructions_that_were_given():
    model = ScriptedModel(["x + v", "x - v"])
    search(model, Shape(1, 1, 2, 1), instructions="Think of light.")
    told = [
        message.instructions
        for messages in model.asked
        for message in messages
        if isinstance(message, ModelRequest)
    ]
    assert set(told) == {"Think of light."}
    assert len(model.asked) == 2
