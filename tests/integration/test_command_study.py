"""Whole studies of a command: the tree grows, failures stay local, everything is on disk."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ari.checkpoint import Checkpoint
from ari.orchestrator.study import resume

TUNING = """# Tune
Find the best level.

Metrics: speed (higher is better)

## Command
```bash
echo "speed: $(( {a} * 10 + {b} ))"
```

## Parameters
- a: 1, 2, 3
- b: 0..4

## Repeats
- repeats: 1
"""

MIXED = """# Some configurations fail
Metrics: speed (higher is better)

## Command
```bash
case {mode} in
  good) echo "speed: 1" ;;
  hang) trap '' TERM; sleep 1000 & sleep 1000 ;;
  crash) kill -SEGV $$ ;;
  silent) : ;;
  nan) echo "speed: nan" ;;
  better) echo "speed: 5" ;;
esac
```

## Parameters
- mode: good, hang, crash, silent, nan, better

## Repeats
- repeats: 1
"""


def test_a_study_improves_on_its_root_and_leaves_a_sound_checkpoint(run_study):
    result = run_study(TUNING, nodes=8)
    assert result.reason == "all 8 nodes have been run"
    with Checkpoint.open(result.checkpoint) as checkpoint:
        assert checkpoint.status_counts == {"completed": 8}
        root = checkpoint.nodes[checkpoint.root_node_id]
        assert root.metrics["speed"] == 10.0
        assert root.metrics["study_nodes"] == 8
        assert result.best.metrics["speed"] > root.metrics["speed"]
        assert checkpoint.best_node_id == result.best.id
    report = json.loads(
        (result.checkpoint / "experiments" / result.best.id / "node_report.json").read_bytes()
    )
    assert report["files_changed"]["modified"][0]["path"] == "params.json"
    assert report["metrics"] == result.best.metrics
    criteria = json.loads((result.checkpoint / "evaluation_criteria.json").read_bytes())
    assert (criteria["primary_metric"], criteria["higher_is_better"]) == ("speed", True)
    assert "AUTO-APPENDED" in (result.checkpoint / "experiment.md").read_text()


def test_measurements_of_two_machines_are_not_compared_in_silence(run_study):
    from ari.execution.environment import fingerprint
    from ari.pipeline.claim_gate.gate import run_hard_gate
    from ari.transform import nodes_to_science_data

    checkpoint = run_study(TUNING, nodes=3).checkpoint
    nodes_to_science_data(checkpoint=checkpoint)
    (checkpoint / "full_paper.tex").write_text("\\section{Results}\nNothing is said.\n")

    def mismatches() -> list[str]:
        warnings = run_hard_gate(checkpoint).warnings
        return [warning.message for warning in warnings if warning.kind == "environment_mismatch"]

    assert mismatches() == []
    path = checkpoint / "experiments" / "node_0000" / "node_report.json"
    report = json.loads(path.read_bytes())
    here = fingerprint()
    assert report["cpu_info"] == {"model": here["cpu"], "arch": here["machine"]}
    path.write_text(json.dumps(report | {"cpu_info": {"model": "Another", "arch": "riscv64"}}))
    found = mismatches()
    assert found
    assert all("node_0000 on Another riscv64" in message for message in found)


def test_the_validator_finds_nothing_in_a_finished_study(run_study):
    from ari.checkpoint import validate

    assert validate(run_study(TUNING, nodes=4).checkpoint) == []


def test_a_child_inherits_sources_and_never_results(run_study):
    result = run_study(TUNING, nodes=3)
    with Checkpoint.open(result.checkpoint) as checkpoint:
        child = next(n for n in checkpoint.nodes.values() if n.parent_id == "node_0000")
    seeded = json.loads((result.checkpoint / "records" / child.id / "seeded.json").read_bytes())
    assert "params.json" in seeded
    assert "results.json" not in seeded


def test_nodes_that_fail_in_every_way_end_alone(run_study):
    result = run_study(MIXED, nodes=9, node_time=4.0)
    with Checkpoint.open(result.checkpoint) as checkpoint:
        reasons = {n.plan["params"]["mode"]: n.error for n in checkpoint.nodes.values()}
        assert checkpoint.status_counts["errored"] >= 4
    assert result.best.metrics == {"speed": 5.0}
    assert "time limit" in reasons["hang"] or "longer than" in reasons["hang"]
    assert "SIGSEGV" in reasons["crash"]
    assert "no run printed the metric 'speed'" in reasons["silent"]
    assert reasons["nan"] == "the metric 'speed' came out as nan"


def test_a_failed_root_gets_a_repair(run_study):
    result = run_study(MIXED.replace("- mode: good, hang", "- mode: crash2, good, hang"), nodes=2)
    with Checkpoint.open(result.checkpoint) as checkpoint:
        assert checkpoint.nodes["node_0000"].status == "errored"
        assert checkpoint.nodes["node_0001"].label == "debug"
        assert checkpoint.nodes["node_0001"].status == "completed"


def test_a_node_whose_process_is_killed_does_not_end_the_run(run_study):
    text = TUNING.replace('echo "speed:', 'kill -KILL $PPID 2>/dev/null || true; echo "speed:')
    result = run_study(text, nodes=2)
    assert result.reason == "all 2 nodes have been run"


def test_a_study_can_be_given_more_nodes(run_study):
    first = run_study(TUNING, nodes=2)
    more = resume(first.checkpoint, nodes=5)
    with Checkpoint.open(more.checkpoint) as checkpoint:
        assert len(checkpoint.nodes) == 5
        started = [e["node_id"] for e in checkpoint.events() if e["event"] == "node_started"]
    assert len(started) == len(set(started)) == 5


def test_resuming_a_finished_study_does_nothing_and_says_so(run_study):
    first = run_study(TUNING, nodes=2)
    before = (first.checkpoint / "journal.jsonl").read_bytes()
    again = resume(first.checkpoint)
    assert again.warnings == ["the study had already ended; nothing was left to do"]
    assert (first.checkpoint / "journal.jsonl").read_bytes() == before
    assert again.best.id == first.best.id


@pytest.mark.parametrize("moment", ["libraries loading", "node at work"])
def test_ctrl_c_stops_cleanly_at_any_moment_and_the_study_can_be_resumed(tmp_path: Path, moment: str):
    slow = TUNING.replace("echo", "sleep 1; echo")
    (tmp_path / "experiment.md").write_text(slow)
    command = [
        sys.executable,
        "-c",
        "import sys; from ari.cli import main; sys.exit(main())",
        "run",
        str(tmp_path),
        "--output",
        str(tmp_path / "out"),
        "-n",
        "3",
    ]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    journal = tmp_path / "out" / "journal.jsonl"
    awaited = b"run_created" if moment == "libraries loading" else b"node_started"
    deadline = time.monotonic() + 60
    while not (journal.exists() and awaited in journal.read_bytes()) and time.monotonic() < deadline:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to every process of the group
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in errors
    assert resume(tmp_path / "out").reason == "all 3 nodes have been run"


def test_an_output_directory_in_use_is_refused_and_left_alone(run_study, tmp_path: Path):
    from ari.errors import ExperimentError

    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("keep")
    with pytest.raises(ExperimentError, match="is not empty"):
        run_study(TUNING, nodes=2)
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["mine.txt"]


def test_an_unknown_model_is_refused_before_anything_runs(run_study, tmp_path: Path):
    from ari.errors import ConfigError

    with pytest.raises(ConfigError, match=r"there is no model|allowed are"):
        run_study(TUNING, nodes=2, model="prov-x/some-model:free@2026")
    assert not (tmp_path / "out").exists()
