"""The library: what a study asks for papers. Configured by settings, off unless they say otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ari.checkpoint import replay_source
from ari.errors import LiteratureError
from ari.literature.fetching import Cache, Fetcher, Service, default_folder
from ari.literature.papers import Paper, brought_together
from ari.literature.services import SEARCHES, read_reference, reference_question

if TYPE_CHECKING:
    from ari.settings import Settings

CACHE = "web"
"""Folder of a study in which its answers are kept."""

KEY_VARIABLE = "SEMANTIC_SCHOLAR_API_KEY"
MAIL_VARIABLE = "CROSSREF_MAILTO"
_INTERVALS = {"semantic_scholar": 1.0, "arxiv": 3.0, "crossref": 0.5}
"""Seconds between two requests, as each service asks of its users without an agreement."""

MAX_RESULTS = 100


class Found(NamedTuple):
    """What a search gave.

    Attributes:
        papers: Best first.
        warnings: Services that did not answer, and why.
    """

    papers: list[Paper]
    warnings: list[str]


class Library:
    """Searches and fetches.

    Args:
        fetcher: How services are asked.
    """

    def __init__(self, fetcher: Fetcher) -> None:
        self._fetcher = fetcher

    @property
    def online(self) -> bool:
        """Whether services may be asked."""
        return self._fetcher.online

    def search(
        self,
        words: str,
        *,
        limit: int = 10,
        services: Sequence[str] | None = None,
        years: tuple[int | None, int | None] = (None, None),
        refresh: bool = False,
    ) -> Found:
        """Search for papers.

        Args:
            words: What they are about.
            limit: How many at most, 1 to 100.
            services: Names of services; default: all.
            years: First and last year of publication.
            refresh: Ask again what was asked before.

        Raises:
            LiteratureError: When the question makes no sense, or no service answers.
        """
        chosen = list(dict.fromkeys(services or SEARCHES))
        unknown = [name for name in chosen if name not in SEARCHES]
        if unknown:
            raise LiteratureError(
                f"there is no service {unknown[0]!r}", cure=f"Services: {', '.join(SEARCHES)}."
            )
        if not words.strip():
            raise LiteratureError("nothing to search for", cure="Give a few words.")
        if not 1 <= limit <= MAX_RESULTS:
            raise LiteratureError(f"{limit} papers cannot be asked for", cure=f"Give 1 to {MAX_RESULTS}.")
        rankings: list[list[Paper]] = []
        warnings: list[str] = []
        for name in chosen:
            service = SEARCHES[name]
            try:
                answer = self._fetcher.ask(service.question(words.strip(), limit, years), refresh=refresh)
                rankings.append(service.read(answer))
            except LiteratureError as error:
                warnings.append(error.message)
                cure = error.cure
        if not rankings:
            raise LiteratureError("; ".join(warnings), cure=cure)
        return Found(brought_together(rankings, limit), warnings)

    def fetch(self, identifier: str, *, refresh: bool = False) -> Paper:
        """The record of one paper.

        Args:
            identifier: A DOI or an arXiv id.
            refresh: Ask again what was asked before.

        Raises:
            LiteratureError: When it is no identifier, unknown, or the service does not answer.
        """
        question = reference_question(identifier)
        paper = read_reference(self._fetcher.ask(question, refresh=refresh))
        if paper is None:
            raise LiteratureError(
                f"{question.service} does not know {identifier}", cure="Check the identifier."
            )
        return paper


def open_library(
    settings: Settings, environment: Mapping[str, str], *, checkpoint: Path | None = None
) -> Library:
    """The library as it is configured.

    Args:
        settings: `web` turns it on; the services' addresses.
        environment: May hold the key for Semantic Scholar and the address that Crossref asks for.
        checkpoint: A study, which keeps its own answers; without one they go to the user's cache. A replayed
            study asks nobody: the answers that its original kept are all there is.
    """
    replayed = checkpoint is not None and replay_source(checkpoint) is not None
    return Library(
        Fetcher(
            services_of(settings, environment),
            Cache(checkpoint / CACHE if checkpoint is not None else default_folder(environment)),
            online=settings.web and not replayed,
        )
    )


def services_of(settings: Settings, environment: Mapping[str, str]) -> dict[str, Service]:
    """Addresses, pace and headers of the services."""
    mail = environment.get(MAIL_VARIABLE)
    agent = f"ari-research/{version('ari-research')}" + (f" (mailto:{mail})" if mail else "")
    headers: dict[str, Any] = {name: {"User-Agent": agent} for name in SEARCHES}
    if environment.get(KEY_VARIABLE):
        headers["semantic_scholar"]["x-api-key"] = environment[KEY_VARIABLE]
    return {
        name: Service(getattr(settings, f"{name}_url"), _INTERVALS[name], headers[name]) for name in SEARCHES
    }
