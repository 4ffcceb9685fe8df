"""The services: how each is asked for papers, and how its answer is read.

Semantic Scholar (Graph API), arXiv (Atom), Crossref (REST). An answer that is not in the service's shape is
an error that names the service; single records that cannot be read are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote
from xml.etree import ElementTree

from ari.errors import LiteratureError
from ari.literature.fetching import Answer, Question
from ari.literature.papers import MAX_ABSTRACT, MAX_AUTHORS, Paper, one_line

ATOM = "{http://www.w3.org/2005/Atom}"
ARXIV = "{http://arxiv.org/schemas/atom}"
_FIELDS = "title,authors,year,venue,abstract,externalIds,url,citationCount"
_DOI = re.compile(r"(?:https?://(?:dx\.)?doi\.org/|doi:)?(10\.\d{4,9}/\S+)", re.IGNORECASE)
_ARXIV = re.compile(
    r"(?:https?://arxiv\.org/(?:abs|pdf)/|arxiv:)?((?:\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7}))(?:v\d+)?(?:\.pdf)?",
    re.IGNORECASE,
)


class SearchService(NamedTuple):
    """How one service is searched.

    Attributes:
        question: From words, a number of results, and the years from and to.
        read: From an answer to papers, best first.
    """

    question: Callable[[str, int, tuple[int | None, int | None]], Question]
    read: Callable[[Answer], list[Paper]]


# --------------------------------------------------------------------------------------- Semantic Scholar


def _ask_scholar(words: str, limit: int, years: tuple[int | None, int | None]) -> Question:
    parameters = [("query", words), ("limit", str(limit)), ("fields", _FIELDS)]
    if any(years):
        parameters.append(("year", f"{years[0] or ''}-{years[1] or ''}"))
    return Question("semantic_scholar", "/graph/v1/paper/search", tuple(parameters))


def _read_scholar(answer: Answer) -> list[Paper]:
    return list(_papers(_objects(_json(answer).get("data")), _scholar_paper))


def _scholar_paper(item: Mapping[str, Any]) -> Paper | None:
    ids = item.get("externalIds")
    ids = ids if isinstance(ids, Mapping) else {}
    return _paper(
        "semantic_scholar",
        title=item.get("title"),
        authors=[author.get("name") for author in _objects(item.get("authors"))],
        year=item.get("year"),
        venue=item.get("venue"),
        abstract=item.get("abstract"),
        doi=ids.get("DOI"),
        arxiv_id=ids.get("ArXiv"),
        url=item.get("url"),
        citations=item.get("citationCount"),
    )


# -------------------------------------------------------------------------------------------------- arXiv


def _ask_arxiv(words: str, limit: int, years: tuple[int | None, int | None]) -> Question:
    terms = [f"all:{word}" for word in re.findall(r"\w+", words)]
    if any(years):
        terms.append(f"submittedDate:[{years[0] or 1990}01010000 TO {years[1] or 2100}12312359]")
    parameters = (("search_query", " AND ".join(terms)), ("start", "0"), ("max_results", str(limit)))
    return Question("arxiv", "/api/query", (*parameters, ("sortBy", "relevance")))


def _read_arxiv(answer: Answer) -> list[Paper]:
    if "<!DOCTYPE" in answer.body:
        raise _unreadable(answer, "no Atom feed: it declares a document type")
    try:
        feed = ElementTree.fromstring(answer.body)  # noqa: S314 - without a DTD there are no entities to expand
    except ElementTree.ParseError as error:
        raise _unreadable(answer, f"no Atom feed: {error}") from None
    return [paper for entry in feed.iter(f"{ATOM}entry") if (paper := _arxiv_paper(entry)) is not None]


def _arxiv_paper(entry: ElementTree.Element) -> Paper | None:
    address = entry.findtext(f"{ATOM}id") or ""
    match = _ARXIV.fullmatch(address.replace("http://", "https://"))
    if match is None:
        return None  # an error of arXiv comes as an entry too
    year = (entry.findtext(f"{ATOM}published") or "")[:4]
    return _paper(
        "arxiv",
        title=entry.findtext(f"{ATOM}title"),
        authors=[author.findtext(f"{ATOM}name") for author in entry.iter(f"{ATOM}author")],
        year=int(year) if year.isdigit() else None,
        venue=entry.findtext(f"{ARXIV}journal_ref") or "arXiv",
        abstract=entry.findtext(f"{ATOM}summary"),
        doi=entry.findtext(f"{ARXIV}doi"),
        arxiv_id=match[1],
        url=f"https://arxiv.org/abs/{match[1]}",
        citations=None,
    )


# ----------------------------------------------------------------------------------------------- Crossref


def _ask_crossref(words: str, limit: int, years: tuple[int | None, int | None]) -> Question:
    parameters = [("query", words), ("rows", str(limit))]
    limits = [("from-pub-date", years[0]), ("until-pub-date", years[1])]
    chosen = ",".join(f"{name}:{year}" for name, year in limits if year)
    if chosen:
        parameters.append(("filter", chosen))
    return Question("crossref", "/works", tuple(parameters))


def _read_crossref(answer: Answer) -> list[Paper]:
    message = _json(answer).get("message")
    items = message.get("items") if isinstance(message, Mapping) else None
    return list(_papers(_objects(items), _crossref_paper))


def _crossref_paper(item: Mapping[str, Any]) -> Paper | None:
    issued = item.get("issued")
    parts = issued.get("date-parts") if isinstance(issued, Mapping) else None
    first = parts[0] if isinstance(parts, list) and parts and isinstance(parts[0], list) else []
    return _paper(
        "crossref",
        title=_first(item.get("title")),
        authors=[_full_name(author) for author in _objects(item.get("author"))],
        year=first[0] if first else None,
        venue=_first(item.get("container-title")),
        abstract=item.get("abstract"),
        doi=item.get("DOI"),
        arxiv_id=None,
        url=item.get("URL"),
        citations=item.get("is-referenced-by-count"),
    )


def _full_name(author: Mapping[str, Any]) -> str:
    parts = [author.get("given"), author.get("family") or author.get("name")]
    return " ".join(part for part in parts if isinstance(part, str))


def _first(value: object) -> object:
    return value[0] if isinstance(value, list) and value else value


SEARCHES: Mapping[str, SearchService] = {
    "semantic_scholar": SearchService(_ask_scholar, _read_scholar),
    "arxiv": SearchService(_ask_arxiv, _read_arxiv),
    "crossref": SearchService(_ask_crossref, _read_crossref),
}
"""The services that can be searched."""


# ------------------------------------------------------------------------------------------ one reference


def reference_question(identifier: str) -> Question:
    """Who is asked for one paper, and how.

    Args:
        identifier: A DOI or an arXiv id, alone or as an address.

    Raises:
        LiteratureError: When it is neither.
    """
    text = identifier.strip()
    arxiv = _ARXIV.fullmatch(text)
    if arxiv is not None:
        return Question("arxiv", "/api/query", (("id_list", arxiv[1]), ("max_results", "1")))
    doi = _DOI.fullmatch(text)
    if doi is not None:
        return Question("crossref", f"/works/{quote(doi[1].lower(), safe='')}")
    raise LiteratureError(
        f"{identifier!r:.200} is neither a DOI nor an arXiv id", cure="Write 10.1000/xyz or 2401.01234."
    )


def read_reference(answer: Answer) -> Paper | None:
    """The paper of an answer to `reference_question`; None when the service does not know it."""
    if answer.status == 404:
        return None
    if answer.service == "arxiv":
        return next(iter(_read_arxiv(answer)), None)
    message = _json(answer).get("message")
    return _crossref_paper(message) if isinstance(message, Mapping) else None


# -------------------------------------------------------------------------------------------------- parts


def _json(answer: Answer) -> Mapping[str, Any]:
    if answer.status == 404:
        return {}
    try:
        document = json.loads(answer.body)
    except (ValueError, RecursionError) as error:
        raise _unreadable(answer, f"no JSON: {error}") from None
    if not isinstance(document, Mapping):
        raise _unreadable(answer, "no JSON object")
    return document


def _unreadable(answer: Answer, why: str) -> LiteratureError:
    return LiteratureError(f"the answer of {answer.service} to {answer.question[:200]} is {why}")


def _objects(value: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, Mapping))


def _papers(
    items: Iterator[Mapping[str, Any]], read: Callable[[Mapping[str, Any]], Paper | None]
) -> Iterator[Paper]:
    yield from (paper for item in items if (paper := read(item)) is not None)


def _paper(source: str, **found: Any) -> Paper | None:  # noqa: ANN401 - whatever a service sends
    title = one_line(found["title"])
    if title is None:
        return None
    names = [name for author in found["authors"] if (name := one_line(author, 200))]
    doi, arxiv_id = one_line(found["doi"]), one_line(found["arxiv_id"])
    return Paper(
        title=title,
        authors=tuple(names[:MAX_AUTHORS]),
        year=_whole(found["year"]),
        venue=one_line(found["venue"]),
        abstract=one_line(found["abstract"], MAX_ABSTRACT),
        doi=doi.lower() if doi else None,
        arxiv_id=re.sub(r"v\d+$", "", arxiv_id) if arxiv_id else None,
        url=one_line(found["url"], 1000),
        citations=_whole(found["citations"]),
        sources=(source,),
    )


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
