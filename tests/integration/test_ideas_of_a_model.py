"""The ideas of a study that a panel of models found, over a real client and connection."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from ari.checkpoint import Checkpoint, validate
from ari.orchestrator.study import RunOptions, start
from ari.skills import call_tool
from ari.skills.binding import Binding, bind
from ari.testing import LoopbackServer, Received

HEAD = """# How does y depend on a and b?

Metrics: nrmse

## Background
Everybody says that it is a quotient.

## Data
- source: data.csv
- target: y
"""
IDEAS = [
    {"title": "Quotient", "hypothesis": "y is a over b.", "strategies": ["power_law"]},
    {"title": "Sum", "hypothesis": "y is a sum.", "strategies": ["linear"]},
    {"title": "Wave", "hypothesis": "y oscillates.", "strategies": ["sinusoid"]},
]
MORE = json.dumps({"ideas": [IDEAS[0], {"title": "Product", "hypothesis": "y is a times b."}]})


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    rows = [f"{a},{b},{3 * a / b}" for a, b in ((1 + i % 7, 1 + i % 5) for i in range(40))]
    (tmp_path / "data.csv").write_text("a,b,y\n" + "\n".join(rows) + "\n")
    (tmp_path / "experiment.md").write_text(HEAD)
    return tmp_path / "experiment.md"


def answer(request: Received) -> str:
    if "You are the" not in request.text:  # a node or a proposal for one
        return "<formula>3*a/b</formula>"
    return json.dumps({"verdicts": []} if "You are the critic" in request.text else {"ideas": IDEAS})


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackServer]:
    with LoopbackServer(answer) as server:
        for name, value in server.environment().items():
            monkeypatch.setenv(name, value)
        yield server


def ideas_of(path: Path) -> dict:
    return orjson.loads((path / "idea.json").read_bytes())


def test_a_panel_finds_the_ideas_and_the_first_one_is_taken_up(
    experiment: Path, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
):
    path = experiment.parent / "study"
    start(RunOptions(experiment, output=path, nodes=1, model="openai/any"))
    document = ideas_of(path)
    assert [idea["title"] for idea in document["ideas"]] == ["Quotient", "Sum", "Wave"]
    assert "concerns" not in document
    panel = [request.text for request in server.requests if "You are the" in request.text]
    assert len(panel) == 3
    assert all("Everybody says that it is a quotient." in text and '"spearman"' in text for text in panel)
    with Checkpoint.open(path) as checkpoint:
        root = next(iter(checkpoint.nodes.values()))
        assert root.plan["hypothesis"] == "y is a over b."
        [selected] = [event for event in checkpoint.events() if event["event"] == "idea_selected"]
        assert (selected["index"], selected["title"]) == (0, "Quotient")
        assert selected["rationale"] == "ranked first of 3 ideas"
    assert validate(path) == []
    monkeypatch.setattr(server.script, "_choose", lambda _request: MORE)
    again = call_tool("idea", bind("idea", Binding(checkpoint=path)), "generate_ideas")
    assert again["ideas"][0]["title"] == "Product"
    monkeypatch.undo()
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    child = start(RunOptions(experiment, parent=path, ideas=(1,), nodes=1))
    assert [(idea["title"], idea["_pinned"]) for idea in ideas_of(child.checkpoint)["ideas"]] == [
        ("Sum", True),
        ("Quotient", False),
        ("Wave", False),
    ]


def test_a_panel_that_cannot_is_replaced_and_that_is_said(
    experiment: Path, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(server.script, "_choose", lambda _request: "<formula>3*a/b</formula> I guess")
    path = experiment.parent / "study"
    result = start(RunOptions(experiment, output=path, nodes=1, model="openai/any"))
    document = ideas_of(path)
    assert document["ideas"][0]["title"] == "Power law"
    assert "the proposer of the panel gave no usable answer" in document["concerns"][0]
    assert document["concerns"][0] in result.warnings
    assert result.formula == "y = 3*a/b"
