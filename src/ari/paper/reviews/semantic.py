"""The semantic review by rules: over-claiming words, causes without ablation, unseen ranges, no uncertainty.

It is grounded in `science_data.json`: whether there is an ablation, a test beyond the range, a spread. It
never blocks; when it cannot be made, an empty review with status `ok` takes its place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ari.checkpoint.files import atomic_write
from ari.formats.base import read_json
from ari.formats.semantic_review import SemanticReview
from ari.paper.reviews.reading import ANCHOR, Line, prose_lines
from ari.paths import inside

REVIEW = "evaluation/evidence_grounded_semantic_review.json"
POST_REFINE = "evaluation/evidence_grounded_semantic_review_post_refine.json"
PAPER = "full_paper.tex"

CLAIMING = frozenset({"abstract", "results", "discussion", "conclusion", "introduction", "limitations"})

OVERCLAIMING: tuple[tuple[str, str], ...] = (
    (r"\bproves\b", "supports"), (r"\bproved\b", "supported"), (r"\bproven\b", "supported"),
    (r"\bprove\b", "support"),
    (r"\bguarantees\b", "suggests"), (r"\bguaranteed to\b", "found to"), (r"\bguarantee\b", "suggest"),
    (r"\bundoubtedly\b", "by these data"), (r"\bunquestionably\b", "by these data"), (r"\bobviously\s", ""),
    (r"\bclearly demonstrates\b", "indicates"), (r"\bconclusively\s", ""), (r"\bdefinitively\s", ""),
    (r"\bperfectly\b", "closely"), (r"\bflawless(?:ly)?\b", "close"),
    (r"\bstate[- ]of[- ]the[- ]art\b", "tested"),
    (r"\bgroundbreaking\b", "new here"), (r"\brevolutionary\b", "new here"), (r"\bunprecedented\b", "large"),
    (r"\bthe optimal\b", "the best measured"), (r"\bthe best possible\b", "the best measured"),
    (r"\bdramatic(?:ally)?\s", ""), (r"\bvastly\s", ""), (r"\bremarkabl[ey]\s", ""),
)  # fmt: skip
"""Words that claim more than a measurement can give, and what may stand instead."""

CAUSAL: tuple[tuple[str, str], ...] = (
    (r"\bis caused by\b", "goes together with"), (r"\bare caused by\b", "go together with"),
    (r"\bcauses\b", "goes together with"), (r"\bcaused by\b", "going together with"),
    (r"\bleads to\b", "goes with"),
    (r"\bresults from\b", "goes with"), (r"\bis due to\b", "goes with"), (r"\bare due to\b", "go with"),
    (r"\bis driven by\b", "goes with"), (r"\bdrives\b", "goes with"),
    (r"\bis responsible for\b", "goes with"),
)  # fmt: skip
"""Words of cause and effect; without an ablation only a going together was seen."""

UNSEEN: tuple[tuple[str, str], ...] = (
    (r"\bfor all values\b", "for the values measured"), (r"\bfor any value\b", "for the values measured"),
    (r"\bfor every value\b", "for the values measured"), (r"\buniversally\b", "within the data"),
    (r"\bin general holds\b", "holds within the data"), (r"\balways holds\b", "holds within the data"),
    (r"\bfor arbitrary\b", "for the measured"), (r"\bat any scale\b", "at the scales measured"),
    (r"\bunder all conditions\b", "under the conditions measured"),
)  # fmt: skip
"""Words that reach beyond what was measured."""

_SPREAD = re.compile(r"_(?:n|min|max|ci95_low|ci95_high)$|^(?:sealed_n|nrmse_resplit)$")


@dataclass(frozen=True)
class Evidence:
    """What the review may hold a sentence against.

    Attributes:
        ablated: Whether a part or a parameter was taken out and measured.
        beyond: Whether anything was measured beyond the fitted range.
        metrics: Anchor to the metric it states.
        spread: Whether a number of values, a range or an interval is recorded.
    """

    ablated: bool
    beyond: bool
    metrics: Mapping[str, str]
    spread: bool


def evidence_grounded_semantic_review(
    *, checkpoint: Path, phase: str = "initial", paper: str = PAPER
) -> dict[str, Any]:
    """Review the paper against the evidence and write the review under `evaluation/`.

    Args:
        checkpoint: The study.
        phase: `initial`, or `post_refine` for the variant behind the revisions.
        paper: The source to review, relative to the checkpoint.

    Returns:
        The review; `summary`. When it cannot be made: an empty one with status `ok`.
    """
    later = phase == "post_refine"
    try:
        tex = inside(checkpoint, paper).read_text(encoding="utf-8")
        review = review_text(tex, read_json(checkpoint / "science_data.json"), later=later)
        problem = ""
    except Exception as error:  # noqa: BLE001 - by the specification an error gives an empty review, never a block
        review = _empty(later=later)
        problem = f"no review was made: {error}"
    target = checkpoint / (POST_REFINE if later else REVIEW)
    target.parent.mkdir(exist_ok=True)
    atomic_write(target, review.to_bytes())
    count = len(review.warnings)
    summary = (
        problem
        or f"{count} objection{'' if count == 1 else 's'}, {len(review.suggested_revisions)} with a cure"
    )
    return {**review.to_dict(), "summary": summary}


def _empty(*, later: bool) -> SemanticReview:
    return SemanticReview(
        stage="evidence_grounded_semantic_review", phase="post_refine" if later else "initial", status="ok",
        scores={}, warnings=[], suggested_revisions=[],
    )  # fmt: skip


def review_text(tex: str, science_data: Mapping[str, Any], *, later: bool = False) -> SemanticReview:
    """Review a source.

    Args:
        tex: The paper.
        science_data: The parsed `science_data.json`.
        later: Whether it is the review behind the revisions.
    """
    evidence = read_evidence(science_data)
    lines = [line for line in prose_lines(tex) if line.section in CLAIMING]
    findings: list[dict[str, Any]] = []
    for line in lines:
        findings += _words(line, "overclaiming", OVERCLAIMING, "says more than a measurement can")
        if not evidence.ablated:
            findings += _words(
                line, "causal_without_ablation", CAUSAL, "states a cause, but nothing was taken out"
            )
        if not evidence.beyond:
            findings += _words(line, "unseen_range", UNSEEN, "reaches beyond the range that was measured")
    findings += _uncertainty(lines, evidence)
    kinds = ("overclaiming", "causal_without_ablation", "unseen_range", "missing_uncertainty")
    total = max(len(lines), 1)
    scores = {
        kind: round(1 - min(1.0, sum(f["kind"] == kind for f in findings) / total), 4) for kind in kinds
    }
    document = {
        "stage": "evidence_grounded_semantic_review",
        "phase": "post_refine" if later else "initial",
        "status": "warn" if findings else "ok",
        "scores": scores,
        "warnings": [{k: v for k, v in f.items() if k not in ("find", "replace")} for f in findings],
        "suggested_revisions": [
            {key: f[key] for key in ("line", "section", "find", "replace")} | {"reason": f["message"]}
            for f in findings if "find" in f
        ],
    }  # fmt: skip
    return SemanticReview.from_document(document, source=REVIEW)


def read_evidence(science_data: Mapping[str, Any]) -> Evidence:
    """Find in the science data what the rules ask for."""
    claims = [claim for claim in science_data.get("claims") or () if isinstance(claim, Mapping)]
    metrics: dict[str, str] = {}
    for claim in claims:
        for assertion in claim.get("numeric_assertions") or ():
            metrics[f"CLAIM:{claim.get('id')}:{assertion.get('id')}"] = _metric(assertion)
    known = set(metrics.values())
    return Evidence(
        ablated=any(
            claim.get("kind") == "ablation" or claim.get("section") == "ablations" for claim in claims
        ),
        beyond="nrmse_extrapolation" in known,
        metrics=metrics,
        spread=any(_SPREAD.search(name) for name in known),
    )


def _metric(assertion: Mapping[str, Any]) -> str:
    operands = assertion.get("operands")
    if assertion.get("formula") == "identity" and isinstance(operands, Mapping):
        place = operands.get("value")
        path = place.get("metric_path") if isinstance(place, Mapping) else None
        if isinstance(path, str):
            return path.partition(".")[2]
    return str(assertion.get("metric") or "")


def _words(
    line: Line, kind: str, table: tuple[tuple[str, str], ...], message: str
) -> Iterator[dict[str, Any]]:
    for pattern, replacement in table:
        for match in re.finditer(pattern, line.text, re.IGNORECASE):
            yield {
                "kind": kind,
                "line": line.number,
                "section": line.section,
                "text": match.group().strip(),
                "message": f"{match.group().strip()!r} {message}",
                "find": match.group(),
                "replace": _like(match.group(), replacement),
            }


def _like(found: str, replacement: str) -> str:
    return replacement[:1].upper() + replacement[1:] if found[:1].isupper() else replacement


def _uncertainty(lines: list[Line], evidence: Evidence) -> Iterator[dict[str, Any]]:
    """A section that states results but neither a count nor a range, although they are recorded."""
    if not evidence.spread:
        return
    stated: Callable[[Line], list[str]] = lambda line: [evidence.metrics.get(a, "") for a in line.anchors]  # noqa: E731
    for section in ("abstract", "results"):
        own = [line for line in lines if line.section == section]
        metrics = [name for line in own for name in stated(line) if name]
        if metrics and not any(_SPREAD.search(name) for name in metrics):
            first = next(line for line in own if line.anchors)
            yield {
                "kind": "missing_uncertainty",
                "line": first.number,
                "section": section,
                "message": f"the {section} states results without the number of values, a range or an "
                f"interval",
            }


__all__ = ["ANCHOR", "evidence_grounded_semantic_review", "review_text"]
