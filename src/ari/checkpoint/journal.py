"""The journal: reading it whole, telling a torn end from damage, and appending so that nothing is lost.

Promises. `Journal.append` returns only when the record is on disk (write, flush, fsync); when it raises,
the file ends where it ended before. A record that a crash cut off at the end is recognised, left out of
the reading with a warning, and cut away by the next writer, which never glues a record onto it. Damage
anywhere else is refused with file, line and offset, never skipped.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ari.checkpoint.files import sync_directory, write_all, write_failure
from ari.errors import CheckpointError, FormatError, JournalError
from ari.formats.journal import EVENT_MODELS, event_problems
from ari.formats.jsonio import strict_dumps, strict_loads

JOURNAL_NAME = "journal.jsonl"


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line of the journal that is no sound event.

    Attributes:
        line: Number of the line, from 1.
        offset: Byte at which it starts.
        length: Its bytes, without the line end.
        code: `jsonl.bad_line`, or the code of the fault in its object.
        where: JSON pointer into the object; empty for a line that is no JSON.
        message: What is wrong with it.
        torn: Whether it is the cut-off end of a crashed write, not damage.
    """

    line: int
    offset: int
    length: int
    code: str
    where: str
    message: str
    torn: bool = False


@dataclass(frozen=True, slots=True)
class JournalReading:
    """What the bytes of a journal hold.

    Attributes:
        events: The sound events in order.
        lines: Line number of each event.
        bad: The lines that are no sound events; one with `torn` is always the last.
        sound_size: Bytes up to the end of the last sound line before a torn end.
        ends_whole: Whether the last sound line has its line end.
    """

    events: list[dict[str, Any]]
    lines: list[int]
    bad: list[BadLine]
    sound_size: int
    ends_whole: bool

    @property
    def torn(self) -> BadLine | None:
        """The cut-off end, if there is one."""
        return self.bad[-1] if self.bad and self.bad[-1].torn else None

    @property
    def damage(self) -> BadLine | None:
        """The first line that is damaged and not merely torn."""
        return next((bad for bad in self.bad if not bad.torn), None)


def _fault(raw: bytes, expected_seq: int) -> tuple[dict[str, Any] | None, tuple[str, str, str] | None]:
    try:
        document = strict_loads(raw)
    except FormatError as error:
        hint = " (it holds NUL bytes)" if b"\0" in raw else ""
        return None, ("jsonl.bad_line", "", error.message + hint)
    if not isinstance(document, dict):
        return None, ("jsonl.bad_line", "", "an event is a JSON object")
    faults = event_problems(document)
    if faults:
        return document, (faults[0].code, faults[0].where, faults[0].message)
    if document["seq"] != expected_seq:
        message = f"seq is {document['seq']} where {expected_seq} must follow"
        return document, ("jsonl.bad_line", "/seq", message)
    return document, None


def parse_journal(data: bytes) -> JournalReading:
    """Read the bytes of a journal.

    A last line that is no JSON, or that lacks its line end and is no event, is torn: single records are
    synced one by one, so a crash can cut off the last one only. Blank lines are passed over.

    Args:
        data: The bytes of `journal.jsonl`.

    Returns:
        The events and the faults.
    """
    events: list[dict[str, Any]] = []
    lines: list[int] = []
    bad: list[BadLine] = []
    offset = sound_size = 0
    ends_whole = True
    pieces = data.split(b"\n")
    last_line = max((i for i, piece in enumerate(pieces) if piece.strip()), default=-1)
    expected = 1
    for index, raw in enumerate(pieces):
        ended = index < len(pieces) - 1
        size = len(raw) + ended
        if raw.strip():
            document, fault = _fault(raw, expected)
            if fault is None and document is not None:
                events.append(document)
                lines.append(index + 1)
                expected += 1
                sound_size, ends_whole = offset + size, ended
            elif fault is not None:
                code, where, message = fault
                torn = index == last_line and (document is None or not ended) and code == "jsonl.bad_line"
                bad.append(BadLine(index + 1, offset, len(raw), code, where, message, torn))
                expected = _resume_after(document, expected)
        offset += size
    return JournalReading(events, lines, bad, sound_size, ends_whole)


def _resume_after(document: dict[str, Any] | None, expected: int) -> int:
    """The number that follows a bad line, so that one fault is not reported on every later line."""
    seq = (document or {}).get("seq")
    return seq + 1 if isinstance(seq, int) and not isinstance(seq, bool) else expected + 1


