"""Recorded models: what was answered once is given again; a replay asks nobody and refuses what is new."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from pydantic_ai import Agent
from pydantic_ai.exceptions import AgentRunError, ModelHTTPError, UnexpectedModelBehavior
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from ari.agent.recording import Conversation, Recorded, Replayed, ended_by, exchanges_path
from ari.errors import BudgetExhausted, ReplayError
from ari.formats.base import problems
from ari.formats.exchanges import Exchange
from ari.testing import Reply, ScriptedModel

NAME = "openai/gpt-4o"


def conversation(folder: Path, purpose: str = "node node_0001", source: Path | None = None) -> Conversation:
    path = exchanges_path(source or folder, purpose)
    return Conversation(path, name=NAME, purpose=purpose, folders=[folder, source or folder])


def recorded(
    folder: Path, *replies: object, purpose: str = "node node_0001"
) -> tuple[Recorded, ScriptedModel]:
    model = ScriptedModel(replies)
    return Recorded(model, conversation(folder, purpose)), model


def ask(model: object, text: str = "well?", **more: object) -> str:
    return asyncio.run(Agent(model, **more).run(text)).output


def lines(folder: Path, scope: str = "node_0001") -> list[dict[str, object]]:
    path = folder / "records" / scope / "exchanges.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_an_answer_is_recorded_and_given_again_without_asking(tmp_path: Path) -> None:
    model, asked = recorded(tmp_path, "first", "second")
    assert [ask(model), ask(model, "and?")] == ["first", "second"]
    again, not_asked = recorded(tmp_path)
    assert [ask(again), ask(again, "and?")] == ["first", "second"]
    assert (len(asked.asked), len(not_asked.asked)) == (2, 0)
    assert ask(Replayed(conversation(tmp_path))) == "first"
    assert all(problems(Exchange, line) == [] for line in lines(tmp_path))


def test_the_same_question_twice_in_a_conversation_has_two_answers(tmp_path: Path) -> None:
    model, _ = recorded(tmp_path, "heads", "tails")
    assert [ask(model), ask(model)] == ["heads", "tails"]
    replay = Replayed(conversation(tmp_path))
    assert [ask(replay), ask(replay)] == ["heads", "tails"]


def test_purposes_are_told_apart_and_nodes_have_files_of_their_own(tmp_path: Path) -> None:
    for purpose, reply in (("node node_0001", "one"), ("node node_0002", "two"), ("review", "three")):
        model, _ = recorded(tmp_path, reply, purpose=purpose)
        ask(model)
    other, _ = recorded(tmp_path, "four", purpose="another review")
    assert ask(other) == "four"
    assert [len(lines(tmp_path, scope)) for scope in ("node_0001", "node_0002", "study")] == [1, 1, 2]
    assert ask(Replayed(conversation(tmp_path, "another review"))) == "four"


def test_tools_and_their_results_are_part_of_what_is_asked(tmp_path: Path) -> None:
    call = Reply.tool("measure", place="here")

    def study(model: object, value: float) -> str:
        agent = Agent(model)

        @agent.tool_plain
        def measure(place: str) -> dict[str, object]:
            """Measure."""
            return {"place": place, "value": value, "where": str(tmp_path / "work")}

        return asyncio.run(agent.run("go")).output

    model, _ = recorded(tmp_path, call, "done")
    assert study(model, 1.5) == "done"
    assert study(Replayed(conversation(tmp_path)), 1.5) == "done"
    with pytest.raises(ReplayError) as caught:
        study(Replayed(conversation(tmp_path)), 1.6)
    assert "node node_0001, request 2: it differs from the recorded one in message 3" in caught.value.message
    assert "(tool-return measure)" in caught.value.message


def test_a_replay_elsewhere_takes_the_checkpoints_path_for_the_same_text(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    model, _ = recorded(source, "yes")
    ask(model, f"see {source}/data.csv")
    assert ask(Replayed(conversation(target, source=source)), f"see {target}/data.csv") == "yes"


@pytest.mark.parametrize(
    ("question", "more", "part"),
    [
        ("another", {}, "message 1 (user-prompt)"),
        ("well?", {"instructions": "Be brief."}, "message 1 (user-prompt)"),
        ("well?", {"model_settings": {"temperature": 0.5}}, "the settings"),
        ("well?", {"output_type": int}, "the tools"),
    ],
)
def test_a_request_that_is_new_is_refused_by_naming_what_differs(
    tmp_path: Path, question: str, more: dict[str, object], part: str
) -> None:
    model, _ = recorded(tmp_path, "yes")
    ask(model)
    replay = Replayed(conversation(tmp_path))
    with pytest.raises(ReplayError) as caught:
        ask(replay, question, **more)
    assert f"it differs from the recorded one in {part} " in caught.value.message
    assert ended_by(replay) is caught.value


def test_a_replay_that_asks_more_than_was_recorded_is_refused(tmp_path: Path) -> None:
    model, _ = recorded(tmp_path, "yes")
    ask(model)
    replay = Replayed(conversation(tmp_path))
    ask(replay)
    with pytest.raises(ReplayError, match="request 2: the recording ends after 1 requests"):
        ask(replay, "and?")


def test_without_recordings_there_is_no_replay(tmp_path: Path) -> None:
    with pytest.raises(ReplayError, match="node node_0001: no exchange with openai/gpt-4o is recorded"):
        Replayed(conversation(tmp_path))


def test_an_error_is_replayed_and_asked_again_when_the_study_goes_on(tmp_path: Path) -> None:
    model, _ = recorded(tmp_path, Reply.error(503, "away"))
    with pytest.raises(ModelHTTPError, match="503"):
        ask(model)
    with pytest.raises(ModelHTTPError, match="503"):
        ask(Replayed(conversation(tmp_path)))
    again, asked = recorded(tmp_path, "back")
    assert (ask(again), len(asked.asked)) == ("back", 1)
    assert ask(Replayed(conversation(tmp_path))) == "back"


@pytest.mark.parametrize(
    "error", [BudgetExhausted("budget exhausted: x", cure="y"), UnexpectedModelBehavior("odd")]
)
def test_an_error_keeps_its_words(tmp_path: Path, error: Exception) -> None:
    def fail(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        raise error

    model = Recorded(FunctionModel(fail), conversation(tmp_path))
    with pytest.raises(type(error)):
        ask(model)
    replay = Replayed(conversation(tmp_path))
    with pytest.raises(BudgetExhausted if isinstance(error, BudgetExhausted) else AgentRunError) as caught:
        ask(replay)
    assert str(caught.value) == str(error)
    for one in (model, replay):
        assert isinstance(ended_by(one), BudgetExhausted) == isinstance(error, BudgetExhausted)


def test_no_secret_is_recorded(tmp_path: Path) -> None:
    key = "sk-" + "a1" * 20
    model, _ = recorded(tmp_path, f"your key is {key}", Reply.error(401, f"wrong key {key}"))
    assert ask(model, model_settings={"extra_headers": {"authorization": key}}) == "your key is ********"
    with pytest.raises(ModelHTTPError):
        ask(model, "and?")
    assert key not in (tmp_path / "records" / "node_0001" / "exchanges.jsonl").read_text()


def test_what_is_returned_is_what_is_recorded(tmp_path: Path) -> None:
    response = ModelResponse([TextPart("x"), ToolCallPart("final_result", '{"response": 3}')], model_name="m")
    model = Recorded(FunctionModel(lambda _m, _i: response), conversation(tmp_path))
    assert ask(model, output_type=int) == 3
    assert ask(Replayed(conversation(tmp_path)), output_type=int) == 3


def test_a_recorded_answer_can_be_streamed(tmp_path: Path) -> None:
    model, _ = recorded(tmp_path, "a longer answer")

    async def read(one: object) -> str:
        async with Agent(one).run_stream("well?") as running:
            return await running.get_output()

    assert asyncio.run(read(model)) == "a longer answer"
    again, asked = recorded(tmp_path)
    assert (asyncio.run(read(again)), asked.asked) == ("a longer answer", [])
