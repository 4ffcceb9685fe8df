"""A way to run the command line as a user does, and a small finished run."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_checkpoints import Answer, add, finish, writer

from ari.cli import main


@pytest.fixture
def ari(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Answer]:
    """Run `ari` in an empty directory, with an empty home and no settings in the environment."""
    for name in [name for name in os.environ if name.startswith(("ARI_", "XDG_"))]:
        monkeypatch.delenv(name)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("COLUMNS", "200")
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)

    def run(*arguments: object) -> Answer:
        capsys.readouterr()
        status = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Answer(status, captured.out, captured.err)

    return run


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A finished run of five nodes: root, two children, one failed grandchild, and the best one."""
    path = tmp_path / "here" / "runs" / "small-1"
    with writer(path) as checkpoint:
        add(checkpoint, "node_root", None, "draft", summary="a power law")
        finish(checkpoint, "node_root", 0.5)
        add(checkpoint, "node_a", "node_root", summary="finer")
        finish(
            checkpoint,
            "node_a",
            0.75,
            metrics_with_metadata={"r2": {"value": 0.75, "extractor": "evaluator"}},
        )
        add(checkpoint, "node_b", "node_root", "draft")
        finish(checkpoint, "node_b", 0.25)
        add(checkpoint, "node_bad", "node_b", "debug")
        finish(checkpoint, "node_bad", None, error="it divided by zero\nline two")
        add(checkpoint, "node_best", "node_a")
        finish(checkpoint, "node_best", 0.996)
        checkpoint.append("run_finished", reason="all nodes have been run", best_node_id="node_best")
    return path
