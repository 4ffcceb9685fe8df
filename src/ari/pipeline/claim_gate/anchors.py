r"""Anchors of claims, `% CLAIM:Cx:NCx`, and the stretch of text that each stands for.

An anchor behind text stands for the sentences of its line, back to where the first of them begins and, when
it breaks off, on to where the last one ends. An anchor on a line of its own stands for the next text. Several
anchors may share a line. Behind an anchor the writer may name the operands: `metric=K formula=F value=cfg1`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ari.pipeline.claim_gate.sections import Sections
from ari.pipeline.claim_gate.tex import PaperText, Span

_ANCHOR = re.compile(r"CLAIM:(?P<claim>[\w.\-]+):(?P<number>[\w.\-]+)(?P<rest>[^%]*?)(?=%|CLAIM:|$)")
_TOKEN = re.compile(r"(\w+)=(\S+)")
_BOUNDARY = re.compile(
    r"\s*\\(?:(?:sub)*section|paragraph|chapter|begin|end|label|centering|includegraphics|maketitle|title|author"
    r"|toprule|midrule|bottomrule|hline|appendix|documentclass|bibliography)\b"
)
_ITEM = re.compile(r"\s*\\item\b")
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|et~?\s?al|cf|vs|resp|approx|ca|Fig|Figs|Eq|Eqs|Sec|Tab|No|Ref|Refs|Dr|Prof|St|viz|incl"
    r"|max|min|avg)|\b[A-Z])\.$"
)
_STOP = re.compile(r"[.!?][)\]}'\"’”]*(?=\s|$)|\\\\")


@dataclass(frozen=True, slots=True)
class Anchor:
    """One occurrence of an anchor.

    Attributes:
        claim_id: `Cx`.
        numeric_id: `NCx`.
        position: Offset of the anchor.
        line: Line of the anchor itself.
        text_line: Line of the text it stands by.
        region: The stretch of text it stands for.
        section: Canonical name of the section.
        declared: What the writer declares behind it.
    """

    claim_id: str
    numeric_id: str
    position: int
    line: int
    text_line: int
    region: Span
    section: str
    declared: tuple[tuple[str, str], ...] = ()

    @property
    def key(self) -> str:
        """The anchor as it is written, `CLAIM:Cx:NCx`."""
        return f"CLAIM:{self.claim_id}:{self.numeric_id}"


def find_anchors(paper: PaperText, sections: Sections) -> list[Anchor]:
    """Find every anchor in the comments of a paper.

    Args:
        paper: The paper.
        sections: Its sections.

    Returns:
        All occurrences in order of place.
    """
    found: list[Anchor] = []
    for comment in paper.comments:
        text = paper.source[comment.start : comment.end]
        if "CLAIM:" not in text:
            continue
        line = paper.line(comment.start)
        text_line = _text_line(paper, line, comment.start)
        region = _region(paper, text_line, own=text_line == line, comment=comment.start)
        for match in _ANCHOR.finditer(text):
            position = comment.start + match.start()
            found.append(
                Anchor(
                    claim_id=match.group("claim"),
                    numeric_id=match.group("number"),
                    position=position,
                    line=line,
                    text_line=text_line,
                    region=region,
                    section=sections.at(region.start if region.end > region.start else position),
                    declared=tuple(_TOKEN.findall(match.group("rest"))),
                )
            )
    return found


def _text_line(paper: PaperText, line: int, comment: int) -> int:
    """The line an anchor stands by: its own, or the next one with text when it stands alone."""
    start = paper.line_span(line).start
    if paper.plain[start:comment].strip():
        return line
    last = paper.line(max(paper.body.end - 1, 0))
    for following in range(line + 1, last + 1):
        span = paper.line_span(following)
        if paper.plain[span.start : min(span.end, paper.body.end)].strip():
            return following
    return line


def _line_text(paper: PaperText, line: int) -> str:
    span = paper.line_span(line)
    return paper.plain[max(span.start, paper.body.start) : min(span.end, paper.body.end)]


def _region(paper: PaperText, line: int, *, own: bool, comment: int) -> Span:
    text = _line_text(paper, line)
    span = paper.line_span(line)
    start = max(span.start, paper.body.start)
    start += len(text) - len(text.lstrip())
    if own and not _BOUNDARY.match(text) and not _ITEM.match(text):
        start = _sentence_start(paper, line, start)
    end = min(comment if own else span.end, paper.body.end)
    shown = paper.plain[start:end].rstrip()
    if not _ends_sentence(shown) and not _BOUNDARY.match(text):
        return Span(start, _sentence_end(paper, line, end))
    return Span(start, max(start, end))


def _ends_sentence(text: str) -> bool:
    text = text.rstrip(" \t\n}$")
    if text.endswith("\\\\"):
        return True
    return bool(re.search(r"[.!?][)\]'\"’”]*$", text)) and not _ABBREVIATION.search(text)


def _sentence_start(paper: PaperText, line: int, start: int) -> int:
    """Walk back over the lines that belong to the sentence the line goes on with."""
    for previous in range(line - 1, 0, -1):
        span = paper.line_span(previous)
        if span.end < paper.body.start:
            break
        text = _line_text(paper, previous)
        if not text.strip():
            if paper.source[span.start : span.end].strip():
                continue  # a line that holds a comment only
            break
        if _BOUNDARY.match(text):
            break
        stops = [stop for stop in _STOP.finditer(text) if _is_stop(text, stop)]
        if stops:
            rest = text[stops[-1].end() :]
            if rest.strip():
                start = max(span.start, paper.body.start) + stops[-1].end() + len(rest) - len(rest.lstrip())
            break
        start = max(span.start, paper.body.start) + len(text) - len(text.lstrip())
        if _ITEM.match(text):
            break
    return start


def _is_stop(text: str, stop: re.Match[str]) -> bool:
    return stop.group().startswith("\\") or not _ABBREVIATION.search(text[: stop.start() + 1])


def _sentence_end(paper: PaperText, line: int, end: int) -> int:
    """Walk on to the end of the sentence that a line breaks off."""
    last = paper.line(max(paper.body.end - 1, 0))
    for following in range(line + 1, last + 1):
        span = paper.line_span(following)
        text = _line_text(paper, following)
        if not text.strip() or _BOUNDARY.match(text) or _ITEM.match(text):
            break
        stop = next((stop for stop in _STOP.finditer(text) if _is_stop(text, stop)), None)
        if stop is not None:
            return min(span.start + stop.end(), paper.body.end)
        end = min(span.end, paper.body.end)
    return end
