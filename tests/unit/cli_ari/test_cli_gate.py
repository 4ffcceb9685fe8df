"""`ari gate`: what it prints, and its exit status."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_checkpoints import Answer

Ari = Callable[..., Answer]
CASES = Path(__file__).parents[2] / "conformance" / "vectors" / "claim_gate"


@pytest.fixture
def study(tmp_path: Path) -> Path:
    target = tmp_path / "study"
    shutil.copytree(CASES / "c06_percent_swapped_digits", target)
    return target


def test_a_wrong_number_is_shown_with_line_evidence_and_fix(ari: Ari, study: Path) -> None:
    answer = ari("gate", study)
    assert answer.status == 1
    first, evidence, fix, last, verdict = answer.out.splitlines()
    assert first == (
        'paper.tex:10:19: error: the paper says "24.9\\%", C3:NC3 gives 42.8571 [numeric_mismatch]'
    )
    assert evidence == "    evidence  C3:NC3: 42.8571 relative_reduction_percent"
    assert fix.split(None, 1) == ["fix", "Print 42.9."]
    counted = "1 error, 0 warnings; 2 of 2 numbers recomputed, 2 of 2 claims grounded"
    assert last == f"{study}: failed (final, strict): {counted}"
    assert verdict == "The paper must not be published as it is."


def test_a_right_paper_passes(ari: Ari, study: Path) -> None:
    paper = study / "paper.tex"
    paper.write_text(paper.read_text().replace("24.9", "42.9"))
    answer = ari("gate", study)
    assert answer.status == 0
    assert answer.out.startswith(f"{study}: passed (final, strict): 0 errors, 0 warnings")


def test_phase_policy_paper_and_quiet(ari: Ari, study: Path) -> None:
    assert ari("gate", study, "--phase", "draft").status == 0
    assert ari("gate", study, "--policy", "warn").status == 0
    assert ari("gate", study, "--quiet") == Answer(1, "", "")
    other = study / "other.tex"
    other.write_text((study / "paper.tex").read_text().replace("24.9", "42.9"))
    assert ari("gate", study, "--paper", other).status == 0


def test_for_machines(ari: Ari, study: Path) -> None:
    document = json.loads(ari("gate", study, "--json").out)
    assert document["should_block"] is True
    assert document["errors"][0]["line"] == 10


def test_misuse_is_explained(ari: Ari, study: Path) -> None:
    answer = ari("gate", study, "--policy", "mild")
    assert answer.status == 2
    assert "policies are strict and warn" in answer.err
    missing = ari("gate", study, "--paper", study / "none.tex")
    assert missing.status == 2
    assert "none.tex: no such file" in missing.err
