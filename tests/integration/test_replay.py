"""Replays: a study run again from its recordings gives the same bytes, and says where it does not."""

from __future__ import annotations

import json
import shutil
import threading
from pathlib import Path

import pytest

from ari.checkpoint import Checkpoint, validate
from ari.checkpoint.stable import strip_volatile
from ari.cli import main
from ari.errors import CheckpointError, ReplayError
from ari.orchestrator.replay import replay
from ari.orchestrator.study import RunOptions, resume, start
from ari.testing import LoopbackServer
from support.wire_researcher import MODEL, answer

TIMED = """# Tune
Find the best level.

Metrics: speed (higher is better)

## Command
```bash
date +%s%N > stamp.txt
echo "speed: $(( {a} * 10 + $(date +%N | cut -c1) ))"
```

## Parameters
- a: 1, 2, 3, 4, 5

## Repeats
- repeats: 2
"""

KEYS = ("OPENAI_BASE_URL", "OPENAI_API_KEY")


def again(source: Path, target: Path):
    return replay(source, target, stop=threading.Event())


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study driven by a model service, its budget spent once and then raised; the service is gone."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "experiment.md").write_text(TIMED, encoding="utf-8")
    with LoopbackServer(answer) as server, pytest.MonkeyPatch.context() as patch:
        for name, value in server.environment().items():
            patch.setenv(name, value)
        options = RunOptions(folder / "experiment.md", output=folder / "out", nodes=5, model=MODEL)
        cut = start(RunOptions(**{**vars(options), "max_calls": 16}))
        assert cut.exhausted
        result = resume(cut.checkpoint, limits={"max_calls": 200})
        assert result.reason == "all 5 nodes have been run"
        asked = len(server.requests)
        again(result.checkpoint, folder / "while the service is there")
        assert len(server.requests) == asked
    return result.checkpoint


@pytest.fixture
def damaged(recorded: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(recorded, tmp_path / "damaged"))


def test_a_model_run_is_replayed_to_the_byte_without_the_model(recorded, tmp_path, monkeypatch):
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    report = again(recorded, tmp_path / "again")
    assert report.differences == ()
    assert {"tree.json", "nodes_tree.json", "results.json", "memory_store.jsonl"} <= set(report.equal)
    assert validate(tmp_path / "again") == []
    one, other = (json.loads((place / "tree.json").read_bytes()) for place in (recorded, tmp_path / "again"))
    assert json.dumps(strip_volatile(one)) == json.dumps(strip_volatile(other))
    measured = {n.id: n.metrics["speed"] for n in Checkpoint.open(recorded).nodes.values()}
    assert {n.id: n.metrics["speed"] for n in Checkpoint.open(tmp_path / "again").nodes.values()} == measured
    stamps = [
        (place / "experiments/node_0001/stamp.txt").read_text() for place in (recorded, tmp_path / "again")
    ]
    assert stamps[0] == stamps[1]
    with pytest.raises(CheckpointError, match="is a replay of"):
        resume(tmp_path / "again")


def test_another_answer_leads_to_a_request_that_is_not_recorded(damaged, tmp_path, capsys):
    path = damaged / "records" / "study" / "exchanges.jsonl"
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    part = lines[-1]["reply"]["parts"][-1]
    arguments = part["args"] if isinstance(part["args"], dict) else json.loads(part["args"])
    arguments["summary"] = "something else"
    part["args"] = arguments
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert main(["replay", str(damaged), "-o", str(tmp_path / "again"), "--quiet"]) == 1
    assert "it differs from the recorded one in message 1 (user-prompt)" in capsys.readouterr().err


def test_without_the_recording_of_a_node_the_replay_says_so(damaged, tmp_path, capsys):
    (damaged / "records" / "node_0002" / "exchanges.jsonl").unlink()
    assert main(["replay", str(damaged), "-o", str(tmp_path / "again"), "--quiet"]) == 1
    assert "node node_0002: no exchange with openai/wire-researcher is recorded in" in capsys.readouterr().err


def test_a_changed_run_record_is_told_by_the_request_that_it_leads_to(damaged, tmp_path):
    path = damaged / "records" / "node_0001" / "run_record.json"
    document = json.loads(path.read_bytes())
    document["runs"][0]["stdout"] = "speed: 999\n"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(ReplayError, match=r"node node_0001, request \d: it differs .* \(tool-return run\)"):
        again(damaged, tmp_path / "again")


def test_a_run_that_is_not_recorded_is_refused(damaged, tmp_path):
    path = damaged / "records" / "node_0001" / "run_record.json"
    document = json.loads(path.read_bytes())
    document["runs"][0]["command"] = "something else"
    path.write_text(json.dumps(document), encoding="utf-8")
    refusal = r"node_0001, run 1: the command is not the recorded one: 'bash run\.sh'"
    with pytest.raises(ReplayError, match=refusal):
        again(damaged, tmp_path / "again")


def test_the_command_reports_for_machines_and_refuses_a_full_directory(recorded, tmp_path, capsys):
    assert main(["replay", str(recorded), "-o", str(tmp_path / "again"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["ok"], document["nodes"], document["differences"]) == (True, 5, [])
    assert main(["replay", str(recorded), "-o", str(tmp_path / "again"), "--quiet"]) == 1
    assert "is not empty" in capsys.readouterr().err


def test_a_study_without_a_model_is_replayed_too(run_study, tmp_path):
    result = run_study(TIMED, nodes=3)
    report = again(result.checkpoint, tmp_path / "again")
    assert (report.differences, report.given_up) == ((), ())
    assert len(report.equal) >= 10


def test_nodes_that_were_ended_from_outside_are_taken_as_recorded(run_study, tmp_path):
    hanging = TIMED.replace("date +%s%N > stamp.txt", "echo part > part.txt; sleep 60")
    result = run_study(hanging, nodes=2, node_time=1.0)
    report = again(result.checkpoint, tmp_path / "again")
    assert report.differences == ()
    assert report.given_up == ("node_0000", "node_0001")


def test_a_study_that_has_not_ended_is_not_replayed(recorded, tmp_path):
    target = Path(shutil.copytree(recorded, tmp_path / "unfinished"))
    journal = target / "journal.jsonl"
    lines = [x for x in journal.read_text().splitlines() if '"run_finished"' not in x]
    documents = [{**json.loads(line), "seq": number} for number, line in enumerate(lines, start=1)]
    journal.write_text("".join(json.dumps(document) + "\n" for document in documents))
    with pytest.raises(ReplayError, match="has not come to its end"):
        again(target, tmp_path / "again")