def read_journal(path: Path) -> JournalReading:
    """Read a journal file.

    Args:
        path: `journal.jsonl`.

    Returns:
        The events and the faults.

    Raises:
        CheckpointError: If the file cannot be read.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror or error}") from error
    return parse_journal(data)


def require_sound(path: Path, reading: JournalReading) -> list[str]:
    """Refuse a damaged journal, and put a torn end into words.

    Args:
        path: The journal, for the message.
        reading: What was read.

    Returns:
        Warnings for the user.

    Raises:
        JournalError: If a line is damaged that no crash can have cut off.
    """
    damage = reading.damage
    if damage is not None:
        place = f" at {damage.where}" if damage.where else ""
        raise JournalError(
            f"{path}, line {damage.line} (byte {damage.offset}) is damaged{place}: {damage.message}",
            cure=f"Run `ari repair {path.parent}`: it keeps a copy and says what is lost.",
        )
    torn = reading.torn
    if torn is None:
        return []
    return [
        f"{path}, line {torn.line}: the last record was cut off by a crash "
        f"({torn.length} bytes from byte {torn.offset}); it never counted and is left out"
    ]


class Journal:
    """The one open journal of a writer.

    Args:
        path: `journal.jsonl`; created if absent.
        reading: What the file holds, as `read_journal` found it; its torn end is cut away.

    Raises:
        CheckpointError: If the file cannot be opened for writing.
    """

    def __init__(self, path: Path, reading: JournalReading) -> None:
        self.path = path
        self._broken = ""
        self._next_seq = len(reading.events) + 1
        fresh = not path.exists()
        try:
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
            self._descriptor = os.open(path, flags, 0o666)
        except OSError as error:
            raise write_failure(path, error) from error
        try:
            self._trim(reading)
            if fresh:
                sync_directory(path.parent)
        except OSError as error:
            self.close()
            raise write_failure(path, error) from error

    def _trim(self, reading: JournalReading) -> None:
        self._size = os.fstat(self._descriptor).st_size
        if self._size > reading.sound_size:
            os.ftruncate(self._descriptor, reading.sound_size)
            os.fsync(self._descriptor)
            self._size = reading.sound_size
        if reading.events and not reading.ends_whole:
            write_all(self._descriptor, b"\n")
            os.fsync(self._descriptor)
            self._size += 1

    @property
    def next_seq(self) -> int:
        """The number that the next event will bear."""
        return self._next_seq

    def prepare(self, name: str, ts: str, fields: dict[str, Any]) -> dict[str, Any]:
        """Build the next event and check it, without writing it.

        Args:
            name: Name of the event.
            ts: Its time.
            fields: Its further keys.

        Returns:
            The event.

        Raises:
            FormatError: If the event is unknown or not in its documented shape.
        """
        if name not in EVENT_MODELS:
            raise FormatError(f"no event is called {name!r}; there are {', '.join(EVENT_MODELS)}")
        document = {"seq": self._next_seq, "ts": ts, "event": name, **fields}
        faults = event_problems(document)
        if faults:
            lines = "; ".join(f"{fault.where or '(top)'}: {fault.message}" for fault in faults)
            raise FormatError(f"the event {name} is not in its documented shape: {lines}")
        return document

    def append(self, document: dict[str, Any]) -> None:
        """Write one prepared event; when this returns it is on disk.

        Args:
            document: A result of `prepare`.

        Raises:
            CheckpointError: If it cannot be written; the journal then ends where it ended before.
            FormatError: If it cannot be written as strict JSON.
        """
        line = strict_dumps(document) + b"\n"
        self._require_untouched()
        try:
            write_all(self._descriptor, line)
            os.fsync(self._descriptor)
        except OSError as error:
            self._take_back()
            raise write_failure(self.path, error) from error
        self._size += len(line)
        self._next_seq += 1

    def _require_untouched(self) -> None:
        if self._broken:
            raise CheckpointError(
                f"{self.path} takes no more events: {self._broken}", cure="Run `ari resume`."
            )
        status = os.fstat(self._descriptor)
        if status.st_nlink == 0:
            self._broken = "it was deleted while the run went on"
        elif status.st_size != self._size:
            self._broken = f"another program changed it (byte {self._size})"
        if self._broken:
            self._require_untouched()

    def _take_back(self) -> None:
        """Cut away what a failed write left; a file that cannot be cut takes no further event."""
        self._broken = "an earlier write failed and could not be taken back"
        with contextlib.suppress(OSError):
            os.ftruncate(self._descriptor, self._size)
            os.fsync(self._descriptor)
            self._broken = ""

    def close(self) -> None:
        """Close the file; closing twice is harmless."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
