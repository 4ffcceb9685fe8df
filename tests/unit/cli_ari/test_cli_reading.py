"""Commands that only read, and how misuse of any command is answered."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_checkpoints import Answer, add, finish, writer

Ari = Callable[..., Answer]


def test_help_names_every_command(ari: Ari) -> None:
    answer = ari("--help")
    assert answer.status == 0
    reading = ["status", "show", "projects", "validate", "settings", "version"]
    commands = ["run", "resume", *reading, "delete", "repair", "migrate"]
    for command in commands:
        assert f"\n  {command} " in answer.out
        assert ari(command, "--help").status == 0


@pytest.mark.parametrize(
    "arguments", [["frobnicate"], ["status", "--frobnicate"], ["run"], ["status", "a", "b"]]
)
def test_misuse_ends_with_status_2_and_says_where_help_is(ari: Ari, arguments: list[str]) -> None:
    answer = ari(*arguments)
    assert answer.status == 2
    assert answer.out == ""
    assert answer.err.startswith("error: ")
    assert "--help` lists what it takes." in answer.err
    assert "Traceback" not in answer.err


def test_status_draws_the_tree_plainly(ari: Ari, small: Path) -> None:
    answer = ari("status", small)
    assert answer.status == 0
    assert "\x1b" not in answer.out
    assert answer.out.splitlines() == [
        f"checkpoint  {small}",
        "goal        How does T depend on a?",
        "state       finished (all nodes have been run)",
        "nodes       5 (4 completed, 1 errored), depth 2",
        "metric      r2 (higher is better)",
        "best        node_best  r2 = 0.996  score 0.996",
        "paper       14 would run: it has not been run yet",
        "",
        "● node_root  draft  r2 = 0.5  score 0.5",
        "├─ ● node_a  improve  r2 = 0.75  score 0.75",
        "│  └─ ● node_best  improve  r2 = 0.996  score 0.996  ★",
        "└─ ● node_b  draft  r2 = 0.25  score 0.25",
        "   └─ ✗ node_bad  debug  failed: it divided by zero",
    ]


def test_status_without_an_argument_takes_the_latest(ari: Ari, small: Path) -> None:
    older = small.parent / "older"
    with writer(older) as checkpoint:
        add(checkpoint, "node_root", None)
    os.utime(older / "journal.jsonl", (1, 1))
    os.utime(older / "tree.json", (1, 1))
    assert ari("status", "--quiet").out.startswith("checkpoint  runs/small-1\n")


def test_status_folds_on_request(ari: Ari, small: Path) -> None:
    assert "2 more (1 completed, 1 errored, best score 0.25)" in ari("status", small, "--limit", 3).out
    assert "more (" not in ari("status", small, "--limit", 3, "--all").out
    assert ari("status", small, "--limit", 0).status == 2


def test_status_for_machines(ari: Ari, small: Path) -> None:
    document = json.loads(ari("status", small, "--json").out)
    assert document["state"] == "finished"
    assert document["best_node_id"] == "node_best"
    assert document["nodes"]["node_bad"]["error"].startswith("it divided")
    assert document["nodes"]["node_a"]["metrics"] == {"r2": 0.75}


def test_a_run_under_way_is_seen_without_disturbing_it(ari: Ari, tmp_path: Path) -> None:
    path = tmp_path / "running"
    with writer(path) as checkpoint:
        add(checkpoint, "node_root", None)
        checkpoint.append("node_started", node_id="node_root", attempt=1)
        answer = ari("status", path)
        assert f"state       running (process {os.getpid()} on {socket.gethostname()}" in answer.out
        assert "◐ node_root  improve  running" in answer.out
        finish_directly = {
            "node_id": "node_root",
            "status": "completed",
            "metrics": {"r2": 1.0},
            "score": 1.0,
        }
        checkpoint.append("node_finished", **finish_directly)
        assert "best        node_root" in ari("status", path).out
    assert "state       stopped" in ari("status", path).out


def test_nothing_to_show_is_said_with_a_cure(ari: Ari, tmp_path: Path) -> None:
    answer = ari("status")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err == (
        "error: there is no checkpoint below ./runs\n  Name one, or start a run with: ari run EXPERIMENT.md\n"
    )
    missing = ari("status", tmp_path / "missing")
    assert missing.status == 2
    assert f"error: {tmp_path / 'missing'} is no directory" in missing.err
    assert "holds no checkpoint" in ari("validate", tmp_path).err


def test_a_damaged_journal_is_an_error_that_names_the_cure(ari: Ari, small: Path) -> None:
    journal = small / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([*lines[:3], b"{broken\n", *lines[4:]]))
    answer = ari("status", small)
    assert answer.status == 1
    assert "journal.jsonl" in answer.err
    assert "line 4" in answer.err
    assert "ari repair" in answer.err
    assert "Traceback" not in answer.err


def test_debug_shows_the_stack(ari: Ari, small: Path) -> None:
    from ari.errors import ConfigError

    with pytest.raises(ConfigError):
        ari("show", "nobody", small, "--debug")


def test_a_fault_of_the_program_is_told_apart_from_the_users(
    ari: Ari, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_path: Path) -> list[object]:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("ari.checkpoint.validate", broken)
    answer = ari("validate", small)
    assert answer.status == 1
    assert answer.err.startswith(
        "error: ZeroDivisionError: division by zero\n  This is a fault of the program."
    )
    assert "--debug" in answer.err


def test_a_file_that_the_system_refuses_is_named(
    ari: Ari, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_path: Path) -> list[object]:
        raise PermissionError(13, "Permission denied", small / "tree.json")

    monkeypatch.setattr("ari.checkpoint.validate", refused)
    answer = ari("validate", small)
    assert (answer.status, answer.err) == (1, f"error: {small / 'tree.json'}: Permission denied\n")


@pytest.mark.parametrize("command", ["status", "status --json", "show root", "projects .."])
def test_a_reader_that_has_gone_is_no_error(small: Path, command: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    code = f"import sys; from ari.cli import main; sys.exit(main({command.split()!r}))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        stdout=writing,
        stderr=subprocess.PIPE,
        cwd=small.parent.parent,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


def test_show_tells_everything_about_a_node(ari: Ari, small: Path) -> None:
    work = small / "experiments" / "node_a"
    work.mkdir(parents=True)
    report = {
        "files_changed": {"added": [{"path": "formula.json", "sha256": "0"}], "modified": [], "deleted": []}
    }
    (work / "node_report.json").write_text(json.dumps(report), encoding="utf-8")
    (work / "formula.json").write_text('{"formula": "a**1.5", "latex": "a^{1.5}"}', encoding="utf-8")
    records = small / "records" / "node_a"
    records.mkdir(parents=True)
    runs = [
        {
            "label": "fit",
            "command": "python fit.py",
            "outcome": "timeout",
            "exit_status": None,
            "signal": "SIGKILL",
            "duration_s": 61,
            "reason": "it took longer than 60 s",
            "stdout": "\n".join(f"line {i}" for i in range(50)),
        }
    ]
    (records / "run_record.json").write_text(
        json.dumps({"schema_version": 1, "runs": runs}), encoding="utf-8"
    )
    answer = ari("show", "node_a", small)
    assert answer.status == 0
    for part in [
        "node         node_a",
        "parent       node_root",
        "children     node_best",
        "took         1.5 s",
        "plan\n  summary: finer",
        "metrics\n  r2  0.75  (by evaluator)",
        "formula\n  formula: a**1.5\n  latex: a^{1.5}",
        "files changed\n  added     formula.json",
        "fit: python fit.py\n      timeout, SIGKILL, 1 min 01 s: it took longer than 60 s",
        "stdout | line 0\n",
        "stdout | line 49",
    ]:
        assert part in answer.out
    assert "line 25" not in answer.out
    document = json.loads(ari("show", "node_a", small, "--json").out)
    assert document["metrics"] == {"r2": 0.75}
    assert document["submission"]["formula"] == "a**1.5"
    assert document["run_record"]["runs"][0]["label"] == "fit"


def test_show_finds_nodes_by_what_users_type(ari: Ari, small: Path) -> None:
    assert "node         node_best" in ari("show", "best").out
    assert "node         node_root" in ari("show", "root", small).out
    assert "node         node_root" in ari("show", "node_r", small).out
    several = ari("show", "node_b", "--", small)
    assert several.status == 0  # an exact id wins over longer ones that begin with it
    ambiguous = ari("show", "node_", small)
    assert ambiguous.status == 2
    assert "may mean 5 nodes: node_root, node_a" in ambiguous.err
    near = ari("show", "nodes_best", small)
    assert "has no node 'nodes_best'; did you mean node_best?" in near.err
    assert "error\n  it divided by zero\n  line two" in ari("show", "node_bad", small).out


def test_show_says_when_a_file_of_the_node_is_damaged(ari: Ari, small: Path) -> None:
    work = small / "experiments" / "node_a"
    work.mkdir(parents=True)
    (work / "formula.json").write_text("{", encoding="utf-8")
    answer = ari("show", "node_a", small)
    assert answer.status == 0
    assert "formula.json" in answer.out
    assert "unreadable: " in answer.out


def test_projects_lists_the_latest_first_and_damaged_ones_too(ari: Ari, small: Path) -> None:
    assert ari("projects").status == 0
    old = small.parent / "old"
    with writer(old) as checkpoint:
        add(checkpoint, "node_root", None)
        finish(checkpoint, "node_root", None, error="x")
    (old / "journal.jsonl").write_text("{broken\n{}\n", encoding="utf-8")
    for name in ("journal.jsonl", "tree.json"):
        os.utime(old / name, (1, 1))
    answer = ari("projects")
    head, first, second, why = answer.out.splitlines()
    assert head.split() == ["CHECKPOINT", "STATE", "NODES", "BEST", "CHANGED"]
    assert first.split()[:6] == ["runs/small-1", "finished", "5", "r2", "=", "0.996"]
    assert second.split()[:2] == ["runs/old", "damaged"]
    assert why.startswith("runs/old: ")
    listed = json.loads(ari("projects", small.parent.parent, "--json").out)["checkpoints"]
    assert [item["state"] for item in listed] == ["finished", "damaged"]


def test_projects_without_any(ari: Ari, tmp_path: Path) -> None:
    assert ari("projects").out == "no checkpoint below runs; start a run with: ari run EXPERIMENT.md\n"
    answer = ari("projects", tmp_path / "missing")
    assert (answer.status, answer.out) == (2, "")
    assert "is no directory" in answer.err


def test_validate_ends_with_1_when_it_finds_something(ari: Ari, small: Path) -> None:
    (small / "settings.json").write_text('{"api_key": "s3cret"}', encoding="utf-8")
    answer = ari("validate", small)
    assert answer.status == 1
    assert "[secret.in_settings]" in answer.out
    assert "s3cret" not in answer.out + answer.err
    document = json.loads(ari("validate", small, "--json").out)
    assert {"file": "settings.json", "code": "secret.in_settings"}.items() <= document["findings"][0].items()
    assert ari("validate", small, "--quiet").out == ""


def test_validate_ends_with_0_when_it_finds_nothing(
    ari: Ari, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ari.checkpoint.validate", lambda _path: [])
    answer = ari("validate", small)
    assert (answer.status, answer.out) == (0, f"{small}: nothing found\n")


def test_settings_show_origin_and_mask_secrets(
    ari: Ari, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (small / "settings.json").write_text('{"nodes": 3, "password": "s3cret"}', encoding="utf-8")
    monkeypatch.setenv("ARI_SEED", "7")
    answer = ari("settings", "show", small)
    assert answer.status == 0
    assert "s3cret" not in answer.out + answer.err
    assert "********" in answer.out
    rows = {line.split()[0]: line for line in answer.out.splitlines() if line.strip()}
    assert "environment ARI_SEED" in rows["seed"]
    assert f"{small / 'settings.json'} (nodes)" in rows["nodes"]
    assert "/password holds a secret; move it to .env" in answer.err
    document = json.loads(ari("settings", small, "--json").out)
    assert (document["settings"]["seed"], document["sources"]["seed"]) == (7, "environment ARI_SEED")
    assert document["settings"]["provider"] == "offline"


def test_settings_check(ari: Ari, monkeypatch: pytest.MonkeyPatch) -> None:
    said = "every setting can be used\nmodel: offline (needs no service)\n"
    assert ari("settings", "check").out == said
    monkeypatch.setenv("ARI_NODE", "3")
    answer = ari("settings", "check")
    assert answer.status == 1
    assert "did you mean ARI_NODES?" in answer.out
    monkeypatch.setenv("ARI_NODES", "none")
    answer = ari("settings", "check")
    assert answer.status == 2
    assert answer.err.startswith("error: nodes is 'none' (environment ARI_NODES): ")
    assert ari("settings", "chekc").status == 2
    assert ari("settings", "set", "x").status == 2


def test_version(ari: Ari) -> None:
    from importlib.metadata import version

    assert ari("version").out.splitlines()[0].split() == ["ari", version("ari-research")]
    assert ari("--version").out == ari("version").out
    assert json.loads(ari("version", "--json").out)["numpy"] == version("numpy")
