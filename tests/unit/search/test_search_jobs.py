"""Several jobs: the result of one, no process left behind, a lost worker costs time only."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from search_problems import oscillators, problem, table

from sr_harness.engine import Expression
from sr_harness.search import STRATEGIES as ALL
from sr_harness.search import Budget, Discovery, Problem, ahead, discover
from sr_harness.search.ahead import Void
from sr_harness.search.jobs import available_cores, effective_jobs
from sr_harness.search.recording import Cut, Finished, Record, Recorder
from sr_harness.search.strategies import genetic

STRATEGIES = ["constant", "linear", "trigonometric", "composite", "genetic"]


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers start with the search, and it waits for them, so that these tests have them at work."""
    monkeypatch.setattr(ahead, "START_AFTER", 0.0)
    always = property(lambda _: True, lambda _, __: None)
    monkeypatch.setattr(ahead.Stream, "begun", always, raising=False)


def hard(rows: int = 120) -> Problem:
    data = table(2, rows, x=(1.0, 3.0), z=(1.0, 3.0))
    return problem(data, np.tanh(data["x"] * data["z"]) + 0.1 * np.sin(5 * data["x"]))


def told(result: Discovery) -> list[Any]:
    events = [(event.kind, event.origin, event.message, event.work) for event in result.events]
    return [result.stop_reason, result.work_used, result.front.to_rows(), events]


def children() -> list[int]:
    """Worker processes of this one."""
    return [
        int(status.parent.name)
        for status in Path("/proc").glob("[0-9]*/stat")
        if _parent(status) == os.getpid() and b"search.worker" in _read(status.with_name("cmdline"))
    ]


def _parent(status: Path) -> int:
    fields = _read(status).rpartition(b")")[2].split()
    return int(fields[1]) if fields else 0


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""  # the process has just ended


