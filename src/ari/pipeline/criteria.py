"""Deriving `evaluation_criteria.json`: the metric that decides and its direction.

The metric comes from an explicit statement in `experiment.md` (a `Primary metric:` line, or the first line
of a section `## Primary metric`), else from the selected idea, else from the metric line. The direction
comes from a `Direction:` line, a remark such as `(lower is better)`, the idea, or the metric's well-known
name. A direction that none of these gives is an error that asks; it is never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ari.errors import ExperimentError
from ari.formats.evaluation_criteria import EvaluationCriteria
from ari.pipeline.experiment_md import metric_items, parse_metric_from_experiment_md, prose_lines

SYMBOLIC_METRIC = "nrmse"
"""What decides a symbolic study when nothing is said: the error in units of the target's spread."""

_SEPARATORS = re.compile(r"[,;，；、](?![^(（]*[)）])")
_PRIMARY_LINE = re.compile(r"\s*[*_]{0,3}primary[ _]metric[*_\s]*[:：][*_\s]*(.+)", re.IGNORECASE)
_PRIMARY_HEADING = re.compile(r"\s*#{1,6}\s*primary[ _]metric\s*#*\s*", re.IGNORECASE)
_DIRECTION_LINE = re.compile(r"\s*[-*_\s]{0,4}direction[*_\s]*[:：][*_\s]*(.+)", re.IGNORECASE)
_HIGHER_WORDS = re.compile(
    r"\b(?:higher|larger|greater|more|bigger|faster) is better\b|\bmaximi[sz]ed?\b|↑", re.IGNORECASE
)
_LOWER_WORDS = re.compile(r"\b(?:lower|smaller|less|fewer) is better\b|\bminimi[sz]ed?\b|↓", re.IGNORECASE)
_LOWER_NAMES = re.compile(
    r"errors?|err|loss|latency|time|runtime|walltime|elapsed|duration|jitter|overhead|p\d{2,3}"
    r"|seconds?|secs?|s|ms|us|ns|µs|minutes|joules|energy|cost|memory|rss|misses"
    r"|rmse|mse|mae|nrmse|nmse|mape|rae|rse|residuals?|deviation|mismatch|divergence|distance"
    r"|regret|perplexity|ppl|wer|cer|nll|bic|aic|fpr|fnr"
)
_HIGHER_NAMES = re.compile(
    r"accuracy|acc|r2|r²|f1|auc|auroc|precision|recall|specificity|sensitivity|score|correlation|likelihood"
    r"|throughput|bandwidth|speedup|efficiency|utili[sz]ation|[kmgtp]?flops?|iops|qps|rps|fps|ipc"
    r"|bleu|rouge|ndcg|psnr|ssim|iou|dice"
)


class _Direction(NamedTuple):
    """A direction and where it was found."""

    higher: bool
    source: str


def derive_criteria(
    experiment_text: str, idea: Mapping[str, Any] | None, *, symbolic: bool
) -> EvaluationCriteria:
    """Decide which metric counts and which way is better.

    Args:
        experiment_text: The text of `experiment.md`.
        idea: The content of `idea.json` (the selected idea is `ideas[selected_index]`, default 0), or one
            idea, or None.
        symbolic: Whether the study looks for a formula; such a study needs no metric line.

    Returns:
        The criteria, with the reason in `metric_rationale`.

    Raises:
        ExperimentError: If no metric is named, or its direction is unknown or contradictory.
    """
    chosen = _selected(idea)
    metric, source, remark = _find_metric(experiment_text, chosen, symbolic)
    direction = _find_direction(experiment_text, chosen, metric, remark)
    rationale = f"metric from {source}; direction from {direction.source}"
    noted = chosen.get("metric_rationale")
    if isinstance(noted, str) and noted and chosen.get("primary_metric") == metric:
        rationale = f"{noted} ({rationale})"
    return EvaluationCriteria.model_validate(
        {"primary_metric": metric, "higher_is_better": direction.higher, "metric_rationale": rationale}
    )


def _selected(idea: Mapping[str, Any] | None) -> Mapping[str, Any]:
    if not idea:
        return {}
    if "ideas" not in idea:
        return idea
    ideas = idea["ideas"]
    index = idea.get("selected_index", 0)
    chosen = ideas[index] if isinstance(index, int) and 0 <= index < len(ideas) else {}
    shared = {key: value for key, value in idea.items() if key != "ideas"}
    return {**shared, **chosen}


