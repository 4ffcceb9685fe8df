"""Nodes that write their own programs: what a run measured counts, and nothing that was only said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ari.agent.task import NodeTask, Relative
from ari.evaluation.command import collect_results
from ari.evaluation.evaluator import evaluate_node, node_values
from ari.execution.limits import Limits
from ari.execution.runner import Runner
from ari.formats.jsonio import strict_dumps
from ari.orchestrator import node_dirs
from ari.pipeline.experiment_spec import Experiment

PROGRAM = """
import sys, time
start = time.perf_counter()
total = sum(i * i for i in range(400_000))
elapsed = time.perf_counter() - start
print("speed:", 0.4 / elapsed)
print("deviation:", abs(total - {right}))
"""
RIGHT = sum(i * i for i in range(400_000))


class Bench:
    """A study of one or two nodes, driven by hand."""

    def __init__(self, folder: Path, **experiment: Any) -> None:
        self.folder = folder
        values: dict[str, Any] = {
            "title": "t",
            "question": "How fast?",
            "kind": "code",
            "primary_metric": "speed",
        }
        self.experiment = Experiment(**values | experiment)
        self.parent: Relative | None = None
        self.begin("n0", None)

    def begin(self, node_id: str, parent: str | None, label: str = "draft") -> None:
        node_dirs.prepare(self.folder, node_id, parent, written_sources=True)
        self.label = label
        self.runner = Runner(
            self.folder / "records" / node_id, self.work(node_id), limits=Limits(wall_s=20), node_id=node_id
        )
        self.node_id = node_id

    def work(self, node_id: str) -> Path:
        return self.folder / "experiments" / node_id

    @property
    def task(self) -> NodeTask:
        return NodeTask(
            checkpoint=str(self.folder), node_id=self.node_id, parent_id=self.parent and self.parent.node_id,
            label=self.label, depth=0, order=0, plan={}, experiment=self.experiment, higher_is_better=True,
            ancestors=(self.parent,) if self.parent else (),
        )  # fmt: skip

    def write(self, path: str, content: str) -> None:
        (self.work(self.node_id) / path).write_text(content, encoding="utf-8")

    def run(self, command: str = "python3 p.py") -> Any:
        return self.runner.run(command)

    def emit(self, **params: Any) -> dict[str, Any]:
        results = collect_results(self.runner.runs, params=params, provenance={}, task=self.task)
        self.write("results.json", strict_dumps(results).decode())
        return results

    def outcome(self):
        return evaluate_node(self.task)

    def child(self, label: str = "improve") -> None:
        done = self.outcome()
        self.parent = Relative(
            node_id=self.node_id, label=self.label, status=done.status, score=done.score,
            metrics=done.metrics, plan={}, submission=done.submission, error=done.error,
        )  # fmt: skip
        self.begin("n1", self.node_id, label)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    bench = Bench(tmp_path)
    bench.write("p.py", PROGRAM.format(right=RIGHT))
    return bench


def test_the_median_of_the_last_commands_repeats_counts(bench: Bench):
    runs = [bench.run(), bench.run(), bench.run()]
    results = bench.emit(algorithm="sum", n=400_000, deep={"no": 1})
    outcome = bench.outcome()
    assert outcome.status == "completed"
    assert outcome.has_real_data
    note = outcome.metrics_with_metadata["speed"]
    assert note["n"] == len(runs) == 3
    assert note["min"] <= outcome.metrics["speed"] <= note["max"]
    assert results["measurements"]["speed"] == outcome.metrics["speed"]
    assert outcome.submission["params"] == {"algorithm": "sum", "n": 400_000}
    assert "declared" not in outcome.submission
    assert node_values("code", bench.folder, "n0")["speed"] == [float(run.stdout.split()[1]) for run in runs]


def test_what_was_measured_before_the_last_change_does_not_count(bench: Bench):
    bench.run()
    bench.write("p.py", PROGRAM.format(right=RIGHT) + "# changed\n")
    bench.run()
    bench.run()
    assert bench.outcome().metrics_with_metadata["speed"]["n"] == 2
    bench.run("python3 -B p.py")
    assert "n" in bench.outcome().metrics_with_metadata["speed"]
    assert bench.outcome().metrics_with_metadata["speed"]["n"] == 1


def test_another_build_is_another_state_although_the_command_is_the_same(bench: Bench):
    bench.run("cp p.py built.txt; sleep 0.01")
    bench.run("python3 built.txt")
    bench.run("sed 's/0.4/0.40/' p.py > built.txt")
    bench.run("python3 built.txt")
    assert bench.outcome().metrics_with_metadata["speed"]["n"] == 1


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("echo 'speed: 41.37'", "too little to have measured anything"),
        ("python3 -c 'sum(range(3000000)); print(\"speed:\", 41.37)'", "stands in the command that gave it"),
        ("python3 fake.py", "the number stands in fake.py, which the run could read"),
        ("python3 fake.py | sed 's/$/00/'", "the number stands in fake.py, which the run could read"),
    ],
)
def test_a_number_that_was_written_down_is_no_measurement(bench: Bench, command: str, reason: str):
    bench.write("fake.py", "sum(range(3_000_000))\nprint('speed:', 41.37)\n")
    bench.run(command)
    results = bench.emit()
    outcome = bench.outcome()
    assert outcome.status == "errored"
    assert outcome.error is not None
    assert outcome.error.startswith("the metric 'speed' does not count: ")
    assert reason in outcome.error
    assert reason in results["not_counted"]["speed"]
    assert outcome.metrics == {}


def test_a_file_that_was_taken_away_after_the_run_spoils_it(bench: Bench):
    bench.write("answer.txt", "41.37")
    bench.run('python3 -c \'sum(range(3000000)); print("speed:", open("answer.txt").read())\'')
    (bench.work("n0") / "answer.txt").unlink()
    assert "answer.txt was changed after the run that gave it" in (bench.outcome().error or "")


def test_what_is_only_said_is_kept_as_declared_and_is_no_metric(bench: Bench):
    bench.run()
    bench.write("results.json", '{"params": {"n": 3}, "measurements": {"speed": 999.5, "bandwidth": 12.25}}')
    outcome = bench.outcome()
    assert outcome.metrics["speed"] != 999.5
    assert "bandwidth" not in outcome.metrics
    assert outcome.submission["declared"] == {"speed": 999.5, "bandwidth": 12.25}
    assert "declared only: bandwidth = 12.25" in outcome.concerns


def test_results_that_the_program_wrote_itself_count_while_they_are_unchanged(bench: Bench):
    bench.write("p.py", PROGRAM.format(right=RIGHT).replace(
        'print("speed:", 0.4 / elapsed)',
        'import json; json.dump({"measurements": {"speed": 0.4 / elapsed}}, open("results.json", "w"))',
    ))  # fmt: skip
    bench.run()
    assert bench.outcome().metrics["speed"] > 0
    bench.write("results.json", '{"measurements": {"speed": 999.5}}')
    spoilt = bench.outcome()
    assert spoilt.status == "errored"
    assert spoilt.submission["declared"] == {"speed": 999.5}


def test_numbers_of_the_experiments_own_files_are_not_suspected(tmp_path: Path):
    (tmp_path / "inputs").mkdir()
    (tmp_path / "inputs" / "data.csv").write_text("0.973\n0.25\n")
    bench = Bench(tmp_path, files=("data.csv",))
    bench.run('python3 -c \'sum(range(3000000)); print("speed:", max(map(float, open("data.csv"))))\'')
    assert bench.outcome().metrics["speed"] == 0.973


def test_a_child_that_runs_the_same_programs_is_sterile_and_one_that_changes_them_is_not(bench: Bench):
    bench.run()
    bench.emit(note="one")
    bench.child()
    bench.run()
    bench.emit(note="another word for the same")
    assert bench.outcome().sterile
    bench.write("p.py", PROGRAM.format(right=RIGHT).replace("400_000", "500_000"))
    bench.run()
    assert not bench.outcome().sterile


def test_repeating_is_what_a_validation_is_for(bench: Bench):
    bench.run()
    bench.child("validation")
    bench.run()
    assert not bench.outcome().sterile


def test_a_child_starts_from_sources_that_its_parents_commands_wrote_and_not_from_its_results(bench: Bench):
    bench.run("printf 'print(1)\\n' > written.py; date > log.txt")
    bench.run()
    bench.emit()
    bench.child()
    assert sorted(p.name for p in bench.work("n1").iterdir()) == ["p.py", "written.py"]


def test_a_wrong_result_does_not_count_however_fast(tmp_path: Path):
    bench = Bench(tmp_path, correctness="deviation < 1")
    bench.write("p.py", PROGRAM.format(right=RIGHT + 7))
    bench.run()
    assert bench.outcome().error == "the result is not correct: deviation = 7, required < 1"


def test_the_experiments_tests_must_pass_and_stay_as_they_are(tmp_path: Path):
    (tmp_path / "inputs").mkdir()
    (tmp_path / "inputs" / "check.py").write_text("import p\n")
    bench = Bench(tmp_path, files=("check.py",), test_files=("check.py",), tests="python3 check.py")
    bench.write("p.py", PROGRAM.format(right=RIGHT))
    bench.run()
    assert bench.outcome().error == "the tests were not run; run 'python3 check.py' after the last change"
    bench.run("python3 check.py")
    assert bench.outcome().status == "completed"
    bench.write("p.py", PROGRAM.format(right=RIGHT) + "#\n")
    bench.run()
    assert "p.py was changed between the tests and the measurement" in (bench.outcome().error or "")
    bench.write("check.py", "")
    assert "the test file check.py was changed" in (bench.outcome().error or "")


def test_a_failed_last_repeat_fails_the_node_with_its_reason(bench: Bench):
    once = "import os\nif os.path.exists('once'): raise OSError('lost the file')\nopen('once', 'w').close()\n"
    bench.write("p.py", once + PROGRAM.format(right=RIGHT))
    bench.run()
    assert bench.outcome().status == "completed"
    bench.run("python3 -c 'raise SystemExit(\"error: no such option\")'")
    assert bench.outcome().status == "completed", "a failed attempt at something else"
    bench.run()
    assert "OSError: lost the file" in (bench.outcome().error or "")


@pytest.mark.parametrize(
    ("commands", "error"),
    [
        ([], "the node ran no command"),
        (["python3 -c 'raise ValueError(\"odd size\")'"], "ValueError: odd size"),
        (
            ["python3 -c 'print(\"other:\", sum(range(3000000)))'"],
            "no run printed the metric 'speed' (printed: other)",
        ),
    ],
)
def test_without_a_measurement_the_reason_is_given(bench: Bench, commands: list[str], error: str):
    for command in commands:
        bench.run(command)
    assert error in (bench.outcome().error or "")
