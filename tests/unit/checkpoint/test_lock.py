"""The writer's lock: who holds it, who may take it over, and that nobody waits."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ari.checkpoint.lock import LOCK_NAME, Lock, LockRecord, boot_id, is_alive, process_start
from ari.errors import CheckpointError, LockHeldError

HERE = socket.gethostname()
NOW = "2026-05-08T11:00:00Z"


@pytest.fixture
def bystander() -> Iterator[int]:
    """A live process that has nothing to do with the checkpoint."""
    child = subprocess.Popen(["sleep", "600"])
    yield child.pid
    child.kill()
    child.wait()


@pytest.fixture
def dead() -> int:
    """The number of a process that is gone."""
    child = subprocess.Popen(["true"])
    child.wait()
    return child.pid


def _leave(directory: Path, **record: object) -> None:
    (directory / LOCK_NAME).write_text(json.dumps({"since": "yesterday", **record}))


def test_the_lock_names_its_holder_and_is_cleared_at_the_end(tmp_path: Path) -> None:
    lock = Lock(tmp_path, since=NOW)
    record = LockRecord.read(tmp_path / LOCK_NAME)
    assert (record.pid, record.host, record.since) == (os.getpid(), HERE, NOW)
    assert record.process_start == process_start(os.getpid())
    assert record.boot_id == boot_id()
    lock.release()
    lock.release()
    assert (tmp_path / LOCK_NAME).read_bytes() == b""
    assert Lock(tmp_path, since=NOW).warning == ""


def test_a_second_writer_is_refused_at_once_with_the_name(tmp_path: Path) -> None:
    first = Lock(tmp_path, since=NOW)
    with pytest.raises(LockHeldError, match=f"written by process {os.getpid()} on {HERE}, since {NOW}"):
        Lock(tmp_path, since=NOW)
    with pytest.raises(LockHeldError):
        Lock(tmp_path, since=NOW, take_over=True)
    first.release()
    Lock(tmp_path, since=NOW).release()


HOLDER = """
import sys, time
from pathlib import Path
from ari.checkpoint.lock import Lock
lock = Lock(Path(sys.argv[1]), since="now")
print("held", flush=True)
sys.stdin.read()
"""


def test_another_process_is_refused_and_its_death_frees_the_lock(tmp_path: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdin is not None and child.stdout is not None
    assert child.stdout.readline() == b"held\n"
    for text in (None, b"\xff unreadable"):
        if text is not None:
            (tmp_path / LOCK_NAME).write_bytes(text)
        with pytest.raises(LockHeldError, match="it is running"):
            Lock(tmp_path, since=NOW)
    child.kill()
    child.wait()
    child.stdin.close()
    child.stdout.close()
    lock = Lock(tmp_path, since=NOW)
    assert "unreadable" in lock.warning
    lock.release()


def test_a_dead_holder_is_replaced(tmp_path: Path, dead: int) -> None:
    _leave(tmp_path, pid=dead, host=HERE, process_start=1, boot_id=boot_id())
    lock = Lock(tmp_path, since=NOW)
    assert (
        f"took over the lock of process {dead} on {HERE}, since yesterday: that process is gone"
        in lock.warning
    )
    lock.release()


@pytest.mark.parametrize("extra", [{}, {"boot_id": boot_id()}])
def test_a_live_process_of_that_number_is_respected(tmp_path: Path, bystander: int, extra: dict) -> None:
    _leave(tmp_path, pid=bystander, host=HERE, **extra)
    with pytest.raises(
        LockHeldError, match=f"process {bystander} on {HERE}.*a process with that number is alive"
    ):
        Lock(tmp_path, since=NOW)
    _leave(tmp_path, pid=bystander, host=HERE, process_start=process_start(bystander), **extra)
    with pytest.raises(LockHeldError, match="that process is alive"):
        Lock(tmp_path, since=NOW)
    lock = Lock(tmp_path, since=NOW, take_over=True)
    assert "took over" in lock.warning
    lock.release()


def test_a_number_that_was_given_away_again_is_no_holder(tmp_path: Path, bystander: int) -> None:
    _leave(tmp_path, pid=bystander, host=HERE, process_start=1)
    lock = Lock(tmp_path, since=NOW)
    assert "its number belongs to a later one" in lock.warning
    lock.release()


def test_a_holder_before_the_last_boot_is_gone(tmp_path: Path, bystander: int) -> None:
    _leave(tmp_path, pid=bystander, host=HERE, process_start=process_start(bystander), boot_id="another")
    lock = Lock(tmp_path, since=NOW)
    assert "started anew" in lock.warning
    lock.release()


def test_another_machine_cannot_be_judged(tmp_path: Path, dead: int) -> None:
    _leave(tmp_path, pid=dead, host="elsewhere.example", boot_id="another")
    with pytest.raises(LockHeldError) as caught:
        Lock(tmp_path, since=NOW)
    assert f"process {dead} on elsewhere.example, since yesterday" in str(caught.value)
    assert f"`ari repair {tmp_path} --take-over`" in str(caught.value)
    Lock(tmp_path, since=NOW, take_over=True).release()


def test_a_container_on_the_same_kernel_can_be_judged(tmp_path: Path, dead: int) -> None:
    _leave(tmp_path, pid=dead, host="container-1", boot_id=boot_id())
    Lock(tmp_path, since=NOW).release()


@pytest.mark.parametrize(
    "text",
    [b"", b"\0" * 64, b"not json", b"\xff\xfe", b"[]", b'{"pid": "x"}', b'{"pid": 1, "ho'],
)
def test_text_that_names_nobody_blocks_nobody(tmp_path: Path, text: bytes) -> None:
    (tmp_path / LOCK_NAME).write_bytes(text)
    lock = Lock(tmp_path, since=NOW)
    assert bool(lock.warning) == bool(text.strip(b"\0"))
    lock.release()


def test_a_bare_number_is_a_process(tmp_path: Path, bystander: int, dead: int) -> None:
    (tmp_path / LOCK_NAME).write_text(f"{bystander}\n")
    with pytest.raises(LockHeldError, match=f"process {bystander}"):
        Lock(tmp_path, since=NOW)
    (tmp_path / LOCK_NAME).write_text(str(dead))
    Lock(tmp_path, since=NOW).release()


def test_a_forked_worker_does_not_keep_the_lock_of_its_dead_parent(tmp_path: Path) -> None:
    code = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from ari.checkpoint.lock import Lock\n"
        "lock = Lock(Path(sys.argv[1]), since='now')\n"
        "if os.fork() == 0:\n"
        "    print(os.getpid(), flush=True)\n"
        "    sys.stdin.read()\n"
        "    os._exit(0)\n"
        "sys.stdin.read()\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert parent.stdin is not None and parent.stdout is not None
    worker = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    assert is_alive(worker)
    Lock(tmp_path, since=NOW).release()
    parent.stdin.close()
    parent.stdout.close()


def test_without_kernel_locks_the_record_decides(
    tmp_path: Path, bystander: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(*_: object) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr("ari.checkpoint.lock.fcntl.flock", unsupported)
    Lock(tmp_path, since=NOW).release()
    _leave(tmp_path, pid=bystander, host=HERE)
    with pytest.raises(LockHeldError):
        Lock(tmp_path, since=NOW)


def test_a_lock_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / LOCK_NAME).symlink_to(victim)
    with pytest.raises(CheckpointError, match="lock cannot be written"):
        Lock(tmp_path, since=NOW)
    assert victim.read_text() == "precious"
