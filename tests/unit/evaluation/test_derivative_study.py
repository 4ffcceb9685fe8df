"""How the data of a derivative are divided, and what is refused before a study of it starts."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from ari.errors import ExperimentError
from ari.evaluation.data import open_holdout, open_train, open_validation, prepare_data
from ari.evaluation.repeats import _splits
from ari.evaluation.score import symbolic_score
from ari.evaluation.symbolic import measure_formula
from ari.pipeline.experiment_spec import Experiment, parse_experiment

HEAD = "# A rate\nWhat changes x?\n\n## Data\n- source: data.csv\n"


def decay(runs: int, samples: int) -> str:
    times = np.linspace(0, 3, samples)
    lines = [f"{t!r},{(run + 1) * math.exp(-t)!r}" for run in range(runs) for t in times.tolist()]
    return "\n".join(["clock,x", *lines]) + "\n"


def experiment(folder: Path, table: str, extra: str = "- target: dx_dt\n- time: clock\n") -> Experiment:
    (folder / "data.csv").write_text(table)
    return parse_experiment(HEAD + extra, folder=folder)


def test_few_runs_are_cut_along_time(tmp_path: Path) -> None:
    asked = experiment(tmp_path, decay(1, 50))
    prepared = prepare_data(asked, tmp_path, tmp_path / "study", seed=1)
    assert prepared.divided_by == "time"
    assert prepared.rows == {"train": 30, "validation": 10, "sealed": 10}
    assert prepared.inputs == ("x",) and prepared.estimated == "x along clock"


def test_from_three_runs_on_whole_runs_are_set_apart(tmp_path: Path) -> None:
    asked = experiment(tmp_path, decay(5, 12))
    prepared = prepare_data(asked, tmp_path, tmp_path / "study", seed=1)
    assert prepared.divided_by == "runs"
    parts = (
        open_train(tmp_path / "study"),
        open_validation(tmp_path / "study"),
        open_holdout(tmp_path / "study", committed=prepared.holdout_sha256, reason="test"),
    )
    starts = [np.sort(np.asarray(part.data["x"])[np.asarray(part.data["clock"]) == 0]) for part in parts]
    assert [len(found) for found in starts] == [3, 1, 1]
    assert sorted(np.concatenate(starts)) == pytest.approx([1, 2, 3, 4, 5])


def test_a_formula_is_measured_on_slopes_and_trajectories(tmp_path: Path) -> None:
    prepare_data(experiment(tmp_path, decay(1, 50)), tmp_path, tmp_path / "study", seed=1)
    context = open_validation(tmp_path / "study")
    right = measure_formula("-x", context, "dx_dt", time="clock")
    wrong = measure_formula("-2*x", context, "dx_dt", time="clock")
    assert right["nrmse"] < 1e-4 and right["trajectory_error"] < 1e-6
    assert wrong["trajectory_error"] > 0.1


def test_too_few_samples_are_refused_with_what_is_needed(tmp_path: Path) -> None:
    asked = experiment(tmp_path, decay(1, 20))
    with pytest.raises(ExperimentError, match="has 20 samples along 'clock': 30 are needed in one run"):
        prepare_data(asked, tmp_path, tmp_path / "study", seed=1)


def test_a_derivative_without_time_is_refused_with_its_cure(tmp_path: Path) -> None:
    asked = experiment(tmp_path, decay(1, 50), "- target: dx_dt\n")
    with pytest.raises(ExperimentError, match=r"(?s)'x' has no time.*- time: NAME"):
        prepare_data(asked, tmp_path, tmp_path / "study", seed=1)


def test_several_targets_are_refused_with_the_command_for_systems(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match=r"(?s)explains one variable.*--system x,y"):
        experiment(tmp_path, decay(1, 50), "- target: dx_dt, dy_dt\n")


def test_a_measured_target_has_no_trajectory_error(tmp_path: Path) -> None:
    asked = experiment(tmp_path, decay(1, 50), "- target: x\n")
    asked = replace_metric(asked)
    with pytest.raises(ExperimentError, match="'x' is measured, not a derivative"):
        prepare_data(asked, tmp_path, tmp_path / "study", seed=1)


def replace_metric(asked: Experiment) -> Experiment:
    return asked.model_copy(update={"primary_metric": "trajectory_error"})


def test_both_errors_of_a_derivative_count_alike() -> None:
    assert symbolic_score(1e-2, 5, 1e-4) == pytest.approx(symbolic_score(1e-3, 5))
    assert symbolic_score(1e-2, 5, 10.0) < symbolic_score(1e-2, 5, 1e-2)


def test_repeats_along_time_leave_out_stretches() -> None:
    for kept in _splits(50, 0, stretches=True):
        left_out = np.setdiff1d(np.arange(50), kept)
        assert len(left_out) == 10 and np.all(np.diff(left_out) == 1)
