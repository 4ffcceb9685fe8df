"""Finding and ending the processes that a command started, and no others.

Membership is a matter of facts that the kernel keeps: descent from a process we started, membership of
its process group, or the marker `ARI_RUN_TOKEN=<token>` in the environment that only our command received.
Command lines are never looked at. A signal goes to a process only while it still is the one that was
found (same start time), so a recycled process id is never hit.

The supervisor imports this module at every start, so it uses light parts of the standard library only.
"""

from __future__ import annotations

import os
import signal
import time

TOKEN_VARIABLE = "ARI_RUN_TOKEN"  # noqa: S105 - the name of a marker, not a secret
_MIN_TOKEN_LENGTH = 16
_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")


class Process:
    """One process as it was when `/proc` was read."""

    __slots__ = ("cpu_s", "group", "parent", "pid", "rss_bytes", "start", "state", "threads")

    def __init__(self, pid: int, fields: list[bytes]) -> None:
        self.pid = pid
        self.state = fields[0]
        self.parent = int(fields[1])
        self.group = int(fields[2])
        # User and system time, of the process and of the children it has waited for.
        self.cpu_s = (int(fields[11]) + int(fields[12]) + int(fields[13]) + int(fields[14])) / _TICKS
        self.threads = int(fields[17])
        self.start = int(fields[19])
        self.rss_bytes = int(fields[21]) * _PAGE

    @property
    def alive(self) -> bool:
        """False for a process that has ended and only waits to be collected."""
        return self.state not in (b"Z", b"X")


def read_process(pid: int) -> Process | None:
    """Return the process with this id, or None if there is none."""
    try:
        fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
    except OSError:
        return None
    try:
        text = os.read(fd, 4096)
    except OSError:
        return None
    finally:
        os.close(fd)
    # The name in parentheses may itself hold blanks and parentheses.
    fields = text[text.rfind(b")") + 2 :].split()
    return Process(pid, fields) if len(fields) > 21 else None


def all_pids() -> list[int]:
    """Return the ids of all processes that can be seen."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 - called often


class Family:
    """The living descendants of one process, cheap to list again and again.

    A process that was found not to descend from the root cannot come to do so later, so its id is not
    read again until `refresh`.
    """

    def __init__(self, root: int) -> None:
        self._root = root
        self._foreign: set[int] = set()

    def refresh(self) -> None:
        """Forget what is known, because process ids may have been used again."""
        self._foreign.clear()

    def members(self) -> list[Process]:
        """Return the descendants that are alive, the root not included."""
        seen: dict[int, Process] = {}
        for pid in all_pids():
            if pid not in self._foreign:
                process = read_process(pid)
                if process is not None:
                    seen[pid] = process
        children: dict[int, list[Process]] = {}
        for process in seen.values():
            children.setdefault(process.parent, []).append(process)
        found: list[Process] = []
        queue = [self._root]
        while queue:
            for process in children.pop(queue.pop(), ()):
                found.append(process)
                queue.append(process.pid)
        self._foreign.update(seen.keys() - {process.pid for process in found} - {self._root})
        return [process for process in found if process.alive]


def with_token(token: str) -> list[Process]:
    """Return the living processes whose environment holds `ARI_RUN_TOKEN=<token>`.

    Raises:
        ValueError: If the token is too short to be one of ours.
    """
    if len(token) < _MIN_TOKEN_LENGTH:
        raise ValueError(f"a run token has at least {_MIN_TOKEN_LENGTH} characters, got {token!r}")
    marker = f"{TOKEN_VARIABLE}={token}".encode()
    found = []
    for pid in all_pids():
        process = read_process(pid)
        if process is not None and process.alive and marker in _environment(pid):
            found.append(process)
    return found


def _environment(pid: int) -> list[bytes]:
    try:
        fd = os.open(f"/proc/{pid}/environ", os.O_RDONLY)
    except OSError:
        return []
    try:
        chunks = []
        while chunk := os.read(fd, 1 << 16):
            chunks.append(chunk)
    except OSError:
        return []
    finally:
        os.close(fd)
    return b"".join(chunks).split(b"\0")


def in_group(pgid: int) -> list[Process]:
    """Return the living members of a process group."""
    found = []
    for pid in all_pids():
        process = read_process(pid)
        if process is not None and process.alive and process.group == pgid:
            found.append(process)
    return found


def send(process: Process, number: int) -> bool:
    """Send a signal to exactly this process.

    Returns:
        False if it has ended, its id belongs to another process by now, or it is not ours to signal.
    """
    try:
        handle = os.pidfd_open(process.pid)
    except OSError:
        return False
    try:
        now = read_process(process.pid)
        if now is None or now.start != process.start:
            return False
        signal.pidfd_send_signal(handle, number)
    except OSError:
        return False
    else:
        return True
    finally:
        os.close(handle)


def kill_tree(
    *, root: int | None = None, pgid: int | None = None, token: str | None = None, within_s: float = 1.5
) -> int:
    """End the descendants of `root`, the members of group `pgid` and the bearers of `token`.

    They are stopped first, so that none can fork away while the others are ended; this is repeated until
    none is found. The calling process and its ancestors are never touched.

    Args:
        root: A process id; the process itself is ended too unless it is the caller.
        pgid: A process group.
        token: Value of `ARI_RUN_TOKEN`.
        within_s: How long to go on looking.

    Returns:
        The number of processes that received the final signal.
    """
    spared = _self_and_ancestors()
    deadline = time.monotonic() + within_s
    ended: set[tuple[int, int]] = set()
    # In the middle of an exec a process shows no environment, so one empty look for a token proves nothing.
    looks_needed = 1 if token is None else 3
    looks = 0
    while looks < looks_needed:
        targets: dict[int, Process] = {}
        for process in _select(root, pgid, token):
            if process.pid not in spared:
                targets[process.pid] = process
        looks = 0 if targets else looks + 1
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for process in targets.values():
                if send(process, number):
                    ended.add((process.pid, process.start))
        if time.monotonic() > deadline:
            break
        time.sleep(0.002)
    return len(ended)


def _select(root: int | None, pgid: int | None, token: str | None) -> list[Process]:
    found: list[Process] = []
    if root is not None:
        found += Family(root).members()
        process = read_process(root)
        if process is not None and process.alive:
            found.append(process)
    if pgid is not None:
        found += in_group(pgid)
    if token is not None:
        found += with_token(token)
    return found


def _self_and_ancestors() -> set[int]:
    spared = {0, 1}
    pid = os.getpid()
    while pid not in spared:
        spared.add(pid)
        process = read_process(pid)
        if process is None:
            break
        pid = process.parent
    return spared
