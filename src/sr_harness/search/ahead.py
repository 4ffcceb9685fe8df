"""Worker processes that run the later parts of the portfolio ahead of the search.

The search stays what it is on one core: parts in order, one meter, one front. `Ahead` only saves it
computing. While the search is busy with one part, workers run the next ones and send what those do (see
`sr_harness.search.recording`); when the search comes to such a part it follows the records. So the result is
the same for any number of jobs, and when workers start is of no consequence for it.

Promises: no process is started for a search that is over soon; none is left when the block is left, however
that happens, nor when this process is killed (a worker ends with its connection or its parent); a worker that
dies costs time and nothing else.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, NamedTuple, Self

from sr_harness.search.recording import Charged, Cut, Finished, Record, Step
from sr_harness.search.strategies import STRATEGIES
from sr_harness.search.strategies.base import Strategy
from sr_harness.search.worker import Abandon, Start, Task
from sr_harness.search.workspace import Workspace

START_AFTER = 0.5
"""Seconds after which workers are started: most formulas are found sooner."""

ASK_EVERY = 0.05
"""Seconds between looks at the time and at cancellation while the search waits for records."""

_LIMITS = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR")
WITHOUT_THREADS = {f"{library}_NUM_THREADS": "1" for library in _LIMITS}
"""A worker is one thread of linear algebra; set before its libraries are loaded."""


class Void(Exception):  # noqa: N818 - control flow of the search, not a fault
    """What a worker did or would have done is of no use: the search must run the part itself.

    The text says why, for people; empty where nothing is wrong.
    """


class Place(NamedTuple):
    """A part of the portfolio: place of the strategy among those chosen, and which of its parts."""

    strategy: int
    part: int


class Stream:
    """The records of one part that runs, or ran, in a worker.

    Attributes:
        task: The part.
        charged: Work that has been recorded so far.
        begun: Whether there are records.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self.charged = 0.0
        self.begun = False
        self._batches: SimpleQueue[list[Record] | str] = SimpleQueue()
        self._worker: _Worker | None = None
        self._open = self._wanted = True

    def records(self, check: Callable[[], None]) -> Iterator[Step]:
        """The records as they come, without the last one.

        Args:
            check: Called now and then while there are none.

        Raises:
            Void: The worker died, or the part did not run to its end.
            ArithmeticError, LinAlgError: What ended the strategy.
        """
        while True:
            try:
                batch = self._batches.get(timeout=ASK_EVERY)
            except Empty:
                check()
                continue
            if isinstance(batch, str):
                raise Void(batch)
            for record in batch:
                if isinstance(record, Cut):
                    raise Void
                if not isinstance(record, Finished):
                    yield record
                elif record.error is not None:
                    raise record.error
                else:
                    return

    def abandon(self) -> None:
        """Let the worker turn to something else."""
        self._wanted = False
        worker = self._worker
        if self._open and worker is not None:
            worker.send(Abandon(self.task.number))

    def run(self, worker: _Worker) -> bool:
        """Let a worker run the part and collect the records; whether the worker still lives."""
        self._worker = worker
        if not self._wanted:
            return True
        worker.send(self.task)
        try:
            while self._open:
                batch = worker.connection.recv()
                self._open = not isinstance(batch[-1], Finished | Cut)
                self.charged += sum(record.units for record in batch if isinstance(record, Charged))
                self._batches.put(batch)
                self.begun = True
        except Exception:  # noqa: BLE001 - whatever it is, the search must not wait for ever
            self._open, self.begun = False, True
            self._batches.put(
                f"the worker process that ran {self.task.strategy!r} ahead {worker.end()}; "
                "the search runs it itself"
            )
            return False
        return True


