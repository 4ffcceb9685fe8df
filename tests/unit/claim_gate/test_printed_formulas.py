"""Formulas that a paper prints as text: wrong ones are found, and only those."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ari.formats.gate_report import GateFinding
from ari.latex.escape import typewritten
from ari.pipeline.claim_gate.gate import run_hard_gate
from support.mutations import plant_formula_faults, undetected
from support.studies import written_study

NAME = "full_paper.tex"


def _formulas(study: Path) -> dict[str, str]:
    reports = (json.loads(path.read_bytes()) for path in study.glob("experiments/*/node_report.json"))
    return {r["node_id"]: r["submission"]["formula"] for r in reports if r["submission"].get("formula")}


def _with(study: Path, text: str) -> list[GateFinding]:
    """The errors of the paper with a paragraph added to its results."""
    tex = (study / NAME).read_text(encoding="utf-8")
    place = "\\section{Limitations}"
    assert place in tex
    (study / "other.tex").write_text(tex.replace(place, f"{text}\n\n{place}"), encoding="utf-8")
    return run_hard_gate(study, paper=study / "other.tex").errors


@pytest.mark.parametrize("name", ["kepler", "kuramoto"])
def test_every_fault_in_a_printed_formula_is_found(name: str, tmp_path: Path) -> None:
    study = written_study(name, tmp_path)
    inputs = json.loads((study / "science_data.json").read_bytes())["experiment_context"]["inputs"]
    faults = list(plant_formula_faults((study / NAME).read_text(encoding="utf-8"), _formulas(study), inputs))
    assert len(faults) >= 40
    assert {fault.kind for fault in faults} >= {
        "digit of a formula", "operator of a formula", "formula of another node"
    }  # fmt: skip
    some = faults[:: max(1, len(faults) // 60)]
    (tmp_path / "scratch").mkdir()
    tried, missed = undetected(study, some, tmp_path / "scratch", paper=NAME)
    assert tried == len(some)
    assert [str(fault) for fault in missed] == []
    assert run_hard_gate(study).errors == []


def test_a_wrong_formula_is_reported_with_the_recorded_one(tmp_path: Path) -> None:
    (error,) = _with(written_study("kepler", tmp_path), r"It reads \path{a**1.6}.")
    assert error.kind == "numeric_mismatch"
    assert error.message.startswith(
        "the printed formula 'a**1.6' differs from the recorded one: node_0000 has"
    )
    assert error.printed == "a**1.6"
    assert error.evidence is not None
    assert (error.evidence.node_id, error.evidence.formula) == ("node_0000", "a**1.5")
    assert error.line and error.fix


@pytest.mark.parametrize("text", ["a**1.6", "T = a**1.6", r"a\textasciicircum{}1.6", "2*a**1.5"])
def test_a_wrong_formula_in_typewriter_letters_is_found(text: str, tmp_path: Path) -> None:
    (error,) = _with(written_study("kepler", tmp_path), rf"The law \texttt{{{text}}} holds.")
    assert error.kind == "numeric_mismatch"
    assert error.evidence is not None and error.evidence.formula == "a**1.5"


@pytest.mark.parametrize(
    "text",
    [
        r"It reads \path{a**1.5}, or \path{T = a^1.5}.",
        r"Experiment \texttt{node\_0000} ends with \path{a**(1.5)}.",
        r"The files \path{experiments/node_0000/formula.json} and \path{a/results.json} hold it.",
        r"A run with \path{seed=42} and \path{-O3} says \path{a**1.6: no}.",
        r"The input \path{incl} is not needed; \path{42} is a seed.",
        r"With \texttt{numpy 2.4.6} and \texttt{seed*2}, \texttt{GFlops/s} is \texttt{1.6}.",
        r"It lies in \texttt{a-1.json}.",
        r"It reads \texttt{a**1.5}, or \texttt{T = a\textasciicircum{}1.5}.",
        "% It does not read \\path{a**1.6}.\n",
        "\\begin{verbatim}\n\\path{a**1.6}\n\\end{verbatim}",
        r"The law \verb|\path{a**1.6}| is not set.",
    ],
)
def test_what_is_right_or_no_formula_gives_no_finding(tmp_path: Path, text: str) -> None:
    assert _with(written_study("kepler", tmp_path), text) == []


@pytest.mark.parametrize(
    ("law", "count"),
    [
        ("T = a^{1.5}", 0),
        (r"T = {a}^{1.50}", 0),
        (r"\mathrm{T} = a \sqrt{a}", 0),
        ("T = a^{3/2}", 0),
        ("T = k a^p", 0),
        ("X = a^{1.6}", 0),
        (r"T = 0.998 \, a^{1.501}", 0),
        ("T = a^{1.6}", 1),
        (r"T = 1.501 \, a^{0.998}", 1),
        ("T = a^{-1.5}", 1),
        ("T = a + 1.5", 1),
        (r"T = 0.989 \, a^{1.501}", 1),
        ("T = e^{2.7}", 1),
    ],
)
def test_the_law_as_mathematics_in_the_text(tmp_path: Path, law: str, count: int) -> None:
    errors = _with(written_study("kepler", tmp_path), f"The law is ${law}$.")
    assert [error.kind for error in errors] == ["numeric_mismatch"] * count


@pytest.mark.parametrize(
    ("law", "count"),
    [
        (r"\frac{\mathrm{d}\,a}{\mathrm{d}t} = a^{1.5}", 0),
        (r"\mathrm{da}_{\mathrm{dt}} = a^{1.5}", 0),
        (r"\frac{\mathrm{d}\,a}{\mathrm{d}t} = a^{1.6}", 1),
        (r"\mathrm{da}_{\mathrm{dt}} = a^{1.6}", 1),
        (r"\frac{\mathrm{d}\,e}{\mathrm{d}t} = a^{1.6}", 0),
    ],
)
def test_a_target_may_be_written_as_a_derivative(tmp_path: Path, law: str, count: int) -> None:
    study = written_study("kepler", tmp_path)
    science = json.loads((study / "science_data.json").read_bytes())
    science["experiment_context"]["target"] = "da_dt"
    (study / "science_data.json").write_text(json.dumps(science))
    before = len(_with(study, ""))
    assert len(_with(study, f"The law is ${law}$.")) - before == count


@pytest.mark.parametrize(
    ("row", "count"),
    [
        (r"node\_0000 & \path{a**1.5}", 0),
        (r"node\_0000 & without \path{a}: \path{a**1.5}", 0),
        (r"node\_0000 & \path{a**1.5} and not \path{0.998*a**1.501}", 1),
        (r"node\_0000 & \path{a**1.6}", 1),
        (r"node\_0000 & without \path{a}: \path{a**1.6}", 1),
        (r"node\_0000 & without \path{a}: \path{0.998*a**1.501}", 1),
        (r"node\_0000 & \path{a}", 1),
        (r"node\_0000 & \path{a**1.5} and not \path{3*a**1.501}", 1),
        (r"node\_0000 & with \path{-O3} in \path{formula.json}", 0),
        (r"node\_0002 & without \path{a}: \path{2.878**3.851}", 0),
        (r"node\_0002 & without \path{e}: \path{2.878**3.851}", 1),
        (r"fit & \path{0.998*a**1.501}", 0),
        (r"fit & \path{0.997*a**1.501}", 1),
    ],
)
def test_a_row_that_names_a_node_prints_its_formula(tmp_path: Path, row: str, count: int) -> None:
    table = f"\\begin{{tabular}}{{ll}}\n{row} \\\\\n\\end{{tabular}}"
    errors = _with(written_study("kepler", tmp_path), table)
    assert [error.kind for error in errors] == ["numeric_mismatch"] * count


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("1.118*tanh(x) - x", 0),
        ("1.12*tanh(x) - x", 0),
        ("-x + tanh(x)*1.118", 0),
        ("1.1176*tanh(x) - x", 0),
        ("1.117*tanh(x) - x", 1),
        ("1.118*tanh(x) + x", 1),
        ("1.118*tanh(y) - x", 1),
        ("1.1*tanh(x) - x", 1),
    ],
)
def test_numbers_may_be_rounded_and_operands_reordered(tmp_path: Path, text: str, count: int) -> None:
    study = written_study("kepler", tmp_path)
    path = study / "experiments" / "node_0000" / "node_report.json"
    report = json.loads(path.read_bytes())
    report["submission"]["formula"] = "1.1175632715822523*tanh(x) - x"
    path.write_text(json.dumps(report))
    science = json.loads((study / "science_data.json").read_bytes())
    science["experiment_context"]["inputs"] = ["x", "y"]
    (study / "science_data.json").write_text(json.dumps(science))
    before = len(_with(study, ""))
    assert len(_with(study, rf"With \texttt{{node\_0000}} it reads \path{{{text}}}.")) - before == count


def test_names_beyond_ascii_are_compared_as_a_paper_prints_them(tmp_path: Path) -> None:
    study = written_study("kepler", tmp_path)
    for path in study.glob("experiments/*/node_report.json"):
        report = json.loads(path.read_bytes())
        if formula := report["submission"].get("formula"):
            report["submission"]["formula"] = re.sub(r"\ba\b", "λ_ή", formula)
        path.write_text(json.dumps(report), encoding="utf-8")
    text = "\\begin{document}\\section{Results}It is \\path{%s}.\\end{document}"
    paper = study / "other.tex"
    paper.write_text(text % typewritten("λ_ή**1.5").text)
    assert run_hard_gate(study, paper=paper).errors == []
    paper.write_text(text % typewritten("λ_ή**1.6").text)
    (error,) = run_hard_gate(study, paper=paper).errors
    assert error.evidence is not None and error.evidence.formula == "λ_ή**1.5"
