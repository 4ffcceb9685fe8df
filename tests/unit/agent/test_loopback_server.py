"""The real client code against a scripted server: what it reads, and what it makes of bad connections."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import repeat
from pathlib import Path

import pytest
from model_services import MODEL, bare_environment, point_at
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.exceptions import AgentRunError, ModelAPIError, ModelHTTPError, ModelTimeoutError
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, UserPromptPart
from pydantic_ai.models import ModelRequestParameters

from ari.agent.models import resolve_model
from ari.agent.models.call_reader import CallReader
from ari.agent.models.steady import Patience, SteadyModel
from ari.testing import LoopbackServer, Reply, ScriptedModel, ScriptEndedError, odd_calls

Patch = pytest.MonkeyPatch
CALL = Reply.tool("multiply", a=6, b=7)
TEXT_CALL = '{"name": "multiply", "args": {"a": 6, "b": 7}}'
BARE_ANSWERS = [
    '{"value": 42, "mood": "good"}',
    'The answer:\n```json\n{"value": 42,}\n```',
    "<think>{</think>{'value': 42}",
]


class Answer(BaseModel):
    value: int


@pytest.fixture(autouse=True)
def waits(monkeypatch: Patch, tmp_path: Path) -> list[float]:
    """The waits between attempts; nobody really waits."""
    bare_environment(monkeypatch, tmp_path)
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(SteadyModel.__init__, "__kwdefaults__", {"sleep": sleep})
    return waited


def ask(model, question: str = "6 times 7?", **options):
    async def run():
        async with model:
            agent = Agent(model, **options)

            @agent.tool_plain
            def multiply(a: int, b: int) -> int:
                """Multiply two numbers."""
                return a * b

            return (await agent.run(question)).output

    return asyncio.run(run())


@pytest.fixture
def drive(monkeypatch: Patch) -> Callable[..., tuple[str, LoopbackServer]]:
    """Ask a model that is served from a script; returns the answer and the server."""

    def run(replies, *, server: dict | None = None, **environment: str):
        with LoopbackServer(replies, **(server or {})) as running:
            point_at(monkeypatch, running)
            for name, value in environment.items():
                monkeypatch.setenv(name, value)
            return ask(resolve_model(MODEL)), running

    return run


@pytest.mark.parametrize("stream", ["false", "true"])
def test_a_tool_is_called_and_its_result_sent_back(drive, stream: str) -> None:
    answer, server = drive([CALL, "It is 42."], server={"key": "k-1"}, ARI_MODEL_STREAM=stream)
    assert answer == "It is 42."
    first, second = server.requests
    assert bool(first.body.get("stream")) == (stream == "true")
    assert first.body["model"] == "prov-x/some-model:free@2026"
    assert first.tools == ("multiply",)
    assert second.body["messages"][-1]["content"] == "42"


@pytest.mark.parametrize("stream", ["false", "true"])
@pytest.mark.parametrize(
    "stumble",
    [
        Reply.error(429, retry_after="7"),
        Reply.error(500),
        Reply.error(503),
        Reply.error(529),
        Reply.error(408),
        Reply("It is", cut_after=3),
        Reply(raw="<html>busy</html>"),
        Reply(raw='{"error": {"message": "upstream", "code": 502}}'),
    ],
    ids=["rate limit", "500", "503", "529", "408", "cut off", "a page", "an error with status 200"],
)
def test_a_stumble_is_followed_by_another_attempt(
    drive, waits: list[float], stumble: Reply, stream: str
) -> None:
    answer, server = drive([stumble, "It is 42."], ARI_MODEL_STREAM=stream)
    assert answer == "It is 42."
    assert len(server.requests) == 2
    [wait] = waits
    assert wait == 7 if stumble.status == 429 else 0.7 < wait < 1.3


@pytest.mark.parametrize("silent", [False, True])
@pytest.mark.parametrize("pieces", [0, 2, 4])
def test_a_stream_that_is_cut_off_is_no_reply(drive, silent: bool, pieces: int) -> None:
    """Half a call must not be made, however politely the stream ends."""
    cut = Reply(calls=CALL.calls, cut_after=pieces, silent_cut=silent)
    answer, server = drive([cut, "It is 42."], ARI_MODEL_STREAM="true")
    assert answer == "It is 42."
    assert len(server.requests) == 2


@pytest.mark.parametrize("stream", ["false", "true"])
def test_silence_before_the_first_byte_ends(drive, waits: list[float], stream: str) -> None:
    slow = Reply("too late", delay_s=30)
    with pytest.raises(ModelTimeoutError, match="after 3 attempts"):
        drive(repeat(slow), ARI_MODEL_STREAM=stream, ARI_MODEL_TIMEOUT="0.2", ARI_MODEL_RETRIES="2")
    assert len(waits) == 2


def test_attempts_are_bounded_and_waits_double(drive, waits: list[float]) -> None:
    with pytest.raises(ModelHTTPError, match=r"status_code: 503.*\(after 4 attempts"):
        drive(repeat(Reply.error(503)), ARI_MODEL_RETRIES="3")
    assert [round(wait / 2**number, 0) for number, wait in enumerate(waits)] == [1, 1, 1]


def test_a_service_that_asks_for_too_long_a_wait_is_not_waited_for(drive, waits: list[float]) -> None:
    with pytest.raises(ModelHTTPError, match="asks for a wait of 3600 s; at most 60 s"):
        drive([Reply.error(429, retry_after="3600")])
    assert waits == []


def test_all_waits_together_are_bounded(drive, waits: list[float]) -> None:
    with pytest.raises(ModelHTTPError, match="status_code: 429"):
        drive(repeat(Reply.error(429, retry_after="50")), ARI_MODEL_RETRIES="50")
    assert waits == [50.0, 50.0, 50.0]


@pytest.mark.parametrize(
    "error",
    [
        Reply.error(400, "no"),
        Reply.error(401, "who are you?"),
        Reply.error(402, "pay first"),
        Reply.error(404, "no such model"),
        Reply(status=429, raw='{"error": {"message": "no credit", "code": "insufficient_quota"}}'),
    ],
    ids=["400", "401", "402", "404", "no credit"],
)
def test_what_does_not_pass_is_not_tried_again(drive, waits: list[float], error: Reply) -> None:
    with pytest.raises(ModelAPIError):
        drive([error])
    assert waits == []


def test_a_connection_that_is_refused_is_an_error_of_the_service(drive, monkeypatch: Patch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("ARI_MODEL_RETRIES", "1")
    with pytest.raises(AgentRunError, match="after 2 attempts"):
        ask(resolve_model(MODEL))


KEY = "sk-planted-0123456789abcdef"


@pytest.mark.parametrize("stream", ["false", "true"])
def test_a_key_that_is_echoed_is_masked_in_replies(drive, stream: str) -> None:
    def echo(asked) -> str:
        return f"You sent {asked.headers['authorization']}."

    answer, _ = drive(echo, server={"key": KEY}, ARI_MODEL_STREAM=stream)
    assert answer == "You sent Bearer ********."


def test_a_password_in_the_address_is_not_recorded(monkeypatch: Patch) -> None:
    async def ask_plainly() -> ModelResponse:
        async with model:
            question: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart("Well?")])]
            return await model.request(question, None, ModelRequestParameters())

    with LoopbackServer(["Well."]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url.replace("//", "//me:pass-word-77@"))
        model = resolve_model(MODEL)
        response = asyncio.run(ask_plainly())
    assert "pass-word-77" not in repr(response)
    assert "********" in (response.provider_url or "")


def test_a_key_that_is_echoed_is_masked_in_errors(drive) -> None:
    def echo(asked) -> Reply:
        return Reply.error(403, f"{asked.headers['authorization']} is not welcome")

    with pytest.raises(ModelHTTPError) as caught:
        drive(echo, server={"key": KEY})
    error = caught.value
    seen = [str(error), repr(error), str(error.body), str(error.headers), str(error.args)]
    assert not any(KEY in text for text in seen)
    assert "********" in seen[0]
    assert error.__cause__ is None
    assert error.__context__ is None


def test_whatever_a_client_library_raises_is_an_error_of_the_model(
    monkeypatch: Patch, waits: list[float]
) -> None:
    async def fail(*_arguments: object) -> None:
        raise ValueError(f"cannot encode 'Bearer {KEY}'")

    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr("pydantic_ai.models.openai.OpenAIChatModel.request", fail)
    with pytest.raises(ModelAPIError, match=r"ValueError: cannot encode 'Bearer \*{8}'"):
        ask(resolve_model(MODEL))
    assert waits == []


def test_an_endpoint_that_refuses_tools_gets_them_explained(drive) -> None:
    def reply(asked) -> str:
        return (
            "It is 42."
            if "Result of multiply:\n42" in asked.text
            else '{"name": "multiply", "args": {"a": 6, "b": 7}}'
        )

    answer, server = drive(reply, server={"refuse_tools": True})
    assert answer == "It is 42."
    assert [bool(request.tools) for request in server.requests] == [True, False, False]
    assert "`multiply`: Multiply two numbers." in server.requests[1].text


def test_tools_can_be_explained_from_the_start(drive) -> None:
    answer, server = drive([TEXT_CALL, "42"], ARI_TOOL_CALLS="text")
    assert answer == "42"
    assert [request.tools for request in server.requests] == [(), ()]


def test_an_error_that_only_mentions_tools_is_passed_on_where_nothing_may_change(drive) -> None:
    with pytest.raises(ModelHTTPError, match="does not support tools"):
        drive(["never"], server={"refuse_tools": True}, ARI_TOOL_CALLS="native")


@pytest.mark.parametrize("form", odd_calls("multiply", {"a": 6, "b": 7}))
def test_a_call_in_any_form_is_made(form: str) -> None:
    model = ScriptedModel([odd_calls("multiply", {"a": 6, "b": 7})[form], "42"])
    assert ask(CallReader(model)) == "42"
    assert any(getattr(part, "content", None) == 42 for part in model.asked[1][-1].parts)


@pytest.mark.parametrize("said", BARE_ANSWERS)
def test_the_bare_answer_is_an_answer(said: str) -> None:
    assert ask(CallReader(ScriptedModel([said])), output_type=Answer) == Answer(value=42)


def test_a_refusal_is_what_was_said() -> None:
    assert ask(CallReader(ScriptedModel([Reply(refusal="I would rather not.")]))) == "I would rather not."


def test_a_scripted_model_needs_no_server_and_ends_with_its_script() -> None:
    model = ScriptedModel([CALL, "It is 42."])
    assert ask(model) == "It is 42."
    assert len(model.asked) == 2
    with pytest.raises(ScriptEndedError, match="it holds 2 replies and one more was asked for"):
        ask(model)


def test_a_script_that_has_ended_is_said_by_the_server(drive) -> None:
    with pytest.raises(ModelHTTPError, match="the script has ended"):
        drive([])


def test_patience_is_what_the_documentation_says() -> None:
    text = (Path(__file__).resolve().parents[3] / "docs" / "models.md").read_text(encoding="utf-8")
    assert Patience() == Patience(retries=4, longest_wait_s=60.0, total_wait_s=180.0)
    assert "up to a\nminute" in text
    assert "below three minutes" in text
