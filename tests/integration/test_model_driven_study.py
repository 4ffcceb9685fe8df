"""Whole studies driven by a model over the wire: good habits, bad ones, and keys that must not be found."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from ari.agent.repairs import RAW_REPLY
from ari.checkpoint import Checkpoint, validate
from ari.cli import main
from ari.errors import ConfigError, ModelError
from ari.orchestrator.study import RunOptions, StudyResult, resume, start
from ari.testing import Call, LoopbackServer, Received, Reply, odd_calls, useless_replies
from ari.testing.replies import Script, Scripted

Patch = pytest.MonkeyPatch
EXPERIMENT = "# A law\nWhat is y?\n\n## Data\n- source: data.csv\n- target: y\n"
MODEL = "openai/prov-x/some-model:free@2026"
KEYS = {
    "OPENAI_API_KEY": "sk-planted-0123456789abcdef",
    "ANTHROPIC_API_KEY": "planted/with+signs=and&more",
    "REGISTRY_TOKEN": "planted-registry-token-77",
}
SUBMIT = '{"name": "submit_formula", "arguments": {"formula": "a*b"}}'
CUT_OFF = '{"name": "submit_formula", "arguments": {"formula": "a*'


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [n for n in os.environ if n.startswith(("ARI_", "XDG_")) or n.endswith(("_API_KEY", "_URL"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ARI_ROOT", str(tmp_path))


def lay_out(server: LoopbackServer, folder: Path, monkeypatch: Patch) -> None:
    """An experiment whose model is the server's."""
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", server.key or "loopback")
    monkeypatch.setenv("ARI_SYMBOLIC_DRIVER", "loop")
    (folder / "experiment.md").write_text(EXPERIMENT, encoding="utf-8")
    rows = [f"{a},{b},{a * b}" for a in (1.0, 2.0, 3.0, 5.0) for b in (0.5, 1.5, 2.5, 4.0, 6.0)]
    (folder / "data.csv").write_text("\n".join(["a,b,y", *rows]) + "\n", encoding="utf-8")


def study(server: LoopbackServer, folder: Path, monkeypatch: Patch, **options) -> StudyResult:
    lay_out(server, folder, monkeypatch)
    options = {"nodes": 1, "parallel": 2, "model": MODEL} | options
    return start(RunOptions(folder / "experiment.md", output=folder / "out", **options))


def is_node(asked: Received) -> bool:
    return "This node: " in asked.text


def of_nodes(server: LoopbackServer) -> list[Received]:
    return [request for request in server.requests if is_node(request)]


def serving(replies: Iterable[Scripted] | Callable[[Received], Scripted], **options: Any) -> LoopbackServer:
    """A server whose script is for nodes and proposals; asked for ideas, it has none."""
    script = Script(replies)

    def reply(asked: Received) -> Reply:
        mine = is_node(asked) or is_proposal(asked)
        return script.reply(asked) if mine else Reply.error(400, "no ideas today")

    return LoopbackServer(reply, **options)


def is_proposal(asked: Received) -> bool:
    return "Propose the next experiment" in asked.text


def tool_results(asked: Received) -> int:
    return sum(message["role"] == "tool" for message in asked.body["messages"])


def report_of(checkpoint: Path, node: str) -> dict:
    return json.loads((checkpoint / "experiments" / node / "node_report.json").read_bytes())


def test_a_cut_off_answer_costs_one_node_of_six(tmp_path: Path, monkeypatch: Patch) -> None:
    proposed = []

    def reply(asked: Received) -> Reply | str:
        if is_proposal(asked):
            proposed.append(asked)
            summary = "The unlucky one." if len(proposed) == 2 else "Another one."
            return Reply.tool("final_result", label="draft", summary=summary, plan={"attempt": len(proposed)})
        if "The unlucky one." in asked.text:
            return CUT_OFF
        return "Submitted." if tool_results(asked) else Reply.tool("submit_formula", formula="a*b")

    checkpoint = tmp_path / "out"
    with serving(reply) as server:
        lay_out(server, tmp_path, monkeypatch)
        options = ["--model", MODEL, "--nodes", "6", "--parallel", "2", "--no-paper", "--quiet"]
        assert main(["run", str(tmp_path), "--output", str(checkpoint), *options]) == 0
    nodes = Checkpoint.open(checkpoint, read_only=True).nodes
    assert {name: node.status for name, node in nodes.items()} == {
        f"node_{order:04d}": "errored" if order == 2 else "completed" for order in range(6)
    }
    tree = json.loads((checkpoint / "tree.json").read_bytes())
    assert len(tree["nodes"]) == 6
    report = report_of(checkpoint, "node_0002")
    assert "3 attempts to mend them did not help" in report["error"]
    assert CUT_OFF in (checkpoint / "records" / "node_0002" / RAW_REPLY).read_text()
    assert [f for f in validate(checkpoint) if f.severity == "error"] == []


