"""The bibliography of a paper: the entries it cites from our own, beside whatever the study already has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from ari.errors import PaperError

OWN = Path(__file__).with_name("references.bib")
_ENTRY = re.compile(r"^@\w+\{([^,\s]+),.*?^\}\s*$", re.MULTILINE | re.DOTALL)
_KEY = re.compile(r"^\s*@\s*(?!comment\b|string\b|preamble\b)\w+\s*[{(]\s*([^\s,{}()]+)\s*,", re.M | re.I)


def entries() -> dict[str, str]:
    """Key to entry of the bibliography that ships."""
    text = OWN.read_text(encoding="utf-8")
    return {match.group(1): match.group(0).strip() for match in _ENTRY.finditer(text)}


def bibliography(cited: Sequence[str], existing: str = "") -> str:
    """The content of `refs.bib`.

    Args:
        cited: Keys that the paper cites, in order.
        existing: What the file holds already; kept as it is, entries of the same key win.

    Returns:
        The file.

    Raises:
        PaperError: When a cited key has no entry anywhere.
    """
    known, present = entries(), set(_KEY.findall(existing))
    added = []
    for key in dict.fromkeys(cited):
        if key in present:
            continue
        if key not in known:
            raise PaperError(f"the paper cites {key!r}, which stands in no bibliography")
        added.append(known[key])
    parts = ([existing.rstrip()] if existing.strip() else []) + added
    return "\n\n".join(parts) + "\n" if parts else ""
