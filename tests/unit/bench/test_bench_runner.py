"""Trials in child processes: results, resuming, interruptions, kills and failures."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from bench_tables import easy_settings, table

from sr_harness.bench import run_benchmark
from sr_harness.bench.store import Key, ResultStore
from sr_harness.bench.trial import Cancelled, run_trial
from sr_harness.errors import BenchmarkError


def stable(results):
    """What the clock does not decide."""
    timed = {"wall_seconds", "processor_seconds", "startup_seconds", "found_after"}
    return [result.model_dump(exclude=timed) for result in results]


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    folder = tmp_path_factory.mktemp("unbroken")
    problems, settings = easy_settings(folder)
    return run_benchmark(problems, settings, folder / "out", jobs=2)


def test_easy_formulas_are_recovered(unbroken):
    plane, odd = unbroken
    assert plane.strict and odd.strict
    assert (plane.status, plane.stop_reason, plane.work_unit) == ("done", "exact", "units of work")
    assert 0 < plane.processor_seconds < 30
    assert plane.r2_inside == pytest.approx(1) and plane.r2_outside == pytest.approx(1)
    assert "lambda" in odd.formula


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path, unbroken):
    problems, settings = easy_settings(tmp_path)
    out = tmp_path / "out"

    def interrupt(step):
        if step.kind == "finished":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_benchmark(problems, settings, out, report=interrupt)
    [first] = out.glob("results/*/*/*.json")
    before = first.read_bytes()
    steps = []
    results = run_benchmark(problems, settings, out, resume=True, report=steps.append)
    assert [step.kind for step in steps] == ["kept", "began", "finished"]
    assert first.read_bytes() == before
    assert stable(results) == stable(unbroken)
    assert (out / "results/sr_harness/noise-0/dir%2Fodd name.json").exists()
    assert not list(out.rglob("*.tmp"))


def test_a_directory_is_not_mixed(tmp_path):
    problems, settings = easy_settings(tmp_path)
    store = ResultStore(tmp_path / "out")
    store.prepare(settings, {}, resume=False)
    with pytest.raises(BenchmarkError, match="go on with --resume or choose another --output"):
        run_benchmark(problems, settings, tmp_path / "out")
    _, other = easy_settings(tmp_path, seed=1, noise=(0.0, 0.1))
    with pytest.raises(BenchmarkError) as caught:
        run_benchmark(problems, other, tmp_path / "out", resume=True)
    assert "  - noise was (0.0) and is now (0.0, 0.1)\n  - seed was 0 and is now 1\n" in str(caught.value)
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "thesis.tex").touch()
    with pytest.raises(BenchmarkError, match="is not empty and no benchmark"):
        run_benchmark(problems, settings, tmp_path / "foreign")


def test_a_broken_result_is_named(tmp_path):
    problems, settings = easy_settings(tmp_path)
    store = ResultStore(tmp_path / "out")
    store.prepare(settings, {}, resume=False)
    path = tmp_path / "out/results/sr_harness/noise-0/plane.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"id": "plane"', encoding="utf-8")
    with pytest.raises(
        BenchmarkError, match=r"plane\.json cannot be read .*Delete it and go on with --resume"
    ):
        run_benchmark(problems, settings, tmp_path / "out", resume=True)


def test_a_method_that_fails_is_a_result(tmp_path):
    (plane, _), settings = easy_settings(tmp_path)
    result = run_trial(plane, Key("nonsense", 0.0, "plane"), settings, threading.Event())
    assert (result.status, result.recovered, result.formula) == ("failed", False, None)
    assert "there is no method 'nonsense'" in result.error


def test_a_method_that_runs_on_is_killed(tmp_path):
    (plane, _), settings = easy_settings(tmp_path, time_limit=0.01)
    result = run_trial(plane, Key("sr_harness", 0.0, "plane"), settings, threading.Event(), grace=0.0)
    assert (result.status, result.stop_reason, result.recovered) == ("stopped", "killed", False)
    assert "because it went on past its ceiling" in result.error


def test_a_cancelled_trial_has_no_result(tmp_path):
    (plane, _), settings = easy_settings(tmp_path)
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(Cancelled):
        run_trial(plane, Key("sr_harness", 0.0, "plane"), settings, cancel)


HARD = """id,target,formula,n_vars,variables
easy,y,2*x,1,x:1:2
hard,y,cos(x*z + sin(3*w*z)/(1 + x**2))*exp(-sqrt(x + w)) + cot(w*z)/(x + z**3),3,x:1:2;z:1:2;w:1:2
"""


def children_of(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


def test_a_kill_loses_only_what_was_running_and_leaves_no_process(tmp_path):
    out = tmp_path / "out"
    main = "import sys; from sr_harness.cli import main; sys.exit(main())"
    options = ["--output", out, "--rows", "60", "--work", "10000000", "--time-limit", "300"]
    command = [sys.executable, "-c", main, "benchmark", table(tmp_path, HARD), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout.readline().startswith("[1/2] easy (sr_harness): exact")
        while not (running := children_of(parent.pid)):
            assert parent.poll() is None
        handles = [os.pidfd_open(child) for child in running]
        parent.send_signal(signal.SIGKILL)
    for handle in handles:
        assert select.select([handle], [], [], 30)[0], "a child outlived its parent"
        os.close(handle)
    [kept] = out.glob("results/*/*/*.json")
    assert json.loads(kept.read_text())["id"] == "easy"
    assert not (out / "summary.json").exists()
