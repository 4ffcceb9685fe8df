"""Writing files so that a crash at any moment leaves the old file or the new one, and saying why not.

Every write goes to a temporary file in the same directory and is renamed into place. Whatever the system
refuses (full disk, read-only directory) becomes a `CheckpointError` with the cure; the old file stays.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import stat
from pathlib import Path
from typing import Any

from ari.errors import CheckpointError
from ari.formats.jsonio import strict_dumps, strict_loads

TEMPORARY_SUFFIX = ".ari-tmp"
"""Ending of the temporary files; one that a crash left is removed by the next writer."""

_counter = itertools.count()
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_REFUSED = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})


def write_failure(path: Path, error: OSError) -> CheckpointError:
    """Turn what the system refused into an error with its cure.

    Args:
        path: The file that was to be written.
        error: What the system said.

    Returns:
        The error, to be raised by the caller.
    """
    reason = error.strerror or str(error)
    if error.errno in _FULL:
        cure = "Free some disk space (or raise the quota or file-size limit), then run `ari resume`."
    elif error.errno in _REFUSED:
        cure = "Make the directory writable for this user, or choose another with --output."
    elif error.errno == errno.ENOENT:
        cure = "The directory is gone: was it moved or deleted while the run went on?"
    else:
        cure = "Nothing written before is lost; mend the cause and run `ari resume`."
    return CheckpointError(f"{path} cannot be written: {reason}", cure=cure)


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte, however often the system takes only a part.

    Args:
        descriptor: An open file.
        data: The bytes.

    Raises:
        OSError: If the system refuses.
    """
    view = memoryview(data)
    while view:
        written = os.write(descriptor, view)
        view = view[written:]


def sync_directory(directory: Path) -> None:
    """Make the names in a directory survive a crash of the machine.

    Args:
        directory: The directory.

    Raises:
        OSError: If the system refuses; file systems that cannot sync a directory are let pass.
    """
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in {errno.EINVAL, errno.ENOTSUP}:
            raise
    finally:
        os.close(descriptor)


def atomic_write(path: Path, data: bytes, *, sync: bool = True) -> None:
    """Replace a file in one step, or leave it as it is.

    The mode of an existing file is kept.

    Args:
        path: The file; its directory must exist.
        data: The new content.
        sync: Whether the bytes must survive a crash of the machine, not only of the process.

    Raises:
        CheckpointError: If the file cannot be written; the old one is untouched.
    """
    temporary = path.with_name(f".{path.name[:80]}.{os.getpid()}.{next(_counter)}{TEMPORARY_SUFFIX}")
    try:
        mode = _mode_of(path)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            write_all(descriptor, data)
            if mode is not None:
                os.fchmod(descriptor, mode)
            if sync:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        temporary.replace(path)
        if sync:
            sync_directory(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise write_failure(path, error) from error


def _mode_of(path: Path) -> int | None:
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return None


def remove_temporaries(directory: Path) -> None:
    """Remove the temporary files that a killed writer left.

    Args:
        directory: A directory of which the caller is the only writer.
    """
    for leftover in directory.glob(f".*{TEMPORARY_SUFFIX}"):
        leftover.unlink(missing_ok=True)


def append_jsonl(path: Path, record: dict[str, Any], *, sync: bool = False) -> None:
    """Append one record to a log of lines, never gluing it onto a line that a crash cut off.

    A whole last record without its line end gets one; half a record is cut away first.

    Args:
        path: The log; created if absent.
        record: A JSON object.
        sync: Whether the record must survive a crash of the machine.

    Raises:
        CheckpointError: If it cannot be written; the log is then as before.
        FormatError: If the record cannot be written as strict JSON.
    """
    line = strict_dumps(record) + b"\n"
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise write_failure(path, error) from error
    try:
        end = os.lseek(descriptor, 0, os.SEEK_END)
        start, fragment = _unfinished(descriptor, end)
        if fragment and _is_record(fragment):
            line, start = b"\n" + line, end
        os.lseek(descriptor, start, os.SEEK_SET)
        try:
            write_all(descriptor, line)
            os.ftruncate(descriptor, start + len(line))
            if sync:
                os.fsync(descriptor)
        except OSError:
            os.ftruncate(descriptor, start)
            raise
    except OSError as error:
        raise write_failure(path, error) from error
    finally:
        os.close(descriptor)


def _unfinished(descriptor: int, end: int) -> tuple[int, bytes]:
    """Find the bytes behind the last line end: where they start and what they are."""
    block = 65536
    tail = b""
    position = end
    while position > 0:
        step = min(block, position)
        position -= step
        tail = os.pread(descriptor, step, position) + tail
        cut = tail.rfind(b"\n")
        if cut >= 0:
            return position + cut + 1, tail[cut + 1 :]
    return 0, tail


def _is_record(fragment: bytes) -> bool:
    try:
        return isinstance(strict_loads(fragment), dict)
    except ValueError:
        return False
