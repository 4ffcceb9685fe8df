"""The directory of a benchmark: settings, one file for each result, and the tables.

    OUTPUT/settings.json                         what was asked for, and the machine it ran on
    OUTPUT/results/METHOD/noise-LEVEL/ID.json    one problem, written when it is done
    OUTPUT/summary.csv  summary.md  summary.json

Promises: every file appears whole or not at all, so a kill loses at most the problems that were running. A
directory is only continued with equal settings.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, ValidationError

from sr_harness.bench.settings import BenchmarkSettings
from sr_harness.errors import BenchmarkError

SETTINGS_NAME = "settings.json"
RESULTS_NAME = "results"

Status = Literal["done", "stopped", "failed"]
_Model = TypeVar("_Model", bound=BaseModel)


class Key(NamedTuple):
    """Which run of which method a result belongs to."""

    method: str
    noise: float
    id: str


class Result(BaseModel):
    """What came out of one problem.

    Attributes:
        status: `done`, `stopped` (ran past every ceiling and was killed; its best so far counts) or `failed`.
        formula: The formula that was judged, or None.
        truth: The true formula as the table has it.
        recovered: See `sr_harness.bench.verdict`.
        strict: See there.
        wall_seconds: From the data in memory to the answer.
        processor_seconds: Processor time of the same, all threads and children together.
        startup_seconds: Processor time before that: the interpreter, imports, the data.
        found_after: Processor seconds after which the best formula last changed.
        r2_train: R² on the training rows, noise included.
        r2_inside: R² on test rows without noise.
        r2_outside: R² on rows outside the ranges.
    """

    model_config = ConfigDict(extra="forbid")

    schema_version: int = 1
    id: str
    method: str
    noise: float
    seed: int
    target: str
    status: Status
    formula: str | None = None
    complexity: int | None = None
    origin: str | None = None
    truth: str
    recovered: bool = False
    strict: bool = False
    how: str = "no"
    error_inside: float | None = None
    error_outside: float | None = None
    r2_train: float | None = None
    r2_inside: float | None = None
    r2_outside: float | None = None
    wall_seconds: float
    processor_seconds: float
    startup_seconds: float | None = None
    found_after: float | None = None
    work_used: int | None = None
    work_unit: str | None = None
    stop_reason: str | None = None
    front: list[dict[str, Any]] = []
    error: str | None = None

    @property
    def key(self) -> Key:
        """Which run it belongs to."""
        return Key(self.method, self.noise, self.id)


class _SettingsFile(BaseModel):
    schema_version: int = 1
    settings: BenchmarkSettings
    machine: dict[str, Any]


class ResultStore:
    """The directory of one benchmark."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def prepare(self, settings: BenchmarkSettings, machine: dict[str, Any], *, resume: bool) -> None:
        """Make the directory ready: a fresh one, or one to be continued.

        Raises:
            BenchmarkError: Something is there already, or what is there was asked for differently.
        """
        path = self.directory / SETTINGS_NAME
        if path.exists():
            self._check(path, settings, resume=resume)
            return
        if self.directory.exists() and (not self.directory.is_dir() or any(self.directory.iterdir())):
            raise BenchmarkError(f"{self.directory} is not empty and no benchmark; choose another --output")
        self.directory.mkdir(parents=True, exist_ok=True)
        content = _SettingsFile(settings=settings, machine=machine)
        write_atomically(path, content.model_dump_json(indent=2) + "\n")

    def _check(self, path: Path, settings: BenchmarkSettings, *, resume: bool) -> None:
        if not resume:
            raise BenchmarkError(
                f"{self.directory} holds a benchmark already; go on with --resume or choose another --output"
            )
        before = _read(path, _SettingsFile, "Choose another --output.").settings
        differences = settings.differences(before)
        if differences:
            raise BenchmarkError(
                f"{self.directory} was begun with other settings and cannot be resumed with these:\n"
                + "\n".join(f"  - {line}" for line in differences)
                + "\nRepeat the command that began it, or choose another --output."
            )

    def write(self, result: Result) -> Path:
        """Put one result in place."""
        path = self._path(result.key)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, result.model_dump_json(indent=2) + "\n")
        return path

    def has(self, key: Key) -> bool:
        """Whether the result is there."""
        return self._path(key).exists()

    def read(self, key: Key) -> Result:
        """One result.

        Raises:
            BenchmarkError: The file cannot be read as a result.
        """
        cure = "Delete it and go on with --resume, which computes it again."
        return _read(self._path(key), Result, cure)

    def _path(self, key: Key) -> Path:
        name = quote(key.id, safe=" ()+,=")
        if name.startswith("."):
            name = "%2E" + name[1:]
        return self.directory / RESULTS_NAME / key.method / f"noise-{key.noise:g}" / f"{name}.json"


def write_atomically(path: Path, text: str) -> None:
    """Write a text file so that a reader sees the old one or the new one."""
    temporary = path.parent / f".{path.name[:100]}.{secrets.token_hex(6)}.tmp"
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _read(path: Path, model: type[_Model], cure: str) -> _Model:
    try:
        return model.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the whole"
        raise BenchmarkError(f"{path} cannot be read ({where}: {first['msg']}). {cure}") from error
