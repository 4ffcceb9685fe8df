"""`run_record.json`: what was run in a node's folder, and what came of it.

The file belongs to the runner. It lies outside every folder that a command can write to, grows by one
entry a command, and is replaced as a whole, so that a reader sees the old or the new one.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ari.errors import ExecutionError, FormatError

FILE_NAME = "run_record.json"

Outcome = Literal["ok", "failed", "timeout", "out_of_memory", "output_limit", "not_started"]
Change = Literal["added", "modified", "rewritten"]


class FileRecord(BaseModel):
    """A file as it was, named relative to the work folder."""

    model_config = ConfigDict(extra="allow", frozen=True)

    path: str
    sha256: str
    size: int


class OutputRecord(FileRecord):
    """A file that a command wrote.

    Attributes:
        change: `added`; `modified` (other content than before); `rewritten` (written again, same content).
    """

    change: Change


class SandboxRecord(BaseModel):
    """How the command was contained, and why so."""

    model_config = ConfigDict(extra="allow", frozen=True)

    kind: Literal["bubblewrap", "plain"]
    reason: str


class StreamRecord(BaseModel):
    """How much a command wrote to one of its streams; the text itself may have lost its middle."""

    model_config = ConfigDict(extra="allow", frozen=True)

    size: int
    truncated: bool


class RunRecord(BaseModel):
    """One command and its outcome.

    Attributes:
        index: Position in the file, from 0.
        label: What the caller calls it.
        command: As it was given; for a list, its shell-quoted form.
        argv: What was executed, the sandbox left out.
        cwd: Where, relative to the work folder.
        exit_status: 0 to 255; 128 + n for a process ended by signal n, as a shell has it; None if it never
            started or was ended by us.
        signal: Name of the signal that ended it, if one did.
        outcome: `ok` is exit status 0 within all limits.
        reason: Why it is not `ok`, in words; empty otherwise.
        started_at: Time of the start, UTC.
        duration_s: Wall time.
        cpu_s: Processor time of all processes.
        max_rss_bytes: Most memory in use. About 12 MB is the least that can be told apart.
        stdout: Standard output; of a long one, the beginning and the end.
        stderr: Standard error, likewise.
        inputs: Files there before the run: those of the work folder and the readable paths.
        outputs: Files of the work folder that the run wrote.
        deleted: Files of the work folder that the run took away.
        environment: The machine, see `ari.execution.environment.fingerprint`.
        limits: The limits in force, see `ari.execution.limits.Limits`.
        sandbox: How it was contained.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    index: int
    label: str = ""
    command: str
    argv: list[str]
    cwd: str = "."
    exit_status: int | None
    signal: str | None = None
    outcome: Outcome
    reason: str = ""
    started_at: str
    duration_s: float
    cpu_s: float
    max_rss_bytes: int
    stdout: str
    stdout_info: StreamRecord
    stderr: str
    stderr_info: StreamRecord
    inputs: list[FileRecord]
    outputs: list[OutputRecord]
    deleted: list[str] = Field(default_factory=list)
    environment: dict[str, str | int | None]
    limits: dict[str, float | int | None]
    sandbox: SandboxRecord

    @property
    def ok(self) -> bool:
        """Whether the command did what it should, within its limits."""
        return self.outcome == "ok"

    def output(self, path: str) -> OutputRecord | None:
        """Return the record of a file that this run wrote, or None."""
        return next((item for item in self.outputs if item.path == path), None)


class RunRecordFile(BaseModel):
    """Content of `run_record.json`."""

    model_config = ConfigDict(extra="allow")

    schema_version: Literal[1] = 1
    node_id: str
    runs: list[RunRecord] = Field(default_factory=list)


def load(records_dir: Path, *, node_id: str = "") -> RunRecordFile:
    """Read a node's records; none yet is an empty list.

    Raises:
        FormatError: If the file is there and is not a run record.
    """
    path = records_dir / FILE_NAME
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return RunRecordFile(node_id=node_id)
    except OSError as error:
        raise ExecutionError(f"{path} cannot be read: {error.strerror}") from error
    try:
        return RunRecordFile.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "start"
        raise FormatError(
            f"{path} is not a run record: {first['msg']} (at {place})",
            cure="Move the file aside; the node has to be run again.",
        ) from error


def save(records_dir: Path, content: RunRecordFile) -> None:
    """Replace the file, synced before it takes the place of the old one.

    Raises:
        ExecutionError: If it cannot be written; the old file is untouched.
    """
    path = records_dir / FILE_NAME
    try:
        records_dir.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=".run_record-", dir=records_dir)
        temporary = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content.model_dump_json(indent=1).encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        _sync_folder(records_dir)
    except OSError as error:
        raise ExecutionError(
            f"the record of a run cannot be written to {path}: {error.strerror}",
            cure="Free space on the disk or make the folder writable, then `ari resume`.",
        ) from error


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
