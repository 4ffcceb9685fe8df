"""The section that says where code and data are."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ari.errors import FormatError, PaperError
from ari.formats.manifest_lock import bundle_digest
from ari.latex.compiling import compile_pdf
from ari.paper.availability import inject_code_availability
from ari.pipeline.claim_gate.gate import run_hard_gate
from ari.skills import call_tool
from ari.skills.stage import StageSession
from support.studies import written_study

DIGEST = "0123456789abcdef" * 4
URL = "https://example.org/bundles/a_b%20c#2024"


def test_the_section_stands_before_the_bibliography_and_passes_the_gate(tmp_path: Path) -> None:
    study = written_study("kepler", tmp_path)
    before = run_hard_gate(study).to_dict()
    answer = inject_code_availability(checkpoint=study, url=URL, codedigest=DIGEST.upper())
    text = (study / "full_paper.tex").read_text()
    assert (answer["codedigest"], answer["replaced"]) == (DIGEST, False)
    assert (
        text.index(rf"\url{{{URL}}}")
        < text.index(rf"\codedigest{{{DIGEST}}}")
        < text.index(r"\bibliographystyle")
    )
    after = run_hard_gate(study).to_dict()
    assert (after["errors"], len(after["warnings"])) == (before["errors"], len(before["warnings"]))


def test_writing_it_again_replaces_it(tmp_path: Path) -> None:
    study = written_study("kepler", tmp_path)
    inject_code_availability(checkpoint=study, url=URL)
    once = (study / "full_paper.tex").read_text()
    assert inject_code_availability(checkpoint=study, url=URL)["replaced"] is True
    assert (study / "full_paper.tex").read_text() == once
    inject_code_availability(checkpoint=study, codedigest=DIGEST)
    text = (study / "full_paper.tex").read_text()
    assert text.count("Code availability") == 1 and URL not in text


def test_the_digest_comes_from_the_bundle(tmp_path: Path) -> None:
    study = written_study("kepler", tmp_path)
    files = [{"path": "a.txt", "sha256": DIGEST, "size": 1}]
    (study / "ear_published").mkdir()
    lock = study / "ear_published" / "manifest.lock"
    digest = bundle_digest(files)
    lock.write_text(f'{{"version": 1, "bundle_sha256": "{digest}", "files": []}}')
    assert inject_code_availability(checkpoint=study)["codedigest"] == digest
    lock.write_text("{}")
    with pytest.raises(FormatError):
        inject_code_availability(checkpoint=study)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "nothing to say"),
        ({"url": "https://example.org/}\\input{x}"}, "is no address"),
        ({"url": "ftp://example.org"}, "is no address"),
        ({"codedigest": "abc"}, "is no SHA-256"),
        ({"url": URL, "paper": "other.tex"}, "does not exist"),
        ({"url": URL, "paper": "journal.jsonl"}, "is no name for a paper"),
    ],
)
def test_what_cannot_be_said_is_refused(given: dict[str, str], message: str, tmp_path: Path) -> None:
    study = written_study("kepler", tmp_path)
    before = (study / "full_paper.tex").read_bytes()
    with pytest.raises(PaperError, match=message):
        inject_code_availability(checkpoint=study, **given)
    assert (study / "full_paper.tex").read_bytes() == before


@pytest.mark.skipif(shutil.which("latexmk") is None, reason="needs TeX")
def test_the_paper_still_compiles(tmp_path: Path) -> None:
    study = written_study("kepler", tmp_path)
    inject_code_availability(checkpoint=study, url=URL, codedigest=DIGEST)
    built = compile_pdf(study, "full_paper.tex", files=("figures", "refs.bib"), time_limit_s=120)
    assert built.status == "pdf", built


def test_layouts_and_rubrics_are_listed(tmp_path: Path) -> None:
    listed = call_tool("paper", StageSession(tmp_path), "list_templates")
    assert listed == {"templates": ["acm", "article", "neurips"], "rubrics": ["brief", "default"]}
