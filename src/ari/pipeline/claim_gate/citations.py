r"""Citations: every key of a `\cite` must stand in the bibliography that the paper names.

Whether a source says what the sentence claims is beyond a program; whether it exists is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ari.errors import PathEscapeError
from ari.paths import inside
from ari.pipeline.claim_gate.tex import PaperText

_CITE = re.compile(
    r"\\(?:no)?(?:paren|text|auto|foot|full)?[cC]ite[a-z]*\*?(?:\s*\[[^\]]*\]){0,2}\s*\{([^{}]*)\}"
)
_FILES = re.compile(r"\\(?:bibliography|addbibresource)\s*(?:\[[^\]]*\])?\{([^{}]*)\}")
_ITEM = re.compile(r"\\bibitem\s*(?:\[[^\]]*\])?\s*\{([^{}]+)\}")
_ENTRY = re.compile(r"^\s*@\s*(?!comment\b|string\b|preamble\b)\w+\s*[{(]\s*([^\s,{}()]+)\s*,", re.M | re.I)


class Citation(NamedTuple):
    """A key that is cited: where, and which."""

    position: int
    key: str


class Bibliography(NamedTuple):
    """What the paper can cite.

    Attributes:
        declared: Whether the paper names a bibliography at all.
        keys: The keys of its entries.
        missing: Files that do not exist.
    """

    declared: bool
    keys: frozenset[str]
    missing: tuple[str, ...]


def find_citations(paper: PaperText) -> Iterator[Citation]:
    """Find the cited keys of the body, in order."""
    for match in _CITE.finditer(paper.uncommented, *paper.body):
        for key in match.group(1).split(","):
            if key.strip() and key.strip() != "*":
                yield Citation(match.start(), key.strip())


def read_bibliography(paper: PaperText, directory: Path) -> Bibliography:
    """Read the bibliography a paper names.

    Args:
        paper: The paper.
        directory: Where its files lie.

    Returns:
        The bibliography.
    """
    keys = set(_ITEM.findall(paper.uncommented))
    names = [name.strip() for match in _FILES.findall(paper.uncommented) for name in match.split(",")]
    missing = []
    for name in filter(None, names):
        file = name if name.endswith(".bib") else f"{name}.bib"
        try:
            text = inside(directory, file).read_text(encoding="utf-8", errors="replace")
        except (OSError, PathEscapeError):
            missing.append(file)
        else:
            keys.update(_ENTRY.findall(text))
    return Bibliography(bool(keys or names), frozenset(keys), tuple(missing))
