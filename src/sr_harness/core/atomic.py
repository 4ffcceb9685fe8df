"""Putting a finished directory or file in place so that a reader sees the old one or the new one.

Promises: everything is written beside the target under a temporary name and synced; one `rename` puts it in
place; any failure removes the temporary and leaves the target as it was. A directory is replaced by an
exchange (`renameat2`, Linux). Where the file system has no exchange the old directory is first renamed to a
name that ends in `.old` and renamed back if the second step fails.
"""

from __future__ import annotations

import ctypes
import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sr_harness.core.names import ARRAY_SUFFIX, MANIFEST_NAME
from sr_harness.errors import ContextWriteError

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_CURES = {
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some of your quota",
    errno.EFBIG: "raise the limit on the size of files",
    errno.EROFS: "choose a place that can be written",
    errno.EACCES: "ask for the permission or choose another place",
    errno.EPERM: "ask for the permission or choose another place",
}


@contextmanager
def explained(target: Path) -> Iterator[None]:
    """Turn any OSError into a ContextWriteError that says what to do.

    Raises:
        ContextWriteError: in place of the OSError.
    """
    try:
        yield
    except ContextWriteError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        cure = _CURES.get(error.errno or 0, "see the reason above")
        raise ContextWriteError(f"cannot write {target}: {reason}. Nothing was changed; {cure}.") from error


def free_to_write(target: Path, *, overwrite: bool) -> None:
    """Check that `target` may be created or replaced.

    Raises:
        ContextWriteError: something is there that must not be lost.
    """
    if not target.exists():
        return
    if not target.is_dir():
        raise ContextWriteError(f"{target} is a file; give the path of a directory")
    entries = list(target.iterdir())
    foreign = sorted(entry.name for entry in entries if not _belongs(entry))
    if foreign:
        raise ContextWriteError(
            f"{target} holds what is not part of a context.data directory ({', '.join(foreign[:5])}) "
            "and is not replaced; choose another directory"
        )
    if entries and not overwrite:
        raise ContextWriteError(
            f"{target} already holds data; "
            "overwrite it (overwrite=True, --overwrite) or choose another directory"
        )


def _belongs(entry: Path) -> bool:
    return (entry.name == MANIFEST_NAME or entry.suffix == ARRAY_SUFFIX) and not entry.is_dir()


@contextmanager
def staged_directory(target: Path) -> Iterator[Path]:
    """Yield an empty directory that takes the place of `target` when the block ends without an error."""
    target.parent.mkdir(parents=True, exist_ok=True)
    staging = target.parent / f".{target.name[:100]}.{secrets.token_hex(6)}.tmp"
    staging.mkdir()
    try:
        yield staging
        if target.is_dir():
            staging.chmod(target.stat().st_mode & 0o7777)
        sync(staging)
        _put(staging, target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)  # the old directory, after an exchange
    with suppress(OSError):  # in place already; some file systems cannot sync a directory
        sync(target.parent)


def _put(staging: Path, target: Path) -> None:
    try:
        staging.rename(target)  # works where target is absent or empty
    except OSError as error:
        if error.errno not in {errno.ENOTEMPTY, errno.EEXIST}:
            raise
    else:
        return
    if exchange(staging, target):
        return
    old = staging.with_suffix(".old")
    target.rename(old)
    try:
        staging.rename(target)
    except OSError:
        old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def exchange(one: Path, other: Path) -> bool:
    """Swap two paths in one step; False where the system or the file system cannot."""
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    status = renameat2(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE)
    return bool(status == 0)


def sync(path: Path) -> None:
    """Flush a file or directory to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_file(directory: int, name: str, content: bytes) -> None:
    """Replace the file `name` in an open directory, keeping its mode and, where allowed, its owner."""
    before = os.stat(name, dir_fd=directory, follow_symlinks=False)
    temporary = f".{name}.{secrets.token_hex(6)}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, 0o600, dir_fd=directory)
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123 - from a descriptor
            file.write(content)
            file.flush()
            with suppress(PermissionError):  # only root may give a file away
                os.fchown(file.fileno(), before.st_uid, before.st_gid)
            os.fchmod(file.fileno(), before.st_mode & 0o7777)
            os.fsync(file.fileno())
        os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:  # whatever happened, no temporary file may stay
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=directory)
        raise
    with suppress(OSError):  # in place already; some file systems cannot sync a directory
        os.fsync(directory)
