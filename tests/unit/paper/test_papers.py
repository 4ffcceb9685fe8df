"""Papers of recorded studies: the gate passes them, every number is anchored, and no two are alike."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ari.checkpoint import validate
from ari.errors import ConfigError, FormatError, PaperError
from ari.paper.formula import read_printed
from ari.paper.render import template_names
from ari.paper.stage import write_paper
from ari.paper.writing import compose, read_story
from ari.pipeline.claim_gate.gate import run_hard_gate
from support.mutations import plant_faults, undetected
from support.studies import NAMES, copy_study, finished_study, written_study

PAPER = "full_paper.tex"
SAMPLE = 12


def source(name: str, folder: Path) -> str:
    return (written_study(name, folder) / PAPER).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_the_strict_final_gate_passes_a_generated_paper_without_a_warning(name: str, tmp_path: Path) -> None:
    checkpoint = written_study(name, tmp_path)
    report = run_hard_gate(checkpoint, phase="final", policy="strict")
    assert report.status == "passed", [
        (e.kind, e.line, e.message) for e in [*report.errors, *report.warnings]
    ]
    assert report.metrics["numeric_assertions_total"] > 40
    assert validate(checkpoint) == []


@pytest.mark.parametrize("name", NAMES)
def test_single_faults_in_a_generated_paper_are_found(name: str, tmp_path: Path) -> None:
    checkpoint = written_study(name, tmp_path)
    science = json.loads((checkpoint / "science_data.json").read_text(encoding="utf-8"))
    faults = list(plant_faults((checkpoint / PAPER).read_text(encoding="utf-8"), science, [179.5, 41.0]))
    assert len(faults) > 200
    chosen = faults[:: len(faults) // SAMPLE]
    (tmp_path / "scratch").mkdir()
    _, missed = undetected(checkpoint, chosen, tmp_path / "scratch", paper=PAPER)
    assert [str(fault) for fault in missed] == []


@pytest.mark.parametrize(("old", "new"), [("T = {a}^{1.5}", "T = {a}^{1.6}"), ("T = a**1.5", "T = a**1.4")])
def test_a_digit_changed_in_the_formula_is_found(old: str, new: str, tmp_path: Path) -> None:
    checkpoint = written_study("kepler", tmp_path)
    paper = checkpoint / PAPER
    text = paper.read_text(encoding="utf-8")
    paper.write_text(text.replace(f"\n{old}\n", f"\n{new}\n"), encoding="utf-8")
    report = run_hard_gate(checkpoint, phase="final", policy="strict")
    assert report.should_block
    lines = paper.read_text(encoding="utf-8").splitlines()
    at = next(n for n, line in enumerate(lines, 1) if line == new)
    (error,) = report.errors
    assert error.line is not None and at - 3 <= error.line < at
    assert "node_0000" in error.message


@pytest.mark.parametrize("name", NAMES)
def test_every_link_leads_to_an_entry_of_the_appendix_and_has_its_anchor_on_the_line(
    name: str, tmp_path: Path
) -> None:
    tex = source(name, tmp_path)
    entries = set(re.findall(r"\\hypertarget\{ev:(NC\d+)\}", tex))
    linked = [(line, re.findall(r"\\hyperlink\{ev:(NC\d+)\}", line)) for line in tex.splitlines()]
    assert sum(len(numbers) for _, numbers in linked) > 30
    for line, numbers in linked:
        comment = line.rpartition("} % ")[2] if " % CLAIM" not in line else line[line.index(" % CLAIM") :]
        assert set(numbers) <= entries
        assert (
            set(numbers) == set(re.findall(r"CLAIM:C\d+:(NC\d+)", comment))
            or "hypertarget" in line
            or not numbers
        )


def test_papers_of_different_studies_differ_in_more_than_their_numbers(tmp_path: Path) -> None:
    def shape(name: str) -> set[str]:
        body = source(name, tmp_path).partition(r"\appendix")[0]
        lines = [
            re.sub(r"%.*|\\[a-zA-Z]+(\{[^{}]*\})*|[\d.$^{}\\]+", " ", line) for line in body.splitlines()
        ]
        return {" ".join(line.split()) for line in lines if len(line.split()) > 5}

    shapes = {name: shape(name) for name in NAMES}
    for one in NAMES:
        for other in NAMES:
            if one != other:
                shared = len(shapes[one] & shapes[other]) / len(shapes[one])
                limit = 0.25 if "matmul" in (one, other) else 0.4
                assert shared < limit, (one, other, shared)


def test_the_same_study_gives_the_same_source(tmp_path: Path) -> None:
    checkpoint = written_study("kepler", tmp_path)
    before = (checkpoint / PAPER).read_bytes()
    write_paper(checkpoint=checkpoint)
    assert (checkpoint / PAPER).read_bytes() == before


@pytest.mark.parametrize("template", template_names())
def test_every_layout_passes_the_gate(template: str, tmp_path: Path) -> None:
    checkpoint = finished_study("matmul", tmp_path)
    write_paper(checkpoint=checkpoint, template=template)
    assert run_hard_gate(checkpoint, phase="final", policy="strict").status == "passed"


def test_what_a_paper_says_follows_from_what_the_study_did(tmp_path: Path) -> None:
    kepler, matmul, kuramoto = (source(name, tmp_path) for name in NAMES)
    assert r"\texttt{e} and \texttt{incl} are not part of it" in kepler
    assert "no error above rounding" in kuramoto and "no error above rounding" not in kepler
    assert "of the ceiling" in matmul
    assert r"\section{Ablations}" in matmul and "instead of" in matmul
    assert "failed" in kuramoto.partition("What was tried")[2].partition("Limitations")[0]


def test_a_study_without_a_result_gives_no_paper(tmp_path: Path) -> None:
    checkpoint = finished_study("kepler", tmp_path)
    for file in ("journal.jsonl", "nodes_tree.json", "tree.json", "results.json"):
        path = checkpoint / file
        path.write_text(
            path.read_text().replace('"has_real_data":true', '"has_real_data":false'), encoding="utf-8"
        )
    with pytest.raises(PaperError, match=r"no measured result.*\n.*ari status"):
        write_paper(checkpoint=checkpoint)


def test_without_science_data_the_message_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"science_data\.json cannot be read"):
        write_paper(checkpoint=copy_study("matmul", tmp_path))


def test_an_unknown_layout_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"'springer'\n.*acm, article, neurips"):
        write_paper(checkpoint=finished_study("matmul", tmp_path), template="springer")


def test_entries_of_the_study_s_own_bibliography_stay(tmp_path: Path) -> None:
    checkpoint = finished_study("matmul", tmp_path)
    own = "@misc{own2020,\n  title = {Ours}\n}\n"
    (checkpoint / "refs.bib").write_text(own, encoding="utf-8")
    write_paper(checkpoint=checkpoint)
    bib = (checkpoint / "refs.bib").read_text(encoding="utf-8")
    assert bib.startswith(own)
    assert set(re.findall(r"\\cite\{([^}]*)\}", (checkpoint / PAPER).read_text())) <= {
        ",".join(keys) for keys in [("williams2009",), ("hoefler2015",), ("harris2020", "virtanen2020")]
    }
    assert bib.count("@") == 5


def test_a_formula_is_printed_as_mathematics_and_as_text(tmp_path: Path) -> None:
    printed = {(p.latex is None, p.text or p.latex) for p in read_printed(source("kepler", tmp_path))}
    assert printed == {(True, "a**1.5"), (False, "T = {a}^{1.5}")}


def test_rounding_is_no_error_even_where_the_sealed_values_hardly_differ(tmp_path: Path) -> None:
    story = read_story(written_study("kuramoto", tmp_path))
    assert story.residuals is not None and story.residuals.exact
    story.best.metrics["sealed_nrmse"] = 3.5e-13
    text = " ".join(compose(story).abstract)
    assert "no error above rounding" in text
