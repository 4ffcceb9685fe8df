"""Rates, intervals, tables."""

from __future__ import annotations

import csv
import json

import pytest
from bench_tables import easy_settings

from sr_harness.bench.store import Result
from sr_harness.bench.summary import summarise, wilson, write_summary


def result(name: str, *, method: str = "sr_harness", noise: float = 0.0, **values: object) -> Result:
    given = {"recovered": False, "wall_seconds": 1.0, "processor_seconds": 1.0, "status": "done", **values}
    return Result(id=name, method=method, noise=noise, seed=0, target="y", truth="x", **given)


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [(8, 10, 0.4902, 0.9433), (0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (0, 0, 0.0, 1.0)],
)
def test_wilson_interval(successes, trials, low, high):
    assert wilson(successes, trials) == pytest.approx((low, high), abs=1e-4)


def results_of_two_methods():
    return [
        result("plane", recovered=True, strict=True, how="same formula", processor_seconds=2.0),
        result("dir/odd name", recovered=True, how="offset", processor_seconds=5.0, formula="x | 3"),
        result("plane", method="pyoperon", r2_inside=0.9995, processor_seconds=30.0),
        result("plane", noise=0.1, status="failed", error="broken\nbadly"),
        result("dir/odd name", noise=0.1, status="stopped"),
        result("plane", noise=0.1, method="pyoperon"),
    ]


def test_groups_by_method_sample_and_noise(tmp_path):
    _, settings = easy_settings(tmp_path, peers=("pyoperon",), peer_ids=("plane",), noise=(0.0, 0.1))
    groups = summarise(results_of_two_methods(), settings)
    heads = [(group.method, group.problems, group.noise, group.n) for group in groups]
    assert heads == [
        ("sr_harness", "all", 0.0, 2),
        ("sr_harness", "sample", 0.0, 1),
        ("pyoperon", "sample", 0.0, 1),
        ("sr_harness", "all", 0.1, 2),
        ("sr_harness", "sample", 0.1, 1),
        ("pyoperon", "sample", 0.1, 1),
    ]
    ours, _, peer, noisy = groups[:4]
    assert (ours.recovered, ours.rate, ours.strict, ours.median_processor_seconds) == (2, 1.0, 1, 3.5)
    assert (peer.recovered, peer.accurate, peer.median_processor_seconds) == (0, 1, None)
    assert (noisy.failed, noisy.stopped) == (1, 1)


def test_the_three_tables_say_the_same(tmp_path):
    _, settings = easy_settings(tmp_path, peers=("pyoperon",), peer_ids=("plane",), noise=(0.0, 0.1))
    document = write_summary(tmp_path, results_of_two_methods(), settings, ["a note"], "sr-harness …")
    assert json.loads((tmp_path / "summary.json").read_text()) == document
    with (tmp_path / "summary.csv").open(newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert [row["recovered"] for row in rows] == [str(group["recovered"]) for group in document["groups"]]
    page = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert "| sr_harness | all | 0 | 2 | 2 (100.0%) | 34.2% to 100.0% | 1 | 0 | 3.50 | 7 |" in page
    assert "| dir/odd name | sr_harness | 0 | up to a constant offset | 5.00 | – | `x \\| 3` |" in page
    assert "| plane | sr_harness | 0.1 | failed | 1.00 | – | `broken badly` |" in page
    assert "- a note" in page
    assert [miss["id"] for miss in document["missed"]] == ["plane", "plane", "dir/odd name", "plane"]
