"""Review against a rubric: criteria with weights and rule-based checks, from `configs/rubrics/*.yaml`.

A rubric lists criteria; each names checks of this module and asks for a share of them. The result scores the
form of a paper (does it say where its numbers come from, what failed, how sure it is), not its worth.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ari.checkpoint.files import atomic_write
from ari.errors import ConfigError
from ari.formats.base import read_json
from ari.formats.jsonio import strict_dumps
from ari.paper.reviews.reading import Line, prose_lines
from ari.paper.reviews.semantic import read_evidence, review_text
from ari.paths import inside
from ari.pipeline.claim_gate.sections import Sections, canonical
from ari.pipeline.claim_gate.tex import PaperText, read_paper

RUBRICS = Path(__file__).resolve().parents[2] / "configs" / "rubrics"
REVIEW = "evaluation/rubric_review.json"
PAPER = "full_paper.tex"
SCALE = 5.0


@dataclass(frozen=True)
class Reading:
    """A paper as the checks see it."""

    tex: str
    paper: PaperText
    sections: Sections
    lines: tuple[Line, ...]
    science: Mapping[str, Any]

    def titles(self) -> set[str]:
        """Canonical names of the sections and the lower-case titles themselves."""
        found = {t.lower() for t in re.findall(r"\\section\*?\{([^{}]*)\}", self.tex)}
        names = {canonical(title) for title in found}
        return found | names | ({"abstract"} if r"\begin{abstract}" in self.tex else set())


Check = Callable[[Reading], str]
"""A check says what is wrong; the empty text for nothing."""


def _section(name: str) -> Check:
    return lambda paper: "" if name in paper.titles() else f"there is no section on {name.replace('_', ' ')}"


def _numbers_anchored(paper: Reading) -> str:
    bare = [line for line in paper.lines if line.section in ("abstract", "results", "conclusion")]
    open_lines = [
        line
        for line in bare
        if re.search(r"(?<![\w$.{])\d+\.\d+", _links_removed(line.text)) and not line.anchors
    ]
    return f"line {open_lines[0].number} states a number without an anchor" if open_lines else ""


def _links_removed(text: str) -> str:
    return re.sub(r"\\(?:path|texttt|ref|cite)\{[^{}]*\}", "", text)


def _figures_referenced(paper: Reading) -> str:
    labels = set(re.findall(r"\\label\{(fig:[^{}]+)\}", paper.tex))
    referenced = set(re.findall(r"\\ref\{(fig:[^{}]+)\}", paper.tex))
    missing = sorted(labels - referenced)
    return f"the text does not refer to {', '.join(missing)}" if missing else ""


def _has_figures(paper: Reading) -> str:
    return "" if r"\includegraphics" in paper.tex else "there is no figure"


def _uncertainty_stated(paper: Reading) -> str:
    evidence = read_evidence(paper.science)
    if not evidence.spread:
        return ""
    stated = {evidence.metrics.get(anchor, "") for line in paper.lines for anchor in line.anchors}
    spread = any(re.search(r"_(?:n|min|max|ci95_low|ci95_high)$", name) for name in stated)
    return "" if spread else "no number of values, range or interval is stated"


def _modest(paper: Reading) -> str:
    kinds = {w.kind for w in review_text(paper.tex, paper.science).warnings}
    hard = sorted(kinds & {"overclaiming", "causal_without_ablation", "unseen_range"})
    return (
        f"the wording claims too much ({', '.join(kind.replace('_', ' ') for kind in hard)})" if hard else ""
    )


def _several_limits(paper: Reading) -> str:
    found = [line for line in paper.lines if line.section == "limitations"]
    return "" if len(found) >= 2 else "fewer than two limitations are named"


def _failures_listed(paper: Reading) -> str:
    left_out = [e for e in paper.science.get("left_out") or () if isinstance(e, Mapping)]
    missing = [str(e.get("node_id")) for e in left_out if str(e.get("node_id", "")) not in _names(paper.tex)]
    return f"{', '.join(missing[:3])} failed or was left out and is not mentioned" if missing else ""


def _names(tex: str) -> str:
    return tex.replace(r"\allowbreak{}", "").replace(r"\_", "_")


def _cites(paper: Reading) -> str:
    return "" if re.search(r"\\cite[a-z]*\{", paper.tex) else "nothing is cited"


def _binds(paper: Reading) -> str:
    return "" if re.search(r"[0-9a-f]{12,}", paper.tex) else "no digest binds the paper to its files"


def _commands(paper: Reading) -> str:
    return "" if "ari gate" in paper.tex else "it does not say how to check its numbers"


def _abstract_length(paper: Reading) -> str:
    words = sum(len(line.text.split()) for line in paper.lines if line.section == "abstract")
    return "" if 25 <= words <= 300 else f"the abstract has {words} words"


CHECKS: dict[str, Check] = {
    **{f"section_{name}": _section(name) for name in (
        "abstract", "introduction", "data", "methodology", "results", "limitations",
        "conclusion", "reproducibility",         "ablations", "what was tried")},
    "numbers_anchored": _numbers_anchored, "figures_referenced": _figures_referenced,
    "has_figures": _has_figures,     "uncertainty_stated": _uncertainty_stated, "modest_wording": _modest,
    "several_limitations": _several_limits, "failures_listed": _failures_listed,
    "cites_work": _cites, "binds_files": _binds,
    "says_how_to_check": _commands,     "abstract_length": _abstract_length,
}  # fmt: skip
"""The checks a rubric may name."""


def rubric_names() -> list[str]:
    """Names of the rubrics that ship."""
    return sorted(path.stem for path in RUBRICS.glob("*.yaml"))


def read_rubric(rubric: str, folder: Path | None = None) -> dict[str, Any]:
    """Read a rubric by its name, or a file of the study.

    Raises:
        ConfigError: When there is none, or it names a check that does not exist.
        PathEscapeError: When the file lies outside the study.
    """
    import yaml

    own = inside(RUBRICS, f"{rubric}.yaml")
    path = own if own.is_file() or folder is None else inside(folder, rubric)
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError:
        raise ConfigError(
            f"there is no rubric {rubric!r}", cure=f"Rubrics: {', '.join(rubric_names())}; or name a file."
        ) from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{path} is not YAML: {error}") from None
    criteria = document.get("criteria") if isinstance(document, dict) else None
    if not isinstance(criteria, list) or not all(isinstance(c, dict) and "id" in c for c in criteria):
        raise ConfigError(f"{path}: a rubric lists `criteria`, each with an `id`, a `weight` and `checks`")
    unknown = sorted({name for c in criteria for name in c.get("checks", ()) if name not in CHECKS})
    if unknown:
        raise ConfigError(
            f"{path} names unknown checks: {', '.join(unknown)}", cure=f"Known: {', '.join(sorted(CHECKS))}."
        )
    return dict(document)


def review_paper(*, checkpoint: Path, rubric: str = "default", paper: str = PAPER) -> dict[str, Any]:
    """Score the paper by a rubric and write `evaluation/rubric_review.json`.

    Args:
        checkpoint: The study.
        rubric: Name of a rubric that ships, or a file relative to the checkpoint.
        paper: The source, relative to the checkpoint.

    Returns:
        The review; `summary`.

    Raises:
        ConfigError: When there is no such rubric.
        FormatError: When the paper or `science_data.json` cannot be read.
    """
    document = read_rubric(rubric, checkpoint)
    tex = inside(checkpoint, paper).read_text(encoding="utf-8")
    review = score(tex, read_json(checkpoint / "science_data.json"), document)
    target = checkpoint / REVIEW
    target.parent.mkdir(exist_ok=True)
    atomic_write(target, strict_dumps(review, indent=True))
    return {**review, "summary": f"{review['overall']:g} of {SCALE:g} by the rubric {rubric}"}


def score(tex: str, science: Mapping[str, Any], rubric: Mapping[str, Any]) -> dict[str, Any]:
    """Score a source by a rubric: per criterion the share of its checks that pass, on a scale to five."""
    paper = read_paper(tex)
    reading = Reading(tex, paper, Sections(paper), tuple(prose_lines(tex)), science)
    criteria: list[dict[str, Any]] = []
    warnings: list[dict[str, Any]] = []
    for criterion in rubric["criteria"]:
        problems = {name: CHECKS[name](reading) for name in criterion.get("checks", ())}
        failed = {name: text for name, text in problems.items() if text}
        share = 1.0 - len(failed) / max(len(problems), 1)
        criteria.append({
            "id": criterion["id"], "title": criterion.get("title", criterion["id"]),
            "weight": criterion.get("weight", 1), "score": round(SCALE * share, 3), "failed": failed,
        })  # fmt: skip
        warnings += [{"kind": f"rubric_{criterion['id']}", "message": text} for text in failed.values()]
    weight = sum(c["weight"] for c in criteria) or 1
    overall = round(sum(c["weight"] * c["score"] for c in criteria) / weight, 3)
    return {
        "stage": "rubric_review", "rubric": rubric.get("name", ""), "overall": overall, "scale": SCALE,
        "criteria": criteria, "warnings": warnings, "suggested_revisions": [],
    }  # fmt: skip