def _find_metric(text: str, chosen: Mapping[str, Any], symbolic: bool) -> tuple[str, str, str]:
    """Return the metric, where it was found, and the remark beside it."""
    stated = _stated_metric(text)
    if stated:
        name = parse_metric_from_experiment_md(f"Metric: {stated}")
        if name:
            return name, "the primary-metric statement of experiment.md", stated
    named = chosen.get("primary_metric")
    if isinstance(named, str) and named.strip():
        name = parse_metric_from_experiment_md(f"Metric: {named}") or named.strip()
        return name, "the selected idea", f"{named} {_item_of(name, text)}"
    name = parse_metric_from_experiment_md(text)
    if name:
        return name, "the metric line of experiment.md", _item_of(name, text)
    if symbolic:
        return SYMBOLIC_METRIC, "the kind of study (a formula is looked for)", ""
    raise ExperimentError(
        "experiment.md names no metric",
        cure="Add a line such as `Metrics: GFlops/s (higher is better)`.",
    )


def _item_of(metric: str, text: str) -> str:
    """Return the item of the metric line that names a metric, with its remark."""
    for item in _SEPARATORS.split(metric_items(text) or ""):
        if parse_metric_from_experiment_md(f"Metric: {item}") == metric:
            return item
    return ""


def _stated_metric(text: str) -> str:
    below_heading = False
    for line in prose_lines(text):
        match = _PRIMARY_LINE.fullmatch(line)
        if match:
            return match.group(1).strip()
        if below_heading and line.strip():
            return line.strip().lstrip("-* ").strip()
        below_heading = below_heading or bool(_PRIMARY_HEADING.fullmatch(line))
    return ""


def _find_direction(text: str, chosen: Mapping[str, Any], metric: str, remark: str) -> _Direction:
    for line in prose_lines(text):
        match = _DIRECTION_LINE.fullmatch(line)
        if match:
            return _Direction(_read_direction(match.group(1)), "the direction line of experiment.md")
    spoken = _spoken(remark)
    if spoken is not None:
        return _Direction(spoken, "the remark beside the metric")
    told = chosen.get("higher_is_better")
    if isinstance(told, bool) and chosen.get("primary_metric", metric) == metric:
        return _Direction(told, "the selected idea")
    known = known_direction(metric)
    if known is not None:
        return _Direction(known, f"the well-known name {metric}")
    raise ExperimentError(
        f"is a higher or a lower {metric} better? Neither experiment.md nor the name tells",
        cure=f"Write `Metrics: {metric} (higher is better)` or `(lower is better)`, or a line "
        "`Direction: maximize` or `Direction: minimize`.",
    )


def _spoken(text: str) -> bool | None:
    """What a text says about direction: True, False, or None when nothing or both."""
    higher, lower = bool(_HIGHER_WORDS.search(text)), bool(_LOWER_WORDS.search(text))
    return None if higher == lower else higher


def _read_direction(text: str) -> bool:
    spoken = _spoken(text)
    word = text.strip().strip("`*. ").lower()
    if spoken is not None:
        return spoken
    if word in {"higher", "up", "max", "maximum"}:
        return True
    if word in {"lower", "down", "min", "minimum"}:
        return False
    raise ExperimentError(
        f"the direction {text.strip()!r} in experiment.md is not understood",
        cure="Write `Direction: maximize` or `Direction: minimize`.",
    )


def known_direction(metric: str) -> bool | None:
    """Say which way a well-known metric is better.

    A rate (`…/s`, `per second`) is better high; a name that contains an error, a loss or a time is better
    low. Words are compared whole, so `terror_rate` is not an error.

    Args:
        metric: Name of the metric.

    Returns:
        True for higher, False for lower, None when the name does not tell.
    """
    folded = metric.strip().lower()
    if re.search(r"(?:/\s*(?:s|sec|second)|\bper[ _-]second)\s*$", folded):
        return True
    words = [word for word in re.split(r"[^a-z0-9²µ]+", folded) if word]
    if re.fullmatch(r"r\s*(?:\^|\*\*)?\s*2|r[_-]?squared", folded):
        return True
    lower = any(_LOWER_NAMES.fullmatch(word) for word in words)
    higher = any(_HIGHER_NAMES.fullmatch(word) for word in words)
    if lower != higher:
        return higher
    return None
