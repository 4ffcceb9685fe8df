"""The `file` back end: `memory_store.jsonl` in the checkpoint, one entry a line.

Every operation leaves a line in `memory_access.jsonl`; that log is for people and never a reason to fail.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ari.checkpoint.files import append_jsonl, atomic_write, write_failure
from ari.checkpoint.store import utc_now
from ari.errors import CheckpointError, FormatError
from ari.formats.jsonio import strict_dumps, strict_loads
from ari.formats.memory_store import MemoryRecord
from ari.memory.base import Entry, Kind, MemoryStore

STORE = "memory_store.jsonl"
ACCESS = "memory_access.jsonl"
_LOCK = ".memory.lock"


class FileMemory(MemoryStore):
    """The memory of one checkpoint.

    Args:
        checkpoint: Its directory.
    """

    def __init__(self, checkpoint: Path) -> None:
        self._checkpoint = checkpoint
        self._path = checkpoint / STORE
        self._known: set[str] = set()
        self._stamp: tuple[int, ...] = ()

    def add(self, entries: Sequence[Entry]) -> int:
        """Add entries that are not there yet."""
        with self._alone():
            if self._stamp != self._signature():
                self._known = {entry.id for entry in self._read()}
            first: dict[str, Entry] = {}
            for entry in entries:
                if entry.id not in self._known:
                    first.setdefault(entry.id, entry)
            fresh = list(first.values())
            for entry in fresh:
                append_jsonl(self._path, entry.record(), sync=entry is fresh[-1])
            self._known |= {entry.id for entry in fresh}
            self._stamp = self._signature()
        for entry in fresh:
            self._note("write", entry.node_id, entry.kind, entry_id=entry.id)
        return len(fresh)

    def entries(self, *, node_ids: Collection[str] | None = None, kind: Kind | None = None) -> list[Entry]:
        """Read entries."""
        return [
            entry
            for entry in self._read()
            if (node_ids is None or entry.node_id in node_ids) and (kind is None or entry.kind == kind)
        ]

    def recall(self, query: str, *, node_ids: Collection[str], limit: int = 5) -> list[Entry]:
        """The entries of some nodes that share most words with a query, the best first."""
        found = super().recall(query, node_ids=node_ids, limit=limit)
        self._note("read", None, "node_scope", query=query[:200], limit=limit, results=[e.id for e in found])
        return found

    def settle(self, order: Mapping[str, int]) -> None:
        """Put the entries in the order of their nodes."""
        with self._alone():
            present = list(self._read())
            ordered = sorted(present, key=lambda entry: order.get(entry.node_id, len(order)))
            if ordered != present:
                atomic_write(self._path, b"".join(strict_dumps(e.record()) + b"\n" for e in ordered))

    def _signature(self) -> tuple[int, ...]:
        """Changes whenever anybody has written the file."""
        try:
            status = self._path.stat()
        except FileNotFoundError:
            return (0,)
        return (status.st_ino, status.st_size, status.st_mtime_ns)

    def _read(self) -> Iterator[Entry]:
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return
        except OSError as error:
            raise FormatError(f"{self._path} cannot be read: {error.strerror or error}") from error
        lines = data.split(b"\n")
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                document = strict_loads(line)
            except FormatError as error:
                if number == len(lines):  # an append was cut off; the next one removes it
                    return
                raise FormatError(f"{self._path}, line {number}: {error.message}") from None
            record = MemoryRecord.from_document(document, source=f"{self._path}, line {number}")
            yield Entry.from_record(record, number=number)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the lock of the store: no other process writes meanwhile."""
        try:
            descriptor = os.open(self._checkpoint / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise write_failure(self._checkpoint / _LOCK, error) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _note(self, op: str, node_id: str | None, collection: str, **details: Any) -> None:  # noqa: ANN401
        record = {"ts": utc_now(), "node_id": node_id, "op": op, "collection": collection, **details}
        with contextlib.suppress(CheckpointError):  # a log for people
            append_jsonl(self._checkpoint / ACCESS, record)
