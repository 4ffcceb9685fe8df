"""One trial: a method solves one problem in a child process, is stopped if it must be, and is judged.

Promises: a `Result` whatever the child does. A child that runs past every ceiling is killed together with
its own children, and the best formula it has reported is judged; one that fails is a result too, with the
end of what it printed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

from sr_harness.bench.problems import BenchProblem
from sr_harness.bench.sampling import Rows, fresh_points, make_data, values_of
from sr_harness.bench.settings import BenchmarkSettings
from sr_harness.bench.store import Key, Result, Status
from sr_harness.bench.verdict import judge

GRACE_FACTOR: Final = 1.5
GRACE_SECONDS: Final = 20.0
"""A method stops itself at its ceiling; only one that runs on past this much more is killed."""

POLL_SECONDS: Final = 0.05
ERROR_LENGTH: Final = 2_000


class Cancelled(Exception):  # noqa: N818 - the user ended the benchmark, not a fault
    """The trial was ended from outside and has no result."""


class Ended(NamedTuple):
    """What is left of a child: its messages, the end of its error output, and how it ended."""

    messages: list[dict[str, Any]]
    complaint: str
    status: int
    killed: bool
    wall: float


def run_trial(
    problem: BenchProblem,
    key: Key,
    settings: BenchmarkSettings,
    cancel: threading.Event,
    *,
    grace: float = GRACE_SECONDS,
) -> Result:
    """Run one method on one problem.

    Args:
        problem: The problem.
        key: Method and level of noise.
        settings: The rest of what is asked for.
        cancel: Set from outside to end the trial.
        grace: Seconds, beside half of the time limit, that a method may go on past its ceiling.

    Raises:
        Cancelled: `cancel` was set.
    """
    request = {
        "method": key.method,
        "row": dict(problem.row),
        "rows": settings.rows,
        "noise": key.noise,
        "seed": settings.seed,
        "work": settings.work,
        "time_limit": settings.time_limit,
        "threads": settings.threads,
        "parent": os.getpid(),
    }
    ended = _run_child(request, settings.time_limit * GRACE_FACTOR + grace, settings.threads, cancel)
    return _result(problem, key, settings, ended)


def _run_child(request: Mapping[str, Any], seconds: float, threads: int, cancel: threading.Event) -> Ended:
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        began = time.monotonic()
        child = subprocess.Popen(
            [sys.executable, "-m", "sr_harness.bench.worker"],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=errors,
            env=_environment(threads),
            start_new_session=True,
        )
        killed = False
        try:
            with suppress(BrokenPipeError):  # the child is gone; its status and complaint say why
                assert child.stdin is not None
                child.stdin.write(json.dumps(request).encode())
                child.stdin.close()
            killed = not _wait(child, began + seconds, cancel)
        finally:
            _end(child)
        return Ended(_messages(output), _tail(errors), child.returncode, killed, time.monotonic() - began)


def _environment(threads: int) -> dict[str, str]:
    source = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(part for part in (source, os.environ.get("PYTHONPATH")) if part)
    limits = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    return {**os.environ, **dict.fromkeys(limits, str(threads)), "PYTHONPATH": path, "PYTHONHASHSEED": "0"}


def _wait(child: subprocess.Popen[bytes], deadline: float, cancel: threading.Event) -> bool:
    """Whether the child ended by itself before the deadline."""
    while True:
        try:
            child.wait(POLL_SECONDS)
        except subprocess.TimeoutExpired:
            if cancel.is_set():
                raise Cancelled from None
            if time.monotonic() > deadline:
                return False
        else:
            return True


def _end(child: subprocess.Popen[bytes]) -> None:
    """End the child and everything it started that is still in its session."""
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def _messages(output: IO[bytes]) -> list[dict[str, Any]]:
    """The whole lines that the child wrote; a torn last one is left out."""
    output.seek(0)
    lines = output.read().split(b"\n")[:-1]
    return [json.loads(line) for line in lines]


def _tail(errors: IO[bytes]) -> str:
    size = errors.seek(0, os.SEEK_END)
    errors.seek(max(0, size - ERROR_LENGTH))
    return errors.read().decode("utf-8", "replace").strip()


def _result(problem: BenchProblem, key: Key, settings: BenchmarkSettings, ended: Ended) -> Result:
    last = ended.messages[-1] if ended.messages else {}
    done = last.get("kind") == "done"
    status: Status = "done" if done else "stopped" if ended.killed else "failed"
    best: dict[str, Any] = last.get("best") or {}
    changes = [message["processor"] for message in ended.messages if message["kind"] == "best"]
    return Result(
        id=key.id,
        method=key.method,
        noise=key.noise,
        seed=settings.seed,
        target=problem.target,
        status=status,
        formula=best.get("formula"),
        complexity=best.get("complexity"),
        origin=best.get("origin"),
        truth=problem.formula,
        r2_train=best.get("r2"),
        wall_seconds=round(last["wall"] if done else ended.wall, 3),
        processor_seconds=round(last["processor"] if done else ended.wall, 3),
        startup_seconds=round(last["startup"], 3) if done else None,
        found_after=round(changes[-1], 3) if changes else None,
        work_used=last.get("work_used"),
        work_unit=last.get("work_unit"),
        stop_reason=last.get("stop_reason") or ("killed" if ended.killed else None),
        front=last.get("front", []),
        error=None if done else _explanation(ended),
        **_judged(problem, key.noise, settings, best.get("formula")),
    )


def _explanation(ended: Ended) -> str:
    if ended.killed:
        return f"killed after {ended.wall:.0f} s, because it went on past its ceiling"
    return f"the process ended with status {ended.status}: {ended.complaint or 'it printed nothing'}"


def _judged(
    problem: BenchProblem, noise: float, settings: BenchmarkSettings, formula: str | None
) -> dict[str, Any]:
    """The verdict on a formula and its R² on fresh rows, as fields of a `Result`."""
    if formula is None:
        return {}
    from sr_harness import engine

    found = engine.parse(formula, names=problem.names)
    verdict = judge(found, problem.truth, fresh_points(problem, seed=settings.seed), noise=noise)
    data = make_data(problem, rows=settings.rows, seed=settings.seed)
    return {
        **asdict(verdict),
        "r2_inside": _r2(found, data.test),
        "r2_outside": _r2(found, data.outside),
    }


def _r2(found: Any, rows: Rows) -> float | None:  # noqa: ANN401
    from sr_harness.evaluator import regression_metrics

    if rows.target.size < 2:
        return None
    return regression_metrics(rows.target, values_of(found, rows.columns, rows.target.size))["r2"]
