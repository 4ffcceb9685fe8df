"""A node's folder: what is in it, what it inherits from its parent, what changed.

Only regular files count. Symbolic links are never followed, neither to hash nor to copy, and pipes,
sockets and devices are left alone, so nothing outside the folder is ever read through it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import stat
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import TypedDict

from ari.errors import ExecutionError

_FICLONE = 0x40049409
_CHUNK = 1 << 20
# File times may be as coarse as one timer tick: a file written within this time of its hashing could be
# written once more without a visible change, so its hash is not reused.
_SETTLED_NS = 50_000_000


@dataclass(frozen=True)
class FileHash:
    """A regular file: its content, and the marks by which the file system shows a later write.

    Attributes:
        sha256: Hash of the content.
        size: In bytes.
        inode: File number.
        mtime_ns: Time of the last write; a program can set it.
        ctime_ns: Time of the last change of any kind; a program cannot set it.
        taken_ns: When the hash was computed.
    """

    sha256: str
    size: int
    inode: int
    mtime_ns: int
    ctime_ns: int
    taken_ns: int = 0

    def unchanged(self, status: os.stat_result) -> bool:
        """Whether a file with this status surely still has the same content."""
        return (
            (self.size, self.inode, self.mtime_ns, self.ctime_ns)
            == (status.st_size, status.st_ino, status.st_mtime_ns, status.st_ctime_ns)
        ) and self.ctime_ns < self.taken_ns - _SETTLED_NS

    def written_since(self, earlier: FileHash) -> bool:
        """Whether the file was written again after `earlier` was taken, even with the same content."""
        return (self.sha256, self.inode, self.mtime_ns) != (earlier.sha256, earlier.inode, earlier.mtime_ns)


Snapshot = Mapping[str, FileHash]


class AddedFile(TypedDict):
    """An entry of `files_changed.added`."""

    path: str
    sha256: str


class ModifiedFile(TypedDict):
    """An entry of `files_changed.modified`; `sha256` is the content after the change."""

    path: str
    sha256: str
    sha256_before: str
    sha256_after: str


class InheritedFile(TypedDict, total=False):
    """An entry of `files_changed.inherited_unchanged`."""

    path: str
    sha256: str
    from_node_id: str


class FilesChangedDict(TypedDict):
    """The value of `files_changed` in `node_report.json`."""

    added: list[AddedFile]
    modified: list[ModifiedFile]
    deleted: list[str]
    inherited_unchanged: list[InheritedFile]


@dataclass(frozen=True)
class FilesChanged:
    """The difference between what a node got and what it left; paths are sorted."""

    added: list[AddedFile] = field(default_factory=list)
    modified: list[ModifiedFile] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    inherited_unchanged: list[InheritedFile] = field(default_factory=list)

    @property
    def sterile(self) -> bool:
        """Whether nothing was added, modified or deleted."""
        return not (self.added or self.modified or self.deleted)

    def as_dict(self) -> FilesChangedDict:
        """Return the value of `files_changed` in `node_report.json`."""
        return {
            "added": list(self.added),
            "modified": list(self.modified),
            "deleted": list(self.deleted),
            "inherited_unchanged": list(self.inherited_unchanged),
        }


@dataclass(frozen=True)
class Seeded:
    """What a child folder got from its parent.

    Attributes:
        files: The child's snapshot right after, by path.
        reflinked: How many files share their blocks with the parent's.
        excluded: Paths left out because a pattern says so.
        skipped: Links that leave the folder, and files that are not regular.
    """

    files: dict[str, FileHash]
    reflinked: int
    excluded: list[str]
    skipped: list[str]


def snapshot(folder: Path, *, known: Snapshot | None = None) -> dict[str, FileHash]:
    """Hash every regular file below a folder.

    Args:
        folder: The folder.
        known: An earlier snapshot; files that surely have not changed since are not read again.

    Returns:
        Paths relative to the folder, with `/`, in sorted order.

    Raises:
        ExecutionError: If a file or folder cannot be read.
    """
    found: dict[str, FileHash] = {}
    for relative, status in _walk(folder):
        if stat.S_ISREG(status.st_mode):
            name = printable(relative)
            earlier = known.get(name) if known else None
            if earlier is not None and earlier.unchanged(status):
                found[name] = earlier
            else:
                found[name] = hash_file(folder / relative)
    return dict(sorted(found.items()))


def hash_file(path: Path) -> FileHash:
    """Hash one regular file; a symbolic link is refused.

    Raises:
        ExecutionError: If it is no regular file or cannot be read.
    """
    try:
        fd = _open_for_reading(path)
    except OSError as error:
        raise ExecutionError(f"{path} cannot be read: {error.strerror}") from error
    with os.fdopen(fd, "rb") as file:
        taken = time.time_ns()
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ExecutionError(f"{path} is not a regular file")
        digest = hashlib.sha256()
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return FileHash(
        digest.hexdigest(), status.st_size, status.st_ino, status.st_mtime_ns, status.st_ctime_ns, taken
    )


def diff(before: Snapshot, after: Snapshot, *, from_node_id: str | None = None) -> FilesChanged:
    """Compare two snapshots by content.

    Args:
        before: What the node started with.
        after: What it left.
        from_node_id: The node that unchanged files come from.
    """
    changed = FilesChanged()
    for path in sorted(before.keys() | after.keys()):
        old, new = before.get(path), after.get(path)
        if new is None:
            changed.deleted.append(path)
        elif old is None:
            changed.added.append({"path": path, "sha256": new.sha256})
        elif old.sha256 != new.sha256:
            changed.modified.append(
                {"path": path, "sha256": new.sha256, "sha256_before": old.sha256, "sha256_after": new.sha256}
            )
        else:
            entry: InheritedFile = {"path": path, "sha256": new.sha256}
            if from_node_id is not None:
                entry["from_node_id"] = from_node_id
            changed.inherited_unchanged.append(entry)
    return changed


def seed_from_parent(parent: Path, child: Path, *, exclude: Sequence[str] = ()) -> Seeded:
    """Copy a parent's folder into a child's, sharing blocks where the file system can.

    Permissions are kept, times are not: what the child has was written when the child was made. A link
    within the folder becomes the same link within the child.

    Args:
        parent: Where from; it is only read.
        child: Where to; made if missing, must be empty.
        exclude: Shell patterns. `results*.json` matches a file or folder of that name at any depth,
            `out/*.csv` the path from the top.

    Raises:
        ExecutionError: If the child is not empty, or something cannot be read or written.
    """
    try:
        child.mkdir(parents=True, exist_ok=True)
        if any(child.iterdir()):
            raise ExecutionError(
                f"{child} is not empty, so nothing is inherited into it",
                cure="Remove it or choose another folder.",
            )
        reflinked, excluded, skipped = 0, [], []
        for relative, status in _walk(parent):
            source, target = parent / relative, child / relative
            if excluded_by(relative, exclude):
                excluded.append(printable(relative))
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            if stat.S_ISREG(status.st_mode):
                reflinked += _copy(source, target, stat.S_IMODE(status.st_mode))
            elif not (stat.S_ISLNK(status.st_mode) and _copy_link(source, target, parent)):
                skipped.append(printable(relative))
    except OSError as error:
        raise ExecutionError(f"{child} cannot be filled from {parent}: {error}") from error
    return Seeded(snapshot(child), reflinked, sorted(excluded), sorted(skipped))


def excluded_by(relative: str, patterns: Iterable[str]) -> bool:
    """Whether a path, or a folder it lies in, matches one of the patterns."""
    path = PurePosixPath(relative)
    candidates = [path, *path.parents[:-1]]
    return any(
        fnmatchcase(str(candidate), pattern) or ("/" not in pattern and fnmatchcase(candidate.name, pattern))
        for candidate in candidates
        for pattern in patterns
    )


def printable(relative: str) -> str:
    """Return a path as text that JSON can hold, whatever bytes its name is made of."""
    return os.fsencode(relative).decode("utf-8", "backslashreplace")


def _walk(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield everything below a folder except the folders themselves, never entering a link."""
    pending = [""]
    while pending:
        prefix = pending.pop()
        try:
            with _scan(folder / prefix) as entries:
                listed = [(entry.name, entry.stat(follow_symlinks=False)) for entry in entries]
        except OSError as error:
            raise ExecutionError(f"{folder / prefix} cannot be read: {error.strerror}") from error
        for name, status in listed:
            relative = f"{prefix}/{name}" if prefix else name
            if stat.S_ISDIR(status.st_mode):
                pending.append(relative)
            else:
                yield relative, status