@pytest.fixture
def followed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the strategies of which the search followed records and ran nothing itself."""
    from sr_harness.search import discovery

    names: list[str] = []
    real = discovery._Run.follow

    def follow(self: discovery._Run, stream: ahead.Stream, origin: str) -> bool:
        names.append(origin)
        done = real(self, stream, origin)
        if not done:
            names.remove(origin)
        return done

    monkeypatch.setattr(discovery._Run, "follow", follow)
    return names


@pytest.mark.parametrize("jobs", [2, 3])
def test_the_number_of_jobs_changes_nothing_but_time(jobs: int, followed: list[str]) -> None:
    alone, several = (
        discover(hard(), budget=Budget(6_000), seed=3, strategies=STRATEGIES, jobs=number)
        for number in (1, jobs)
    )
    assert told(several) == told(alone)
    assert {"composite", "trigonometric"} <= set(followed)
    assert children() == []


def test_a_sample_of_a_large_table_gives_the_same_too(followed: list[str]) -> None:
    alone, several = (
        discover(hard(2_500), budget=Budget(4_000), strategies=STRATEGIES[1:-1], jobs=jobs) for jobs in (1, 2)
    )
    assert told(several) == told(alone)
    assert followed


def test_a_network_gives_the_same_too(followed: list[str]) -> None:
    given = Problem.from_context(oscillators(7, coupling=0.7), "velocity")
    alone, several = (
        discover(given, budget=Budget(50_000), strategies=["linear", "network"], jobs=jobs) for jobs in (1, 2)
    )
    assert told(several) == told(alone)
    assert alone.stop_reason == "exact"


@pytest.mark.parametrize("work", [900, 2_000])
def test_little_work_is_not_exceeded_and_ends_at_the_same_place(work: int) -> None:
    alone, several = (
        discover(hard(), budget=Budget(work), strategies=STRATEGIES, jobs=jobs) for jobs in (1, 2)
    )
    assert told(several) == told(alone)
    assert several.work_used <= work


def test_an_exact_formula_of_a_later_strategy_ends_the_search(followed: list[str]) -> None:
    data = table(3, 100, x=(1.0, 3.0), z=(1.0, 4.0))
    exact = problem(data, np.sin(data["x"] * data["z"]) * data["x"] + data["z"])
    chosen = ["linear", "rational", "composite", "genetic"]
    alone, several = (discover(exact, budget=Budget(6_000), strategies=chosen, jobs=jobs) for jobs in (1, 2))
    assert alone.stop_reason == "exact"
    assert told(several) == told(alone)
    assert not [event for event in several.events if event.kind == "worker"]


class Dying:
    """A connection whose process is killed after the first records of a part."""

    def __init__(self, worker: ahead._Worker) -> None:
        self._worker, self._connection, self._first = worker, worker.connection, True

    def recv(self) -> list[Record]:
        if not self._first:
            raise EOFError
        self._first = False
        batch = self._connection.recv()
        self._worker.process.kill()
        return [record for record in batch if not isinstance(record, Finished | Cut)]

    def __getattr__(self, name: str) -> object:
        return getattr(self._connection, name)


@pytest.mark.parametrize("strategy", ["trigonometric", "composite"])
def test_the_search_runs_itself_what_a_killed_worker_was_at(
    strategy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = discover(hard(), budget=Budget(6_000), strategies=STRATEGIES)
    real = ahead.Stream.run

    def run(self: ahead.Stream, worker: ahead._Worker) -> bool:
        if (self.task.strategy, self.task.part) == (strategy, 0):
            worker.connection = Dying(worker)
        return real(self, worker)

    monkeypatch.setattr(ahead.Stream, "run", run)
    several = discover(hard(), budget=Budget(6_000), strategies=STRATEGIES, jobs=2)
    lost = [event.message for event in several.events if event.kind == "worker"]
    assert lost == [
        f"the worker process that ran {strategy!r} ahead was killed (SIGKILL; perhaps memory ran out); "
        "the search runs it itself"
    ]
    assert told(several)[:3] == told(alone)[:3]
    events = [event for event in told(several)[3] if event[0] != "worker"]
    assert events == told(alone)[3]
    assert children() == []


class Broken:
    """The first so many records of a part; then the worker is lost."""

    def __init__(self, records: list[Record]) -> None:
        self._records = records

    def records(self, _check: object) -> Iterator[Record]:
        yield from self._records
        raise Void("the worker was lost")

    def abandon(self) -> None:
        pass


@pytest.mark.parametrize(("strategy", "part", "work"), [("composite", 9, 700), ("genetic", 0, 3_600)])
def test_wherever_the_records_break_off_the_result_is_the_same(
    strategy: str, part: int, work: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(genetic, "ROUND_WORK", 2_000)
    given, chosen = hard(), ["linear", strategy]
    alone = discover(given, budget=Budget(work), strategies=chosen)
    recorded: list[Record] = []
    Recorder(given, 0, recorded.append).run(
        ALL[strategy], part, work=work, likely=work, should_stop=lambda: False
    )
    assert any(isinstance(record, Expression) for record in recorded)
    steps = [record for record in recorded if not isinstance(record, Finished | Cut)]
    for end in sorted({1, 2, *range(3, len(steps), max(1, len(steps) // 3)), len(steps)}):
        broken = {ahead.Place(1, part): Broken(steps[:end])}
        monkeypatch.setattr(ahead.Ahead, "claim", lambda _, place, broken=broken: broken.get(place))
        result = discover(given, budget=Budget(work), strategies=chosen)
        assert result.stop_reason == alone.stop_reason
        assert result.work_used == alone.work_used, end
        assert result.front.to_rows() == alone.front.to_rows()


def test_a_worker_that_cannot_start_is_told_and_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("no more processes")

    monkeypatch.setattr(ahead.subprocess, "Popen", refuse)
    result = discover(hard(), budget=Budget(1_000), strategies=STRATEGIES[:4], jobs=2)
    lost = {event.message for event in result.events if event.kind == "worker"}
    assert lost == {"a worker process could not be started (no more processes); fewer are used"}
    assert result.best is not None


@pytest.mark.parametrize("how", [KeyboardInterrupt, RuntimeError])
def test_nothing_is_left_behind_however_the_search_ends(how: type[BaseException]) -> None:
    at_work: list[int] = []

    def watch(event: object) -> None:
        at_work.extend(children())
        if at_work:
            raise how

    with pytest.raises(how):
        discover(hard(), budget=Budget(100_000), jobs=2, on_event=watch)
    assert at_work
    assert children() == []


def test_a_cancelled_search_leaves_nothing_behind() -> None:
    result = discover(hard(), budget=Budget(100_000), jobs=2, should_stop=lambda: bool(children()))
    assert result.stop_reason == "cancelled"
    assert children() == []


def test_a_time_limit_leaves_nothing_behind() -> None:
    at_work: list[int] = []
    result = discover(
        hard(),
        budget=Budget(10_000_000, 2.0),
        strategies=["linear", "rational", "composite", "genetic"],
        jobs=2,
        on_event=lambda _: at_work.extend(children()),
    )
    assert result.stop_reason == "time"
    assert at_work
    assert children() == []


SCRIPT = r"""
    import os
    import numpy as np
    from sr_harness.search import Budget, Problem, ahead, discover
    ahead.START_AFTER = 0.0
    x = np.random.default_rng(0).uniform(1, 3, (4, 400))
    target = np.tanh(x[0] * x[1]) + np.sin(x[2]) ** x[3]
    problem = Problem.from_arrays({f"x{k}": v for k, v in enumerate(x)}, target)
    started = ahead._Worker.__init__
    def tell(self, start):
        started(self, start)
        os.write(1, b"%d\n" % self.process.pid)
    ahead._Worker.__init__ = tell
    # no guard of __name__: a worker must not run the user's script
    discover(problem, budget=Budget(10_000_000), jobs=2)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("group", [False, True], ids=["process", "group"])
