"""The `benchmark` skill: configurations ranked with their intervals, and tests of differences."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ari.errors import SkillError
from ari.paths import inside
from ari.skills.boundary import SkillServer, tool
from ari.statistics import analyse, compare, observations
from ari.statistics.comparison import Correction, Test
from ari.statistics.configurations import given_observations


@dataclass(frozen=True)
class ResultsSession:
    """Where results are read.

    Attributes:
        folder: A study, or a folder of `results*.json` files; None when every call hands its results over.
    """

    folder: Path | None


def build(session: ResultsSession | None) -> SkillServer:
    """The server of the skill, bound to a study, to a folder or to nothing."""
    return SkillServer(
        "benchmark",
        [
            tool(analyse_results, given={"session": session}, read_only=True),
            tool(statistical_test, read_only=True),
        ],
    )


def analyse_results(
    session: ResultsSession,
    *,
    metric: str,
    higher_is_better: bool | None = None,
    group_by: list[str] | None = None,
    folder: str = "",
    results: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """Rank configurations by a metric, repeats brought together, with intervals and ties.

    Args:
        session: Where results are read.
        metric: Name of the metric, in whatever unit it was measured.
        higher_is_better: Its direction; default: what its name says, where it says anything.
        group_by: Names of the parameters that make a configuration; default: all of them.
        folder: A folder below the one that the skill is bound to; default: that one.
        results: Results to analyse instead: objects with `params` and `measurements` (a number, or a list of
            repeats).

    Returns:
        `configurations`, best first: `parameters`, `n`, `mean`, `median`, `min`, `max`, `std`, the 95 %
        `interval` of the mean from three values on, `sources`; `best`; `ties`: configurations that the
        data do not tell from the best; `left_out`: results without the metric; `unreadable`.
    """
    faults: list[str] = []
    if results is not None:
        found = given_observations(results)
    elif session.folder is None:
        raise SkillError(
            "the skill is bound to no folder and no results are given",
            cure="Give results, or serve the skill with --checkpoint or --work-dir.",
        )
    else:
        found, faults = observations(inside(session.folder, folder) if folder else session.folder)
    ranked = analyse(found, metric=metric, higher_is_better=higher_is_better, group_by=group_by or ())
    return ranked | {"unreadable": faults}


def statistical_test(
    *,
    samples: dict[str, list[float | None]],
    test: Test = "welch_t",
    reference: str | None = None,
    correction: Correction = "holm",
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> dict[str, Any]:
    """Test whether samples differ: p-value, interval of the difference, size of the effect.

    Args:
        samples: Name of each sample to its values, all in one unit; null where a measurement failed.
        test: `welch_t` (means, unequal variances), `mann_whitney` (ranks), `paired_t` and `wilcoxon` (the
            same position in each sample is a pair), `bootstrap` (interval of the difference of means).
        reference: Compare every other sample with this one; default: all pairs.
        correction: Adjustment to the number of comparisons: `holm`, `bonferroni`, `benjamini_hochberg` or
            `none`. Intervals are widened by Bonferroni unless it is `none`.
        confidence: Level of the intervals as a share, from 0.5 to below 1; a difference counts when its
            adjusted p-value is below 1 minus it.
        resamples: Number of resamples of the bootstrap, from 100 to 1,000,000.
        seed: Seed of the bootstrap.

    Returns:
        `samples` described (values in their unit); `comparisons`: per pair `difference` (a minus b), its
        `interval`, `statistic`, `p_value` (two-sided), `p_adjusted`, `effect`, `differs` (null where it
        cannot be said) and `remarks` on what a small n means; `remarks`.
    """
    return compare(
        samples,
        test=test,
        reference=reference,
        correction=correction,
        confidence=confidence,
        resamples=resamples,
        seed=seed,
    )
