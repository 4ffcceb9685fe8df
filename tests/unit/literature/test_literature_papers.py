"""Papers: descriptions of one paper brought together, and entries for a bibliography."""

from __future__ import annotations

from ari.literature.papers import Paper, brought_together, one_line
from ari.literature.survey import read_bibliography


def test_one_paper_of_several_services_comes_once_and_rises() -> None:
    a = [Paper(title="Rare"), Paper(title="A Law of Planets", doi="10.1/x", citations=3, sources=("a",))]
    b = [Paper(title="a law of  planets!", year=1999, arxiv_id="9901.00001", citations=5, sources=("b",))]
    c = [Paper(title="Another title", arxiv_id="9901.00001", venue="J", sources=("c",))]
    [first, second] = brought_together([a, b, c], limit=9)
    assert (first.title, first.year, first.doi, first.venue) == ("A Law of Planets", 1999, "10.1/x", "J")
    assert (first.citations, first.sources) == (5, ("a", "b", "c"))
    assert second.title == "Rare"
    assert len(brought_together([a, b], limit=1)) == 1


def test_an_entry_is_balanced_and_is_read_back() -> None:
    paper = Paper(
        title="On {braces} \\and", authors=("Jörg Müller", "A B"), year=2020, venue="J. Phys.", doi="10.1/x"
    )
    assert paper.key == "muller2020"
    text = paper.bibtex()
    assert text.count("{") == text.count("}") and "\\" not in text
    [back] = read_bibliography(text, "refs.bib")
    assert (back.title, back.authors, back.year, back.doi) == ("On braces and", paper.authors, 2020, "10.1/x")
    assert Paper(title="No name").bibtex().startswith("@misc{anon,")


def test_texts_are_one_line_without_markup_and_bounded() -> None:
    assert one_line(" <jats:p>A \n b</jats:p> ") == "A b"
    assert one_line("x" * 900) == "x" * 500
    assert one_line("  ") is one_line(None) is one_line(7) is None