USELESS = useless_replies("submit_formula", {"formula": "a*b"}) | {
    "missing arguments": Reply.tool("submit_formula", note="here it is"),
    "arguments of a wrong type": Reply.tool("fit_family", family=["linear"], work="plenty"),
}


@pytest.mark.parametrize("habit", USELESS)
def test_a_bad_habit_that_goes_on_ends_the_node_and_not_the_run(
    tmp_path: Path, monkeypatch: Patch, habit: str
) -> None:
    with serving(lambda asked: USELESS[habit]) as server:
        result = study(server, tmp_path, monkeypatch)
    assert result.best is None
    report = report_of(result.checkpoint, "node_0000")
    assert report["status"] == "errored"
    assert "could not be used" in report["error"]
    assert (result.checkpoint / "records" / "node_0000" / RAW_REPLY).exists()
    refused_by_the_tool = habit in ("missing arguments", "arguments of a wrong type")
    assert len(of_nodes(server)) == 1 + (5 if refused_by_the_tool else 3)


ODD = odd_calls("submit_formula", {"formula": "a*b"}) | {
    "two calls at once": Reply(
        calls=(Call("fit_family", {"family": "linear"}), Call("submit_formula", {"formula": "a*b"}))
    ),
}


@pytest.mark.parametrize("habit", ODD)
def test_a_call_in_another_form_is_a_call(tmp_path: Path, monkeypatch: Patch, habit: str) -> None:
    def reply(asked: Received) -> Reply | str:
        return "Submitted." if len(of_nodes(server)) > 1 else ODD[habit]

    with serving(reply) as server:
        result = study(server, tmp_path, monkeypatch)
    assert result.formula == "y = a*b"
    assert len(of_nodes(server)) == 2


def test_one_extra_field_is_named_and_mended(tmp_path: Path, monkeypatch: Patch) -> None:
    replies = [
        Reply.tool("submit_formula", formula="a*b", confidence=0.9),
        Reply.tool("submit_formula", formula="a*b"),
        "Submitted.",
    ]
    with serving(replies) as server:
        result = study(server, tmp_path, monkeypatch)
    assert result.formula == "y = a*b"
    assert "confidence" in of_nodes(server)[1].body["messages"][-1]["content"]


def test_every_bad_habit_in_turn_is_got_over(tmp_path: Path, monkeypatch: Patch) -> None:
    turns = [*USELESS.values(), *ODD.values()]

    def script():
        for turn in turns:
            yield turn
            yield Reply.tool("describe_data")
        yield Reply.tool("submit_formula", formula="a*b")
        yield "Submitted."

    with serving(script()) as server:
        result = study(server, tmp_path, monkeypatch)
    assert result.formula == "y = a*b"


def test_an_endpoint_without_tools_drives_a_study(tmp_path: Path, monkeypatch: Patch) -> None:
    def reply(asked: Received) -> str:
        if is_proposal(asked):
            return '```json\n{"label": "improve", "summary": "Again.", "plan": {}, "mood": "good"}\n```'
        if "Result of submit_formula" in asked.text:
            return "Submitted."
        return SUBMIT

    with serving(reply, refuse_tools=True) as server:
        result = study(server, tmp_path, monkeypatch, nodes=2)
    assert result.formula == "y = a*b"
    assert [node.label for node in Checkpoint.open(result.checkpoint, read_only=True).nodes.values()] == [
        "draft",
        "improve",
    ]
    assert any("The tools:" in request.text for request in server.requests)


def test_a_proposal_that_is_no_use_is_replaced_and_kept(tmp_path: Path, monkeypatch: Patch) -> None:
    def reply(asked: Received) -> Reply | str:
        if is_proposal(asked):
            return "How about something else?"
        return "Submitted." if tool_results(asked) else Reply.tool("submit_formula", formula="a*b")

    with serving(reply) as server:
        result = study(server, tmp_path, monkeypatch, nodes=2)
    nodes = Checkpoint.open(result.checkpoint, read_only=True).nodes
    assert (
        "gave no proposal: its last reply was 'How about something else?'"
        in nodes["node_0001"].plan["summary"]
    )
    assert (result.checkpoint / "records" / "node_0000" / "raw_reply_node_0001.txt").read_text()


