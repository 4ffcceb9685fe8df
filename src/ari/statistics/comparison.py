"""Whether samples differ: a test, an interval of the difference, the size of the effect, many comparisons.

The tests: Welch's t (unequal variances), Mann-Whitney's U (exact without ties up to 8 values a sample, else
with a normal approximation), the paired t, Wilcoxon's signed ranks, and a bootstrap of the difference of
means (bias-corrected and accelerated; Efron 1987). Effect sizes: Hedges' g for means, the rank-biserial
correlation for ranks, the mean difference in its own standard deviations for pairs.

Nothing is claimed that the samples cannot carry: a sample without spread or with one value gives no p-value,
and `remarks` say what a small n means for the test at hand.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from ari.errors import ConfigError

Test = Literal["welch_t", "mann_whitney", "paired_t", "wilcoxon", "bootstrap"]
Correction = Literal["holm", "bonferroni", "benjamini_hochberg", "none"]
TESTS: tuple[Test, ...] = get_args(Test)
CORRECTIONS: tuple[Correction, ...] = get_args(Correction)
PAIRED = frozenset({"paired_t", "wilcoxon"})

MAX_SAMPLES = 200
MAX_VALUES = 1_000_000
FEW = {"welch_t": 10, "paired_t": 10, "bootstrap": 20}
"""Below this n a test leans on an assumption that the sample itself cannot show."""


class Outcome(NamedTuple):
    """What one test says about two samples; None where nothing can be said.

    Attributes:
        statistic: The test's own statistic.
        p_value: Two-sided.
        difference: Of the means, first minus second; of pairs the mean, for ranks the median of differences.
        low: Lower end of the interval of the difference.
        high: Upper end.
        effect: Size of the effect, a bare number.
        remarks: What a reader must know.
    """

    statistic: float | None
    p_value: float | None
    difference: float | None
    low: float | None
    high: float | None
    effect: float | None
    remarks: tuple[str, ...] = ()


def compare(
    samples: Mapping[str, Sequence[float | None]],
    *,
    test: Test = "welch_t",
    reference: str | None = None,
    correction: Correction = "holm",
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> dict[str, Any]:
    """Compare samples in pairs.

    Args:
        samples: Name to values; None where a measurement failed.
        test: One of `TESTS`.
        reference: Compare every other sample with this one; None compares all pairs.
        correction: How p-values are adjusted to the number of comparisons.
        confidence: Level of the intervals, between 0 and 1.
        resamples: Of the bootstrap.
        seed: Of the bootstrap.

    Returns:
        `samples` described, `comparisons`, and `remarks` on all of them.

    Raises:
        ConfigError: When the samples cannot be compared as asked; names the sample.
    """
    _check(samples, reference, test=test, confidence=confidence, resamples=resamples)
    values = {name: _finite(sample) for name, sample in samples.items()}
    pairs = list(_pairs(list(values), reference))
    level = confidence if correction == "none" else 1 - (1 - confidence) / len(pairs)
    rng = np.random.default_rng(seed)
    bound = _Run(level, resamples, rng)
    found = [_one(test, samples, (a, b), bound) for a, b in pairs]
    adjusted = adjust([outcome.p_value for outcome in found], correction)
    return {
        "test": test,
        "correction": correction,
        "confidence": confidence,
        "interval_level": level,
        "samples": {name: _described(sample, samples[name]) for name, sample in values.items()},
        "comparisons": [
            _document(pair, outcome, p, test=test, alpha=1 - confidence)
            for pair, outcome, p in zip(pairs, found, adjusted, strict=True)
        ],
        "remarks": _general(samples, values, pairs, correction),
    }


def adjust(p_values: Sequence[float | None], correction: Correction) -> list[float | None]:
    """Adjust p-values to their number.

    Args:
        p_values: As the tests gave them; those that are None count for nothing.
        correction: Holm (1979) and Bonferroni bound the chance of any false finding, Benjamini and Hochberg
            (1995) the share of false ones.
    """
    places = [i for i, p in enumerate(p_values) if p is not None]
    ordered = sorted(places, key=lambda i: p_values[i] or 0.0)
    adjusted: list[float | None] = list(p_values)
    count, running = len(ordered), 0.0
    if correction == "benjamini_hochberg":
        running = 1.0
        for rank in range(count, 0, -1):
            place = ordered[rank - 1]
            running = min(running, (p_values[place] or 0.0) * count / rank)
            adjusted[place] = running
    elif correction != "none":
        for rank, place in enumerate(ordered):
            factor = count - rank if correction == "holm" else count
            running = max(running, min(1.0, (p_values[place] or 0.0) * factor))
            adjusted[place] = running if correction == "holm" else min(1.0, (p_values[place] or 0.0) * factor)
    return adjusted


class _Run(NamedTuple):
    """What every test of one call shares."""

    level: float
    resamples: int
    rng: np.random.Generator


Array = NDArray[np.float64]


def _check(
    samples: Mapping[str, Sequence[float | None]],
    reference: str | None,
    *,
    test: str,
    confidence: float,
    resamples: int,
) -> None:
    if not 2 <= len(samples) <= MAX_SAMPLES:
        raise ConfigError(f"{len(samples)} samples cannot be compared", cure=f"Give 2 to {MAX_SAMPLES}.")
    if reference is not None and reference not in samples:
        raise ConfigError(f"there is no sample {reference!r}", cure=f"Samples: {', '.join(samples)}.")
    if not 0.5 <= confidence < 1:
        raise ConfigError(f"the confidence is {confidence:g}", cure="Give a share from 0.5 to below 1.")
    if not 100 <= resamples <= 1_000_000:
        raise ConfigError(f"{resamples} resamples", cure="Give a number from 100 to 1,000,000.")
    for name, sample in samples.items():
        if len(sample) > MAX_VALUES:
            raise ConfigError(f"the sample {name!r} has {len(sample)} values; at most {MAX_VALUES} are read")
        if not any(value is not None for value in sample):
            raise ConfigError(f"the sample {name!r} has no values", cure="Leave it out, or measure it.")
    lengths = {name: len(sample) for name, sample in samples.items()}
    if test in PAIRED and len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} {count}" for name, count in lengths.items())
        raise ConfigError(
            f"{test} compares values in pairs, and the samples differ in length: {told}",
            cure="Give one value a pair in each sample, null where one is missing; or use welch_t.",
        )


def _finite(sample: Sequence[float | None]) -> Array:
    return np.array([value for value in sample if value is not None], dtype=np.float64)


def _pairs(names: Sequence[str], reference: str | None) -> Iterator[tuple[str, str]]:
    if reference is None:
        yield from itertools.combinations(names, 2)
    else:
        yield from ((name, reference) for name in names if name != reference)


def _one(
    test: Test, samples: Mapping[str, Sequence[float | None]], pair: tuple[str, str], run: _Run
) -> Outcome:
    a, b = (samples[name] for name in pair)
    if test not in PAIRED:
        return _TESTS[test](_finite(a), _finite(b), run)
    whole = [x - y for x, y in zip(a, b, strict=True) if x is not None and y is not None]
    if not whole:
        return Outcome(None, None, None, None, None, None, ("no pair is complete",))
    return _PAIRED_TESTS[test](np.array(whole, dtype=np.float64), run)


# ------------------------------------------------------------------------------------------ two samples


def _welch(a: Array, b: Array, run: _Run) -> Outcome:
    from scipy import stats

    difference = float(a.mean() - b.mean())
    remarks = _few("welch_t", min(a.size, b.size))
    if min(a.size, b.size) < 2:
        why = "a sample of one value has no spread: nothing can be tested"
        return Outcome(None, None, difference, None, None, None, (why,))
    variances = a.var(ddof=1) / a.size, b.var(ddof=1) / b.size
    error = math.sqrt(sum(variances))
    if error == 0:
        return Outcome(None, None, difference, None, None, None, (_NO_SPREAD,))
    freedom = sum(variances) ** 2 / (variances[0] ** 2 / (a.size - 1) + variances[1] ** 2 / (b.size - 1))
    statistic = difference / error
    p_value = 2 * float(stats.t.sf(abs(statistic), freedom))
    reach = float(stats.t.ppf((1 + run.level) / 2, freedom)) * error
    return Outcome(
        statistic, p_value, difference, difference - reach, difference + reach, hedges_g(a, b), remarks
    )


def hedges_g(a: Array, b: Array) -> float | None:
    """Difference of means in pooled standard deviations, corrected for small samples (Hedges 1981)."""
    freedom = a.size + b.size - 2
    pooled = math.sqrt(((a.size - 1) * a.var(ddof=1) + (b.size - 1) * b.var(ddof=1)) / freedom)
    if pooled == 0:
        return None
    return float(a.mean() - b.mean()) / pooled * (1 - 3 / (4 * freedom - 1))


def _mann_whitney(a: Array, b: Array, run: _Run) -> Outcome:
    from scipy import stats

    shifts = np.subtract.outer(a, b).ravel() if a.size * b.size <= 4_000_000 else None
    difference = float(np.median(shifts)) if shifts is not None else float(np.median(a) - np.median(b))
    found = stats.mannwhitneyu(a, b, alternative="two-sided", method="auto")
    statistic = float(found.statistic)
    effect = 2 * statistic / (a.size * b.size) - 1
    least = 2 / math.comb(a.size + b.size, a.size)
    remarks = _reachable(least, run.level)
    if np.unique(np.concatenate([a, b])).size == 1:
        return Outcome(None, None, difference, None, None, 0.0, (_NO_SPREAD,))
    low, high = _shift_interval(shifts, a.size, b.size, run.level)
    return Outcome(statistic, float(found.pvalue), difference, low, high, effect, remarks)


def _shift_interval(shifts: Array | None, n: int, m: int, level: float) -> tuple[float | None, float | None]:
    """Interval of the shift between two samples (Hodges and Lehmann), by the normal approximation of U."""
    from scipy import stats

    if shifts is None:
        return None, None
    spread = math.sqrt(n * m * (n + m + 1) / 12)
    place = math.floor(n * m / 2 - float(stats.norm.ppf((1 + level) / 2)) * spread)
    if place < 1:
        return None, None
    ordered = np.sort(shifts)
    return float(ordered[place - 1]), float(ordered[-place])


def _bootstrap(a: Array, b: Array, run: _Run) -> Outcome:
    difference = float(a.mean() - b.mean())
    if min(a.size, b.size) < 2:
        why = "a sample of one value has no spread: nothing can be resampled"
        return Outcome(None, None, difference, None, None, None, (why,))
    if a.std() == 0 and b.std() == 0:
        return Outcome(None, None, difference, None, None, None, (_NO_SPREAD,))
    means = _resampled_means(a, run) - _resampled_means(b, run)
    low, high = _bca(means, difference, [_left_out(a) - b.mean(), a.mean() - _left_out(b)], run.level)
    remarks = _few("bootstrap", min(a.size, b.size))
    return Outcome(None, None, difference, low, high, hedges_g(a, b), remarks)


def _resampled_means(sample: Array, run: _Run) -> Array:
    chunk = max(1, 4_000_000 // sample.size)
    parts = []
    for start in range(0, run.resamples, chunk):
        count = min(chunk, run.resamples - start)
        parts.append(sample[run.rng.integers(0, sample.size, (count, sample.size))].mean(axis=1))
    return np.concatenate(parts)


def _left_out(sample: Array) -> Array:
    """Means with each value left out in turn."""
    return np.asarray((sample.sum() - sample) / (sample.size - 1), dtype=np.float64)


def _bca(means: Array, observed: float, jackknife: Sequence[Array], level: float) -> tuple[float, float]:
    """The bias-corrected and accelerated interval."""
    from scipy import stats

    below = float(np.mean(means < observed) + np.mean(means == observed) / 2)
    bias = float(stats.norm.ppf(min(max(below, 1 / means.size), 1 - 1 / means.size)))
    cubes = sum(float(((part.mean() - part) ** 3).sum()) / part.size**3 for part in jackknife)
    squares = sum(float(((part.mean() - part) ** 2).sum()) / part.size**2 for part in jackknife)
    acceleration = cubes / (6 * squares**1.5) if squares else 0.0
    ends = []
    for share in ((1 - level) / 2, (1 + level) / 2):
        z = bias + float(stats.norm.ppf(share))
        ends.append(float(stats.norm.cdf(bias + z / (1 - acceleration * z))))
    low, high = np.quantile(means, ends)
    return float(low), float(high)


# -------------------------------------------------------------------------------------------------- pairs


def _paired_t(differences: Array, run: _Run) -> Outcome:
    from scipy import stats

    mean = float(differences.mean())
    if differences.size < 2:
        why = "a single pair has no spread: nothing can be tested"
        return Outcome(None, None, mean, None, None, None, (why,))
    spread = float(differences.std(ddof=1))
    if spread == 0:
        return Outcome(None, None, mean, None, None, None, (_NO_SPREAD,))
    error, freedom = spread / math.sqrt(differences.size), differences.size - 1
    reach = float(stats.t.ppf((1 + run.level) / 2, freedom)) * error
    p_value = 2 * float(stats.t.sf(abs(mean / error), freedom))
    remarks = _few("paired_t", differences.size)
    return Outcome(mean / error, p_value, mean, mean - reach, mean + reach, mean / spread, remarks)


def _wilcoxon(differences: Array, run: _Run) -> Outcome:
    from scipy import stats

    moved = differences[differences != 0]
    median = float(np.median(differences))
    if not moved.size:
        return Outcome(None, None, median, None, None, 0.0, ("no pair differs",))
    tied = np.unique(np.abs(moved)).size < moved.size
    found = stats.wilcoxon(moved, alternative="two-sided", method="approx" if tied else "auto")
    ranks = stats.rankdata(np.abs(moved))
    effect = float((ranks * np.sign(moved)).sum() / ranks.sum())
    remarks = list(_reachable(2.0 ** (1 - moved.size), run.level))
    if moved.size < differences.size:
        remarks.append(f"{differences.size - moved.size} pairs without a difference count for nothing")
    if tied and moved.size < 10:
        remarks.append("ties among few differences: the p-value is approximate")
    return Outcome(float(found.statistic), float(found.pvalue), median, None, None, effect, tuple(remarks))


_TESTS: dict[str, Callable[[Array, Array, _Run], Outcome]] = {
    "welch_t": _welch,
    "mann_whitney": _mann_whitney,
    "bootstrap": _bootstrap,
}
_PAIRED_TESTS: dict[str, Callable[[Array, _Run], Outcome]] = {"paired_t": _paired_t, "wilcoxon": _wilcoxon}


# ----------------------------------------------------------------------------------------------- in words

_NO_SPREAD = "all values are the same: without spread no test says anything"
_EFFECTS = {
    "welch_t": "hedges_g",
    "bootstrap": "hedges_g",
    "mann_whitney": "rank_biserial",
    "wilcoxon": "rank_biserial",
    "paired_t": "cohens_dz",
}
_ASSUMED = {
    "welch_t": "the t test then rests on normal scatter, which so few values cannot show",
    "paired_t": "the t test then rests on normal scatter, which so few values cannot show",
    "bootstrap": "intervals from so few values tend to be too narrow",
}


def _few(test: str, n: int) -> tuple[str, ...]:
    return (f"only {n} values in a sample: {_ASSUMED[test]}",) if n < FEW[test] else ()


def _reachable(least: float, level: float) -> tuple[str, ...]:
    if least <= 1 - level:
        return ()
    return (f"so few values cannot give a p-value below {least:.3g}, however clear the difference",)


def _described(sample: Array, given: Sequence[float | None]) -> dict[str, Any]:
    return {
        "n": int(sample.size),
        "missing": len(given) - int(sample.size),
        "mean": float(sample.mean()),
        "median": float(np.median(sample)),
        "std": statistics.stdev(sample.tolist()) if sample.size > 1 else None,
        "min": float(sample.min()),
        "max": float(sample.max()),
    }


def _document(
    pair: tuple[str, str], outcome: Outcome, p_adjusted: float | None, *, test: str, alpha: float
) -> dict[str, Any]:
    differs: bool | None = None if p_adjusted is None else p_adjusted < alpha
    if test == "bootstrap" and outcome.low is not None and outcome.high is not None:
        differs = not outcome.low <= 0 <= outcome.high
    return {
        "a": pair[0],
        "b": pair[1],
        "difference": outcome.difference,
        "interval": None if outcome.low is None else [outcome.low, outcome.high],
        "statistic": outcome.statistic,
        "p_value": outcome.p_value,
        "p_adjusted": p_adjusted,
        "effect": {"kind": _EFFECTS[test], "value": outcome.effect},
        "differs": differs,
        "remarks": list(outcome.remarks),
    }


def _general(
    samples: Mapping[str, Sequence[float | None]],
    values: Mapping[str, Array],
    pairs: Sequence[tuple[str, str]],
    correction: Correction,
) -> list[str]:
    remarks = []
    gone = {name: len(samples[name]) - int(sample.size) for name, sample in values.items()}
    told = ", ".join(f"{count} of {name}" for name, count in gone.items() if count)
    if told:
        remarks.append(f"missing values were left out: {told}; failures that depend on the sample bias it")
    if len(pairs) > 1:
        how = "not adjusted" if correction == "none" else f"adjusted by {correction}"
        remarks.append(f"{len(pairs)} comparisons; p-values are {how}")
    return remarks
