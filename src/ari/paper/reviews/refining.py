"""Applying suggested revisions to a paper: words may change, anchors, numbers and formulas may not.

A revision is taken only if its text stands on its line, and if afterwards the line has the same anchors,
links and digits as before; whatever else is suggested is listed as not taken, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ari.checkpoint.files import atomic_write
from ari.errors import PaperError
from ari.formats.base import read_json
from ari.formats.jsonio import strict_dumps
from ari.paper.writing import paper_file
from ari.paths import inside

MERGED = "evaluation/merged_reviews.json"
REFINEMENT = "evaluation/paper_refine.json"
PAPER = "full_paper.tex"


class Refined(NamedTuple):
    """What came of a set of revisions.

    Attributes:
        tex: The paper afterwards.
        applied: The revisions that were taken.
        declined: The others, each with `declined`, the reason.
    """

    tex: str
    applied: list[dict[str, Any]]
    declined: list[dict[str, Any]]


def paper_refine(*, checkpoint: Path, draft: str = PAPER, paper: str = PAPER) -> dict[str, Any]:
    """Apply the revisions that the reviews suggest, keeping every anchor, number and formula.

    Args:
        checkpoint: The study; the paper is written and `evaluation/paper_refine.json` says what was done.
        draft: The source that was reviewed, relative to the checkpoint.
        paper: The source to write; the same as the draft for a change in place.

    Returns:
        `applied`, `declined`: how many; `summary`.

    Raises:
        PaperError: When there is no paper.
    """
    source = inside(checkpoint, draft)
    if not source.is_file():
        raise PaperError(f"{source} does not exist", cure="Write it first: ari paper CHECKPOINT")
    merged = checkpoint / MERGED
    document = read_json(merged) if merged.is_file() else {}
    revisions = document.get("suggested_revisions") if isinstance(document, Mapping) else None
    refined = apply_revisions(source.read_text(encoding="utf-8"), revisions or [])
    atomic_write(paper_file(checkpoint, paper), refined.tex.encode("utf-8"))
    report = {"draft": draft, "paper": paper, "applied": refined.applied, "declined": refined.declined}
    (checkpoint / REFINEMENT).parent.mkdir(exist_ok=True)
    atomic_write(checkpoint / REFINEMENT, strict_dumps(report, indent=True))
    summary = f"{len(refined.applied)} revisions applied, {len(refined.declined)} declined"
    return {"applied": len(refined.applied), "declined": len(refined.declined), "summary": summary}


def apply_revisions(tex: str, revisions: Sequence[object]) -> Refined:
    """Apply revisions one by one.

    Args:
        tex: The paper.
        revisions: Objects with `line`, `find`, `replace`; others are declined.

    Returns:
        The paper and what was done. Its number of lines and its anchors are those of before.
    """
    lines = tex.split("\n")
    applied: list[dict[str, Any]] = []
    declined: list[dict[str, Any]] = []
    for revision in revisions:
        entry = dict(revision) if isinstance(revision, Mapping) else {"revision": str(revision)}
        reason, changed = _changed(lines, entry)
        if reason:
            declined.append(entry | {"declined": reason})
            continue
        lines[int(entry["line"]) - 1] = changed
        applied.append(entry)
    return Refined("\n".join(lines), applied, declined)


def _changed(lines: Sequence[str], revision: Mapping[str, Any]) -> tuple[str, str]:
    """Why a revision is not taken, or the line as it makes it."""
    line, find, replace = (revision.get(key) for key in ("line", "find", "replace"))
    if not isinstance(line, int) or isinstance(line, bool) or not 1 <= line <= len(lines):
        return "it names no line of the paper", ""
    if not isinstance(find, str) or not find or not isinstance(replace, str):
        return "it says no text to put in the place of another", ""
    text, comment = _parts(lines[line - 1])
    if find not in text:
        return "its text does not stand on that line", ""
    changed = text.replace(find, replace, 1)
    if "\n" in replace or re.search(r"(?<!\\)%", changed):
        return "it would break the line", ""
    if _kept(changed) != _kept(text):
        return "it would change a number, a link, a formula or a reference", ""
    if changed.count("{") != changed.count("}") or re.findall(r"\\[A-Za-z]+", replace):
        return "it would change the markup", ""
    return "", re.sub(r"(?<=\S) {2,}(?=\S)", " ", changed) + comment


def _parts(line: str) -> tuple[str, str]:
    match = re.search(r"(?<!\\)%", line)
    return (line, "") if match is None else (line[: match.start()], line[match.start() :])


def _kept(text: str) -> tuple[list[str], list[str], list[str]]:
    """What a revision may not touch: digits, commands and mathematics, in their order."""
    return (
        re.findall(r"\d+", text),
        re.findall(r"\\(?:hyperlink|ref|cite|label|path|texttt)\{[^{}]*\}", text),
        re.findall(r"\$[^$]*\$", text),
    )
