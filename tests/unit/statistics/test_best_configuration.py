"""Which configuration is best: from studies, from files and from what a caller hands over."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ari.errors import ConfigError, SkillError
from ari.skills import call_tool
from ari.skills.benchmark.server import ResultsSession
from support.studies import copy_study

RESULTS = [
    {"params": {"t": 1, "n": 8}, "measurements": {"speed": [10.0, 10.2, 9.9]}},
    {"params": {"t": 2, "n": 8}, "measurements": {"speed": [20.0, 20.1, 20.3]}},
    {"params": {"t": 2, "n": 8}, "measurements": {"speed": 20.2, "note": True}},
    {"params": {"t": 4, "n": 8}, "measurements": {"speed": [20.1, 20.2, 20.4]}},
    {"params": {"t": 8, "n": 8}, "measurements": {"other": 1.0}},
]


def ask(place: Path | None = None, **arguments: object) -> dict[str, object]:
    return call_tool("benchmark", ResultsSession(place), "analyse_results", dict(arguments))


def test_repeats_are_brought_together_and_ties_are_told() -> None:
    found = ask(results=RESULTS, metric="speed", higher_is_better=True)
    assert [row["parameters"]["t"] for row in found["configurations"]] == [4, 2, 1]
    assert [row["n"] for row in found["configurations"]] == [3, 4, 3]
    assert found["best"] == {"n": 8, "t": 4}
    assert found["ties"] == [{"n": 8, "t": 2}]
    assert found["left_out"] == ["results[4]"]
    low, high = found["configurations"][1]["interval"]
    assert low < 20.15 < high


def test_the_direction_may_be_low_and_groups_may_be_coarser() -> None:
    found = ask(results=RESULTS, metric="speed", higher_is_better=False, group_by=["n"])
    assert found["configurations"][0]["n"] == 10
    assert found["best"] == {"n": 8}
    assert ask(results=RESULTS, metric="speed", higher_is_better=False)["best"] == {"n": 8, "t": 1}


def test_one_value_each_is_always_a_tie() -> None:
    results = [{"params": {"a": a}, "measurements": {"m": a}} for a in (1.0, 2.0)]
    assert ask(results=results, metric="m", higher_is_better=True)["ties"] == [{"a": 1.0}]


def test_files_below_a_folder_are_read_and_bad_ones_named(tmp_path: Path) -> None:
    for place, document in enumerate(RESULTS):
        (tmp_path / f"run{place}").mkdir()
        (tmp_path / f"run{place}" / "results.json").write_text(json.dumps(document))
    (tmp_path / "run0" / "results_b.json").write_text("{")
    found = ask(tmp_path, metric="speed", higher_is_better=True)
    assert found["best"] == {"n": 8, "t": 4}
    assert found["unreadable"][0].startswith("run0/results_b.json: ")
    assert len(ask(tmp_path, metric="speed", higher_is_better=True, folder="run1")["configurations"]) == 1
    with pytest.raises(SkillError, match="refused under"):
        ask(tmp_path, metric="speed", folder="../x")


def test_a_study_gives_every_repeat_of_its_runs(tmp_path: Path) -> None:
    study = copy_study("matmul", tmp_path)
    found = ask(study, metric="GFlops/s")
    assert found["higher_is_better"] is True
    best = found["configurations"][0]
    assert best["n"] > 1 and "interval" in best
    assert set(best["sources"]) <= {path.name for path in (study / "experiments").iterdir()}


def test_what_cannot_be_ranked_is_explained(tmp_path: Path) -> None:
    with pytest.raises(SkillError, match="better high or low is not known"):
        ask(results=RESULTS, metric="wumpus")
    with pytest.raises(
        SkillError, match=r"no result holds the metric 'r2'.*\n.*Metrics there are: other, speed"
    ):
        ask(results=RESULTS, metric="r2")
    with pytest.raises(SkillError, match=r"no parameter 'q'.*\n.*Parameters: n, t"):
        ask(results=RESULTS, metric="speed", higher_is_better=True, group_by=["q"])
    with pytest.raises(SkillError, match="holds no results"):
        ask(tmp_path, metric="speed")
    with pytest.raises(SkillError, match="bound to no folder"):
        ask(metric="speed")
    with pytest.raises(ConfigError, match="exclude each other"):
        from ari.skills.binding import Binding, bind

        bind("benchmark", Binding(work_dir=tmp_path, checkpoint=tmp_path))
