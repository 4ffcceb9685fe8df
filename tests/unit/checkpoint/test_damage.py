"""What a crash, a foreign hand or a full disk may do to a checkpoint, and what becomes of it.

For each: the run goes on at the last whole record, or is refused with file, place and the repairing
command. Never a wait, never silent loss.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from checkpoint_builders import add_node, create

from ari.checkpoint import Checkpoint, repair, validate
from ari.checkpoint.journal import Journal
from ari.errors import CheckpointError, JournalError

EVENTS = 4
RECORD = b'{"seq":5,"ts":"2026-05-08T11:00:00.000Z","event":"run_resumed","pid":123}\n'
HALF = RECORD[:40]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sound") / "checkpoint"
    with create(path) as store:
        add_node(store, "n0", metrics={"r2": 0.5}, score=0.5)
    assert len((path / "journal.jsonl").read_bytes().splitlines()) == EVENTS
    return path


@pytest.fixture
def copy(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "checkpoint"))


def _journal(path: Path) -> Path:
    return path / "journal.jsonl"


def _goes_on(path: Path, events: int) -> None:
    """A writer takes up the run after `events` events, and the next reader finds a whole journal."""
    with Checkpoint.open(path, read_only=False) as store:
        assert len(list(store.events())) == events
        store.append("run_interrupted", reason="test")
    reader = Checkpoint.open(path)
    assert reader.warnings == []
    assert [event["seq"] for event in reader.events()] == list(range(1, events + 2))
    assert validate(path) == []


# -- a torn end ---------------------------------------------------------------------------------------


def test_a_record_cut_at_any_byte_never_counts_and_costs_nothing_else(sound: Path, tmp_path: Path) -> None:
    whole = _journal(sound).read_bytes() + RECORD
    start = len(whole) - len(RECORD)
    path = tmp_path / "checkpoint"
    shutil.copytree(sound, path)
    for cut in range(start, len(whole)):
        _journal(path).write_bytes(whole[:cut])
        reader = Checkpoint.open(path)
        complete = cut == len(whole) - 1  # only the line end is missing
        assert len(list(reader.events())) == EVENTS + complete, cut
        warned = ["the last record was cut off" in warning for warning in reader.warnings]
        assert warned == ([] if complete or cut == start else [True]), cut
        assert [f.severity for f in validate(path)] == ["warning" for _ in warned], cut


@pytest.mark.parametrize("cut", [1, 2, 10, 35, len(RECORD) - 2, len(RECORD) - 1])
def test_the_next_writer_cuts_the_torn_record_and_never_glues_onto_it(copy: Path, cut: int) -> None:
    with _journal(copy).open("ab") as stream:
        stream.write(RECORD[:cut])
    _goes_on(copy, EVENTS + (cut == len(RECORD) - 1))


TORN_ENDS = {
    "one_nul": b"\0",
    "a_page_of_nuls": b"\0" * 4096,
    "nuls_and_a_line_end": b"\0" * 100 + b"\n",
    "half_a_record": HALF,
    "half_a_record_and_a_line_end": HALF + b"\n",
    "half_a_record_then_nuls": HALF + b"\0" * 512,
    "nuls_then_the_rest_of_a_record": b"\0" * 40 + RECORD[40:],
    "text": b"no record at all",
    "bytes_that_are_no_text": b"\xff\xfe\xfd",
    "a_number": b"12",
    "blank_lines": b"\n\n  \n",
    "blank_lines_then_half_a_record": b"\n\n" + HALF,
}


@pytest.mark.parametrize("tail", TORN_ENDS.values(), ids=TORN_ENDS.keys())
def test_a_torn_end_is_left_out_and_the_run_goes_on(copy: Path, tail: bytes) -> None:
    with _journal(copy).open("ab") as stream:
        stream.write(tail)
    reader = Checkpoint.open(copy)
    assert reader.nodes["n0"].status == "completed"
    assert bool(reader.warnings) == bool(tail.strip())
    if reader.warnings:
        number = _journal(copy).read_bytes().count(b"\n") + (not tail.endswith(b"\n"))
        assert f"journal.jsonl, line {number}:" in reader.warnings[0]
        assert "byte" in reader.warnings[0]
    _goes_on(copy, EVENTS)


@pytest.mark.parametrize("tail", [HALF, b"\0" * 64], ids=["half_a_record", "nuls"])
def test_repair_cuts_a_torn_end_and_keeps_a_copy(copy: Path, tail: bytes) -> None:
    with _journal(copy).open("ab") as stream:
        stream.write(tail)
    before = _journal(copy).read_bytes()
    report = repair(copy)
    assert report.lost == []
    assert [backup.read_bytes() for backup in report.backups] == [before]
    assert _journal(copy).read_bytes() == before.removesuffix(tail)
    assert not repair(copy).changed


# -- damage in the middle -----------------------------------------------------------------------------


@pytest.mark.parametrize("line", [1, 2, 3])
@pytest.mark.parametrize("how", ["cut", "nul", "glued", "gone", "not_an_event"])
def test_damage_before_the_end_is_refused_with_place_and_cure(copy: Path, line: int, how: str) -> None:
    lines = _journal(copy).read_bytes().splitlines(keepends=True)
    index = line - 1
    offset = sum(map(len, lines[:index]))
    replacement = {
        "cut": lines[index][:20] + b"\n",
        "nul": b"\0" * 20 + lines[index][20:],
        "glued": lines[index].rstrip() + lines[index],
        "gone": b"",
        "not_an_event": b'{"seq":%d,"ts":"t","event":"node_exploded"}\n' % line,
    }[how]
    _journal(copy).write_bytes(b"".join([*lines[:index], replacement, *lines[index + 1 :]]))
    for read_only in (True, False):
        with pytest.raises(JournalError) as caught:
            Checkpoint.open(copy, read_only=read_only)
        assert f"journal.jsonl, line {line} (byte {offset})" in str(caught.value)
        assert f"`ari repair {copy}`" in str(caught.value)
    assert any(f.file == "journal.jsonl" and f.severity == "error" for f in validate(copy))
    assert not list(copy.glob("*.damaged-*"))


def test_lines_that_contradict_each_other_are_refused(copy: Path) -> None:
    lines = _journal(copy).read_bytes().splitlines(keepends=True)
    again = json.loads(lines[1])
    again["seq"] = 5
    _journal(copy).write_bytes(b"".join(lines) + json.dumps(again).encode() + b"\n")
    with pytest.raises(
        JournalError, match="line 5 contradicts the lines before it: node n0 has been created"
    ):
        Checkpoint.open(copy)
    assert [(f.code, f.where) for f in validate(copy)] == [("jsonl.bad_line", "line 5")]


# -- directories that cannot be written ---------------------------------------------------------------


@contextmanager
def _as_ordinary_user() -> Iterator[Path]:
    """A folder that only its owner may enter for writing, seen by somebody who is not root."""
    base = Path(tempfile.mkdtemp(prefix="ari-read-only-"))
    root = os.geteuid() == 0
    if root:
        os.chown(base, 65534, 65534)
        os.seteuid(65534)
    try:
        yield base
    finally:
        if root:
            os.seteuid(0)
        for folder in (base, *base.rglob("*")):
            if folder.is_dir():
                folder.chmod(0o755)
        shutil.rmtree(base)


def test_a_read_only_directory_is_read_and_refused_for_writing() -> None:
    with _as_ordinary_user() as base:
        path = base / "checkpoint"
        with create(path) as store:
            add_node(store, "n0", metrics={"r2": 0.5}, score=0.5)
        for file in (*path.iterdir(), path):
            file.chmod(0o555 if file.is_dir() else 0o444)
        assert Checkpoint.open(path).nodes["n0"].score == 0.5
        with pytest.raises(CheckpointError, match=r"lock cannot be written: Permission denied\n.*writable"):
            Checkpoint.open(path, read_only=False)
        with pytest.raises(CheckpointError, match="cannot be written: Permission denied"):
            create(path / "inner")
        with pytest.raises(CheckpointError, match="Permission denied"):
            repair(path)


def test_a_directory_that_becomes_read_only_loses_no_event() -> None:
    with _as_ordinary_user() as base:
        path = base / "checkpoint"
        store = create(path)
        add_node(store, "n0")
        path.chmod(0o555)
        store.append("node_started", node_id="n0")  # the journal is open; only the projection fails
        assert any("not yet shown" in warning for warning in store.warnings)
        with pytest.raises(CheckpointError, match="Permission denied"):
            store.write_product("x.txt", b"x")
        with pytest.raises(CheckpointError, match="Permission denied"):
            store.close()
        assert Checkpoint.open(path).nodes["n0"].status == "running"


# -- full disks ---------------------------------------------------------------------------------------


def _fill(store: Checkpoint) -> int:
    """Append until the system refuses; return how many events were taken."""
    for taken in range(20_000):
        before = (len(list(store.events())), store.state.last_seq) if taken % 50 == 0 else None
        assert before is None or before[0] == before[1]
        try:
            store.append("run_interrupted", reason="x" * 200)
        except CheckpointError as error:
            assert "journal.jsonl cannot be written" in str(error)
            assert "Free some disk space" in str(error)
            return taken
    raise AssertionError("the limit was never reached")


def test_a_file_size_limit_is_a_clear_refusal_and_nothing_is_lost(copy: Path) -> None:
    store = Checkpoint.open(copy, read_only=False)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (_journal(copy).stat().st_size + 700, hard))
    try:
        taken = _fill(store)
        size = _journal(copy).stat().st_size
        with pytest.raises(CheckpointError):
            store.append("run_interrupted", reason="x" * 200)
        assert _journal(copy).stat().st_size == size
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert taken >= 1
    store.append("run_interrupted", reason="there is room again")
    store.close()
    _goes_on(copy, EVENTS + taken + 1)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=128k", "none", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        pytest.skip("mounting a small tmpfs needs root")
    try:
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_is_a_clear_refusal_and_nothing_is_lost(sound: Path, small_disk: Path) -> None:
    path = Path(shutil.copytree(sound, small_disk / "checkpoint"))
    store = Checkpoint.open(path, read_only=False)
    taken = _fill(store)
    events = len(list(Checkpoint.open(path).events()))
    assert events == EVENTS + taken
    before = (path / "meta.json").read_bytes()
    with pytest.raises(CheckpointError, match="No space left"):
        store.write_product("meta.json", b"x" * 100_000)
    assert (path / "meta.json").read_bytes() == before
    assert not list(path.glob(".*.ari-tmp"))
    (path / "tree.json").unlink()  # make room
    with Checkpoint.open(path) as reader:
        assert reader.nodes["n0"].score == 0.5
    store.append("run_interrupted", reason="end")
    store.close()
    assert len(list(Checkpoint.open(path).events())) == events + 1


def test_creating_on_a_full_disk_leaves_nothing_half_made(small_disk: Path) -> None:
    filler = small_disk / "filler"
    with pytest.raises(OSError, match="No space"), filler.open("wb", buffering=0) as stream:
        while True:
            stream.write(b"x" * 4096)
    with pytest.raises(CheckpointError, match="No space left"):
        create(small_disk / "checkpoint")
    filler.unlink()
    create(small_disk / "checkpoint").close()
    assert Checkpoint.open(small_disk / "checkpoint").meta.run_id == "run"


def test_a_journal_that_cannot_be_cut_back_takes_no_more(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Checkpoint.open(copy, read_only=False)

    def refuse(*_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("ari.checkpoint.journal.os.fsync", refuse)
    with pytest.raises(CheckpointError, match="Input/output error\n  Nothing written before is lost"):
        store.append("run_interrupted", reason="x")
    monkeypatch.undo()
    with pytest.raises(CheckpointError, match="takes no more events: an earlier write failed"):
        store.append("run_interrupted", reason="x")
    store.close()
    _goes_on(copy, EVENTS)


def test_a_short_write_is_completed(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = os.write
    monkeypatch.setattr("ari.checkpoint.files.os.write", lambda fd, data: whole(fd, bytes(data[:7])))
    _goes_on(copy, EVENTS)


# -- sudden death -------------------------------------------------------------------------------------

WRITER = """
import sys
from pathlib import Path
from ari.checkpoint import Checkpoint
store = Checkpoint.open(Path(sys.argv[1]), read_only=False)
while True:
    print(store.append("run_interrupted", reason="x" * 300)["seq"], flush=True)
"""


@pytest.mark.parametrize("kill_after", [1, 7, 20])
def test_a_killed_writer_loses_nothing_that_was_acknowledged(copy: Path, kill_after: int) -> None:
    child = subprocess.Popen([sys.executable, "-c", WRITER, str(copy)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    acknowledged = [int(child.stdout.readline()) for _ in range(kill_after)]
    child.kill()
    acknowledged += [int(line) for line in child.stdout.read().splitlines()]
    child.wait()
    child.stdout.close()
    with Checkpoint.open(copy, read_only=False) as store:
        assert store.state.last_seq >= acknowledged[-1]
        assert any(f"process {child.pid}" in warning for warning in store.warnings)
        store.append("run_resumed", pid=os.getpid())
    assert validate(copy) == []


def test_a_journal_opened_on_a_torn_end_is_cut_before_the_first_append(copy: Path) -> None:
    from ari.checkpoint.journal import read_journal

    with _journal(copy).open("ab") as stream:
        stream.write(HALF)
    journal = Journal(_journal(copy), read_journal(_journal(copy)))
    assert _journal(copy).read_bytes().endswith(b"}\n")
    assert journal.next_seq == EVENTS + 1
    journal.close()