def test_workers_end_with_the_process_that_searches(
    number: signal.Signals, group: bool, tmp_path: Path
) -> None:
    script = tmp_path / "unguarded.py"
    script.write_text(textwrap.dedent(SCRIPT), "utf-8")
    search = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert search.stdout is not None
    try:
        workers = [int(search.stdout.readline()) for _ in range(2)]
        assert all(_runs(worker) for worker in workers)
        if group:
            os.killpg(search.pid, number)
        else:
            search.send_signal(number)
    except BaseException:
        search.kill()
        raise
    finally:
        _, said = search.communicate(timeout=60)
    assert search.returncode == -number
    assert said.count("Traceback") == (1 if number == signal.SIGINT else 0)
    deadline = time.monotonic() + 60
    while any(_runs(worker) for worker in workers) and time.monotonic() < deadline:
        os.sched_yield()
    assert not any(_runs(worker) for worker in workers)


def test_a_worker_ends_with_its_parent_even_if_a_copy_of_it_holds_the_connection() -> None:
    code = textwrap.dedent(SCRIPT).replace(
        "    os.write(1,", "    os.set_inheritable(self.connection.fileno(), True)\n    os.write(1,"
    )
    code = code.replace("import os\n", "import os, subprocess\n").replace(
        "ahead._Worker.__init__ = tell",
        "ahead._Worker.__init__ = tell\n"
        "import threading; threading.Timer(1.0, lambda: os.write(1, b'%d\\n' % subprocess.Popen("
        "['sleep', '600'], close_fds=False).pid)).start()",
    )
    search = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert search.stdout is not None
    pids = sorted(int(search.stdout.readline()) for _ in range(3))
    search.kill()
    search.wait()
    sleeper = next(pid for pid in pids if b"sleep" in _read(Path(f"/proc/{pid}/cmdline")))
    try:
        pids.remove(sleeper)
        deadline = time.monotonic() + 60
        while any(_runs(worker) for worker in pids) and time.monotonic() < deadline:
            os.sched_yield()
        assert not any(_runs(worker) for worker in pids)
        assert _runs(sleeper)
    finally:
        os.kill(sleeper, signal.SIGKILL)
        search.stdout.close()


def _runs(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_quick_search_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "START_AFTER", 1e9)
    monkeypatch.setattr(ahead.subprocess, "Popen", lambda *_, **__: pytest.fail("a process was started"))
    assert discover(hard(), budget=Budget(2_000), jobs=4).best is not None


def test_jobs_are_counted_as_scikit_learn_does() -> None:
    assert effective_jobs(None) == 1
    assert effective_jobs(3) == 3
    assert effective_jobs(-1) == available_cores()
    assert effective_jobs(-10_000) == 1
    with pytest.raises(ValueError, match="0 jobs cannot search; give a number of at least 1, or -1"):
        effective_jobs(0)


def test_a_daemon_searches_alone() -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(effective_jobs, (-1,)) == 1


def test_a_worker_of_joblib_searches_alone() -> None:
    joblib = pytest.importorskip("joblib")
    assert joblib.Parallel(n_jobs=2)(joblib.delayed(effective_jobs)(4) for _ in range(2)) == [1, 1]
