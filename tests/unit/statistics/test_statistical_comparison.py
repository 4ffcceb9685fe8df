"""Tests of differences: against SciPy, against known cases, and honest about small samples."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ari.errors import ConfigError
from ari.statistics import compare
from ari.statistics.comparison import adjust

RNG = np.random.default_rng(7)
A = (10 + RNG.normal(size=30)).tolist()
B = (11 + 2 * RNG.normal(size=25)).tolist()


def only(**arguments: object) -> dict[str, object]:
    [comparison] = compare(**arguments)["comparisons"]  # type: ignore[arg-type]
    return comparison


def test_welch_agrees_with_scipy() -> None:
    found = only(samples={"a": A, "b": B})
    expected = stats.ttest_ind(A, B, equal_var=False)
    assert found["p_value"] == pytest.approx(expected.pvalue, rel=1e-10)
    low, high = expected.confidence_interval(0.95)
    assert found["interval"] == pytest.approx([low, high], rel=1e-10)
    assert found["remarks"] == []


def test_mann_whitney_agrees_with_scipy_and_says_what_few_values_can_reach() -> None:
    found = only(samples={"a": A, "b": B}, test="mann_whitney")
    assert found["p_value"] == pytest.approx(stats.mannwhitneyu(A, B).pvalue, rel=1e-10)
    low, high = found["interval"]
    assert low < found["difference"] < high
    few = only(samples={"a": [1, 2, 3], "b": [7, 8, 9]}, test="mann_whitney")
    assert few["p_value"] == pytest.approx(0.1)
    assert few["differs"] is False
    assert few["effect"] == {"kind": "rank_biserial", "value": -1.0}
    assert few["interval"] is None
    assert "cannot give a p-value below 0.1" in few["remarks"][0]


def test_pairs_are_compared_by_position_and_incomplete_ones_left_out() -> None:
    before, after = [1.0, 2.0, 3.0, 4.0, None], [1.5, 2.4, 3.7, 4.3, 9.0]
    found = only(samples={"after": after, "before": before}, test="paired_t")
    assert found["p_value"] == pytest.approx(stats.ttest_rel(after[:4], before[:4]).pvalue, rel=1e-10)
    ranked = only(samples={"after": after, "before": before}, test="wilcoxon")
    assert ranked["p_value"] == pytest.approx(0.125)
    assert ranked["effect"]["value"] == 1.0
    with pytest.raises(ConfigError, match="differ in length: a 1, b 2"):
        compare({"a": [1.0], "b": [1.0, 2.0]}, test="paired_t")


def test_the_bootstrap_repeats_covers_and_judges_by_its_interval() -> None:
    found = only(samples={"a": A, "b": B}, test="bootstrap", resamples=4000)
    assert found == only(samples={"a": A, "b": B}, test="bootstrap", resamples=4000)
    expected = stats.ttest_ind(A, B, equal_var=False).confidence_interval(0.95)
    assert found["interval"] == pytest.approx(list(expected), abs=0.15)
    assert found["p_value"] is None and found["differs"] is True
    same = only(samples={"a": A, "b": A}, test="bootstrap", resamples=1000)
    assert same["differs"] is False


def test_the_bootstrap_covers_the_truth_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(3)
    hits = 0
    for _ in range(200):
        a, b = rng.exponential(size=40), rng.exponential(size=40)
        low, high = only(samples={"a": a, "b": b}, test="bootstrap", resamples=400)["interval"]
        hits += low <= 0 <= high
    assert 180 <= hits <= 199


@pytest.mark.parametrize("test", ["welch_t", "mann_whitney", "bootstrap"])
def test_without_spread_nothing_is_claimed(test: str) -> None:
    found = only(samples={"a": [2.0, 2.0, 2.0], "b": [2.0, 2.0]}, test=test)
    assert (found["p_value"], found["differs"]) == (None, None)
    assert "without spread" in found["remarks"][0]


def test_one_value_is_no_sample() -> None:
    found = only(samples={"a": [2.0], "b": [3.0, 4.0]})
    assert (found["difference"], found["p_value"], found["differs"]) == (-1.5, None, None)
    assert "one value has no spread" in found["remarks"][0]
    assert "only 3 values" in only(samples={"a": [1, 2, 4], "b": [5, 6, 9]})["remarks"][0]


def test_many_comparisons_are_adjusted_and_told() -> None:
    samples = {"base": A, "x": B, "y": A[:10], "z": B[:12]}
    found = compare(samples, reference="base")
    assert [(c["a"], c["b"]) for c in found["comparisons"]] == [("x", "base"), ("y", "base"), ("z", "base")]
    assert all(c["p_adjusted"] >= c["p_value"] for c in found["comparisons"])
    assert "3 comparisons; p-values are adjusted by holm" in found["remarks"]
    assert len(compare(samples)["comparisons"]) == 6
    wide = found["comparisons"][0]["interval"]
    narrow = compare(samples, reference="base", correction="none")["comparisons"][0]["interval"]
    assert wide[0] < narrow[0] and wide[1] > narrow[1]


def test_adjustments_as_published() -> None:
    p = [0.01, 0.04, 0.03, None, 0.005]
    assert adjust(p, "bonferroni") == pytest.approx([0.04, 0.16, 0.12, None, 0.02])
    assert adjust(p, "holm") == pytest.approx([0.03, 0.06, 0.06, None, 0.02])
    assert adjust(p, "benjamini_hochberg") == pytest.approx([0.02, 0.04, 0.04, None, 0.02])
    assert adjust(p, "none") == p


def test_missing_values_are_counted_and_told() -> None:
    found = compare({"a": [1.0, None, 2.0], "b": [3.0, 4.0]})
    assert found["samples"]["a"]["missing"] == 1
    assert "1 of a" in found["remarks"][0]
    with pytest.raises(ConfigError, match="'a' has no values"):
        compare({"a": [None], "b": [1.0]})


def test_misuse_is_named() -> None:
    with pytest.raises(ConfigError, match="1 samples cannot be compared"):
        compare({"a": [1.0]})
    with pytest.raises(ConfigError, match=r"no sample 'c'\n  Samples: a, b"):
        compare({"a": [1.0], "b": [1.0]}, reference="c")
    with pytest.raises(ConfigError, match="the confidence is 95"):
        compare({"a": [1.0], "b": [1.0]}, confidence=95)
