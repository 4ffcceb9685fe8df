"""When a number printed without a sign may stand for a negative one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ari.pipeline.claim_gate.gate import run_hard_gate
from support.study_papers import write_study

VALUE = -3.2
CHANGES = [
    r"Accuracy falls by 3.2\%.",
    r"Accuracy drops by about \textbf{3.2}\%.",
    r"Its accuracy is lower than the start by roughly $3.2\%$.",
    r"This brings a reduction of 3.2\%.",
    r"We see a drop in accuracy of only 3.2\%.",
    r"Accuracy falls 3.2\%.",
    r"It loses some~3.2\,\% here.",
    r"Accuracy is down by \hyperlink{ev:NC1}{3.2}\%.",
    r"From its start it decreases by 3.2\%.",
]
LEVELS = [
    r"Accuracy falls to 3.2\%.",
    r"Accuracy drops to about 3.2\%.",
    r"It is reduced to \textbf{3.2}\%.",
    r"It goes down to 3.2\%.",
    r"Accuracy decreases from 3.2\%.",
    r"The lower bound is 3.2\%.",
    r"It stays less than 3.2\%.",
    r"It remains below 3.2\%.",
    r"The loss is 3.2\%.",
    r"The lower value of 3.2\% was taken.",
    r"It falls at once and reaches 3.2\%.",
    r"Time falls, and accuracy rises by 3.2\%.",
    r"Time falls. Accuracy moves by 3.2\%.",
    r"Accuracy moves by 3.2\%.",
]


def _study(tmp_path: Path, sentence: str) -> list[str]:
    study = write_study(tmp_path / "study", seed=1, sentences=0, rows=1)
    (anchor, _) = study.claim("n1", "delta", unit="%")
    for name in ("tree.json", "nodes_tree.json"):
        tree = json.loads((tmp_path / "study" / name).read_text())
        tree["nodes"]["n1"]["metrics"]["delta"] = VALUE
        (tmp_path / "study" / name).write_text(json.dumps(tree))
    science = json.loads((tmp_path / "study" / "science_data.json").read_text())
    science["claims"] = study.claims
    study.claims[-1]["numeric_assertions"][0]["value"] = VALUE
    (tmp_path / "study" / "science_data.json").write_text(json.dumps(science))
    paper = tmp_path / "study" / "paper.tex"
    text = paper.read_text().replace(
        "\\section{Limitations}", f"{sentence} % {anchor}\n\\section{{Limitations}}"
    )
    paper.write_text(text)
    return [error.kind for error in run_hard_gate(tmp_path / "study").errors]


@pytest.mark.parametrize("sentence", CHANGES)
def test_a_change_may_be_printed_without_its_sign_where_the_words_say_it(
    tmp_path: Path, sentence: str
) -> None:
    assert _study(tmp_path, sentence) == []


@pytest.mark.parametrize("sentence", LEVELS)
def test_a_level_keeps_its_sign_whatever_the_words(tmp_path: Path, sentence: str) -> None:
    assert _study(tmp_path, sentence) == ["numeric_mismatch"]
