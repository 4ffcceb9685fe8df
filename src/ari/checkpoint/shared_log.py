"""A log of lines that several processes append to, each seeing what the others wrote before it decides.

Promises. `open_shared` gives one holder at a time the log, the records it has not read yet, and the right to
append. The kernel's lock on the file itself keeps the others out and is let go when its holder dies. Half a
line at the end is what a killed writer left: it is cut away, or given its line end if it is a whole record.
A bad line in the middle is refused with its number. No wait is without limit.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ari.checkpoint.files import write_all, write_failure
from ari.errors import CheckpointError, FormatError
from ari.formats.jsonio import strict_dumps, strict_loads

WAIT_S = 20.0
"""How long a writer waits for the others; each holds the log for milliseconds."""


@dataclass
class Place:
    """How far a reader has come in a log.

    Attributes:
        inode: File number of the log when it was last read.
        offset: Bytes read.
        lines: Lines read.
    """

    inode: int = -1
    offset: int = 0
    lines: int = 0


@dataclass
class OpenLog:
    """A log that this process holds.

    Attributes:
        path: The file.
        fresh: Records that were not read before.
        restarted: Whether the file is another one than at the last reading; `fresh` then holds all of it.
    """

    path: Path
    descriptor: int
    place: Place
    fresh: list[dict[str, Any]] = field(default_factory=list)
    restarted: bool = False

    def append(self, record: dict[str, Any], *, sync: bool = False) -> None:
        """Append one record; it counts as read.

        Args:
            record: A JSON object.
            sync: Whether it must survive a crash of the machine, not only of the process.

        Raises:
            FormatError: If it cannot be written as strict JSON.
            OSError: If the system refuses; the log is then as before.
        """
        line = strict_dumps(record) + b"\n"
        try:
            write_all(self.descriptor, line)
            if sync:
                os.fsync(self.descriptor)
        except OSError:
            os.ftruncate(self.descriptor, self.place.offset)
            raise
        self.place.offset += len(line)
        self.place.lines += 1


@contextmanager
def open_shared(path: Path, place: Place) -> Iterator[OpenLog]:
    """Hold a log; created if absent.

    Args:
        path: The log.
        place: How far it has been read; brought up to date.

    Raises:
        CheckpointError: If it cannot be opened, written or waited for, or a line in its middle is damaged.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise write_failure(path, error) from error
    try:
        _lock(path, descriptor)
        log = OpenLog(path, descriptor, place)
        _catch_up(log)
        yield log
    except OSError as error:
        raise write_failure(path, error) from error
    finally:
        os.close(descriptor)


def read_shared(path: Path) -> list[dict[str, Any]]:
    """Read a log without holding it and without changing it; half a line at its end is left out.

    Raises:
        CheckpointError: If it cannot be read, or a line is damaged.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror or error}") from error
    whole, _, rest = data.rpartition(b"\n")
    lines = whole.split(b"\n") if whole else []
    if _record(rest) is not None:
        lines.append(rest)
    return _parse(path, lines, first=1)


def _lock(path: Path, descriptor: int) -> None:
    deadline = time.monotonic() + WAIT_S
    pause = 0.0005
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise CheckpointError(
                    f"{path} has been held by another process for {WAIT_S:g} s",
                    cure="End the process that holds it (it may be stopped), then run `ari resume`.",
                ) from None
            time.sleep(pause)
            pause = min(pause * 2, 0.02)


def _catch_up(log: OpenLog) -> None:
    place, status = log.place, os.fstat(log.descriptor)
    if place.inode != status.st_ino or status.st_size < place.offset:
        log.restarted = place.inode != -1
        place.inode, place.offset, place.lines = status.st_ino, 0, 0
    data = b"".join(_read_from(log.descriptor, place.offset, status.st_size))
    whole, _, rest = data.rpartition(b"\n")
    if rest.strip():
        if _record(rest) is None:
            os.ftruncate(log.descriptor, status.st_size - len(rest))
        else:
            write_all(log.descriptor, b"\n")
            whole, rest = (data, b"")
    lines = whole.split(b"\n") if whole else []
    log.fresh = _parse(log.path, lines, first=place.lines + 1)
    place.lines += len(lines)
    place.offset = os.fstat(log.descriptor).st_size


def _read_from(descriptor: int, start: int, end: int) -> Iterator[bytes]:
    while start < end:
        chunk = os.pread(descriptor, min(end - start, 1 << 20), start)
        if not chunk:
            return
        start += len(chunk)
        yield chunk


def _parse(path: Path, lines: list[bytes], *, first: int) -> list[dict[str, Any]]:
    records = []
    for number, line in enumerate(lines, start=first):
        if not line.strip():
            continue
        record = _record(line)
        if record is None:
            raise CheckpointError(
                f"{path}, line {number}: not a record",
                cure="Keep a copy of the file, take that line out, then run `ari resume`.",
            )
        records.append(record)
    return records


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        document = strict_loads(line)
    except FormatError:
        return None
    return document if isinstance(document, dict) else None
