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


def test_status_shows_the_stages_as_the_plan_knows_them(ari: Ari, kepler: Path) -> None:
    before = ari("status", kepler)
    assert "paper       2 would run: it has not been run yet\n\n" in before.out
    assert "gate  " not in before.out
    ari("paper", kepler)
    after = ari("status", kepler)
    assert (
        "paper       1 up to date, 1 failed\n  data   up to date\n  again  failed      its tool" in after.out
    )
    planned = json.loads(ari("paper", kepler, "--dry-run", "--json").out)["stages"]
    stages = json.loads(ari("status", kepler, "--json").out)["paper"]["stages"]
    assert [(s["name"], s["action"]) for s in stages] == [(s["name"], s["action"]) for s in planned]
    assert [s["state"] for s in stages] == ["done", "up to date", "failed"]
    (kepler / "nodes_tree.json").write_text("{}")
    assert "  data   would run   nodes_tree.json has changed\n" in ari("status", kepler).out
    assert "up to date" not in ari("status", kepler, "--quiet").out.split("paper  ")[1].partition("\n")[2]


def test_status_tells_the_last_verdict_of_the_gate(ari: Ari, kepler: Path) -> None:
    (kepler / "workflow.yaml").write_text("stages:\n  - {name: x, skill: nobody, tool: x}\n")
    answer = ari("status", kepler)
    assert answer.status == 0 and "there is no skill 'nobody'" in answer.out
    assert "there is no skill" in json.loads(ari("status", kepler, "--json").out)["paper"]["workflow_fault"]
    (kepler / "workflow.yaml").unlink()
    report = {
        "gate": "claim_evidence_hard_gate",
        "policy": "strict",
        "status": "passed",
        "should_block": False,
    }
    (kepler / "evaluation").mkdir(exist_ok=True)
    draft = kepler / "evaluation" / "claim_evidence_hard_gate_draft.json"
    draft.write_text(json.dumps({**report, "phase": "draft"}))
    assert "gate        passed (draft, strict): 0 errors, 0 warnings\n" in ari("status", kepler).out
    error = {"type": "numeric_mismatch", "message": "no"}
    final = {**report, "phase": "final", "status": "failed", "should_block": True, "errors": [error]}
    draft.with_name("claim_evidence_hard_gate_final.json").write_text(json.dumps(final))
    shown = ari("status", kepler, "--quiet").out
    assert "gate        failed (final, strict): 1 error, 0 warnings, blocks the paper\n" in shown
    assert json.loads(ari("status", kepler, "--json").out)["paper"]["gate"] == {
        "report": "evaluation/claim_evidence_hard_gate_final.json", "phase": "final", "policy": "strict",
        "status": "failed", "should_block": True, "errors": 1, "warnings": 0,
    }  # fmt: skip


def test_misuse_is_told(ari: Ari, kepler: Path) -> None:
    assert ari("paper", kepler, "--from", "a", "--only", "b").status == 2
    answer = ari("paper", kepler, "--from", "bfts")
    assert answer.status == 2 and "the stage bfts is the search itself" in answer.err
    (kepler / "workflow.yaml").write_text("stages:\n  - {name: a, skill: transform, tool: x}\n")
    answer = ari("paper", kepler)
    assert answer.status == 2 and "workflow.yaml, line 2: the skill transform has no tool 'x'" in answer.err
