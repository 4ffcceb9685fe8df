"""When the process that runs commands is killed outright, its commands end too, and nothing else does."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ari.execution.processes import with_token
from ari.execution.sandbox import detect

CONTAINED = detect()

PROGRAM = """
import sys
from pathlib import Path
from ari.execution.runner import Runner
from ari.execution.sandbox import detect
top, kind, command = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
print(Runner(top / "records", top / "node", sandbox=detect(kind)).run(command).outcome)
"""
# Two daemons in sessions of their own, then the word that they are there.
COMMAND = """
(setsid sh -c 'trap "" TERM HUP INT; exec sleep 1000' >/dev/null 2>&1 &)
(setsid sleep 1000 &)
echo $ARI_RUN_TOKEN > ready
exec sleep 1000
"""


def bearers(token: str, count: int) -> list[int]:
    """Return the bearers of a token as soon as there are so many: in the middle of an exec one shows none."""
    deadline = time.monotonic() + 10
    while len(found := with_token(token)) < count and time.monotonic() < deadline:
        pass
    return [process.pid for process in found]


def wait_for_end(pids: list[int], seconds: float) -> list[int]:
    """Wait until the processes have ended; return those that have not in time."""
    left = []
    for pid in pids:
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        poller = select.poll()
        poller.register(handle, select.POLLIN)
        if not poller.poll(seconds * 1000):
            left.append(pid)
        os.close(handle)
    return left


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(
            "bubblewrap", marks=pytest.mark.skipif(CONTAINED.kind != "bubblewrap", reason=CONTAINED.reason)
        ),
        "plain",
    ],
)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_commands_die_with_the_process_that_runs_them(tmp_path: Path, kind: str, number: signal.Signals):
    (tmp_path / "node").mkdir()
    ready = tmp_path / "node" / "ready"
    os.mkfifo(ready)
    bystander = subprocess.Popen(["bash", "-c", "read line", "ari", "python", "sleep"], stdin=subprocess.PIPE)
    owner = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(tmp_path), kind, COMMAND], stderr=subprocess.DEVNULL, stdout=-1
    )
    try:
        token = ready.read_text().strip()
        started = bearers(token, 3)
        assert len(started) >= 3
        owner.send_signal(number)
        owner.communicate(timeout=30)
        assert wait_for_end(started, 10) == []
        assert bystander.poll() is None
        assert not (tmp_path / "records").exists()  # a command that was cut off with us left no record
    finally:
        owner.kill()
        bystander.communicate(timeout=10)


@pytest.mark.parametrize("kind", ["plain", CONTAINED.kind])
def test_a_run_beside_another_is_not_disturbed_by_its_end(tmp_path: Path, kind: str):
    owners = []
    for name in ("first", "second"):
        (tmp_path / name / "node").mkdir(parents=True)
        os.mkfifo(tmp_path / name / "node" / "ready")
        os.mkfifo(tmp_path / name / "node" / "go")
        script = "echo $ARI_RUN_TOKEN > ready; read line < go"
        arguments = [str(tmp_path / name), kind, script]
        owners.append(subprocess.Popen([sys.executable, "-c", PROGRAM, *arguments], stdout=-1, text=True))
    try:
        for name in ("first", "second"):
            (tmp_path / name / "node" / "ready").read_text()
        owners[0].send_signal(signal.SIGKILL)
        owners[0].communicate(timeout=30)
        (tmp_path / "second" / "node" / "go").write_text("go\n")
        assert owners[1].communicate(timeout=30)[0] == "ok\n"
    finally:
        for owner in owners:
            owner.kill()
            owner.communicate(timeout=10)
