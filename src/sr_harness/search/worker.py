"""The program of a worker process: it runs the parts of strategies that it is given and sends their records.

It ends with its connection, so it never outlives the search: a thread waits for messages all the time, and
where there can be none any more the process exits at once, whatever it is doing. Where something else keeps
the connection open, a copy of the searching process for example, it ends when it has another parent.
"""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any, NamedTuple

from sr_harness.engine import Expression
from sr_harness.search.problem import Problem
from sr_harness.search.recording import Record, Recorder
from sr_harness.search.strategies import STRATEGIES
from sr_harness.search.threads import one_thread

LOOK_EVERY = 1.0
"""Seconds between looks at who the parent is."""

SEND_EVERY = 0.02
"""Seconds for which records of work are collected; a formula is sent at once."""


@dataclass(frozen=True)
class Start:
    """The first message: what is searched.

    Attributes:
        sample: The rows that strategies work on.
        seed: Seed of the search.
        parent: Process that searches.
    """

    sample: Problem
    seed: int
    parent: int


class Task(NamedTuple):
    """One part of a strategy; `work` and `likely` as in `Recorder.run`."""

    number: int
    strategy: str
    part: int
    work: int
    likely: int


class Abandon(NamedTuple):
    """The task of this number is no longer wanted."""

    number: int


def main(descriptor: int) -> None:
    """Work off the tasks that come over a connection until it is closed."""
    connection: Connection[Any, Any] = Connection(descriptor)
    start: Start = connection.recv()
    tasks: SimpleQueue[Task] = SimpleQueue()
    abandoned: set[int] = set()
    threading.Thread(target=_receive, args=(connection, start.parent, tasks, abandoned), daemon=True).start()
    outbox = _Outbox(connection)
    recorder = Recorder(start.sample, start.seed, outbox.note)
    with one_thread():
        while True:
            task = tasks.get()
            recorder.run(
                STRATEGIES[task.strategy],
                task.part,
                work=task.work,
                likely=task.likely,
                should_stop=partial(abandoned.__contains__, task.number),
            )
            outbox.flush()


def _receive(
    connection: Connection[Any, Any], parent: int, tasks: SimpleQueue[Task], abandoned: set[int]
) -> None:
    """Pass messages on; end the process with the connection or with its parent."""
    try:
        while True:
            while not connection.poll(LOOK_EVERY):
                if os.getppid() != parent:
                    os._exit(0)
            message = connection.recv()
            if isinstance(message, Abandon):
                abandoned.add(message.number)
            else:
                tasks.put(message)
    except (EOFError, OSError):
        os._exit(0)


class _Outbox:
    """Records that are sent together."""

    def __init__(self, connection: Connection[Any, Any]) -> None:
        self._connection = connection
        self._records: list[Record] = []
        self._sent = time.monotonic()

    def note(self, record: Record) -> None:
        self._records.append(record)
        if isinstance(record, Expression) or time.monotonic() - self._sent > SEND_EVERY:
            self.flush()

    def flush(self) -> None:
        if not self._records:
            return
        try:
            self._connection.send(self._records)
        except OSError:
            os._exit(0)  # nobody reads any more
        self._records = []
        self._sent = time.monotonic()
