"""From what the supervisor saw to what is said about it: outcome, signal and reason of a run."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ari.execution.limits import Limits
from ari.execution.records import Outcome, StreamRecord

KEEP_BYTES = 1 << 17  # per stream, half of it for the beginning and half for the end

_NO_MEMORY = re.compile(
    r"MemoryError|bad_alloc|Cannot allocate memory|[Oo]ut of memory|[Mm]emory exhausted|ENOMEM"
    r"|Unable to allocate .* for an array",
)
_CRASHES = ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGKILL")
_NEARLY_ALL = 0.8


@dataclass(frozen=True)
class Verdict:
    """How a run ended; fields as in `RunRecord`."""

    outcome: Outcome
    reason: str
    exit_status: int | None = None
    signal: str | None = None


def judge(reply: Mapping[str, Any], limits: Limits, *, contained: bool) -> Verdict:
    """Return the verdict on a run.

    Args:
        reply: What the supervisor reported.
        limits: The limits that were in force.
        contained: Whether bubblewrap stood between the supervisor and the command.
    """
    if not reply["started"]:
        return Verdict("not_started", str(reply["error"]))
    if reply.get("immortal"):
        return Verdict("failed", f"{reply['immortal']} of its processes could not be ended")
    if reply["stop"]:
        return _stopped(reply, limits)
    exit_status, name = _decode(reply["status"])
    if exit_status == 0:
        return Verdict("ok", "", 0)
    stderr = _tail(reply["stderr"])
    if contained and stderr.startswith("bwrap: "):
        return Verdict("not_started", stderr.splitlines()[0].removeprefix("bwrap: "))
    if name == "SIGXFSZ":
        return Verdict("output_limit", "a file reached the size limit", exit_status, name)
    if name == "SIGXCPU":
        return Verdict("timeout", f"CPU time limit of {limits.cpu_s:g} s", exit_status, name)
    if _memory_ran_out(reply, limits, stderr, name):
        return Verdict("out_of_memory", _memory_words(limits), exit_status, name)
    return Verdict("failed", f"ended by {name}" if name else f"exit status {exit_status}", exit_status, name)


def _stopped(reply: Mapping[str, Any], limits: Limits) -> Verdict:
    """The verdict where we ended the command."""
    stop = reply["stop"]
    if stop == "wall":
        return Verdict("timeout", f"time limit of {limits.wall_s:g} s")
    if stop == "cpu":
        return Verdict("timeout", f"CPU time limit of {limits.cpu_s:g} s")
    if stop == "memory":
        return Verdict("out_of_memory", _memory_words(limits))
    if stop == "output":
        return Verdict("output_limit", f"more than {limits.output_bytes} bytes of output")
    if stop == "processes":
        return Verdict("failed", f"more than {limits.processes} processes at once")
    if stop == "cancelled":
        return Verdict("failed", "cancelled")
    return Verdict("failed", str(reply.get("error", stop)))


def _decode(status: int | None) -> tuple[int | None, str | None]:
    """Exit status and signal name, with the shells' convention of 128 + n read back into a signal."""
    if status is None:
        return None, None
    code = os.waitstatus_to_exitcode(status)
    number = -code if code < 0 else code - 128
    try:
        name = signal.Signals(number).name if number > 0 else None
    except ValueError:
        name = None
    return (128 - code if code < 0 else code), name


def _memory_ran_out(reply: Mapping[str, Any], limits: Limits, stderr: str, name: str | None) -> bool:
    if _NO_MEMORY.search(stderr):
        return True
    limit = limits.memory_bytes
    crashed = name in _CRASHES
    return crashed and (
        bool(limit and reply["peak_process"] > _NEARLY_ALL * limit) or bool(reply["kernel_oom"])
    )


def _memory_words(limits: Limits) -> str:
    return (
        f"memory limit of {limits.memory_bytes} bytes"
        if limits.memory_bytes
        else "the machine's memory ran out"
    )


def _tail(kept: tuple[bytes, bytes, int]) -> str:
    head, tail, _ = kept
    return (head + tail).decode(errors="replace")


def stream_text(kept: tuple[bytes, bytes, int] | None) -> tuple[str, StreamRecord]:
    """Return what is kept of a stream as text, the gap marked, and its full size."""
    if kept is None:
        return "", StreamRecord(size=0, truncated=False)
    head, tail, size = kept
    missing = size - len(head) - len(tail)
    if missing <= 0:
        return (head + tail).decode("utf-8", "replace"), StreamRecord(size=size, truncated=False)
    gap = f"\n[… {missing} bytes left out …]\n"
    return (
        head.decode("utf-8", "replace") + gap + tail.decode("utf-8", "replace"),
        StreamRecord(size=size, truncated=True),
    )
