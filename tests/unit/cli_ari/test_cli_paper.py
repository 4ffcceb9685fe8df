"""`ari paper`: the stages on a recorded study, the plan, and what is said."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_checkpoints import Answer

Ari = Callable[..., Answer]

STUDIES = Path(__file__).resolve().parents[2] / "studies"
WORKFLOW = """
stages:
  - {name: bfts, skill: orchestrator, tool: run, outputs: [results.json]}
  - {name: data, skill: transform, tool: nodes_to_science_data, inputs: [nodes_tree.json],
     outputs: [science_data.json]}
  - {name: again, skill: transform, tool: nodes_to_science_data, inputs: [science_data.json],
     outputs: [never.json]}
"""


@pytest.fixture
def kepler(tmp_path: Path) -> Path:
    path = Path(shutil.copytree(STUDIES / "kepler", tmp_path / "kepler"))
    (path / "workflow.yaml").write_text(WORKFLOW)
    return path


def test_stages_are_run_shown_and_not_run_again(ari: Ari, kepler: Path) -> None:
    first = ari("paper", kepler)
    assert first.status == 1
    assert "[1/2] data: done" in first.err and "configurations" in first.err
    assert "FAILED: again: its tool ended well but has not written never.json" in first.out
    assert f"When that is mended, `ari paper {kepler}` goes on from there." in first.out
    document = json.loads((kepler / "science_data.json").read_text())
    kinds = {claim["kind"] for claim in document["claims"]}
    assert {"headline", "constants", "data", "study", "configuration"} <= kinds
    assert "[1/2] data: unchanged" in ari("paper", kepler).err
    assert "[1/2] data: done" in ari("paper", kepler, "--only", "data").err


def test_the_plan_is_shown_and_nothing_is_done(ari: Ari, kepler: Path) -> None:
    answer = ari("paper", kepler, "--dry-run")
    assert answer.status == 0
    assert [line.split()[:2] for line in answer.out.splitlines()[1:]] == [
        ["bfts", "keep"],
        ["data", "run"],
        ["again", "run"],
    ]
    assert not (kepler / "science_data.json").exists()
    plan = json.loads(ari("paper", kepler, "--dry-run", "--json", "--only", "data").out)
    assert [stage["action"] for stage in plan["stages"]] == ["keep", "run", "not_asked"]
    assert plan["stages"][2]["needs"] == ["data"]


def test_the_result_for_machines(ari: Ari, kepler: Path) -> None:
    answer = ari("paper", kepler, "--json")
    document = json.loads(answer.out)
    assert (answer.status, document["ok"], answer.err) == (1, False, "")
    assert [stage["status"] for stage in document["stages"]] == ["unchanged", "done", "failed"]
    assert set(document["stages"][1]["outputs"]) == {"science_data.json"}


def test_misuse_is_told(ari: Ari, kepler: Path) -> None:
    assert ari("paper", kepler, "--from", "a", "--only", "b").status == 2
    answer = ari("paper", kepler, "--from", "bfts")
    assert answer.status == 2 and "the stage bfts is the search itself" in answer.err
    (kepler / "workflow.yaml").write_text("stages:\n  - {name: a, skill: transform, tool: x}\n")
    answer = ari("paper", kepler)
    assert answer.status == 2 and "workflow.yaml, line 2: the skill transform has no tool 'x'" in answer.err
