"""What is known about a topic: from the services where they may be asked, else from what is at hand.

At hand are the answers that were kept, the bibliographies (the one that ships, and the study's `refs.bib`),
and what the nodes of the study remember.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ari.errors import LiteratureError
from ari.literature.library import Library
from ari.literature.papers import Paper, one_line
from ari.memory import open_memory

_ENTRY = re.compile(r"^@\w+\{([^,\s]+),(.*?)^\}\s*$", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^\s*(\w+)\s*=\s*[{\"](.*?)[}\"]\s*,?\s*$", re.MULTILINE | re.DOTALL)
_SMALL = frozenset({"the", "and", "for", "with", "from", "does", "how", "what", "that", "this", "are", "its"})
MAX_WORDS = 12


def survey(
    topic: str, *, library: Library, bibliographies: dict[str, str], checkpoint: Path | None, limit: int = 10
) -> dict[str, Any]:
    """Bring together what is known about a topic.

    Args:
        topic: In words.
        library: The services and the answers that were kept.
        bibliographies: BibTeX texts at hand, by name.
        checkpoint: The study whose memory is asked; None for no study.
        limit: Number of papers, and of memories, at most.

    Returns:
        `source`: `web` or `local`; `papers`, best first; `memory`: entries of the study; `warnings`.
    """
    words = " ".join(_words(topic)[:MAX_WORDS]) or topic
    warnings: list[str] = []
    papers: list[Paper] = []
    source = "local"
    try:
        found = library.search(words, limit=limit)
        papers, source = found.papers, "web"
        warnings += found.warnings
    except LiteratureError as error:
        warnings.append(error.message)
        papers = _at_hand(topic, bibliographies)[:limit]
    return {
        "topic": topic,
        "query": words,
        "source": source,
        "papers": [paper.model_dump(mode="json") for paper in papers],
        "memory": _remembered(topic, checkpoint, limit),
        "warnings": warnings,
    }


def _words(text: str) -> list[str]:
    found = [word for word in re.findall(r"[^\W\d_]{3,}", text.casefold()) if word not in _SMALL]
    return list(dict.fromkeys(found))


def _at_hand(topic: str, bibliographies: dict[str, str]) -> list[Paper]:
    """The entries of bibliographies that share most words with the topic, then the others."""
    wanted = set(_words(topic))
    papers = [paper for name, text in bibliographies.items() for paper in read_bibliography(text, name)]
    unique = {frozenset(paper.names): paper for paper in papers}.values()
    return sorted(unique, key=lambda paper: -len(wanted & set(_words(paper.title))))


def read_bibliography(text: str, source: str) -> list[Paper]:
    """The papers of a BibTeX text; entries without a title are passed over."""
    papers = []
    for _, body in _ENTRY.findall(text):
        fields = {name.lower(): value for name, value in _FIELD.findall(body)}
        title = one_line(re.sub(r"[{}]", "", fields.get("title", "")))
        if title is None:
            continue
        year = fields.get("year", "")
        authors = re.split(r"\s+and\s+", " ".join(fields.get("author", "").split()))
        papers.append(
            Paper(
                title=title,
                authors=tuple(author for author in authors if author),
                year=int(year) if year.isdigit() else None,
                venue=one_line(fields.get("journal") or fields.get("booktitle")),
                doi=one_line(fields.get("doi")),
                sources=(source,),
            )
        )
    return papers


def _remembered(topic: str, checkpoint: Path | None, limit: int) -> list[dict[str, Any]]:
    if checkpoint is None:
        return []
    store = open_memory(checkpoint)
    nodes = {entry.node_id for entry in store.entries()}
    return [entry.record() for entry in store.recall(topic, node_ids=nodes, limit=limit)]
