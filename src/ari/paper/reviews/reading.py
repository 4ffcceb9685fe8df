"""The sentences of a paper as a reviewer reads them: where each stands, and its anchors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ari.pipeline.claim_gate.sections import FRONT_MATTER, Sections
from ari.pipeline.claim_gate.tex import PaperText, read_paper

ANCHOR = re.compile(r"CLAIM:(?P<claim>[\w.\-]+):(?P<number>[\w.\-]+)")
_MARKUP = re.compile(
    r"\s*\\(?:(?:sub)*section|label|begin|end|centering|includegraphics|title|author|date|maketitle|toprule"
    r"|midrule|bottomrule|footnotesize|vspace|bibliography|appendix|caption)\b"
)
UNREAD = frozenset({"appendix", "references", "reproducibility"})


class Line(NamedTuple):
    """One line of prose.

    Attributes:
        number: Its line in the source, from 1.
        section: Canonical name of its section.
        text: The line without its comment.
        anchors: The anchors in its comment, `CLAIM:Cx:NCx`.
    """

    number: int
    section: str
    text: str
    anchors: tuple[str, ...]


def prose_lines(tex: str) -> Iterator[Line]:
    """The lines of a paper that hold prose: no markup, tables, displayed formulas, or appendix."""
    paper = read_paper(tex)
    sections = Sections(paper)
    for number, raw in enumerate(tex.splitlines(), 1):
        span = paper.line_span(number)
        if not paper.body.start <= span.start < paper.body.end:
            continue
        section = sections.at(span.start)
        text, comment = _split(raw)
        if not text.strip() or section in UNREAD or section == FRONT_MATTER or _MARKUP.match(text):
            continue
        if _hidden(paper, span.start) or not paper.plain[span.start : span.end].strip():
            continue
        yield Line(number, section, text, tuple(match.group() for match in ANCHOR.finditer(comment)))


def _split(line: str) -> tuple[str, str]:
    match = re.search(r"(?<!\\)%", line)
    return (line, "") if match is None else (line[: match.start()], line[match.start() :])


def _hidden(paper: PaperText, position: int) -> bool:
    return position in paper.tables or position in paper.displays
