"""A study at a standstill with a model: it goes on, fans out, or ends, and a kill changes nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from ari.checkpoint import Checkpoint, validate
from ari.orchestrator import study as study_module
from ari.orchestrator.study import RunOptions, resume, start
from ari.testing import LoopbackServer, Received, Reply

HEAD = """# How does y depend on a and b?

Metrics: nrmse

## Data
- source: data.csv
- target: y
"""
SETTINGS = {
    "ARI_STAGNATION_MIN_NODES": "1",
    "ARI_STAGNATION_WINDOW": "2",
    "ARI_MAX_SWITCHES": "0",
    "ARI_LOOKAHEAD": "1",
    "ARI_SR_CONVERSATIONS": "1",
    "ARI_SR_DEPTH": "1",
    "ARI_SR_SAMPLES": "1",
}
FAN_OUT = {"decision": "fanout", "rationale": "They differ in kind.", "idea_indices": [1, 2]}
END = {"decision": "terminate", "rationale": "Nothing moves."}


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    rows = [(1 + i % 11, 1 + i % 7) for i in range(80)]
    lines = [f"{a},{b},{(a * 37 + b * 91) % 101}" for a, b in rows]  # no law at all
    (tmp_path / "data.csv").write_text("a,b,y\n" + "\n".join(lines) + "\n")
    (tmp_path / "experiment.md").write_text(HEAD)
    return tmp_path / "experiment.md"


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., LoopbackServer]]:
    """Start a server that advises so, one advice after another; the parent study only."""
    servers = []

    def serve(*advice: dict[str, Any]) -> LoopbackServer:
        given = iter(advice)

        def answer(request: Received) -> Reply | str:
            if "You watch over a tree" in request.text:
                return json.dumps(next(given, END))
            if "evaluate_formula" in request.tools:
                return "<formula>c*a</formula>"
            proposal = {"label": "improve", "summary": "Once more.", "plan": {}}
            return json.dumps(proposal)

        server = LoopbackServer(answer)
        server.__enter__()
        servers.append(server)
        for name, value in (server.environment() | SETTINGS).items():
            monkeypatch.setenv(name, value)
        return server

    yield serve
    for server in servers:
        server.__exit__(None, None, None)


def decisions(path: Path) -> list[dict[str, Any]]:
    lines = (path / "lineage_decisions.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def run(experiment: Path, nodes: int = 6) -> Path:
    path = experiment.parent / "runs" / "law"
    start(RunOptions(experiment, output=path, nodes=nodes, parallel=1, model="openai/any"))
    return path


def test_ideas_get_studies_of_their_own_and_what_they_find_is_measured_anew(experiment: Path, served):
    served(FAN_OUT)
    path = run(experiment)
    first, *later = decisions(path)
    assert (first["decision"], first["by"]) == ("fanout", "model")
    assert first["rationale"].startswith("They differ in kind. (the rule: the last")
    assert [child["idea_index"] for child in first["children"]] == [1, 2]
    assert later[-1]["decision"] == "terminate"
    ideas = orjson.loads((path / "idea.json").read_bytes())["ideas"]
    with Checkpoint.open(path) as parent:
        for child in first["children"]:
            own = path.parent / child["name"]
            with Checkpoint.open(own) as checkpoint:
                assert (checkpoint.meta.parent_run_id, checkpoint.meta.recursion_depth) == ("law", 1)
                assert 1 <= len(checkpoint.nodes) <= child["nodes"]
                assert checkpoint.state.finished is not None
            inherited = orjson.loads((own / "idea.json").read_bytes())["ideas"][0]
            assert inherited == ideas[child["idea_index"]] | {"_pinned": True}
            assert validate(own) == []
            [back] = [n for n in parent.nodes.values() if n.plan.get("from_run") == child["name"]]
            assert back.status == "completed"
            assert back.plan["formula"]
            assert back.has_real_data
    assert validate(path) == []


def test_a_study_that_is_killed_in_a_fanout_goes_on_with_the_same_children(
    experiment: Path, served, monkeypatch: pytest.MonkeyPatch
):
    served(FAN_OUT)
    monkeypatch.setattr(study_module.Study, "_run_children", lambda _self: (_ for _ in ()).throw(SystemExit))
    with pytest.raises(SystemExit):
        run(experiment)
    path = experiment.parent / "runs" / "law"
    [fanout] = decisions(path)
    monkeypatch.undo()
    served()
    resume(path)
    assert [d["decision"] for d in decisions(path)].count("fanout") == 1
    with Checkpoint.open(path) as parent:
        back = {node.plan.get("from_run") for node in parent.nodes.values()}
    assert {child["name"] for child in fanout["children"]} <= back
    assert sorted(p.name for p in path.parent.iterdir()) == ["law", "law-child-1", "law-child-2"]


def test_the_model_may_let_the_search_go_on_and_turn_to_an_idea(experiment: Path, served):
    served(
        {"decision": "continue", "rationale": "Not all was tried."},
        {"decision": "switch_to_idea", "rationale": "Again from here.", "idea_index": 4},
    )
    path = run(experiment)
    made = decisions(path)
    assert [d["decision"] for d in made][:2] == ["continue", "switch_to_idea"]
    assert made[1]["idea_index"] == 4
    with Checkpoint.open(path) as checkpoint:
        turned = list(checkpoint.nodes.values())[made[1]["at_order"]]
        assert turned.plan["idea_index"] == 4
        assert turned.parent_id == checkpoint.root_node_id


def test_nonsense_leaves_the_rule_in_charge(experiment: Path, served):
    server = served(*[{"decision": "pray"}] * 9)
    path = run(experiment)
    [made] = decisions(path)
    assert made["decision"] == "terminate"
    assert "the model gave no usable advice" in made["rationale"]
    assert sum("You watch over a tree" in request.text for request in server.requests) == 4


def test_without_a_model_nobody_is_asked(experiment: Path, monkeypatch: pytest.MonkeyPatch):
    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)
    path = experiment.parent / "runs" / "law"
    start(RunOptions(experiment, output=path, nodes=9, parallel=1))
    assert [("by" in d, d["decision"]) for d in decisions(path)] == [(False, "terminate")]
