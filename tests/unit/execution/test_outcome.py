from __future__ import annotations

import signal

import pytest

from ari.execution.limits import MIB, Limits
from ari.execution.outcome import judge, stream_text

LIMITS = Limits(wall_s=2, cpu_s=3, memory_bytes=100 * MIB, processes=8, output_bytes=1000)
SILENT = (b"", b"", 0)


def reply(**fields):
    base = {
        "started": True,
        "status": 0,
        "stop": "",
        "stderr": SILENT,
        "peak_process": 0,
        "kernel_oom": False,
    }
    return base | fields


def verdict(*, contained=False, **fields):
    return judge(reply(**fields), LIMITS, contained=contained)


def text(stderr: str):
    return (stderr.encode(), b"", len(stderr))


def test_ok():
    found = verdict()
    assert (found.outcome, found.exit_status, found.signal, found.reason) == ("ok", 0, None, "")


def test_failure_with_its_exit_status():
    found = verdict(status=3 << 8)
    assert (found.outcome, found.exit_status, found.reason) == ("failed", 3, "exit status 3")


@pytest.mark.parametrize("status", [signal.SIGSEGV, (128 + signal.SIGSEGV) << 8])
def test_a_signal_reads_the_same_with_and_without_a_shell_in_between(status):
    found = verdict(status=int(status))
    assert (found.outcome, found.exit_status, found.signal) == ("failed", 139, "SIGSEGV")


def test_an_exit_status_beyond_the_signals_is_just_that():
    assert verdict(status=255 << 8).signal is None


@pytest.mark.parametrize(
    ("stop", "outcome", "reason"),
    [
        ("wall", "timeout", "time limit of 2 s"),
        ("cpu", "timeout", "CPU time limit of 3 s"),
        ("memory", "out_of_memory", "memory limit of 104857600 bytes"),
        ("output", "output_limit", "more than 1000 bytes of output"),
        ("processes", "failed", "more than 8 processes at once"),
        ("cancelled", "failed", "cancelled"),
    ],
)
def test_what_we_stopped(stop, outcome, reason):
    found = verdict(stop=stop, status=int(signal.SIGKILL))
    assert (found.outcome, found.reason, found.exit_status) == (outcome, reason, None)


@pytest.mark.parametrize(
    "message",
    [
        "MemoryError",
        "terminate called after throwing an instance of 'std::bad_alloc'",
        "malloc: Cannot allocate memory",
    ],
)
def test_programs_that_say_they_lack_memory(message):
    assert verdict(status=1 << 8, stderr=text(message)).outcome == "out_of_memory"


def test_a_crash_with_memory_nearly_used_up_is_lack_of_memory():
    assert verdict(status=int(signal.SIGSEGV), peak_process=90 * MIB).outcome == "out_of_memory"
    assert verdict(status=int(signal.SIGSEGV), peak_process=20 * MIB).outcome == "failed"


def test_killed_by_the_kernel_for_memory():
    assert verdict(status=int(signal.SIGKILL), kernel_oom=True).outcome == "out_of_memory"
    assert verdict(status=1 << 8, kernel_oom=True).outcome == "failed"  # somebody else was killed


def test_file_and_cpu_limits_by_signal():
    assert verdict(status=int(signal.SIGXFSZ)).outcome == "output_limit"
    assert verdict(status=int(signal.SIGXCPU)).outcome == "timeout"


def test_not_started():
    assert verdict(started=False, error="No such file: x").reason == "No such file: x"
    found = verdict(
        contained=True, status=1 << 8, stderr=text("bwrap: execvp x: No such file or directory\n")
    )
    assert (found.outcome, found.reason) == ("not_started", "execvp x: No such file or directory")
    assert verdict(status=1 << 8, stderr=text("bwrap: execvp x: no")).outcome == "failed"


def test_survivors_are_never_ok():
    assert verdict(immortal=2).reason == "2 of its processes could not be ended"


def test_short_output_is_whole():
    found, info = stream_text((b"abc", "d\N{GREEK SMALL LETTER ALPHA}".encode(), 6))
    assert (found, info.size, info.truncated) == ("abcdα", 6, False)


def test_long_output_says_what_is_missing():
    found, info = stream_text((b"abc", b"xyz", 106))
    assert found == "abc\n[… 100 bytes left out …]\nxyz"
    assert (info.size, info.truncated) == (106, True)


def test_output_that_is_no_text_is_still_kept():
    assert stream_text((b"\xff\xfe", b"", 2))[0] == "\ufffd\ufffd"
