"""Command nodes are measured from run records; what is only said does not count."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ari.agent.task import NodeTask
from ari.evaluation.command import evaluate_command_node
from ari.execution.limits import Limits
from ari.execution.runner import Runner
from ari.formats.jsonio import strict_dumps
from ari.pipeline.experiment_spec import Ceiling, Experiment

BUSY = "x=0; for ((i=0; i<60000; i++)); do ((x+=i)) || true; done; "


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    (tmp_path / "work").mkdir()
    return Runner(tmp_path / "records", tmp_path / "work", limits=Limits(wall_s=10), node_id="n0")


def task(**experiment: Any) -> NodeTask:
    values: dict[str, Any] = {
        "title": "t",
        "question": "",
        "kind": "command",
        "primary_metric": "speed",
        "command": "x",
    }
    return NodeTask(
        checkpoint="c", node_id="n0", parent_id=None, label="draft", depth=0, order=0, plan={},
        experiment=Experiment(**values | experiment), higher_is_better=True,
    )  # fmt: skip


def evaluate(runner: Runner, job: NodeTask, provenance: dict[str, str] | None = None):
    if provenance is not None:
        (runner.work_dir / "results.json").write_bytes(strict_dumps({"_provenance": provenance}))
    return evaluate_command_node(job, runner.work_dir, runner.runs, reference=None)


def test_the_median_of_the_repeats_counts_and_the_range_is_kept(runner: Runner):
    for value in (3, 1, 2):
        runner.run(f"echo 'speed: {value}'", label="measure")
    outcome = evaluate(runner, task())
    assert outcome.status == "completed"
    assert outcome.metrics == {"speed": 2.0}
    note = outcome.metrics_with_metadata["speed"]
    assert (note["n"], note["min"], note["max"]) == (3, 1.0, 3.0)


def test_a_number_that_no_run_printed_is_not_evidence(runner: Runner):
    runner.run("echo 'other: 1'", label="measure")
    (runner.work_dir / "results.json").write_text('{"measurements": {"speed": 999}}')
    outcome = evaluate(runner, task())
    assert outcome.status == "errored"
    assert not outcome.has_real_data
    assert outcome.error == "no run printed the metric 'speed' (printed: other); print a line 'speed: VALUE'"


def test_results_that_a_run_wrote_count_until_they_are_changed(runner: Runner):
    runner.run("""echo '{"speed": 7}' > results_own.json""", label="measure")
    assert evaluate(runner, task()).metrics == {"speed": 7.0}
    (runner.work_dir / "results_own.json").write_text('{"speed": 999}')
    assert evaluate(runner, task()).status == "errored"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("true", "(printed: nothing that reads as a metric)"),
        ("echo 'speed: nan'", "the metric 'speed' came out as nan"),
        ("echo 'no such file: error' >&2; exit 3", "no such file: error"),
    ],
)
def test_a_run_that_gives_nothing_is_an_error_with_its_reason(runner: Runner, command: str, message: str):
    runner.run(command, label="measure")
    outcome = evaluate(runner, task())
    assert outcome.status == "errored"
    assert message in (outcome.error or "")
    assert outcome.score == 0.0


def test_a_value_that_is_not_finite_is_null_and_says_what_it_was(runner: Runner):
    runner.run("echo 'speed: 1'; echo 'other: -inf'", label="measure")
    outcome = evaluate(runner, task())
    assert outcome.metrics["other"] is None
    assert outcome.metrics_with_metadata["other"]["non_finite"] == "-inf"


def test_a_wrong_result_is_an_error_however_fast(runner: Runner):
    runner.run("echo 'speed: 100'; echo 'err: 0.5'", label="measure")
    outcome = evaluate(runner, task(correctness="err < 1e-9"))
    assert outcome.status == "errored"
    assert outcome.error == "the result is not correct: err = 0.5, required < 1e-9"


CEILING = {"ceiling": Ceiling(metric="peak", bounds="speed", command="x")}


def test_a_ceiling_that_was_measured_keeps_its_tag_and_sets_the_score(runner: Runner):
    runner.run("echo 'speed: 2'", label="measure")
    runner.run(BUSY + 'echo "peak: 8.$((x % 1000 + 123))"', label="ceiling")
    outcome = evaluate(runner, task(**CEILING), {"peak": "microbench"})
    assert outcome.provenance == {"peak": "microbench"}
    assert outcome.score == pytest.approx(2 / outcome.metrics["peak"])


def test_an_echo_in_place_of_the_microbenchmark_loses_the_tag(runner: Runner):
    runner.run("echo 'speed: 2'", label="measure")
    runner.run("echo 'peak: 8.123'", label="ceiling")
    outcome = evaluate(runner, task(**CEILING), {"peak": "microbench"})
    assert outcome.provenance == {}
    assert outcome.score == 0.5


def test_a_busy_program_that_prints_a_number_from_its_source_loses_the_tag(runner: Runner):
    (runner.work_dir / "value.txt").write_text("peak: 8.123\n")
    runner.run("echo 'speed: 2'", label="measure")
    runner.run(BUSY + "cat value.txt", label="ceiling")
    assert evaluate(runner, task(**CEILING), {"peak": "microbench"}).provenance == {}


def test_a_tag_for_a_value_that_nothing_printed_is_dropped(runner: Runner):
    runner.run("echo 'speed: 2'", label="measure")
    assert evaluate(runner, task(), {"ghost": "microbench", "K": "declared"}).provenance == {"K": "declared"}


def test_a_ceiling_run_that_fails_does_not_fail_the_node(runner: Runner):
    runner.run("echo 'speed: 2'", label="measure")
    runner.run("exit 1", label="ceiling")
    assert evaluate(runner, task(**CEILING)).status == "completed"
