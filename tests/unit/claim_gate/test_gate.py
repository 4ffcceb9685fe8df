"""The gate as a whole: what it finds in a paper full of faults, and what when it cannot do its work."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ari.errors import ConfigError
from ari.formats.base import problems
from ari.formats.gate_report import GateReport
from ari.pipeline.claim_gate.gate import run_hard_gate
from ari.pipeline.claim_gate.stage import claim_evidence_hard_gate, link_paper_claims
from support.study_papers import write_study

VECTORS = Path(__file__).parents[2] / "conformance" / "vectors"
CASE = VECTORS / "claim_gate" / "c01_all_grounded"

FAULTY = r"""\documentclass{article}
\begin{document}
\begin{abstract}
The best variant reaches 321.4 GFlop/s. % CLAIM:C1:NC1
\end{abstract}
\section{Results}
The attained share is 0.71\%. % CLAIM:C3:NC3
The bandwidth is 41.0 GB/s. % CLAIM:C4:NC4
Its bandwidth of 73.25 MB/s is high. % CLAIM:C4:NC4
The run takes 5.2 s. % CLAIM:C5:NC5
The new kernel brings three-fold gains in all cases.
We tried seventeen configurations in the end.
\begin{table}\caption{It sustains 350.0 GFlop/s.}
\begin{tabular}{lr}
variant & share \\
tuned & 0.66 \\
\end{tabular}\end{table}
It follows the known bound \cite{smith2020,nobody1999}.
As said in Section 3.2, Table 4, Eq.~(7) and [12], since 2019 we use 48 threads.
\bibliography{refs}
\end{document}
"""


def _study(tmp_path: Path) -> Path:
    study = tmp_path / "study"
    shutil.copytree(CASE, study)
    science = json.loads((study / "science_data.json").read_text())
    for number, (metric, unit) in enumerate([("attained", ""), ("GB/s", "GB/s"), ("sec", "s")], 3):
        place = {"node_id": "n_opt", "metric_path": f"metrics.{metric}"}
        science["claims"].append(
            {"id": f"C{number}", "text": "", "supported_by": {"nodes": ["n_opt"]}, "numeric_assertions": [
                {"id": f"NC{number}", "formula": "identity", "metric": metric, "unit": unit,
                 "operands": {"value": place}}]}
        )  # fmt: skip
    (study / "science_data.json").write_text(json.dumps(science))
    (study / "refs.bib").write_text("@article{smith2020, year = 2020}\n")
    return study


def test_a_paper_full_of_faults_gives_a_finding_for_each_and_no_other(tmp_path: Path) -> None:
    study = _study(tmp_path)
    (study / "paper.tex").write_text(FAULTY)
    report = run_hard_gate(study)
    assert [(error.line, error.kind) for error in sorted(report.errors, key=lambda e: e.line or 0)] == [
        (4, "numeric_mismatch"),  # a digit swapped
        (7, "numeric_mismatch"),  # a percentage that should be a fraction
        (8, "numeric_mismatch"),  # the value of another node
        (9, "numeric_mismatch"),  # the right value with a wrong unit
        (10, "numeric_mismatch"),  # rounded outside the tolerance
        (11, "uncovered_numeric"),  # a number word
        (12, "uncovered_numeric"),  # a count that nothing produced
        (13, "uncovered_numeric"),  # a caption
        (16, "uncovered_numeric"),  # a table only
        (18, "citation_unknown"),
    ]
    assert report.should_block
    first = report.errors[0].to_dict()
    assert first["evidence"]["value"] == 312.4
    assert (first["column"], first["printed"], first["fix"]) == (26, "321.4 GFlop/s", "Print 312.4.")
    uncovered = next(error for error in report.errors if error.line == 16)
    assert uncovered.evidence is not None and uncovered.evidence.value == 0.71
    assert Counter(warning.kind for warning in report.warnings) == {"no_paper_anchor": 1}


def test_a_wrong_digit_of_a_printed_number_is_found_where_a_tolerance_lets_it_pass(tmp_path: Path) -> None:
    study = tmp_path / "study"
    shutil.copytree(CASE, study)
    text = (study / "paper.tex").read_text().replace("312.4", "312.5")
    (study / "paper.tex").write_text(text)
    assert run_hard_gate(study).status == "passed"
    science = json.loads((study / "science_data.json").read_text())
    assertion = science["claims"][0]["numeric_assertions"][0]
    assertion["rounding"] = "printed"
    (study / "science_data.json").write_text(json.dumps(science))
    assert [error.kind for error in run_hard_gate(study).errors] == ["numeric_mismatch"]
    del assertion["rounding"]
    assertion["tolerance"] = {"absolute": 0.0, "relative": 0.0}
    (study / "science_data.json").write_text(json.dumps(science))
    assert [error.kind for error in run_hard_gate(study).errors] == ["numeric_mismatch"]
    (study / "paper.tex").write_text(text.replace("312.5", "312"))
    assert run_hard_gate(study).status == "passed"


@pytest.mark.parametrize("policy", ["strict", "warn"])
@pytest.mark.parametrize(
    ("damage", "kind"),
    [
        (lambda study: (study / "paper.tex").unlink(), "paper_missing"),
        (lambda study: (study / "science_data.json").unlink(), "input_missing"),
        (lambda study: (study / "science_data.json").write_text('{"claims": ['), "input_invalid"),
        (lambda study: (study / "science_data.json").write_text("[]"), "input_invalid"),
        (lambda study: (study / "tree.json").write_bytes(b"\x00\xff"), "input_invalid"),
        (lambda study: (study / "nodes_tree.json").write_text('{"nodes": 3}'), "input_invalid"),
        (lambda study: (study / "metric_contract.json").write_text("{"), "input_invalid"),
        (
            lambda study: (study / "metric_contract.json").write_text(
                '{"key": "GFlops/s", "invariants": ["value ** 2 > 0"]}'
            ),
            "input_invalid",
        ),
    ],
)
def test_what_the_gate_cannot_read_blocks_under_either_policy(
    tmp_path: Path, damage: Any, kind: str, policy: Any
) -> None:
    study = tmp_path / "study"
    shutil.copytree(CASE, study)
    damage(study)
    report = run_hard_gate(study, policy=policy)
    found = [error for error in report.errors if error.kind == kind]
    assert found and all(error.fix for error in found)
    assert report.should_block
    assert not run_hard_gate(study, phase="draft", policy=policy).should_block


def test_no_claims_never_pass_in_silence(tmp_path: Path) -> None:
    study = tmp_path / "study"
    shutil.copytree(CASE, study)
    (study / "science_data.json").write_text(
        '{"claims": [], "configurations": [], "experiment_context": {}, "summary_stats": {}}'
    )
    report = run_hard_gate(study)
    assert "no_claims" in [warning.kind for warning in report.warnings]
    assert [error.kind for error in report.errors] == ["uncovered_numeric", "uncovered_numeric"]


def test_the_contract_of_the_study_counts_and_its_flags_cannot_be_dropped(tmp_path: Path) -> None:
    study = tmp_path / "study"
    shutil.copytree(VECTORS / "claim_gate" / "k05_correctness_not_measured", study)
    science = json.loads((study / "science_data.json").read_text())
    minted = science["metric_contract"]
    (study / "metric_contract.json").write_text(json.dumps(minted))
    science["metric_contract"] = {"key": minted["key"]}
    (study / "science_data.json").write_text(json.dumps(science))
    report = run_hard_gate(study, policy="warn")
    assert [error.kind for error in report.errors] == ["correctness_uncovered"]
    assert [warning.kind for warning in report.warnings] == ["contract_differs"]
    assert report.should_block


STRAY = {
    "a line break with a length and a display later": (
        "\\begin{tabular}{lr}\na & b \\\\[2pt]\nc & d \\\\\n\\end{tabular}\n", "\n\\[ y = x \\]\n"
    ),
    "a dollar sign and a formula in the next paragraph": ("It costs $ a lot.\n\n", "\n\nFor $x$ it holds.\n"),
    "a paragraph that ends with blanks": ("It costs $ a lot.\n \t\n", "\n \nFor $x$ it holds.\n"),
    "formulas around a stray sign": ("For $x$ it costs $ a lot.\n\nFor $x$, ", " and $y$ it holds.\n"),
    "double dollar signs": ("$$ y = x\n\n", "\n\n$$ y = x $$\n"),
    "a display that never ends": ("\\[ y = x\n\n", "\n\n\\[ y = x \\]\n"),
    "an environment that never ends": (
        "\\begin{equation} y = x\n\n", "\n\n\\begin{equation} y = x \\end{equation}\n"
    ),
    "a line break before a formula": ("a \\\\$x$ b ", " for $y$.\n"),
}  # fmt: skip


@pytest.mark.parametrize("case", STRAY)
def test_no_sign_of_mathematics_hides_numbers_of_the_text(tmp_path: Path, case: str) -> None:
    study = tmp_path / "study"
    shutil.copytree(CASE, study)
    before, after = STRAY[case]
    text = (study / "paper.tex").read_text()
    end = "\\section{Conclusion}"
    text = text.replace(end, f"\n{before}It takes 7.77 s and reaches 999 GFlop/s.{after}{end}")
    (study / "paper.tex").write_text(text)
    errors = run_hard_gate(study).errors
    assert [(e.kind, e.printed) for e in errors] == [
        ("uncovered_numeric", "7.77 s"), ("uncovered_numeric", "999 GFlop/s"),
    ]  # fmt: skip


def test_a_comment_does_not_end_a_formula_or_a_caption(tmp_path: Path) -> None:
    study = tmp_path / "study"
    shutil.copytree(CASE, study)
    text = (study / "paper.tex").read_text()
    end = "\\section{Conclusion}"
    formula = "The law is $y =\n% a remark\n2.75 x$ and \\[ y =\n% a remark\n2.75 x. \\]\n"
    (study / "paper.tex").write_text(text.replace(end, f"{formula}{end}"))
    assert run_hard_gate(study).errors == []
    caption = "\\begin{figure}\\caption{The rest\n% a remark\nis 7.77 here.}\\end{figure}\n"
    (study / "paper.tex").write_text(text.replace(end, f"{caption}{end}"))
    assert [e.printed for e in run_hard_gate(study).errors] == ["7.77"]


def test_the_gate_writes_nothing_and_its_report_has_the_documented_shape(tmp_path: Path) -> None:
    study = tmp_path / "study"
    write_study(study, seed=5, sentences=4, rows=2)
    before = {path: path.read_bytes() for path in study.rglob("*") if path.is_file()}
    report = run_hard_gate(study)
    assert problems(GateReport, report.to_dict()) == []
    assert {path: path.read_bytes() for path in study.rglob("*") if path.is_file()} == before
    assert run_hard_gate(study).to_bytes() == report.to_bytes()


def test_an_unknown_phase_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no phase 'late'"):
        run_hard_gate(tmp_path, phase="late")  # type: ignore[arg-type]


def test_the_stage_tool_writes_the_report_and_blocks(tmp_path: Path) -> None:
    study = _study(tmp_path)
    (study / "full_paper.tex").write_text(FAULTY)
    answer = claim_evidence_hard_gate(checkpoint=study)
    assert answer["should_block"] and answer["reason"].startswith(
        "the claim gate found 10 errors: full_paper"
    )
    written = GateReport.read(study / "evaluation" / "claim_evidence_hard_gate_final.json")
    assert written.to_dict() == run_hard_gate(study).to_dict()
    assert claim_evidence_hard_gate(checkpoint=study, phase="draft")["should_block"] is False
    assert (study / "evaluation" / "claim_evidence_hard_gate_draft.json").exists()
    links = link_paper_claims(checkpoint=study)
    assert links["unresolved_anchors"] == []
    assert (study / "paper_claim_links.json").exists()


def test_the_whole_checkpoint_of_the_formats_passes() -> None:
    report = run_hard_gate(VECTORS / "checkpoints" / "gflops_run")
    assert [finding.message for finding in (*report.errors, *report.warnings)] == []
    recorded = GateReport.read(
        VECTORS / "checkpoints" / "gflops_run" / "evaluation" / "claim_evidence_hard_gate_final.json"
    )
    assert report.metrics == recorded.metrics
