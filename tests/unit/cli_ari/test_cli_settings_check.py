"""`ari settings check` against a served model: what works, what does not, and the cure."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_checkpoints import Answer

from ari.testing import LoopbackServer, Reply

Ari = Callable[..., Answer]
MODEL = "openai/prov-x/some-model:free@2026"
RIGHT = Reply.tool("report", word="ready", number=7)
TEXT = '{"name": "report", "arguments": {"word": "ready", "number": 7}}'


@pytest.fixture
def check(ari: Ari, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Answer, LoopbackServer]]:
    def run(*replies: Reply | str, arguments: tuple[str, ...] = (), **server: object):
        with LoopbackServer(replies, **server) as running:  # type: ignore[arg-type]
            for name, value in running.environment().items():
                monkeypatch.setenv(name, value)
            monkeypatch.setenv("ARI_MODEL", MODEL)
            monkeypatch.setenv("ARI_MODEL_RETRIES", "0")
            return ari("settings", "check", *arguments), running

    return run


def test_everything_works_with_one_tiny_call(check) -> None:
    answer, server = check(RIGHT, models=["prov-x/some-model:free@2026"])
    assert answer.status == 0
    assert f"model: {MODEL} at http://127.0.0.1:" in answer.out
    lines = [line.split(":") for line in answer.out.splitlines() if line.startswith("  ")]
    assert [(name.strip(), value.strip()) for name, value in lines if name.strip() != "replies"] == [
        ("answers", "yes"),
        ("knows the model", "yes"),
        ("tool calls", "native"),
        ("structured output", "yes"),
    ]
    assert len(server.requests) == 1


def test_a_checkpoint_lends_its_settings_and_is_left_alone(
    ari: Ari, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    study = tmp_path / "study"
    study.mkdir()
    with LoopbackServer(["With pleasure!", TEXT], key="planted-key-77") as server:
        (study / ".env").write_text("VLLM_API_KEY=planted-key-77\n", encoding="utf-8")
        settings = {"model": "vllm/m", "base_url": server.url}
        (study / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
        before = {path: path.read_bytes() for path in study.rglob("*")}
        answer = ari("settings", "check", study)
    assert answer.status == 0
    assert "tool calls:         explained in the prompt" in answer.out
    assert {path: path.read_bytes() for path in study.rglob("*")} == before


@pytest.mark.parametrize("refuse_tools", [True, False])
def test_calls_in_text_are_found_out(check, refuse_tools: bool) -> None:
    prose = () if refuse_tools else ("With pleasure!",)
    answer, server = check(*prose, TEXT, arguments=("--json",), refuse_tools=refuse_tools)
    document = json.loads(answer.out)
    assert answer.status == 0
    assert document["findings"] == []
    assert {name: document["model"][name] for name in ("tool_calls", "known", "works", "reachable")} == {
        "tool_calls": "text",
        "known": None,
        "works": True,
        "reachable": True,
    }
    assert document["model"]["latency_s"] >= 0
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("replies", "server", "fault", "cure"),
    [
        (
            ("Hello!", "Hello again!"),
            {},
            "calls no tool, neither natively nor as text",
            "more capable|knows tool",
        ),
        ((Reply.tool("report", word="steady", number=7),), {}, "it calls report with", "more capable"),
        ((Reply.error(402, "no credit"),), {}, "gives no reply", "no credit left"),
        ((Reply.error(429),), {}, "gives no reply", "higher limit"),
        ((Reply.error(500),), {}, "gives no reply", "own words"),
        ((), {"models": ["other"]}, "there is no model", "ARI_MODEL_CHECK"),
        ((), {"models": ["other"], "key": "right-one"}, "there is no model", ""),
    ],
)
def test_what_does_not_work_is_named_with_its_cure(check, replies, server, fault: str, cure: str) -> None:
    answer, _ = check(*replies, **server)
    assert answer.status == 1
    said, helps = answer.out.splitlines()[-2:]
    assert said.startswith("fault: ")
    assert fault in said
    assert any(part in helps for part in cure.split("|"))


def test_a_server_that_is_not_there_is_a_finding(ari: Ari, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARI_MODEL", "lmstudio/m")
    monkeypatch.setenv("ARI_BASE_URL", "http://127.0.0.1:9/v1")
    answer = ari("settings", "check", "--json")
    document = json.loads(answer.out)["model"]
    assert answer.status == 1
    assert (document["reachable"], document["works"], document["tool_calls"]) == (False, False, "none")
    assert "nothing answers for lmstudio/m" in document["fault"]


def test_a_missing_key_is_misuse(ari: Ari, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("ARI_MODEL", MODEL)
    answer = ari("settings", "check")
    assert answer.status == 2
    assert "OPENAI_API_KEY is not set" in answer.err