def _scan(folder: Path) -> AbstractContextManager[Iterator[os.DirEntry[str]]]:
    try:
        return os.scandir(folder)
    except PermissionError:
        # A command may take away its own permissions; the folder is ours, so we can give them back.
        folder.chmod(stat.S_IMODE(folder.stat(follow_symlinks=False).st_mode) | stat.S_IRWXU)
        return os.scandir(folder)


def _open_for_reading(path: Path) -> int:
    # O_NONBLOCK: a pipe that took the file's place must not block us.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        return os.open(path, flags)
    except PermissionError:
        path.chmod(stat.S_IMODE(path.lstat().st_mode) | stat.S_IRUSR)
        return os.open(path, flags)


def _copy(source: Path, target: Path, mode: int) -> bool:
    """Copy one file; return whether it shares its blocks with the source."""
    with (
        os.fdopen(_open_for_reading(source), "rb") as reader,
        target.open("xb") as writer,
    ):
        try:
            fcntl.ioctl(writer.fileno(), _FICLONE, reader.fileno())
            shared = True
        except OSError:  # another file system, or one that cannot share blocks
            shutil.copyfileobj(reader, writer, _CHUNK)
            shared = False
        os.fchmod(writer.fileno(), mode | stat.S_IRUSR | stat.S_IWUSR)
    return shared


def _copy_link(source: Path, target: Path, parent: Path) -> bool:
    """Make the same link in the child; return False, and make none, if it leads out of the parent."""
    destination = Path(os.path.normpath(source.parent / source.readlink()))
    top = parent.resolve()
    if not source.resolve().is_relative_to(top):
        return False
    for base in (top, Path(os.path.normpath(parent))):
        if destination.is_relative_to(base):
            inside = target.parents[len(source.relative_to(parent).parts) - 1] / destination.relative_to(base)
            target.symlink_to(os.path.relpath(inside, target.parent))
            return True
    return False
