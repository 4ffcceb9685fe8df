"""The process in which one method solves one problem: `python -m sr_harness.bench.worker`.

It reads one JSON request from standard input and writes JSON lines to standard output: `best` whenever the
best formula changes, and `done` at the end, so that the parent knows the best so far if it must stop this
process. Whatever a library prints goes to standard error. It ends with its parent.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

if TYPE_CHECKING:
    from sr_harness.search import Candidate

_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG
_MEMORY = 8_000_000_000


class Request(BaseModel):
    """What the parent asks for."""

    method: str
    row: dict[str, str]
    rows: int
    noise: float
    seed: int
    work: int
    time_limit: float
    threads: int
    parent: int


def main() -> int:
    """Serve one request."""
    request = Request.model_validate_json(sys.stdin.read())
    _end_with(request.parent)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    run(request, _channel())
    return 0


def run(request: Request, send: Callable[[dict[str, Any]], None]) -> None:
    """Solve and send `best` and `done`."""
    from sr_harness.bench.methods import Clock, Task, method
    from sr_harness.bench.problems import problem_from_row
    from sr_harness.bench.sampling import make_data

    problem = problem_from_row(request.row)
    data = make_data(problem, rows=request.rows, noise=request.noise, seed=request.seed)
    solve = method(request.method)
    startup = time.process_time()
    clock = Clock(request.time_limit, request.threads)

    def progress(candidate: Candidate) -> None:
        send({"kind": "best", "best": candidate.to_row(), "wall": clock.wall, "processor": clock.processor})

    answer = solve(Task(data.train, problem.target, request.seed, request.work, clock), progress)
    send(
        {
            "kind": "done",
            "best": None if answer.best is None else answer.best.to_row(),
            "front": answer.front_rows(),
            "work_used": answer.work_used,
            "work_unit": answer.work_unit,
            "stop_reason": answer.stop_reason,
            "wall": clock.wall,
            "processor": clock.processor,
            "startup": startup,
        }
    )


def _end_with(parent: int) -> None:
    """Be killed when the parent ends, however it ends."""
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _channel() -> Callable[[dict[str, Any]], None]:
    """Keep standard output for messages; everything else that is printed goes to standard error."""
    stream = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def send(message: dict[str, Any]) -> None:
        stream.write(json.dumps(message, allow_nan=False) + "\n")
        stream.flush()

    return send


if __name__ == "__main__":
    sys.exit(main())
