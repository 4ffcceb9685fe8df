"""Every planted fault is found: in the small papers of the conformance cases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ari.pipeline.claim_gate.gate import run_hard_gate
from support.mutations import plant_faults, undetected
from support.study_papers import write_study

VECTORS = Path(__file__).parents[2] / "conformance" / "vectors" / "claim_gate"
PAPERS = [
    "c01_all_grounded", "c03_last_digit_outside", "c04_rounded_integer", "c07_speedup_ratio",
    "c09_scientific_times", "c11_thousands_comma", "c13_si_units", "c15_years_citations",
    "c16_table_figure_numbers",
    "c23_figures_ok", "d03_comment_only_anchor", "d05_unicode_minus", "d08_two_anchors_one_line",
    "d09_setting_before_value", "d11_results_json_operand",
]  # fmt: skip
OTHERS = [179.5, 41.0, 8.4]


@pytest.mark.parametrize("name", PAPERS)
def test_every_fault_in_a_small_paper_is_found(name: str, tmp_path: Path) -> None:
    case = VECTORS / name
    science = json.loads((case / "science_data.json").read_text(encoding="utf-8"))
    tex = (case / "paper.tex").read_text(encoding="utf-8")
    if name.startswith("c03"):
        tex = tex.replace("312.5", "312.4")
    tried, missed = undetected(case, plant_faults(tex, science, OTHERS), tmp_path)
    assert tried >= 5
    assert [str(fault) for fault in missed] == []


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_fault_in_a_longer_paper_is_found(seed: int, tmp_path: Path) -> None:
    study = write_study(tmp_path / "study", seed=seed, sentences=10, rows=3)
    report = run_hard_gate(tmp_path / "study")
    assert [finding.to_dict() for finding in (*report.errors, *report.warnings)] == []
    science = json.loads((tmp_path / "study" / "science_data.json").read_text(encoding="utf-8"))
    tex = (tmp_path / "study" / "paper.tex").read_text(encoding="utf-8")
    others = [metrics["GFlops/s"] for metrics in study.nodes.values()]
    faults = list(plant_faults(tex, science, others[:2]))
    assert {fault.kind for fault in faults} >= {
        "digits swapped", "digit changed", "decimal point shifted", "sign flipped", "exponent changed",
        "value of another node", "fraction for percent", "percent sign lost", "percent for plain number",
        "unit prefix",
    }  # fmt: skip
    assert len(faults) >= 200
    some = faults[seed % 2 :: 2]
    tried, missed = undetected(tmp_path / "study", some, tmp_path)
    assert tried >= 100
    assert [str(fault) for fault in missed] == []
