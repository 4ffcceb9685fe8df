"""Studies that run in the background: started by one process, which may end, and known to any other.

A study in the background is an `ari run` of its own: it leads its own session, so that it neither hears the
Ctrl-C of the process that started it nor ends with it. What is known of it lies in `.ari-background/` below
the folder of the studies: `<name>.json` (process id with its start time, so that a reused id is not taken for
it; arguments; exit status once it has ended) and `<name>.log` (what it printed).
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from ari.checkpoint.files import atomic_write
from ari.checkpoint.lock import process_start
from ari.checkpoint.store import utc_now
from ari.errors import FormatError
from ari.formats.jsonio import strict_dumps
from ari.paths import next_output, safe_name

FOLDER = ".ari-background"
_MAIN = "import sys; from ari.cli import main; sys.exit(main())"
_TAIL_BYTES = 4_000


class BackgroundRecord(BaseModel):
    """What is known of one study in the background.

    Attributes:
        study: Its checkpoint, relative to the folder of the studies.
        arguments: Those of `ari`.
        pid: Its process.
        started: When that process started, as the system counts it.
        started_at: The same, UTC.
        exit_status: Once it has ended while the process that started it was there to see; negative: a signal.
    """

    model_config = ConfigDict(frozen=True)

    study: str
    arguments: list[str]
    pid: int
    started: int | None
    started_at: str
    exit_status: int | None = None

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        if self.exit_status is not None or self.started is None:
            return False
        return process_start(self.pid) == self.started


class Standing(NamedTuple):
    """A study in the background as it stands."""

    record: BackgroundRecord
    log_tail: str


def reserve(title: str, base: Path) -> Path:
    """Make an empty directory for a new study, which nobody else will take."""
    base.mkdir(parents=True, exist_ok=True)
    while True:
        path = next_output(title, base)
        try:
            path.mkdir()
        except FileExistsError:  # somebody else was faster
            continue
        return path


def launch(root: Path, study: Path, arguments: Sequence[str]) -> BackgroundRecord:
    """Start `ari` in the background.

    Args:
        root: The folder of the studies.
        study: The checkpoint to be; inside the folder.
        arguments: The arguments of `ari`.

    Returns:
        Its record, already written.
    """
    name = study.relative_to(root).as_posix()
    file = _file(root, name)
    file.parent.mkdir(exist_ok=True)
    with file.with_suffix(".log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-c", _MAIN, *arguments],
            cwd=root,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    record = BackgroundRecord(
        study=name,
        arguments=list(arguments),
        pid=process.pid,
        started=process_start(process.pid),
        started_at=utc_now(),
    )
    _write(file, record)
    threading.Thread(
        target=_see_the_end, args=(process, file, record), name=f"end of {name}", daemon=True
    ).start()
    return record


def _see_the_end(process: subprocess.Popen[bytes], file: Path, record: BackgroundRecord) -> None:
    status = process.wait()
    if file.parent.is_dir():  # the folder may have been deleted meanwhile
        _write(file, record.model_copy(update={"exit_status": status}))


def standing(root: Path, name: str) -> Standing | None:
    """How a study in the background stands; None when none of that name was started in this folder.

    Raises:
        FormatError: When its record cannot be read.
    """
    file = _file(root, name)
    if not file.is_file():
        return None
    try:
        record = BackgroundRecord.model_validate_json(file.read_bytes())
    except ValidationError as error:
        raise FormatError(
            f"{file} is no record of a run: {error.errors()[0]['msg']}", cure="Delete it."
        ) from None
    return Standing(record, _tail(file.with_suffix(".log")))


def names(root: Path) -> list[str]:
    """Names of the studies that were started in the background in a folder."""
    found = []
    for file in sorted((root / FOLDER).glob("*.json")):
        try:
            found.append(BackgroundRecord.model_validate_json(file.read_bytes()).study)
        except ValidationError:
            continue  # a torn record says nothing; the study itself is found by its checkpoint
    return found


def _tail(log: Path) -> str:
    if not log.is_file():
        return ""
    with log.open("rb") as stream:
        stream.seek(max(0, os.fstat(stream.fileno()).st_size - _TAIL_BYTES))
        return stream.read().decode("utf-8", "replace")


def _file(root: Path, name: str) -> Path:
    return root / FOLDER / f"{safe_name(name)}.json"


def _write(file: Path, record: BackgroundRecord) -> None:
    atomic_write(file, strict_dumps(record.model_dump(mode="json"), indent=True))
