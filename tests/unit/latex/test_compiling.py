"""From source to PDF: with TeX for real, without it, and when it fails or hangs."""

from __future__ import annotations

from pathlib import Path

import pytest

from ari.latex import compiling
from ari.latex.compiling import TexSetup, compile_pdf, find_tex
from ari.latex.escape import escape
from ari.paper.stage import render_paper
from support.studies import written_study

needs_tex = pytest.mark.skipif(find_tex().program is None, reason="no TeX on this machine")
HEAD = (
    "\\documentclass{article}\n\\usepackage[utf8]{inputenc}\n\\usepackage[T1]{fontenc}\n\\usepackage{lmodern}\n"
    "\\usepackage{amssymb}\n"
)


def document(folder: Path, body: str) -> Path:
    (folder / "p.tex").write_text(f"{HEAD}\\begin{{document}}\n{body}\n\\end{{document}}\n", encoding="utf-8")
    return folder


def test_without_tex_the_reason_names_program_and_cure_before_anything_runs(tmp_path: Path) -> None:
    setup = find_tex(path=str(tmp_path))
    assert setup.program is None
    assert "pdflatex" in setup.reason and "source only" in setup.reason and "apt-get install" in setup.reason


def test_without_tex_the_paper_is_source_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = written_study("matmul", tmp_path)
    stale = checkpoint / "full_paper.pdf"
    stale.write_bytes(b"%PDF old")
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    answer = render_paper(checkpoint=checkpoint)
    assert (answer["status"], answer["summary"]) == ("source only", "paper: source only")
    assert "apt-get install" in answer["incomplete"]
    assert not stale.exists()
    assert (checkpoint / "full_paper.tex").is_file() and (checkpoint / "figures/fig_progress.pdf").is_file()
    assert '"source only"' in (checkpoint / "evaluation/paper_build.json").read_text()


@needs_tex
def test_a_generated_paper_becomes_a_pdf_without_complaints(tmp_path: Path) -> None:
    checkpoint = written_study("kuramoto", tmp_path)
    answer = render_paper(checkpoint=checkpoint)
    assert (answer["status"], answer["warnings"]) == ("pdf", [])
    assert answer["pages"] >= 4
    pdf = (checkpoint / "full_paper.pdf").read_bytes()
    assert pdf.startswith(b"%PDF")
    assert str(tmp_path).encode() not in pdf


@needs_tex
def test_a_paper_in_several_files_is_compiled_and_its_faults_name_the_file(tmp_path: Path) -> None:
    checkpoint = written_study("kuramoto", tmp_path)
    paper = checkpoint / "full_paper.tex"
    head, limits, tail = paper.read_text().partition("\\section{Limitations}")
    end, bibliography, rest = tail.partition("\\bibliography")
    part = checkpoint / "parts" / "end.tex"
    part.parent.mkdir()
    part.write_text(limits + end)
    paper.write_text(f"{head}\\input{{parts/end}}\n{bibliography}{rest}")
    answer = render_paper(checkpoint=checkpoint)
    assert (answer["status"], answer["warnings"]) == ("pdf", [])
    part.write_text("Fine.\n\\undefinedmacro\n" + limits + end)
    answer = render_paper(checkpoint=checkpoint)
    assert answer["status"] == "failed"
    assert any(w.startswith("parts/end.tex, line 2: Undefined control") for w in answer["warnings"])


@needs_tex
def test_text_that_latex_cannot_take_is_set_once_escaped(tmp_path: Path) -> None:
    nasty = "data_set 50 % of A & B, item #1, {x} ~ ^ \\ $5 α ≤ Ω 面试 😀 naïve Dvořák CO₂ ″quote″ “x” °C"
    compiled = compile_pdf(document(tmp_path, escape(nasty).text), "p.tex")
    assert compiled.status == "pdf", compiled.reason


@needs_tex
def test_a_fault_is_named_with_its_line_and_leaves_no_pdf(tmp_path: Path) -> None:
    folder = document(tmp_path, "fine\n\nan unescaped data_set name")
    (folder / "p.pdf").write_bytes(b"%PDF old")
    compiled = compile_pdf(folder, "p.tex")
    assert compiled.status == "failed"
    assert compiled.reason.startswith("LaTeX failed: p.tex, line 9: Missing $ inserted")
    assert not (folder / "p.pdf").exists()


@needs_tex
def test_a_source_that_never_ends_is_ended(tmp_path: Path) -> None:
    compiled = compile_pdf(document(tmp_path, r"\def\x{\x}\x"), "p.tex", time_limit_s=2.0)
    assert compiled.status == "timeout"
    assert compiled.reason == "LaTeX was ended after 2 s"


@needs_tex
def test_a_source_can_neither_run_commands_nor_read_other_files(tmp_path: Path) -> None:
    secret = tmp_path / "secret.tex"
    secret.write_text("hidden")
    folder = tmp_path / "paper"
    folder.mkdir()
    document(folder, r"\immediate\write18{touch owned} \InputIfFileExists{../secret}{read}{}x")
    assert compile_pdf(folder, "p.tex").status == "pdf"
    assert sorted(p.name for p in folder.iterdir()) == ["p.pdf", "p.tex"]


def test_undefined_references_and_wide_lines_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    log = (
        "LaTeX Warning: Reference `fig:x' on page 1 undefined on input line 9.\n"
        "Overfull \\hbox (21.3pt too wide) in paragraph at lines 12--14\n"
        "Overfull \\hbox (2.0pt too wide) in paragraph at lines 15--16\n"
    )
    found = compiling._complaints(log, "p.tex")
    assert [(c.line, c.message, c.file) for c in found] == [
        (0, "the reference fig:x is undefined", "p.tex"),
        (12, "a line sticks out by 21 pt", "p.tex"),
    ]
    assert isinstance(find_tex(), TexSetup)
