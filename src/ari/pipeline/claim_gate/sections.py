"""Sections of a paper under canonical names, and which of them the gate is strict about."""

from __future__ import annotations

import re
from bisect import bisect_right

from ari.pipeline.claim_gate.tex import PaperText, argument

STRICT_SECTIONS = frozenset({"abstract", "results", "conclusion"})
"""Every result number needs an assertion here."""

WARN_SECTIONS = frozenset({"introduction", "discussion", "limitations"})
"""A result number without an assertion is a warning here. In all other sections none is counted."""

FRONT_MATTER = "front_matter"
"""Text before the first section that is not the abstract."""

_NAMES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(pattern, re.IGNORECASE))
    for name, pattern in (
        ("abstract", r"^abstract"),
        ("experimental_setup", r"\bset-?\s?up\b|\bsettings\b|\benvironment\b|\bprotocol\b"),
        ("related_work", r"\brelated\b|\bprior work\b|\bbackground\b|\bprevious work\b"),
        ("conclusion", r"\bconclu|\bsummary\b|\bclosing\b|\boutlook\b"),
        ("limitations", r"\blimit(ation)?s?\b|\bthreats to validity\b"),
        ("introduction", r"\bintro|\bmotivation\b"),
        (
            "results",
            r"\bresults?\b|\bexperiments?\b|\bevaluation\b|\bfindings\b|\bablations?\b|\bperformance\b"
            r"|\bmeasurements\b|\btried\b|\banalysis\b|\bcomparison\b",
        ),
        ("discussion", r"\bdiscuss"),
        ("methodology", r"\bmethod|\bapproach\b|\balgorithm|\bimplementation\b|\bdesign\b|\bmodel\b"),
        ("data", r"\bdata(set)?s?\b"),
        ("reproducibility", r"\breproduc|\bavailability\b|\bartifacts?\b"),
        ("acknowledgements", r"\backnowledg"),
        ("appendix", r"\bappendi|\bsupplement|\bevidence\b"),
        ("references", r"\breferences\b|\bbibliography\b"),
    )
)
_HEADING = re.compile(
    r"\\(?:(?P<level>(?:sub)*section|chapter|part)\*?(?:\[[^\]]*\])?(?=\s*\{)"
    r"|(?P<abstract>begin\s*\{abstract\})|(?P<end>end\s*\{abstract\})|(?P<appendix>appendix\b)"
    r"|(?P<references>begin\s*\{thebibliography\}))"
)


def canonical(title: str) -> str:
    """Give a heading its canonical name; `other` when it is none of those known."""
    for name, pattern in _NAMES:
        if pattern.search(title):
            return name
    return "other"


class Sections:
    """The sections of a paper, asked by place."""

    def __init__(self, paper: PaperText) -> None:
        self._starts = [0]
        self._names = [FRONT_MATTER]
        outer, appendix = FRONT_MATTER, False
        text = paper.source
        hidden = _Hidden(paper)
        for match in _HEADING.finditer(text, paper.body.start, paper.body.end):
            if match.start() in hidden:
                continue
            if match.group("level"):
                title = argument(text, match.end())
                name = canonical(text[title.start : title.end]) if title else "other"
                if match.group("level").startswith("sub"):
                    name = name if name == "experimental_setup" or outer in ("other", FRONT_MATTER) else outer
                else:
                    outer = name = "appendix" if appendix else name
            elif match.group("appendix"):
                appendix, outer, name = True, "appendix", "appendix"
            elif match.group("abstract"):
                name = "abstract"
            elif match.group("references"):
                name = "references"
            else:
                name = outer
            self._starts.append(match.start())
            self._names.append(name)

    def at(self, position: int) -> str:
        """Name the section that a place lies in."""
        return self._names[bisect_right(self._starts, position) - 1]


class _Hidden:
    """Places in comments."""

    def __init__(self, paper: PaperText) -> None:
        self._comments = paper.comments
        self._starts = [span.start for span in paper.comments]

    def __contains__(self, position: object) -> bool:
        if not isinstance(position, int):
            return False
        index = bisect_right(self._starts, position) - 1
        return index >= 0 and position < self._comments[index].end
