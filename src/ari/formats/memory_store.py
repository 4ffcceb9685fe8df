"""`memory_store.jsonl` and `memory_backup.jsonl.gz`: what the nodes of a study remember.

A record belongs to a node (`node_scope`, `react_trace`); a backup may begin with one `core_seed`, which
belongs to none.
"""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from ari.errors import FormatError
from ari.formats.base import FormatModel, Problem, problems
from ari.formats.jsonio import Json, strict_loads

MAX_BACKUP_BYTES = 2**31
"""A backup that unpacks to more than this is refused."""


class MemoryRecord(FormatModel):
    """What one node remembers."""

    node_id: str
    ancestor_ids: list[str] = Field(default_factory=list)
    kind: Literal["node_scope", "react_trace", "core_seed"]
    text: str
    metadata: dict[str, Any]
    ts: str


class CoreSeed(FormatModel):
    """What a memory began with."""

    kind: Literal["core_seed"]
    context: dict[str, Any] = Field(default_factory=dict)


def memory_problems(document: Json) -> list[Problem]:
    """Say what is wrong with one record.

    Args:
        document: The parsed line.

    Returns:
        The faults; empty for a sound record.
    """
    seed = isinstance(document, dict) and document.get("kind") == "core_seed"
    return problems(CoreSeed if seed else MemoryRecord, document)


def unpack_backup(path: Path) -> bytes:
    """Unpack a backup.

    Args:
        path: `memory_backup.jsonl.gz`.

    Returns:
        The lines.

    Raises:
        FormatError: If the file cannot be read or is no whole gzip file.
    """
    try:
        with gzip.open(path, "rb") as stream:
            data = stream.read(MAX_BACKUP_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise FormatError(f"{path} cannot be unpacked: {error}") from error
    if len(data) > MAX_BACKUP_BYTES:
        raise FormatError(f"{path} unpacks to more than {MAX_BACKUP_BYTES} bytes")
    return data


def read_backup(path: Path) -> list[dict[str, Any]]:
    """Read the records of a backup.

    Args:
        path: `memory_backup.jsonl.gz`.

    Returns:
        The records as they are written.

    Raises:
        FormatError: If it cannot be unpacked, or a line is no JSON object; names the line.
    """
    records = []
    for number, line in enumerate(unpack_backup(path).split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            record = strict_loads(line)
        except FormatError as error:
            raise FormatError(f"{path}, line {number}: {error.message}") from None
        if not isinstance(record, dict):
            raise FormatError(f"{path}, line {number} is no JSON object")
        records.append(record)
    return records
