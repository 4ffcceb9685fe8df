"""A node's process may die in any way; the pool says how, and the others go on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ari.agent.task import NodeOutcome, NodeTask
from ari.execution.child import wait_until_alone
from ari.execution.processes import read_process
from ari.orchestrator import node_dirs
from ari.orchestrator.workers import WorkerPool, outcome_path, read_outcome, warm_up
from ari.pipeline.experiment_spec import Experiment


def make_task(checkpoint: Path, order: int, command: str, *, limit: float = 60.0) -> NodeTask:
    experiment = Experiment(
        title="t", question="", kind="command", primary_metric="m", command=command, repeats=1
    )
    name = f"node_{order:04d}"
    node_dirs.prepare(checkpoint, name, None)
    return NodeTask(
        checkpoint=str(checkpoint),
        node_id=name,
        parent_id=None,
        label="draft",
        depth=0,
        order=order,
        plan={},
        experiment=experiment,
        higher_is_better=True,
        time_limit_s=limit,
        command_limit_s=limit,
    )


@pytest.fixture
def pool():
    warm_up()
    pool = WorkerPool(4)
    yield pool
    pool.close()


def collect(pool: WorkerPool, count: int) -> dict[str, NodeOutcome]:
    outcomes: dict[str, NodeOutcome] = {}
    deadline = time.monotonic() + 120
    while len(outcomes) < count and time.monotonic() < deadline:
        outcomes |= {outcome.node_id: outcome for outcome in pool.finished(0.1)}
    return outcomes


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 60
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert path.exists()


def test_a_killed_process_is_an_errored_node_and_its_neighbour_finishes(pool: WorkerPool, tmp_path: Path):
    victim = make_task(tmp_path, 1, "touch started; sleep 300")
    pool.start(victim)
    pool.start(make_task(tmp_path, 2, "echo 'm: 4'"))
    wait_for(node_dirs.work_dir(tmp_path, victim.node_id) / "started")
    os.kill(pool.running[victim.node_id].process.pid, signal.SIGKILL)
    outcomes = collect(pool, 2)
    assert outcomes["node_0001"].status == "errored"
    assert "ended by SIGKILL" in outcomes["node_0001"].error
    assert outcomes["node_0002"].metrics == {"m": 4.0}


def test_at_the_time_limit_everything_the_node_started_is_gone(pool: WorkerPool, tmp_path: Path):
    command = "trap '' TERM; setsid sleep 300 & echo $! > pid; sleep 300"
    bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)  # experiment torch"])
    try:
        task = make_task(tmp_path, 1, command, limit=60.0).model_copy(update={"time_limit_s": 3.0})
        pool.start(task)
        outcome = collect(pool, 1)["node_0001"]
        assert outcome.error == "the node ran into its time limit of 3 s and was ended"
        assert not _sleepers()
        assert read_process(bystander.pid).alive
    finally:
        bystander.kill()
        bystander.wait()


RUN = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_workers import make_task
from ari.orchestrator.workers import WorkerPool, warm_up
warm_up()
pool = WorkerPool(1)
task = make_task(Path(sys.argv[1]), 1, "touch started; sleep 300")
pool.start(task)
print(pool.running[task.node_id].process.pid, flush=True)
time.sleep(300)
"""


@pytest.mark.parametrize("at_once", [True, False])
def test_a_node_ends_with_the_run_that_started_it(tmp_path: Path, at_once: bool):
    command = [sys.executable, "-c", RUN, str(tmp_path), str(Path(__file__).parent)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        pid = int(run.stdout.readline())
        if not at_once:
            wait_for(node_dirs.work_dir(tmp_path, "node_0001") / "started")
        run.kill()
    wait_until_alone(tmp_path, within_s=10)
    deadline = time.monotonic() + 10
    while (_alive(pid) or _sleepers()) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _alive(pid)
    assert not _sleepers()


def _alive(pid: int) -> bool:
    process = read_process(pid)
    return process is not None and process.alive


def _sleepers() -> list[str]:
    """Command lines of living processes that run exactly `sleep 300`; only the tests here start such."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            line = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
        except OSError:
            continue
        if line == b"sleep\x00300\x00":
            found.append(entry.name)
    return found


def test_an_outcome_that_is_cut_off_is_an_errored_node(tmp_path: Path):
    task = make_task(tmp_path, 1, "true")
    outcome_path(task).write_text('{"node_id": "node_0001", "status": "comp')
    outcome = read_outcome(task)
    assert outcome is not None
    assert outcome.status == "errored"
    assert "cannot be read" in outcome.error


def test_the_outcome_of_another_node_is_not_taken(tmp_path: Path):
    task = make_task(tmp_path, 1, "true")
    other = NodeOutcome(node_id="node_0009", status="completed")
    outcome_path(task).write_text(other.model_dump_json())
    assert read_outcome(task) is None


def test_closing_the_pool_leaves_nothing_running(tmp_path: Path):
    warm_up()
    pool = WorkerPool(2)
    task = make_task(tmp_path, 1, "touch started; sleep 300")
    pool.start(task)
    wait_for(node_dirs.work_dir(tmp_path, task.node_id) / "started")
    process = pool.running[task.node_id].process
    pool.close()
    assert not process.is_alive()
    assert not _sleepers()
