"""Which metric decides and which way is better: stated, chosen, listed, known by name, or asked for."""

from __future__ import annotations

import pytest

from ari.errors import ExperimentError
from ari.pipeline.criteria import derive_criteria, known_direction


def _decide(text: str, idea: dict | None = None, *, symbolic: bool = False) -> tuple[str, bool]:
    criteria = derive_criteria(text, idea, symbolic=symbolic)
    return criteria.primary_metric, criteria.higher_is_better


IDEA = {"ideas": [{"title": "a", "primary_metric": "latency"}, {"title": "b", "primary_metric": "GB/s"}]}


@pytest.mark.parametrize(
    ("text", "idea", "expected"),
    [
        ("Metrics: GFlops/s, GB/s\n", None, ("GFlops/s", True)),
        ("Metrics: wall time, GB/s\n", None, ("wall time", False)),
        ("Metrics: widgets (higher is better), ms\n", None, ("widgets", True)),
        ("Metrics: widgets (lower is better), GB/s (higher is better)\n", None, ("widgets", False)),
        ("Metrics: widgets\nDirection: maximize\n", None, ("widgets", True)),
        ("Metrics: widgets\n- **Direction:** lower\n", None, ("widgets", False)),
        ("Metrics: ms\nDirection: maximize\n", None, ("ms", True)),
        ("Metrics: ms (max over three runs)\n", None, ("ms", False)),
        ("Metrics: ms, GB/s (higher is better)\n", None, ("ms", False)),
        ("Metrics: GB/s\n", IDEA, ("latency", False)),
        ("Metrics: GB/s\n", {**IDEA, "selected_index": 1}, ("GB/s", True)),
        ("Metrics: latency (higher is better)\n", IDEA, ("latency", True)),
        ("Metrics: GB/s\nPrimary metric: F1\n", IDEA, ("F1", True)),
        ("## Primary metric\n\n- `rmse` (lower is better)\n\nMetrics: GB/s\n", IDEA, ("rmse", False)),
        ("", {"primary_metric": "zap", "higher_is_better": False, "ideas": [{}]}, ("zap", False)),
        ("Metrics: GB/s\n", {"ideas": []}, ("GB/s", True)),
    ],
)  # fmt: skip
def test_metric_and_direction(text: str, idea: dict | None, expected: tuple[str, bool]) -> None:
    assert _decide(text, idea) == expected


def test_a_symbolic_study_knows_its_own() -> None:
    assert _decide("Find the law.\n", symbolic=True) == ("nrmse", False)
    assert _decide("Metrics: r2\n", symbolic=True) == ("r2", True)


def test_the_reason_is_recorded() -> None:
    criteria = derive_criteria("Metrics: GB/s\n", None, symbolic=False)
    assert criteria.metric_rationale == (
        "metric from the metric line of experiment.md; direction from the well-known name GB/s"
    )
    idea = {"ideas": [{"primary_metric": "GB/s", "metric_rationale": "memory bound"}]}
    assert derive_criteria("", idea, symbolic=False).metric_rationale.startswith("memory bound (")


def test_an_unknown_direction_is_asked_for() -> None:
    with pytest.raises(ExperimentError) as caught:
        _decide("Metrics: widgets\n")
    assert "is a higher or a lower widgets better?" in str(caught.value)
    assert "Metrics: widgets (higher is better)" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Make it fast.\n", "names no metric"),
        ("```\nMetrics: ms\n```\n", "names no metric"),
        ("Metrics: ms\nDirection: sideways\n", "direction 'sideways' .* not understood"),
        ("Metrics: widgets (lower is better, higher is better)\n", "higher or a lower"),
        ("Metrics: error_score\n", "higher or a lower"),
    ],
)
def test_what_cannot_be_decided_is_refused(text: str, message: str) -> None:
    with pytest.raises(ExperimentError, match=message):
        _decide(text)


@pytest.mark.parametrize(
    ("metric", "higher"),
    [
        ("GFlops/s", True),
        ("iterations / s", True),
        ("requests per second", True),
        ("R^2", True),
        ("r_squared", True),
        ("top-1 accuracy", True),
        ("val_loss", False),
        ("max_abs_err", False),
        ("p99_latency", False),
        ("p99", False),
        ("RMSE", False),
        ("runtime [ms]", False),
        ("terror", None),
        ("lossless", None),
        ("widgets", None),
        ("", None),
    ],
)
def test_well_known_names(metric: str, higher: bool | None) -> None:
    assert known_direction(metric) is higher