def test_planted_keys_are_found_nowhere(tmp_path: Path, monkeypatch: Patch) -> None:
    """The server echoes what it was sent, in errors and in replies."""
    others = {name: value for name, value in KEYS.items() if name != "OPENAI_API_KEY"}
    (tmp_path / ".env").write_text("".join(f"{name}='{value}'\n" for name, value in others.items()))
    key = KEYS["OPENAI_API_KEY"]

    def reply(asked: Received) -> Reply:
        echo = f"{asked.headers['authorization']} {' '.join(KEYS.values())}"
        if len(of_nodes(server)) > 2:
            return Reply.error(403, f"Incorrect API key provided: {echo}")
        return Reply(echo, calls=(Call("submit_formula", {"formula": echo, "note": echo}),))

    with serving(reply, key=key) as server:
        result = study(server, tmp_path, monkeypatch, nodes=2)
    assert len(of_nodes(server)) > 2
    found = [
        (path, name)
        for path in result.checkpoint.rglob("*")
        if path.is_file()
        for name, value in KEYS.items()
        if value.encode() in path.read_bytes()
    ]
    assert found == []
    report = report_of(result.checkpoint, "node_0000")
    assert "********" in report["error"]
    assert all(value not in line for line in result.warnings for value in KEYS.values())


def test_an_unknown_model_is_refused_before_anything_is_paid_for(tmp_path: Path, monkeypatch: Patch) -> None:
    with serving(["never"], models=["prov-x/some-model:free@2025", "other"]) as server:
        with pytest.raises(ConfigError) as caught:
            study(server, tmp_path, monkeypatch)
    assert f"there is no model {MODEL!r}" in caught.value.message
    assert "Did you mean openai/prov-x/some-model:free@2025?" in caught.value.cure
    assert server.requests == []
    assert not (tmp_path / "out").exists()


def test_a_model_that_is_listed_runs_under_its_odd_id(tmp_path: Path, monkeypatch: Patch) -> None:
    replies = [Reply.tool("submit_formula", formula="a*b"), "Submitted."]
    with serving(replies, models=["prov-x/some-model:free@2026"]) as server:
        result = study(server, tmp_path, monkeypatch)
    assert result.formula == "y = a*b"
    assert server.requests[0].body["model"] == "prov-x/some-model:free@2026"


def test_a_server_that_is_not_there_is_named(tmp_path: Path, monkeypatch: Patch) -> None:
    server = LoopbackServer([])
    server.close()
    with pytest.raises(
        ModelError, match=r"nothing answers for openai/prov-x/some-model:free@2026 at http://127"
    ):
        study(server, tmp_path, monkeypatch)


def test_going_on_with_a_model_that_is_gone_is_refused(tmp_path: Path, monkeypatch: Patch) -> None:
    replies = [Reply.tool("submit_formula", formula="a*b"), "Submitted."]
    with serving(replies, models=["prov-x/some-model:free@2026"]) as server:
        result = study(server, tmp_path, monkeypatch)
    with serving([], models=["another"]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        with pytest.raises(ConfigError, match=f"there is no model '{MODEL}'"):
            resume(result.checkpoint, nodes=3)
    assert server.requests == []
    assert len(Checkpoint.open(result.checkpoint, read_only=True).nodes) == 1


def test_the_command_line_says_what_is_wrong_with_a_model(
    tmp_path: Path, monkeypatch: Patch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "experiment.md").write_text(EXPERIMENT, encoding="utf-8")
    (tmp_path / "data.csv").write_text("a,b,y\n1,2,2\n3,4,12\n", encoding="utf-8")
    with serving([], models=["some-other-model"]) as server:
        for name, value in server.environment().items():
            monkeypatch.setenv(name, value)
        status = main(["run", str(tmp_path), "--model", MODEL, "-o", str(tmp_path / "out")])
    said = capsys.readouterr().err
    assert status == 2
    assert f"error: there is no model '{MODEL}'" in said
    assert "It lists: some-other-model." in said
    assert not (tmp_path / "out").exists()
