"""Studies started over the `orchestrator` skill, watched to their end, and what is refused."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ari.errors import SkillError
from ari.orchestrator.background import names, reserve
from ari.skills import call_tool
from ari.skills.binding import Binding, bind
from ari.skills.orchestrator.server import RootSession
from support.background import end_background
from support.studies import written_study

PATIENCE_S = 120


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    """A folder with an experiment; at the end nothing that was started there runs on."""
    folder = tmp_path / "root"
    (folder / "law").mkdir(parents=True)
    rows = "\n".join(f"{x},{2 * x * x}" for x in range(1, 25))
    (folder / "law" / "table.csv").write_text(f"x,y\n{rows}\n")
    (folder / "law" / "experiment.md").write_text(
        "# A square law\n\nHow does y follow x?\n\n## Data\n- source: table.csv\n- target: y\n"
    )
    yield folder
    end_background(folder)


def ask(root: Path, tool: str, **arguments: Any) -> dict[str, Any]:
    return call_tool("orchestrator", bind("orchestrator", Binding(root=root)), tool, arguments)


def ended(root: Path, name: str) -> dict[str, Any]:
    """The status of a study once its process has ended."""
    deadline = time.monotonic() + PATIENCE_S
    while (status := ask(root, "get_status", run=name)).get("exit_status") is None:
        assert time.monotonic() < deadline, status
        time.sleep(0.2)
    return status


@pytest.mark.slow
def test_a_study_and_its_child_run_in_the_background(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARI_SEARCH_WORK", "1000")
    started = ask(root, "run", experiment="law", nodes=1, seed=3, paper=False)
    name = started["run"]
    assert name == "runs/a-square-law-1"
    assert os.getsid(started["pid"]) == started["pid"] != os.getsid(0)
    status = ended(root, name)
    assert (status["state"], status["exit_status"]) == ("finished", 0), status["log"]
    assert status["best"]["metrics"]["nrmse"] < 1e-9
    before = {p: p.read_bytes() for p in (root / name).rglob("*.json")}
    child = ask(root, "run_experiment", parent=name, ideas=[1], nodes=1, paper=False)
    assert child["run"].startswith("runs/a-square-law-1-child-")
    assert ended(root, child["run"])["exit_status"] == 0
    meta = json.loads((root / child["run"] / "meta.json").read_text())
    assert meta["parent_run_id"] == status["run_id"]
    ideas = json.loads((root / child["run"] / "idea.json").read_text())["ideas"]
    parents = json.loads((root / name / "idea.json").read_text())["ideas"]
    assert ideas[0] == parents[1] | {"_pinned": True}
    assert [entry["run"] for entry in ask(root, "list_children", run=name)["children"]] == [child["run"]]
    assert {entry["run"] for entry in ask(root, "list_runs")["runs"]} == {name, child["run"]}
    assert {p: p.read_bytes() for p in (root / name).rglob("*.json")} == before
    with pytest.raises(SkillError, match="has no paper; it is finished"):
        ask(root, "get_paper", run=name)


def test_a_study_that_cannot_begin_says_why(root: Path) -> None:
    name = ask(root, "run", experiment="law", model="nobody/nothing")["run"]
    status = ended(root, name)
    assert (status["state"], status["exit_status"]) == ("failed", 2)
    assert "nobody/nothing" in status["log"]
    assert ask(root, "list_runs")["runs"][0]["state"] == "failed"


def test_nothing_outside_the_root_is_read_or_written(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "experiment.md").write_text((root / "law" / "experiment.md").read_text())
    (outside / "table.csv").write_text("x,y\n1,2\n")
    for path in ("../outside", str(outside), "law/../../outside"):
        with pytest.raises(SkillError, match="is refused under"):
            ask(root, "run", experiment=path)
    (root / "link").symlink_to(outside)
    with pytest.raises(SkillError, match="a symbolic link in it leads out"):
        ask(root, "run", experiment="link")
    for tool in ("get_status", "get_paper", "list_children"):
        with pytest.raises(SkillError, match="is refused under"):
            ask(root, tool, run="../outside")
    text = (root / "law" / "experiment.md").read_text().replace("table.csv", "../../outside/table.csv")
    (root / "law" / "experiment.md").write_text(text)
    with pytest.raises(SkillError, match=r"reads \.\./\.\./outside/table\.csv, which lies outside"):
        ask(root, "run", experiment="law")
    assert not (root / "runs").exists()


def test_unknown_studies_and_faulty_experiments_are_refused_at_once(root: Path) -> None:
    with pytest.raises(SkillError, match=r"no study 'runs/x' below .*\n.*Studies there: none"):
        ask(root, "get_status", run="runs/x")
    with pytest.raises(SkillError, match="no such file"):
        ask(root, "run", experiment="nothing.md")
    (root / "law" / "experiment.md").write_text("# Nothing asked\n")
    with pytest.raises(SkillError, match="neither a '## Data' section"):
        ask(root, "run", experiment="law")
    assert names(root) == []


def test_a_child_of_nothing_or_of_a_missing_idea_is_refused(root: Path) -> None:
    written_study("kepler", root)
    with pytest.raises(SkillError, match="no study 'law'"):
        ask(root, "run_experiment", parent="law")
    with pytest.raises(SkillError, match="has no idea 99"):
        ask(root, "run_experiment", parent="kepler", experiment="law", ideas=[99])
    assert names(root) == []


def test_the_paper_is_read_with_what_the_gate_says(root: Path) -> None:
    study = written_study("kepler", root)
    paper = ask(root, "get_paper", run="kepler")
    assert paper["tex"] == (study / "full_paper.tex").read_text()
    assert (paper["pdf"], paper["gate"], paper["source"]) == (None, None, "kepler/full_paper.tex")


def test_names_are_never_given_twice(root: Path) -> None:
    assert [reserve("A law", root / "runs").name for _ in range(3)] == ["a-law-1", "a-law-2", "a-law-3"]
    assert RootSession(root / "runs").runs == root / "runs"
