"""One paper as the services describe it, and many descriptions of one paper brought together."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from pydantic import BaseModel, ConfigDict

MAX_ABSTRACT = 2_000
MAX_AUTHORS = 50
_FUSION = 60
"""Constant of reciprocal rank fusion (Cormack, Clarke and Büttcher 2009)."""


class Paper(BaseModel):
    """One paper.

    Attributes:
        title: In one line.
        authors: In order, at most 50.
        year: Of publication.
        venue: Journal, conference or archive.
        abstract: At most 2,000 characters.
        doi: In lower case.
        arxiv_id: Without its version.
        url: Where a person reads it.
        citations: How often it is cited, as the service counts.
        sources: Services that know it.
    """

    model_config = ConfigDict(frozen=True)

    title: str
    authors: tuple[str, ...] = ()
    year: int | None = None
    venue: str | None = None
    abstract: str | None = None
    doi: str | None = None
    arxiv_id: str | None = None
    url: str | None = None
    citations: int | None = None
    sources: tuple[str, ...] = ()

    @property
    def names(self) -> set[str]:
        """What it is known by: identifiers, and its title in plain letters."""
        folded = "title:" + " ".join(re.findall(r"\w+", self.title.casefold()))
        found = {
            folded,
            f"doi:{self.doi}" if self.doi else "",
            f"arxiv:{self.arxiv_id}" if self.arxiv_id else "",
        }
        return found - {""}

    def joined(self, other: Paper) -> Paper:
        """The same paper with what the other description adds."""
        own, more = self.model_dump(), other.model_dump()
        filled = {key: value if value not in (None, ()) else more[key] for key, value in own.items()}
        filled["sources"] = tuple(dict.fromkeys((*self.sources, *other.sources)))
        counts = [count for count in (self.citations, other.citations) if count is not None]
        return Paper(**{**filled, "citations": max(counts, default=None)})

    def bibtex(self) -> str:
        """An entry for a bibliography."""
        kind = "article" if self.venue and not self.arxiv_id else "misc"
        fields = {
            "author": " and ".join(self.authors),
            "title": self.title,
            "journal" if kind == "article" else "howpublished": self.venue or "",
            "year": str(self.year or ""),
            "doi": self.doi or "",
            "eprint": self.arxiv_id or "",
            "url": self.url or "",
        }
        lines = [f"  {name} = {{{_braced(value)}}}" for name, value in fields.items() if value]
        return f"@{kind}{{{self.key},\n" + ",\n".join(lines) + "\n}"

    @property
    def key(self) -> str:
        """Citation key: family name of the first author, and the year."""
        name = (
            self.authors[0].split(",")[0].split()[-1] if self.authors and self.authors[0].split() else "anon"
        )
        plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
        return f"{re.sub('[^a-z]', '', plain) or 'anon'}{self.year or ''}"


def _braced(text: str) -> str:
    """Text inside braces: braces balanced, whatever was given."""
    return text.replace("{", "").replace("}", "").replace("\\", "")


def one_line(text: object, limit: int = 500) -> str | None:
    """A text of one line without markup; None when there is none."""
    if not isinstance(text, str):
        return None
    line = " ".join(re.sub(r"<[^<>]{0,200}>", " ", text).split())
    return line[:limit] or None


def brought_together(rankings: Iterable[Sequence[Paper]], limit: int) -> list[Paper]:
    """Several rankings as one: the same paper once, those that stand high in many rankings first."""
    papers: list[Paper] = []
    scores: list[float] = []
    places: dict[str, int] = {}
    for ranking in rankings:
        for rank, paper in enumerate(ranking):
            place = next((places[name] for name in sorted(paper.names) if name in places), None)
            if place is None:
                place = len(papers)
                papers.append(paper)
                scores.append(0.0)
            else:
                papers[place] = papers[place].joined(paper)
            scores[place] += 1 / (_FUSION + rank)
            places |= dict.fromkeys(papers[place].names, place)
    order = sorted(range(len(papers)), key=lambda place: (-scores[place], place))
    return [papers[place] for place in order[:limit]]
