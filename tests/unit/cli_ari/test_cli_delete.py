"""`ari delete` removes a checkpoint and refuses everything else."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_checkpoints import Answer, add, writer

Ari = Callable[..., Answer]


def answer_with(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Let a terminal answer the question."""
    typed = io.StringIO(text)
    typed.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr("sys.stdin", typed)


def test_it_asks_and_takes_no_for_an_answer(ari: Ari, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer_with(monkeypatch, "n\n")
    answer = ari("delete", small)
    assert answer.status == 1
    assert f"{small}: " in answer.err
    assert "error: nothing was done" in answer.err
    assert (small / "journal.jsonl").exists()


def test_it_removes_after_a_yes(ari: Ari, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer_with(monkeypatch, "y\n")
    answer = ari("delete", small)
    assert answer.status == 0
    assert answer.out.startswith(f"removed {small} (")
    assert list(small.parent.iterdir()) == []


def test_yes_in_advance(ari: Ari, small: Path) -> None:
    document = json.loads(ari("delete", "runs/small-1", "--yes", "--json").out)
    assert document["removed"] == "runs/small-1"
    assert document["files"] > 1
    assert not small.exists()


def test_without_a_terminal_it_wants_yes(ari: Ari, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    answer = ari("delete", small)
    assert answer.status == 2
    assert "there is nobody to ask\n  Give --yes" in answer.err
    assert small.exists()


def test_what_is_no_checkpoint_is_left_alone(ari: Ari, small: Path, tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    for path in (tmp_path / "precious", small.parent, tmp_path / "missing"):
        answer = ari("delete", path, "--yes")
        assert answer.status == 2
        assert f"error: {path} is no checkpoint and is left alone" in answer.err
    assert small.exists()


def test_a_link_to_a_checkpoint_is_refused(ari: Ari, small: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(small)
    answer = ari("delete", link, "--yes")
    assert answer.status == 2
    assert f"Name the checkpoint itself: {small}" in answer.err
    assert small.exists()


def test_one_that_is_being_written_is_refused(ari: Ari, tmp_path: Path) -> None:
    path = tmp_path / "running"
    with writer(path) as checkpoint:
        add(checkpoint, "node_root", None)
        answer = ari("delete", path, "--yes")
        assert answer.status == 1
        assert f"{path} is being written by process" in answer.err
        add(checkpoint, "node_a", "node_root")
    assert path.exists()


def test_the_current_directory_is_not_pulled_away(
    ari: Ari, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(small)
    answer = ari("delete", ".", "--yes")
    assert answer.status == 2
    assert ". holds the current directory" in answer.err
