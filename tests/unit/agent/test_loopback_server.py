"""The real client code against a scripted server: what it reads, and what it makes of bad connections."""

from __future__ import annotations

import asyncio

import pytest
from pydantic_ai import Agent

from ari.agent.models import resolve_model
from ari.testing import LoopbackServer, Reply, ScriptedModel

MODEL = "openai/prov-x/some-model:free@2026"


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ARI_ROOT", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)


def ask(model, question: str = "6 times 7?", **options) -> str:
    async def run() -> str:
        async with model:
            agent = Agent(model, **options)

            @agent.tool_plain
            def multiply(a: int, b: int) -> int:
                """Multiply two numbers."""
                return a * b

            return (await agent.run(question)).output

    return asyncio.run(run())


def test_a_tool_is_called_and_its_result_sent_back(monkeypatch: pytest.MonkeyPatch) -> None:
    with LoopbackServer([Reply.tool("multiply", a=6, b=7), "It is 42."], key="k-1") as server:
        for name, value in server.environment().items():
            monkeypatch.setenv(name, value)
        assert ask(resolve_model(MODEL)) == "It is 42."
    first, second = server.requests
    assert first.body["model"] == "prov-x/some-model:free@2026"
    assert first.tools == ("multiply",)
    assert second.body["messages"][-1]["content"] == "42"


def test_a_scripted_model_needs_no_server() -> None:
    model = ScriptedModel([Reply.tool("multiply", a=6, b=7), "It is 42."])
    assert ask(model) == "It is 42."
    assert len(model.asked) == 2
