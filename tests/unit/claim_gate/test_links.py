"""Which sentence an anchor stands for, and what is recorded of it."""

from __future__ import annotations

from typing import Any

import pytest

from ari.formats.base import problems
from ari.formats.paper_claim_links import PaperClaimLinks
from ari.pipeline.claim_gate.links import ClaimLinks, link_paper_claims

HEAD = "\\documentclass{article}\n\\begin{document}\n\\section{Results}\n"


def link(text: str, science: dict[str, Any] | None = None) -> ClaimLinks:
    return link_paper_claims(f"{HEAD}{text}\n\\end{{document}}\n", science or {})


def sentence(text: str) -> str:
    links = link(text)
    region = links.anchors[0].region
    return " ".join(links.paper.uncommented[region.start : region.end].split())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is fast. It gives 3. % CLAIM:C1:NC1", "It is fast. It gives 3."),
        ("Before. It goes over\nlines to\n3 here. % CLAIM:C1:NC1", "It goes over lines to 3 here."),
        ("It gives 3 % CLAIM:C1:NC1\nand more. And this.", "It gives 3 and more."),
        ("% CLAIM:C1:NC1\n\n% a remark\nIt gives\n3. Then this.", "It gives 3."),
        ("As in Fig. 2, i.e.\nwith Smith et al.\nit gives 3. % CLAIM:C1:NC1",
         "As in Fig. 2, i.e. with Smith et al. it gives 3."),
        ("A paragraph\n\nIt gives 3. % CLAIM:C1:NC1", "It gives 3."),
        ("\\section{More}\nIt gives 3. % CLAIM:C1:NC1", "It gives 3."),
        ("\\begin{tabular}{lr}\na & 1 \\\\\nb & 3 \\\\ % CLAIM:C1:NC1\n\\end{tabular}", "b & 3 \\\\"),
        ("\\item One.\n\\item It gives\n3. % CLAIM:C1:NC1", "\\item It gives 3."),
    ],
)  # fmt: skip
def test_the_sentence_of_an_anchor(text: str, expected: str) -> None:
    assert sentence(text) == expected


def test_an_anchor_in_verbatim_text_or_without_a_comment_is_none() -> None:
    assert (
        link(
            "\\begin{verbatim}\nx % CLAIM:C1:NC1\n\\end{verbatim}\nCLAIM:C2:NC2 and 5\\% CLAIM:C3:NC3"
        ).anchors
        == []
    )


def test_the_hash_follows_the_sentence_and_not_its_line_breaks() -> None:
    hashes = [
        link(text).paper_claim_links[0].span_hash
        for text in (
            "It gives 3. % CLAIM:C1:NC1",
            "\nIt\ngives 3. % CLAIM:C1:NC1",
            "It gives 4. % CLAIM:C1:NC1",
        )
    ]
    assert hashes[0] == hashes[1] != hashes[2]


def test_sections_have_canonical_names() -> None:
    headings = (
        "", "\\subsection{Experimental setup}", "\\section{Results and discussion}", "\\subsection{Threads}",
        "\\section{Summary}", "\\appendix\n\\section{Results in full}",
    )  # fmt: skip
    text = "\n".join(f"{heading}\nA 1 % CLAIM:C{n}:NC1" for n, heading in enumerate(headings))
    sections = [record.section for record in link(text).paper_claim_links]
    assert sections == ["results", "experimental_setup", "results", "results", "conclusion", "appendix"]


def test_what_the_writer_declares_must_exist() -> None:
    science = {"_config_nodes": {"cfg1": {"node_id": "n1"}}}
    declared = ("metric=s value=cfg1", "metric=s value=cfg9", "value=cfg1")
    text = "\n\n".join(f"A {n} % CLAIM:Cw:N{n} {words}" for n, words in enumerate(declared, 1))
    links = link(text, science)
    assert [a.key for a in links.writer_assertions] == ["Cw:N1"]
    assert links.unresolved_anchors == ["CLAIM:Cw:N2", "CLAIM:Cw:N3"]


def test_the_record_has_the_documented_shape() -> None:
    record = link("It gives 74\\%. % CLAIM:C1:NC1\nSee Figure~\\ref{fig:1}.").to_dict()
    assert problems(PaperClaimLinks, record) == []
    assert record["figure_refs"] == ["fig:1"]
    assert [m["text"] for m in record["uncovered_numeric_candidates"]] == ["74\\%"]