class _Worker:
    """One worker process and the connection to it."""

    def __init__(self, start: bytes) -> None:
        self.connection: Connection[Any, Any]
        self.connection, theirs = Pipe()
        # Ctrl-C reaches every process of the terminal; it is the parent that answers it.
        program = (
            "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); "
            f"sys.path[:] = {[path or str(Path.cwd()) for path in sys.path]!r}; "
            f"from sr_harness.search.worker import main; main({theirs.fileno()})"
        )
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-c", program],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env={**os.environ, **WITHOUT_THREADS},
                process_group=0,  # Ctrl-C is for the search; a worker still starting would print a traceback
            )
        except BaseException:
            self.connection.close()
            raise
        finally:
            theirs.close()
        self._sending = threading.Lock()
        self._post(start)

    def send(self, message: Task | Abandon) -> None:
        self._post(pickle.dumps(message))

    def _post(self, message: bytes) -> None:
        """Send; what a dead worker no longer takes is noticed by who waits for its answer."""
        with self._sending:
            try:
                self.connection.send_bytes(message)
            except OSError:
                return

    def end(self) -> str:
        """End the process if it still runs; how it ended, for people."""
        try:
            # the connection is lost a moment before the process is gone
            status = self.process.wait(timeout=1.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return "sent what cannot be read and was ended"
        if status == -signal.SIGKILL:
            return "was killed (SIGKILL; perhaps memory ran out)"
        return f"ended by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"


class Ahead:
    """Up to so many workers for one search; with one job none.

    Args:
        jobs: Most worker processes.
        space: The workspace of the search.
        chosen: The portfolio.
        shares: The part of the work still left that each strategy may spend.
    """

    def __init__(
        self, jobs: int, space: Workspace, chosen: Sequence[Strategy], shares: Sequence[float]
    ) -> None:
        self._jobs, self._space, self._chosen, self._shares = jobs, space, chosen, shares
        self._begun = 0
        self._begin = time.monotonic() + START_AFTER
        self._lock = threading.Lock()
        self._now = Place(0, -1)
        self._pending: list[Place] = []
        self._streams: dict[Place, Stream] = {}
        self._threads: list[threading.Thread] = []
        self._workers: list[_Worker] = []
        self._closed = jobs < 2
        self._troubles: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._closed = True
            for worker in self._workers:
                worker.process.kill()
        for thread in self._threads:
            thread.join()

    def tick(self) -> None:
        """Start the workers when it is time; called before each piece of work."""
        if self._closed or self._threads or time.monotonic() < self._begin:
            return
        self._pending = [
            Place(place, part)
            for place, strategy in enumerate(self._chosen)
            if self._can_run(strategy)
            for part in range(strategy.parts)
            if Place(place, part) > self._now
        ]
        count = min(self._jobs, len(self._pending))
        if not count:
            self._closed = True
            return
        # Protocol 4 copies arrays; a later one may leave them read-only.
        start = pickle.dumps(Start(self._space.sample, self._space.seed, os.getpid()), protocol=4)
        self._threads = [
            threading.Thread(target=self._serve, args=(start,), name=f"search-worker-{number}", daemon=True)
            for number in range(count)
        ]
        for thread in self._threads:
            thread.start()

    def claim(self, place: Place) -> Stream | None:
        """The records of a part that a worker is at; None where the search had better run it."""
        with self._lock:
            self._now = place
            if place in self._pending:
                self._pending.remove(place)
            stream = self._streams.pop(place, None)
        if stream is None or stream.begun:
            return stream
        stream.abandon()  # by waiting for a worker that only starts up the search would lose time
        return None

    def leave(self, strategy: int) -> None:
        """Drop what is left of a strategy that is over."""
        with self._lock:
            self._pending = [place for place in self._pending if place.strategy != strategy]
            gone = [place for place in self._streams if place.strategy == strategy]
            streams = [self._streams.pop(place) for place in gone]
        for stream in streams:
            stream.abandon()

    def troubles(self) -> list[str]:
        """What went wrong since the last call and costs time only, a sentence each."""
        with self._lock:
            found, self._troubles = self._troubles, []
        return found

    def _can_run(self, strategy: Strategy) -> bool:
        """Whether a worker knows the strategy and has what it needs."""
        known = STRATEGIES.get(strategy.name) is strategy
        return known and strategy.ahead and strategy.obstacle(self._space.problem) is None

    def _serve(self, start: bytes) -> None:
        """Start a worker and give it part after part; runs in a thread."""
        try:
            worker = _Worker(start)
        except OSError as error:
            with self._lock:
                self._troubles.append(f"a worker process could not be started ({error}); fewer are used")
            return
        with self._lock:
            self._workers.append(worker)
        try:
            while (stream := self._next()) is not None and stream.run(worker):
                pass
        finally:
            worker.process.kill()
            worker.process.wait()
            worker.connection.close()

    def _next(self) -> Stream | None:
        """The next part that nobody has begun and that the search may well come to."""
        with self._lock:
            for place in () if self._closed else self._pending:
                work, likely = self._prospects(place)
                if work < 1:
                    continue
                self._pending.remove(place)
                self._begun += 1
                name = self._chosen[place.strategy].name
                stream = self._streams[place] = Stream(Task(self._begun, name, place.part, work, likely))
                return stream
        return None

    def _prospects(self, place: Place) -> tuple[int, int]:
        """The most work that the search can have left for a part, and how much it probably will."""
        before = sum(
            stream.charged
            for other, stream in self._streams.items()
            if other.strategy == place.strategy and other < place
        )
        meter = self._space.meter
        left = float(meter.budget.work - meter.used)
        most = self._shares[place.strategy] * left
        for strategy in range(self._now.strategy, place.strategy):
            if self._chosen[strategy].obstacle(self._space.problem) is None:
                left *= 1.0 - self._shares[strategy]
        return int(most - before), int(self._shares[place.strategy] * left - before)
