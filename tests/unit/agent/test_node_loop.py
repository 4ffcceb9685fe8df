"""The loop of a node that writes its own programs: what it is told, and when it may end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from ari.agent import prompts
from ari.agent.loop import LoopEnd, run_node_loop
from ari.agent.prompts import Prompts
from ari.agent.task import NodeTask
from ari.agent.worker import build_session
from ari.pipeline.experiment_spec import Experiment
from ari.skills.session import NodeSession


@pytest.fixture
def session(tmp_path: Path) -> NodeSession:
    experiment = Experiment(title="t", question="How fast?", kind="code", primary_metric="speed")
    (tmp_path / "experiments" / "n0").mkdir(parents=True)
    (tmp_path / "records" / "n0").mkdir(parents=True)
    return build_session(
        NodeTask(
            checkpoint=str(tmp_path), node_id="n0", parent_id=None, label="draft", depth=0, order=0, plan={},
            experiment=experiment, higher_is_better=True,
        )
    )  # fmt: skip


Run = Callable[..., LoopEnd]


@pytest.fixture
def run(session: NodeSession, tmp_path: Path) -> Run:
    """Let a model that says these things in turn, the last one for ever, drive the node."""

    def drive(*replies: TextPart | ToolCallPart | list[TextPart | ToolCallPart]) -> LoopEnd:
        told = iter(replies)
        last: list[list[TextPart | ToolCallPart]] = []

        def answer(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
            reply = next(told, None)
            parts = last[-1] if reply is None else reply if isinstance(reply, list) else [reply]
            last.append(parts)
            return ModelResponse(parts=parts)

        folder = tmp_path / "records" / "n0"
        return asyncio.run(run_node_loop(session, FunctionModel(answer), folder, repairs=2))

    return drive


def trace(folder: Path) -> list[dict[str, str]]:
    text = (folder / "records" / "n0" / "trace.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


RUN = ToolCallPart("run", {"command": "echo 'speed: 1'"})
EMIT = ToolCallPart("emit_results", {"params": {}})


def test_a_model_that_ends_before_it_has_emitted_results_is_told_what_is_missing(run: Run, tmp_path: Path):
    assert run(RUN, TextPart("It ran."), EMIT, TextPart("Measured.")).words == "Measured."
    told = [record["content"] for record in trace(tmp_path) if record["role"] == "user"]
    assert told[1].startswith("There is no results.json yet")


def test_a_model_that_insists_is_given_up_with_its_words(run: Run):
    assert "I'm sorry, I can't help with that." in run(TextPart("I'm sorry, I can't help with that.")).failure


def test_the_instructions_are_those_of_the_study(session: NodeSession, tmp_path: Path):
    prompts.install(tmp_path, tmp_path)
    own = "---\nversion: 2\n---\nThink of the cache.\n"
    (tmp_path / "prompts" / "node_code.md").write_text(own, encoding="utf-8")
    asked = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        asked.append(info.instructions)
        return ModelResponse(parts=[TextPart("I pass.")])

    asyncio.run(run_node_loop(session, FunctionModel(answer), tmp_path / "records" / "n0"))
    general, kind, label = (Prompts().get(name).text for name in ("node", "node_code", "label_draft"))
    assert asked == [f"{general}\n\nThink of the cache.\n\n{label}"]
    assert kind not in asked[0]
