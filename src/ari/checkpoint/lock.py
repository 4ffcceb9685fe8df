"""One writer a checkpoint: a kernel lock, and a record that names its holder.

Promises. A second writer is refused at once with the holder's name; nothing waits. A holder that is dead
is replaced. The kernel lock (`flock`) decides between processes of one machine, and is let go by the
system when its holder dies; the record (pid, host, start time of the process, boot of the machine) decides
where the kernel cannot: on shared file systems and on files written by hand. Where neither can tell, the
answer is a refusal, and `ari repair --take-over` is the user's word that the holder is gone.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import weakref
from pathlib import Path

from pydantic import Field, ValidationError

from ari.checkpoint.files import write_all, write_failure
from ari.errors import LockHeldError
from ari.formats.base import FormatModel
from ari.formats.jsonio import strict_dumps, strict_loads

LOCK_NAME = "lock"
_UNSUPPORTED = frozenset({errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL})
_held: weakref.WeakSet[Lock] = weakref.WeakSet()


class LockRecord(FormatModel):
    """Who holds the lock.

    Attributes:
        pid: The process.
        host: Its machine.
        process_start: Start of the process in clock ticks since boot, which tells a process from a later
            one with the same number; null where the system does not say.
        boot_id: The machine's present boot; null where the system does not say.
        since: When the lock was taken.
    """

    pid: int = Field(ge=1)
    host: str
    process_start: int | None = None
    boot_id: str | None = None
    since: str = ""

    @classmethod
    def of_this_process(cls, since: str) -> LockRecord:
        """Describe the calling process."""
        pid = os.getpid()
        return cls(
            pid=pid,
            host=socket.gethostname(),
            process_start=process_start(pid),
            boot_id=boot_id(),
            since=since,
        )

    def __str__(self) -> str:
        since = f", since {self.since}" if self.since else ""
        return f"process {self.pid} on {self.host}{since}"


def process_start(pid: int) -> int | None:
    """Return when a process started, in clock ticks since boot.

    Args:
        pid: The process.

    Returns:
        The ticks, or None when there is no such process or the system does not say.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
        state, *fields = text.rpartition(")")[2].split()
        return None if state in {"Z", "X"} else int(fields[18])
    except (OSError, ValueError, IndexError):
        return None


def boot_id() -> str | None:
    """Return the identity of the machine's present boot, or None where the system does not say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return None


def is_alive(pid: int) -> bool:
    """Say whether a process of this machine exists and is no zombie.

    Args:
        pid: The process.

    Returns:
        True also where the system will not tell us about it (another user's process).
    """
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OverflowError:
        return False
    except PermissionError:
        pass
    return not (Path("/proc/self/stat").exists() and process_start(pid) is None)


def read_record(data: bytes) -> LockRecord | None:
    """Read the record in a lock file.

    Args:
        data: The bytes of the file.

    Returns:
        The record, or None when the bytes are none.
    """
    try:
        document = strict_loads(data)
        if isinstance(document, int):  # the bare number that many programs write into a lock file
            document = {"pid": document, "host": socket.gethostname()}
        return LockRecord.model_validate(document)
    except (ValidationError, ValueError):
        return None


def may_take_over(record: LockRecord | None, data: bytes) -> tuple[bool, str]:
    """Decide about a record whose kernel lock is free.

    Args:
        record: The record, or None when the text is unreadable.
        data: The bytes of the file.

    Returns:
        Whether the holder is certainly gone, and why.
    """
    if not data.strip(b"\0 \r\n\t"):
        return True, ""
    if record is None:
        return True, "its record is unreadable and no process of this machine holds it"
    here = boot_id()
    if record.host != socket.gethostname() and (here is None or record.boot_id != here):
        return False, "it is on another machine, where this one cannot look"
    if record.boot_id is not None and here is not None and record.boot_id != here:
        return True, "its machine has been started anew since"
    if record.pid == os.getpid() or not is_alive(record.pid):
        return True, "that process is gone"
    if record.process_start is None:
        return False, "a process with that number is alive"
    if record.process_start != process_start(record.pid):
        return True, "that process is gone (its number belongs to a later one)"
    return False, "that process is alive"


class Lock:
    """The writer's lock of one checkpoint.

    Args:
        directory: The checkpoint.
        since: Time to record.
        take_over: Replace a holder that cannot be shown to be alive by the kernel lock, on the user's word.

    Attributes:
        warning: Set when another holder's lock was taken over.

    Raises:
        LockHeldError: If another process holds it, or may hold it.
        CheckpointError: If the lock file cannot be written.
    """

    def __init__(self, directory: Path, *, since: str, take_over: bool = False) -> None:
        self.path = directory / LOCK_NAME
        self.warning = ""
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            self._descriptor = os.open(self.path, flags, 0o666)
        except OSError as error:
            raise write_failure(self.path, error) from error
        try:
            self._take(since, take_over)
        except OSError as error:
            self._drop()
            raise write_failure(self.path, error) from error
        except BaseException:  # whatever happened, a lock that is not held must not stay
            self._drop()
            raise
        _held.add(self)

    def _take(self, since: str, take_over: bool) -> None:
        kernel_free = self._try_kernel_lock()
        data = os.pread(self._descriptor, 65536, 0)
        record = read_record(data)
        if not kernel_free:
            self._refuse(record, "it is running")
        gone, why = may_take_over(record, data)
        if not gone and not take_over:
            self._refuse(record, why)
        if data.strip(b"\0 \r\n\t"):
            holder = str(record) if record else "an unknown process"
            self.warning = f"{self.path}: took over the lock of {holder}: {why}"
        os.ftruncate(self._descriptor, 0)
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        write_all(self._descriptor, strict_dumps(LockRecord.of_this_process(since).to_dict()) + b"\n")
        os.fsync(self._descriptor)

    def _try_kernel_lock(self) -> bool:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno not in _UNSUPPORTED:
                raise
        return True

    def _refuse(self, record: LockRecord | None, why: str) -> None:
        holder = str(record) if record else "a process whose record cannot be read"
        directory = self.path.parent
        raise LockHeldError(
            f"{directory} is being written by {holder} ({why}; lock file {self.path.name})",
            cure="Wait for it or end it; to look on, use `ari status`. "
            f"If it is certainly gone, `ari repair {directory} --take-over` frees the lock.",
        )

    def release(self) -> None:
        """Let the lock go and clear the record; releasing twice is harmless."""
        if self._descriptor >= 0:
            try:
                os.ftruncate(self._descriptor, 0)
            finally:
                self._drop()

    def _drop(self) -> None:
        """Close the file without touching the record."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
        _held.discard(self)


def _drop_in_child() -> None:
    """A forked worker must not keep the lock alive when its parent is killed."""
    for lock in list(_held):
        lock._drop()


os.register_at_fork(after_in_child=_drop_in_child)
