"""What a process that works on a checkpoint for a run has to do first, so that it never outlives the run.

Such a process leads its own session (ending its group ends everything it started), ends with the run that
started it, keeps its output off the terminal, and announces its presence, so that a run that is resumed
after a kill can wait until nobody of the old one is left.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
import time
from pathlib import Path

from ari.errors import CheckpointError

PRESENCE = ".nodes.lock"
_PR_SET_PDEATHSIG = 1


def lead_own_session() -> None:
    """Become the leader of a session of its own, deaf to Ctrl-C, and die with the fork server."""
    with contextlib.suppress(OSError):  # already a leader when started by hand
        os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() == 1:  # the fork server has died before the line above took hold
        os._exit(1)


def announce(checkpoint: Path) -> int:
    """Hold the presence lock, shared, for as long as this process lives; see `wait_until_alone`."""
    descriptor = os.open(checkpoint / PRESENCE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    return descriptor


def end_with_the_run() -> None:
    """End this process at once when the process that runs the study is gone, now or at any later moment.

    Called once the presence lock is held: a study that is resumed either waits for this process, or has
    looked before the lock was taken, and then the old run is known to be dead here. So no two processes
    ever write the same records. (The parent-death signal alone does not do: the children of a fork server
    keep it, their parent, alive.)
    """
    parent = multiprocessing.parent_process()
    if parent is None:  # started by hand
        return
    if not parent.is_alive():
        os._exit(1)
    threading.Thread(target=_end_after, args=(parent.sentinel,), name="end with the run", daemon=True).start()


def _end_after(sentinel: int) -> None:
    multiprocessing.connection.wait([sentinel])
    os.kill(os.getpid(), signal.SIGKILL)


def keep_output_off_the_terminal(log: Path) -> None:
    """Send what libraries print to a log: nobody reads it live, and it would break a display."""
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    for stream in (1, 2):
        os.dup2(descriptor, stream)
    os.close(descriptor)


def wait_until_alone(checkpoint: Path, within_s: float = 15.0) -> None:
    """Wait until no process of an earlier, killed run is at work in the checkpoint.

    Such processes die with their parent, but not in the same instant; until then they could still write.

    Raises:
        CheckpointError: When one is still there after `within_s` seconds.
    """
    descriptor = os.open(checkpoint / PRESENCE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        deadline = time.monotonic() + within_s
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise CheckpointError(
                        f"{checkpoint}: processes of the run that was killed are still at work",
                        cure="End them (they are called python), then resume again.",
                    ) from None
                time.sleep(0.05)
    finally:
        os.close(descriptor)


def describe_death(exitcode: int | None, *, whose: str, owed: str) -> str:
    """Say how a process ended that should have left something behind.

    Args:
        exitcode: Its exit code as `multiprocessing` gives it; None when it is still there.
        whose: Whose process it was: `its`, `the node's`.
        owed: What it should have left: `answer`, `outcome`.
    """
    if exitcode is None:
        return f"{whose} process could not be ended"
    if exitcode < 0:
        name = signal.Signals(-exitcode).name
        hint = "; the system may have run out of memory" if name == "SIGKILL" else ""
        return f"{whose} process was ended by {name}{hint}"
    return f"{whose} process ended with exit status {exitcode} and left no {owed}"
