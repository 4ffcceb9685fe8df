"""Reviews: what they object to, that they never block, and that refining keeps anchors and numbers."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ari.checkpoint import validate
from ari.errors import ConfigError
from ari.paper.reviews.merging import merge_reviews
from ari.paper.reviews.refining import apply_revisions, paper_refine
from ari.paper.reviews.rubric import read_rubric, review_paper, rubric_names
from ari.paper.reviews.semantic import evidence_grounded_semantic_review, review_text
from ari.pipeline.claim_gate.gate import run_hard_gate
from support.studies import NAMES, written_study

ABLATED = {"claims": [{"id": "C1", "kind": "ablation", "numeric_assertions": []}]}


def paper(sentence: str, section: str = "Results") -> str:
    head = "\\documentclass{article}\n\\begin{document}\n"
    return f"{head}\\section{{{section}}}\n{sentence}\n\\end{{document}}\n"


@pytest.mark.parametrize(
    ("sentence", "science", "kind"),
    [
        ("This proves the law.", {}, "overclaiming"),
        ("The growth of $x$ causes the rise.", {}, "causal_without_ablation"),
        ("It holds for all values of the input.", {}, "unseen_range"),
        ("The law describes the data.", {}, None),
        ("The growth of $x$ causes the rise.", ABLATED, None),
    ],
)
def test_objections(sentence: str, science: dict[str, object], kind: str | None) -> None:
    review = review_text(paper(sentence), science)
    assert [w.kind for w in review.warnings] == ([kind] if kind else [])
    assert all(w.line == 4 and w.section == "results" for w in review.warnings)


def test_results_without_count_or_range_are_objected_to_where_these_are_recorded() -> None:
    def assertion(name: str, metric: str) -> dict[str, object]:
        return {"id": name, "formula": "identity",
                "operands": {"value": {"node_id": "n", "metric_path": f"metrics.{metric}"}}}  # fmt: skip

    science = {
        "claims": [{"id": "C1", "numeric_assertions": [assertion("NC1", "t"), assertion("NC2", "t_n")]}]
    }
    bare = paper("It takes 3.2. % CLAIM:C1:NC1")
    stated = paper("It takes 3.2 in the median of 5. % CLAIM:C1:NC1 % CLAIM:C1:NC2")
    assert [w.kind for w in review_text(bare, science).warnings] == ["missing_uncertainty"]
    assert review_text(stated, science).warnings == []


@pytest.mark.parametrize("name", NAMES)
def test_generated_papers_have_nothing_to_object_to(name: str, tmp_path: Path) -> None:
    checkpoint = written_study(name, tmp_path)
    assert evidence_grounded_semantic_review(checkpoint=checkpoint)["status"] == "ok"
    assert review_paper(checkpoint=checkpoint)["overall"] == 5.0
    assert validate(checkpoint) == []


def test_an_error_gives_an_empty_review(tmp_path: Path) -> None:
    answer = evidence_grounded_semantic_review(checkpoint=tmp_path)
    assert answer["summary"].startswith("no review was made: ")
    written = json.loads((tmp_path / "evaluation/evidence_grounded_semantic_review.json").read_bytes())
    assert written == {
        "stage": "evidence_grounded_semantic_review", "phase": "initial", "status": "ok", "scores": {},
        "warnings": [], "suggested_revisions": [],
    }  # fmt: skip


def test_from_review_to_refined_paper(tmp_path: Path) -> None:
    checkpoint = written_study("kepler", tmp_path)
    source = checkpoint / "full_paper.tex"
    boast = source.read_text(encoding="utf-8").replace("It needs only", "This proves that it needs only")
    source.write_text(boast, encoding="utf-8")
    assert evidence_grounded_semantic_review(checkpoint=checkpoint)["status"] == "warn"
    review_paper(checkpoint=checkpoint)
    merge_reviews(checkpoint=checkpoint)
    assert paper_refine(checkpoint=checkpoint)["applied"] == 2
    refined = source.read_text(encoding="utf-8")
    assert "This supports that it needs only" in refined
    assert re.findall(r"CLAIM:\S+", refined) == re.findall(r"CLAIM:\S+", boast)
    again = evidence_grounded_semantic_review(checkpoint=checkpoint, phase="post_refine")
    assert (again["phase"], again["status"]) == ("post_refine", "ok")
    assert (checkpoint / "evaluation/evidence_grounded_semantic_review_post_refine.json").is_file()
    assert run_hard_gate(checkpoint, phase="final", policy="strict").status == "passed"


@pytest.mark.parametrize(
    ("revision", "reason"),
    [
        ({"line": 4, "find": "312.4", "replace": "500"}, "number"),
        ({"line": 4, "find": "reaches", "replace": "reaches 99"}, "number"),
        ({"line": 4, "find": "reaches", "replace": "reaches % CLAIM:C9:NC9"}, "break the line"),
        ({"line": 4, "find": "It ", "replace": "\\textbf{It "}, "markup"),
        ({"line": 4, "find": "absent", "replace": "x"}, "does not stand"),
        ({"line": 99, "find": "It", "replace": "x"}, "no line"),
        ({"line": 4, "find": "CLAIM", "replace": "x"}, "does not stand"),
        ({"line": 4, "find": "It"}, "no text"),
        ("nonsense", "no line"),
    ],
)
def test_a_revision_may_not_touch_numbers_anchors_or_markup(revision: object, reason: str) -> None:
    tex = paper("It reaches 312.4 GFlop/s. % CLAIM:C1:NC1")
    refined = apply_revisions(tex, [revision])
    assert refined.tex == tex
    assert reason in refined.declined[0]["declined"]


def test_a_missing_review_is_named_and_does_not_stop_the_others(tmp_path: Path) -> None:
    (tmp_path / "evaluation").mkdir()
    (tmp_path / "evaluation/rubric_review.json").write_text('{"warnings": [], "suggested_revisions": []}')
    answer = merge_reviews(checkpoint=tmp_path)
    assert answer["reviews"] == ["evaluation/rubric_review.json"]
    merged = json.loads((tmp_path / "evaluation/merged_reviews.json").read_bytes())
    assert list(merged["skipped"]) == ["evaluation/evidence_grounded_semantic_review.json"]


def test_a_rubric_finds_what_is_missing(tmp_path: Path) -> None:
    checkpoint = written_study("kuramoto", tmp_path)
    source = checkpoint / "full_paper.tex"
    text = source.read_text(encoding="utf-8").replace("node\\_0006", "another one")
    source.write_text(text.replace("\\section{Limitations}", "\\section{Further remarks}"), encoding="utf-8")
    found = {w["message"] for w in review_paper(checkpoint=checkpoint)["warnings"]}
    assert "node_0006 failed or was left out and is not mentioned" in found
    assert "there is no section on limitations" in found


def test_rubrics_that_ship_are_sound_and_others_are_checked(tmp_path: Path) -> None:
    assert rubric_names() == ["brief", "default"]
    for name in rubric_names():
        assert read_rubric(name)["name"] == name
    (tmp_path / "own.yaml").write_text("criteria:\n  - id: a\n    checks: [magic]\n")
    with pytest.raises(ConfigError, match=r"unknown checks: magic\n.*abstract_length"):
        read_rubric("own.yaml", tmp_path)
    with pytest.raises(ConfigError, match="there is no rubric 'none'"):
        read_rubric("none", tmp_path)
