"""A metered model: each request reserved before it goes out, settled whatever comes of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

from ari.agent.models.steady import Patience, SteadyModel
from ari.budget import Ledger, Limits
from ari.budget.metered import OUTPUT_TOKENS, Metered
from ari.errors import BudgetExhausted
from ari.testing import Reply, ScriptedModel

seen: list[int | None] = []


def answering(usage: RequestUsage) -> FunctionModel:
    def answer(_messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append((info.model_settings or {}).get("max_tokens"))
        return ModelResponse([TextPart("yes")], usage=usage)

    return FunctionModel(answer)


def agent(folder: Path, model: FunctionModel, **limits: float) -> tuple[Agent, Ledger]:
    ledger = Ledger(folder)
    ledger.set_limits(Limits(**limits), {})
    return Agent(Metered(model, ledger, name="openai/gpt-4o", phase="test", node_id="node_0001")), ledger


def ask(asked: Agent, **more: object) -> str:
    return asyncio.run(asked.run("well?", **more)).output


def test_each_request_is_a_call_and_the_budget_ends_the_run(tmp_path: Path) -> None:
    asked, ledger = agent(tmp_path, answering(RequestUsage(input_tokens=30, output_tokens=3)), max_calls=2)
    assert [ask(asked) for _ in range(2)] == ["yes", "yes"]
    with pytest.raises(BudgetExhausted, match="budget exhausted: 2 of 2 calls are spent"):
        ask(asked)
    assert (ledger.tally().calls, ledger.tally().tokens) == (2, 66)
    assert ledger.tally().cost_usd == pytest.approx(2 * (30 * 2.5 + 3 * 10) / 1e6)


def test_a_request_that_fails_on_the_wire_counts_as_a_call(tmp_path: Path) -> None:
    def fail(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        raise ModelHTTPError(429, "m")

    asked, ledger = agent(tmp_path, FunctionModel(fail))
    with pytest.raises(ModelHTTPError):
        ask(asked)
    assert (ledger.tally().calls, ledger.tally().tokens, ledger.tally().open) == (1, 0, {})


def test_each_attempt_of_a_request_that_is_made_again_is_a_call_of_its_own(tmp_path: Path) -> None:
    async def at_once(_seconds: float) -> None:
        return None

    ledger = Ledger(tmp_path)
    ledger.set_limits(Limits(max_calls=5), {})
    busy = [Reply.error(503), Reply.error(429)]
    metered = Metered(ScriptedModel([*busy, "yes", *busy, *busy]), ledger, name="openai/gpt-4o")
    asked = Agent(SteadyModel(metered, Patience(), sleep=at_once))
    assert ask(asked) == "yes"
    assert ledger.tally().calls == 3
    with pytest.raises(BudgetExhausted, match="5 of 5 calls are spent"):
        ask(asked)
    assert (ledger.tally().calls, ledger.tally().open) == (5, {})


def test_a_request_of_which_nobody_knows_the_end_counts_as_reserved(tmp_path: Path) -> None:
    def fail(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        raise TimeoutError

    asked, ledger = agent(tmp_path, FunctionModel(fail))
    with pytest.raises(TimeoutError):
        ask(asked)
    assert ledger.tally().tokens > OUTPUT_TOKENS
    assert ledger.tally().open == {}


def test_under_a_token_budget_answers_are_no_longer_than_reserved(tmp_path: Path) -> None:
    usage = RequestUsage(input_tokens=30, output_tokens=3)
    seen.clear()
    for name, limits in (
        ("free", {"max_calls": 9}),
        ("tight", {"max_tokens": 9_000}),
        ("own", {"max_tokens": 600}),
    ):
        (tmp_path / name).mkdir()
        asked, _ = agent(tmp_path / name, answering(usage), **limits)
        ask(asked, model_settings={"max_tokens": 50} if name == "own" else None)
    assert seen == [None, OUTPUT_TOKENS, 50]
    asked, ledger = agent(tmp_path / "own", answering(usage), max_tokens=600)
    with pytest.raises(BudgetExhausted, match="33 of 600 tokens are spent, and the next call may take"):
        ask(asked)
    assert ledger.tally().calls == 1


def test_parallel_requests_wait_for_each_other_rather_than_fail(tmp_path: Path) -> None:
    asked, ledger = agent(
        tmp_path, answering(RequestUsage(input_tokens=30, output_tokens=3)), max_tokens=OUTPUT_TOKENS + 1_000
    )

    async def ask_four() -> list[str]:
        return [done.output for done in await asyncio.gather(*(asked.run("well?") for _ in range(4)))]

    assert asyncio.run(ask_four()) == ["yes"] * 4
    assert (ledger.tally().calls, ledger.tally().tokens) == (4, 132)


def test_a_streamed_answer_is_settled_at_its_end(tmp_path: Path) -> None:
    async def stream(_messages: list[ModelMessage], _info: AgentInfo) -> AsyncIterator[str]:
        yield "y"
        assert len(ledger.tally().open) == 1
        yield "es"

    asked, ledger = agent(tmp_path, FunctionModel(stream_function=stream))

    async def read() -> str:
        async with asked.run_stream("well?") as running:
            return await running.get_output()

    assert asyncio.run(read()) == "yes"
    assert (ledger.tally().calls, ledger.tally().open) == (1, {})
    assert 0 < ledger.tally().tokens < 1_000
