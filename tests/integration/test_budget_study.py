"""Studies with a budget: shared by parallel nodes, never overspent, gone on with when it is raised."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ari.budget import read_tally
from ari.checkpoint import Checkpoint, validate
from ari.cli import main
from ari.errors import ConfigError
from ari.orchestrator.study import resume
from ari.testing import LoopbackServer
from support.wire_researcher import MODEL, answer

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


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch):
    with LoopbackServer(answer) as running:
        for name, value in running.environment().items():
            monkeypatch.setenv(name, value)
        yield running


def test_parallel_nodes_make_no_more_calls_than_allowed_and_a_larger_budget_goes_on(server, run_study):
    result = run_study(TUNING, nodes=8, parallel=4, model=MODEL, max_calls=10)
    assert result.exhausted
    assert result.reason == "budget exhausted: 10 of 10 calls are spent"
    assert len(server.requests) == 10
    assert validate(result.checkpoint) == []
    with Checkpoint.open(result.checkpoint) as checkpoint:
        assert checkpoint.status_counts["completed"] >= 1
        assert set(checkpoint.status_counts) <= {"completed", "pending"}
        finished = {n.id: n.completed_at for n in checkpoint.nodes.values() if n.finished}
    more = resume(result.checkpoint, limits={"max_calls": 200})
    assert more.reason == "all 8 nodes have been run"
    with Checkpoint.open(result.checkpoint) as checkpoint:
        assert checkpoint.status_counts == {"completed": 8}
        assert all(checkpoint.nodes[name].completed_at == at for name, at in finished.items())
    tally = read_tally(result.checkpoint)
    assert tally.calls == len(server.requests)
    assert tally.limits.max_calls == 200
    assert validate(result.checkpoint) == []


def test_a_budget_that_is_cut_and_raised_ends_with_what_an_uncut_study_gives(server, run_study):
    from ari.checkpoint.stable import stable_document

    whole = run_study(TUNING, nodes=5, model=MODEL, name="whole")
    calls = len(server.requests)
    cut = run_study(TUNING, nodes=5, model=MODEL, name="cut", max_calls=3)
    for limit in range(6, calls + 6, 3):
        cut = resume(cut.checkpoint, limits={"max_calls": limit})
    assert cut.reason == "all 5 nodes have been run"
    # what a node had been told before it was cut it is not told, and paid for, again, unless a timing differs
    trees = []
    for result in (whole, cut):
        with Checkpoint.open(result.checkpoint) as checkpoint:
            nodes = stable_document(checkpoint)["tree"]["nodes"]
            trees.append(
                {name: (n["label"], n["plan"], n["metrics"].get("speed")) for name, n in nodes.items()}
            )
    assert trees[0] == trees[1]


def test_usage_that_is_absent_counts_as_reserved_and_tokens_end_a_study_too(server, run_study):
    result = run_study(TUNING, nodes=8, parallel=2, model=MODEL, max_tokens=40_000)
    assert result.exhausted
    tally = read_tally(result.checkpoint)
    assert tally.tokens <= 40_000
    assert all(
        request.body["max_completion_tokens"] == 8192
        for request in server.requests
        if "max_completion_tokens" in request.body
    )


def test_a_study_ends_when_its_time_is_spent_and_goes_on_with_more(run_study):
    slow = TUNING.replace('echo "speed', 'sleep 0.4; echo "speed')
    result = run_study(slow, nodes=6, max_wall_s=1.0)
    assert result.exhausted
    assert result.reason == "budget exhausted: 1 s of wall time are spent"
    with Checkpoint.open(result.checkpoint) as checkpoint:
        assert "running" not in checkpoint.status_counts
    assert resume(result.checkpoint, limits={"max_wall_s": 0.5}).warnings[-1].startswith("nothing was done: ")
    more = resume(result.checkpoint, limits={"max_wall_s": 300})
    assert more.reason == "all 6 nodes have been run"
    assert read_tally(result.checkpoint).wall_s > 1.0


def test_money_with_an_unknown_price_is_refused_before_the_first_call(server, run_study):
    with pytest.raises(ConfigError, match="the price of openai/wire-researcher is not known"):
        run_study(TUNING, model=MODEL, max_cost_usd=1.0)
    assert server.requests == []
    result = run_study(TUNING, model=MODEL, nodes=1)
    assert [w for w in result.warnings if "price" in w] != []


def test_the_command_line_says_that_the_budget_is_exhausted(server, tmp_path, capsys):
    (tmp_path / "experiment.md").write_text(TUNING, encoding="utf-8")
    out = tmp_path / "out"
    options = ["--model", MODEL, "--nodes", "8", "--no-paper", "--quiet"]
    assert main(["run", str(tmp_path), "-o", str(out), "--max-calls", "6", *options]) == 1
    capsys.readouterr()
    assert main(["status", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "state       budget exhausted (6 of 6 calls are spent)" in shown
    assert "spent       6 of 6 calls, " in shown
    assert "without the money of openai/wire-researcher: the price is not known" in shown
    assert main(["status", "--json", str(out)]) == 0
    assert json.loads(capsys.readouterr().out)["spending"]["calls"] == {"spent": 6, "limit": 6}
    assert main(["resume", str(out), "--max-calls", "500", "--no-paper", "--quiet"]) == 0


def test_the_ledger_is_equal_after_a_kill_and_a_resume(server, tmp_path):
    (tmp_path / "experiment.md").write_text(TUNING, encoding="utf-8")
    out = tmp_path / "out"
    command = [sys.executable, "-m", "ari.cli", "run", str(tmp_path), "-o", str(out), "--model", MODEL]
    command += ["--nodes", "6", "--max-calls", "500", "--no-paper", "--quiet"]
    code = "import sys; from ari.cli import main; sys.exit(main(sys.argv[1:]))"
    process = subprocess.Popen([sys.executable, "-c", code, *command[3:]], env=dict(os.environ))
    deadline = time.monotonic() + 120
    while len(server.requests) < 7 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = read_tally(out)
    assert before.calls >= 7
    result = resume(out)
    assert result.reason == "all 6 nodes have been run"
    after = read_tally(out)
    # a call may have been reserved and not yet sent when its process was killed
    assert len(server.requests) <= after.calls <= len(server.requests) + 2
    assert validate(out) == []


def test_limits_are_positive_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "experiment.md").write_text(TUNING, encoding="utf-8")
    assert main(["run", str(tmp_path), "-o", str(tmp_path / "x"), "--max-tokens", "0"]) == 2
    assert "max_tokens is 0 (--max-tokens)" in capsys.readouterr().err
