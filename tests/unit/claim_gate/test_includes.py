r"""Papers in several files: what `\input` and its kin draw in is read, and findings name its file."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from ari.formats.gate_report import GateFinding
from ari.pipeline.claim_gate.gate import run_hard_gate
from ari.pipeline.claim_gate.includes import read_source
from ari.pipeline.claim_gate.stage import link_paper_claims

CASE = Path(__file__).parents[2] / "conformance" / "vectors" / "claim_gate" / "c01_all_grounded"
MAIN = r"""\documentclass{article}
\begin{document}
\section{Results}
%s
\section{Conclusion}
It is done.
\end{document}
"""
RIGHT = "The best variant reaches 312.4 GFlop/s. % CLAIM:C1:NC1\n"
WRONG = "\nThe best variant reaches 321.4 GFlop/s. % CLAIM:C1:NC1\n"


def _study(tmp_path: Path, body: str, **files: str) -> Path:
    """A study whose paper has this body; `a__b` names the file `a/b.tex`."""
    study = tmp_path / "study"
    shutil.copytree(CASE, study)
    (study / "paper.tex").unlink()
    (study / "full_paper.tex").write_text(MAIN % body)
    for name, text in files.items():
        path = study / f"{name.replace('__', '/')}.tex"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return study


def _errors(study: Path, **options: Any) -> list[GateFinding]:
    return [e for e in run_hard_gate(study, **options).errors if e.kind != "no_paper_anchor"]


def _kinds(study: Path) -> list[str]:
    return [error.kind for error in _errors(study)]


@pytest.mark.parametrize(
    ("command", "file"),
    [
        (r"\input{results}", "results"),
        (r"\input{results.tex}", "results"),
        (r"\input results ", "results"),
        (r"\include{results}", "results"),
        (r"\input{./parts/results}", "parts__results"),
        (r"\import{parts/}{results}", "parts__results"),
        (r"\subfile{parts/results}", "parts__results"),
    ],
)
def test_a_wrong_digit_of_an_included_file_is_found_there(tmp_path: Path, command: str, file: str) -> None:
    study = _study(tmp_path, f"Text before.\n{command}\nText behind.", **{file: WRONG})
    (found,) = _errors(study)
    assert (found.kind, found.file, found.line, found.column) == (
        "numeric_mismatch",
        f"{file.replace('__', '/')}.tex",
        2,
        26,
    )
    shutil.rmtree(study)
    assert _errors(_study(tmp_path, command, **{file: RIGHT})) == []


def test_lines_of_the_paper_are_its_own_before_between_and_behind(tmp_path: Path) -> None:
    body = "It grew by 77.7\\%.\n\\input{long}\nIt fell by 88.8\\%. \\input{long} So by 99.9\\%."
    study = _study(tmp_path, body, long="One.\n\nTwo.\n\nThree by 66.6\\%.\n")
    assert [(e.printed, e.file, e.line, e.column) for e in _errors(study)] == [
        ("77.7\\%", "full_paper.tex", 4, 12),
        ("66.6\\%", "long.tex", 5, 10),
        ("88.8\\%", "full_paper.tex", 6, 12),
        ("66.6\\%", "long.tex", 5, 10),
        ("99.9\\%", "full_paper.tex", 6, 39),
    ]


def test_a_number_in_a_file_of_its_own_goes_with_the_sentence_around_it(tmp_path: Path) -> None:
    body = "The best variant reaches \\input{speed} GFlop/s. % CLAIM:C1:NC1"
    assert _errors(_study(tmp_path, body, speed="312.4\n")) == []
    (tmp_path / "study" / "speed.tex").write_text("321.4\n")
    (found,) = _errors(tmp_path / "study")
    assert (found.kind, found.file, found.line) == ("numeric_mismatch", "speed.tex", 1)


def test_files_draw_in_further_files_and_macros_defined_elsewhere_count(tmp_path: Path) -> None:
    study = _study(tmp_path, "\\input{a}\n", a="\\input{b/c}\n", b__c="It reaches \\best{} GFlop/s.")
    paper = study / "full_paper.tex"
    paper.write_text(paper.read_text().replace("\\begin{doc", "\\input{numbers}\n\\begin{doc"))
    (study / "numbers.tex").write_text("\\newcommand{\\best}{444.4}\n")
    (found,) = _errors(study)
    assert (found.kind, found.file, found.line) == ("uncovered_numeric", "b/c.tex", 1)


@pytest.mark.parametrize(
    "hidden",
    [
        "% \\input{wrong}",
        "\\begin{verbatim}\n\\input{wrong}\n\\end{verbatim}",
        "\\begin{comment}\n\\input{wrong}\n\\end{comment}",
        "\\verb|\\input{wrong}|",
        "\\lstinputlisting{wrong.tex}",
        "Nothing.\n\\end{document}\n\\input{wrong}",
    ],
)
def test_what_latex_does_not_draw_in_is_not_read(tmp_path: Path, hidden: str) -> None:
    assert _errors(_study(tmp_path, hidden, wrong=WRONG)) == []


def test_only_what_latex_sets_of_an_included_file_is_read(tmp_path: Path) -> None:
    inside = (
        f"\\documentclass{{article}}\n% 5.5\\%\n\\begin{{document}}\n{WRONG}\\end{{document}}\nBy 9.9\\%.\n"
    )
    study = _study(
        tmp_path, "\\subfile{part}\n\\input{short}", part=inside, short="So.\\endinput\nBy 8.8\\%.\n"
    )
    assert [(e.printed, e.file, e.line) for e in _errors(study)] == [("321.4 GFlop/s", "part.tex", 5)]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("\\input{nowhere}", "include_missing"),
        ("\\include{experiments}", "include_missing"),
        ("\\input{../outside}", "include_escapes"),
        ("\\input{/etc/hostname}", "include_escapes"),
        ("\\input{link}", "include_escapes"),
        ("\\subimport{..}{outside}", "include_escapes"),
        ("\\input{full_paper}", "include_cycle"),
        ("\\input{one}", "include_cycle"),
        ("\\input{\\jobname-body}", "paper_incomplete"),
        ("\\input{|date}", "paper_incomplete"),
        ("\\input{" + "x" * 4000 + "}", "include_missing"),
        ("\\input{}", "include_missing"),
    ],
)
def test_what_cannot_be_read_is_an_error_with_its_place(tmp_path: Path, body: str, kind: str) -> None:
    study = _study(tmp_path, f"Text.\n{body}", one="\\input{two}\n", two="Then\n\\input{one}\n")
    (tmp_path / "outside.tex").write_text(RIGHT)
    (study / "link.tex").symlink_to(tmp_path / "outside.tex")
    (found,) = _errors(study)
    place = ("two.tex", 2) if body == "\\input{one}" else ("full_paper.tex", 5)
    assert (found.kind, found.file, found.line) == (kind, *place)
    assert found.fix
    assert run_hard_gate(study).should_block
    assert not run_hard_gate(study, policy="warn").should_block
    assert not run_hard_gate(study, phase="draft").should_block


def test_a_file_of_the_preamble_that_is_not_there_is_a_warning(tmp_path: Path) -> None:
    study = _study(tmp_path, RIGHT)
    paper = study / "full_paper.tex"
    paper.write_text(paper.read_text().replace("\\begin{doc", "\\input{glyphtounicode}\n\\begin{doc"))
    report = run_hard_gate(study)
    assert not report.errors
    assert [(w.kind, w.line) for w in report.warnings if w.kind == "include_missing"] == [
        ("include_missing", 2)
    ]


def test_files_that_multiply_end_with_a_finding(tmp_path: Path) -> None:
    files = {f"f{n}": f"\\input{{f{n + 1}}}\\input{{f{n + 1}}}\n" * 9 for n in range(12)}
    study = _study(tmp_path, "\\input{f0}", **files, f12="Text. " * 1000)
    assert set(_kinds(study)) == {"paper_incomplete"}
    deep = {f"g{n}": f"\\input{{g{n + 1}}}\n" for n in range(400)}
    shutil.rmtree(study)
    assert _kinds(_study(tmp_path, "\\input{g0}", **deep)) == ["paper_incomplete"]


def test_a_paper_beside_the_study_draws_in_what_lies_beside_it(tmp_path: Path) -> None:
    study = _study(tmp_path, "Nothing.")
    drafts = tmp_path / "drafts"
    drafts.mkdir()
    (drafts / "draft.tex").write_text(MAIN % "\\input{part}\n\\input{../study/full_paper}")
    (drafts / "part.tex").write_text(WRONG)
    found = _errors(study, paper=drafts / "draft.tex")
    assert sorted((e.kind, e.file, e.line) for e in found) == [
        ("include_escapes", "draft.tex", 5),
        ("numeric_mismatch", "part.tex", 2),
    ]


def test_the_links_name_the_file_of_what_was_drawn_in(tmp_path: Path) -> None:
    study = _study(tmp_path, "\\input{part}\n\\input{gone}\nIt grew by 5.5\\%.", part="\n" + RIGHT)
    outcome = link_paper_claims(checkpoint=study, paper="full_paper.tex")
    record = json.loads((study / outcome["links"]).read_text())
    (link,) = record["paper_claim_links"]
    assert (link["file"], link["line_range"]) == ("part.tex", [2, 2])
    drawn_in, own = record["numeric_mentions"]
    assert (drawn_in["file"], drawn_in["line"]) == ("part.tex", 2)
    assert "file" not in own and own["line"] == 6
    assert any("full_paper.tex, line 5" in warning and "gone" in warning for warning in outcome["warnings"])


def test_the_source_knows_its_files_once_each(tmp_path: Path) -> None:
    study = _study(tmp_path, "\\input{b}\n\\input{a}\n\\input{b}", a="\\input{c}", b="B.", c="\r\nC.")
    source = read_source(study / "full_paper.tex", study)
    assert source.files == ("b.tex", "a.tex", "c.tex")
    assert source.place(source.text.index("C.")) == ("c.tex", 2, 1)
    assert source.place(0) == ("full_paper.tex", 1, 1)
