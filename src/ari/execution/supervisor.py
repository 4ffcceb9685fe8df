"""The small process between the runner and one command.

It is the parent of the command and, as a *subreaper*, the parent of every descendant that is left behind,
so no double fork and no new session leads out of its sight. It enforces the limits, keeps the head and
the tail of the output, and promises: when it reports, none of its descendants is alive; when the runner
goes away, for whatever reason, it ends them all and then itself.

It is started anew for each command with `python -I -S`, which makes it independent of threads in the
runner (nothing is executed between a fork and an exec there). Its start is part of the cost of every
command; hence light imports only, and `marshal` for the request.

Request on standard input: four bytes of length, then a marshalled dictionary, see `main`. Standard input
then stays open as a lifeline: its end means "stop". Reply on standard output: the `ascii` form of a
dictionary.
"""

from __future__ import annotations

import ctypes
import marshal
import os
import resource
import select
import signal
import sys
import time

from ari.execution.processes import Family, Process, all_pids, kill_tree, read_process

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` costs more to import than all of the above
    from typing import Any

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_TICK_S = 0.02
_SCAN_S = 0.05
_REFRESH_S = 2.0
_DRAIN_S = 0.5
# Ending everything takes milliseconds; only a fork bomb or a process stuck in the kernel needs longer.
_KILL_WITHIN_S = 10.0
_CHUNK = 1 << 16


class Stream:
    """One output stream: everything is counted, only head and tail are kept."""

    def __init__(self, fd: int, keep: int) -> None:
        self.fd = fd
        self.size = 0
        self.open = True
        self._half = keep // 2
        self._head = bytearray()
        self._tail = bytearray()

    def read(self) -> None:
        """Take what is there now, or note the end."""
        chunk = os.read(self.fd, _CHUNK)
        if not chunk:
            self.open = False
            return
        self.size += len(chunk)
        room = self._half - len(self._head)
        self._head += chunk[:room] if room > 0 else b""
        self._tail += chunk[room:] if room > 0 else chunk
        if len(self._tail) > self._half + _CHUNK:
            del self._tail[: -self._half]

    def kept(self) -> tuple[bytes, bytes, int]:
        """Return head, tail and the number of all bytes written."""
        return bytes(self._head), bytes(self._tail[-self._half :]), self.size


class Supervisor:
    """Runs one request; see the module's docstring."""

    def __init__(self, request: dict[str, Any]) -> None:
        self._request = request
        self._limits: dict[str, Any] = request["limits"]
        self._family = Family(os.getpid())
        self._streams: list[Stream] = []
        self._pid = 0
        self._status: int | None = None
        self._stop = ""
        self._peak_rss = 0
        self._peak_process = 0
        self._cpu_s = 0.0
        self._started = 0.0
        self._next_scan = 0.0
        self._next_refresh = 0.0

    def run(self) -> dict[str, Any]:
        """Start the command, watch it, end whatever is left, and return the reply."""
        kills = _kernel_oom_kills()
        error = self._start()
        if error:
            return {"started": False, "error": error}
        self._watch()
        duration = time.monotonic() - self._started
        immortal = self._end_all()
        self._drain()
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return {
            "started": True,
            "status": self._status,
            "stop": self._stop,
            "immortal": immortal,
            "duration_s": duration,
            "cpu_s": max(self._cpu_s, usage.ru_utime + usage.ru_stime),
            "peak_rss": max(self._peak_rss, usage.ru_maxrss * 1024),
            "peak_process": self._peak_process,
            "kernel_oom": _kernel_oom_kills() > kills,
            "stdout": self._streams[0].kept(),
            "stderr": self._streams[1].kept(),
        }

    # -- start ---------------------------------------------------------------------------------------

    def _start(self) -> str:
        out_read, out_write = os.pipe()
        err_read, err_write = os.pipe()
        note_read, note_write = os.pipe()
        source = _input(self._request["stdin"])
        self._started = time.monotonic()
        self._pid = os.fork()
        if self._pid == 0:
            self._become_command(source, out_write, err_write, note_write)
        for fd in (source, out_write, err_write, note_write):
            os.close(fd)
        keep = self._request["keep_bytes"]
        self._streams = [Stream(out_read, keep), Stream(err_read, keep)]
        note = os.read(note_read, 4096)  # empty when the exec succeeded: the pipe closes on exec
        os.close(note_read)
        if note:
            os.waitpid(self._pid, 0)
        return note.decode(errors="replace")

    def _become_command(self, source: int, out: int, err: int, note: int) -> None:
        request = self._request
        supervisor = request["supervisor"]
        try:
            _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != supervisor:
                os._exit(127)  # it ended before the line above could take effect
            os.setsid()
            for number in (signal.SIGPIPE, signal.SIGXFSZ):
                signal.signal(number, signal.SIG_DFL)
            _prefer_for_oom_killer()
            for target, fd in ((0, source), (1, out), (2, err)):
                os.dup2(fd, target)
            os.chdir(request["cwd"])
            _set_rlimits(self._limits)
            os.execvpe(request["argv"][0], request["argv"], request["env"])  # noqa: S606 - no shell is meant
        except OSError as error:
            os.write(note, f"{error.strerror}: {request['argv'][0]}".encode())
        finally:
            os._exit(127)

    # -- watch ---------------------------------------------------------------------------------------

    def _watch(self) -> None:
        poller = select.poll()
        handle = os.pidfd_open(self._pid)
        poller.register(handle, select.POLLIN)
        poller.register(0, select.POLLHUP)
        for stream in self._streams:
            poller.register(stream.fd, select.POLLIN)
        while self._status is None and not self._stop:
            for fd, event in poller.poll(self._patience_ms()):
                if fd == handle:
                    self._collect()
                elif fd == 0:
                    if event & (select.POLLHUP | select.POLLERR):
                        self._stop = "cancelled"
                else:
                    self._take(fd, poller)
            self._check(time.monotonic())
        os.close(handle)

    def _patience_ms(self) -> float:
        limit = self._limits["wall_s"]
        left = self._started + limit - time.monotonic() if limit else _TICK_S
        return max(0.0, min(left, _TICK_S)) * 1000

    def _take(self, fd: int, poller: select.poll) -> None:
        stream = next(stream for stream in self._streams if stream.fd == fd)
        stream.read()
        if not stream.open:
            poller.unregister(fd)

    def _collect(self) -> None:
        pid, status = os.waitpid(self._pid, os.WNOHANG)
        if pid:
            self._status = status

    def _check(self, now: float) -> None:
        limits = self._limits
        output = sum(stream.size for stream in self._streams)
        if limits["output_bytes"] and output > limits["output_bytes"]:
            self._stop = "output"
        if limits["wall_s"] and now - self._started >= limits["wall_s"] and self._status is None:
            self._stop = "wall"
        if os.getppid() != self._request["parent"]:
            self._stop = "cancelled"
        if now >= self._next_scan and self._status is None and not self._stop:
            self._next_scan = now + _SCAN_S
            self._scan(now)

    def _scan(self, now: float) -> None:
        _reap_orphans(self._pid)
        if now >= self._next_refresh:
            self._family.refresh()
            self._next_refresh = now + _REFRESH_S
        members = self._family.members()
        limits = self._limits
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu_s = sum(process.cpu_s for process in members) + usage.ru_utime + usage.ru_stime
        self._cpu_s = max(self._cpu_s, cpu_s)
        if limits["cpu_s"] and cpu_s > limits["cpu_s"]:
            self._stop = "cpu"
        if limits["processes"] and sum(process.threads for process in members) > limits["processes"]:
            self._stop = "processes"
        self._check_memory(members)

    def _check_memory(self, members: list[Process]) -> None:
        limit = self._limits["memory_bytes"]
        total = sum(process.rss_bytes for process in members)
        if limit and total > limit:
            # Pages shared between processes were counted once for each; count them again by share.
            total = sum(_proportional_bytes(process) for process in members)
            if total > limit:
                self._stop = "memory"
        self._peak_rss = max(self._peak_rss, total)
        self._peak_process = max([self._peak_process, *(process.rss_bytes for process in members)])

    # -- end -----------------------------------------------------------------------------------------

    def _end_all(self) -> int:
        """End every descendant; return how many could not be ended."""
        deadline = time.monotonic() + _KILL_WITHIN_S
        if self._status is None:
            os.kill(self._pid, signal.SIGKILL)  # contained, this alone ends all at once
        while time.monotonic() < deadline:
            kill_tree(root=os.getpid(), within_s=0)
            try:
                # Orphans become our children, so "no child left" means "no descendant left".
                while True:
                    pid, status = os.waitpid(-1, os.WNOHANG)
                    if pid == 0:
                        break
                    if pid == self._pid and self._status is None:
                        self._status = status
            except ChildProcessError:
                return 0
            time.sleep(0.001)
        self._family.refresh()
        return len(self._family.members())

    def _drain(self) -> None:
        """Read what is still in the pipes. Their writers are dead, so the end comes at once."""
        deadline = time.monotonic() + _DRAIN_S
        for stream in self._streams:
            poller = select.poll()
            poller.register(stream.fd, select.POLLIN)
            while stream.open and time.monotonic() < deadline and poller.poll(0):
                stream.read()


def _prctl(option: int, value: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option}, {value}) failed")


def _take_precedence() -> None:
    """Be scheduled before the command's processes, however many there are.

    Without this a fork bomb keeps the supervisor from counting until the machine is full. An ordinary user
    may not do so, but is held by RLIMIT_NPROC instead. Children do not inherit it.
    """
    try:
        os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))
    except OSError:
        return


def _prefer_for_oom_killer() -> None:
    """Make the kernel choose the command rather than us when the machine runs out of memory."""
    try:
        fd = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
    except OSError:
        return
    try:
        os.write(fd, b"700")
    except OSError:
        pass  # a restricted /proc: the command runs all the same
    finally:
        os.close(fd)


def _set_rlimits(limits: dict[str, Any]) -> None:
    memory = limits["memory_bytes"]
    wanted = [(resource.RLIMIT_CORE, 0)]
    if memory:
        # RLIMIT_DATA counts private writable memory. The address space may be larger: runtimes reserve
        # ranges that they never touch.
        wanted += [(resource.RLIMIT_DATA, memory), (resource.RLIMIT_AS, 4 * memory + (1 << 32))]
    if limits["file_bytes"]:
        wanted.append((resource.RLIMIT_FSIZE, limits["file_bytes"]))
    if limits["cpu_s"]:
        wanted.append((resource.RLIMIT_CPU, int(limits["cpu_s"]) + 1))
    if limits["processes"] and os.getuid() != 0:
        # This limit counts all tasks of the user, other commands' too, and not at all for root. It only
        # slows a fork bomb down until the supervisor, which counts exactly, ends it.
        wanted.append((resource.RLIMIT_NPROC, _tasks_of(os.getuid()) + 4 * limits["processes"]))
    for kind, value in wanted:
        hard = resource.getrlimit(kind)[1]
        ceiling = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (ceiling, ceiling))


def _tasks_of(user: int) -> int:
    total = 0
    for pid in all_pids():
        try:
            owner = os.stat(f"/proc/{pid}").st_uid  # noqa: PTH116 - called for every process
        except OSError:
            continue
        process = read_process(pid) if owner == user else None
        total += process.threads if process else 0
    return total


def _kernel_oom_kills() -> int:
    """How often the kernel, short of memory, has ended a process since it started."""
    try:
        fd = os.open("/proc/vmstat", os.O_RDONLY)
    except OSError:
        return 0
    try:
        text = os.read(fd, _CHUNK)
    finally:
        os.close(fd)
    at = text.find(b"\noom_kill ")
    return int(text[at + 10 :].split(None, 1)[0]) if at >= 0 else 0


def _input(content: bytes) -> int:
    """Return a descriptor from which the command reads `content`; nothing means end of file at once."""
    if not content:
        return os.open("/dev/null", os.O_RDONLY)
    fd = os.memfd_create("stdin", os.MFD_CLOEXEC)
    view = memoryview(content)
    while view:
        view = view[os.write(fd, view) :]
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _reap_orphans(command: int) -> None:
    """Collect ended orphans, so that a long run does not fill the process table; spare the command."""
    while True:
        ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if ended is None or ended.si_pid == command:
            return
        os.waitpid(ended.si_pid, 0)


def _proportional_bytes(process: Process) -> int:
    try:
        fd = os.open(f"/proc/{process.pid}/smaps_rollup", os.O_RDONLY)
    except OSError:
        return process.rss_bytes if read_process(process.pid) else 0
    try:
        text = os.read(fd, 4096)
    except OSError:
        return 0
    finally:
        os.close(fd)
    at = text.find(b"\nPss:")
    return int(text[at + 5 :].split(None, 1)[0]) * 1024 if at >= 0 else process.rss_bytes


def _read_exactly(count: int) -> bytes:
    data = b""
    while len(data) < count:
        chunk = os.read(0, count - len(data))
        if not chunk:
            sys.exit("the runner closed the request before it was complete")
        data += chunk
    return data


def main() -> None:
    """Read one request, run it, write the reply.

    The request holds `argv`, `env`, `cwd`, `limits` (the fields of `Limits`), `stdin` (bytes), `keep_bytes`
    (per stream) and `parent` (process id of the runner).
    """
    request = marshal.loads(_read_exactly(int.from_bytes(_read_exactly(4), "big")))  # noqa: S302 - from the runner
    request["supervisor"] = os.getpid()
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    _take_precedence()
    reply = ascii(Supervisor(request).run()).encode()
    view = memoryview(reply)
    try:
        while view:
            view = view[os.write(1, view) :]
    except BrokenPipeError:
        pass  # the runner is gone; everything has been ended
