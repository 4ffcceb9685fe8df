"""Commands really run, in both kinds of sandbox: what they may do, what is recorded, what is left of them."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import threading
from pathlib import Path

import pytest

from ari.errors import ExecutionError, SandboxError
from ari.execution import runner as runner_module
from ari.execution.limits import MIB, Limits
from ari.execution.processes import all_pids, with_token
from ari.execution.runner import Runner
from ari.execution.sandbox import Sandbox, detect
from ari.execution.workdir import hash_file

CONTAINED = detect()
needs_bubblewrap = pytest.mark.skipif(CONTAINED.kind != "bubblewrap", reason=CONTAINED.reason)
LIMITS = Limits(wall_s=30, memory_bytes=512 * MIB, file_bytes=4 * MIB, processes=40, output_bytes=MIB)
SHORT = Limits(wall_s=0.6)


@pytest.fixture(params=[pytest.param("bubblewrap", marks=needs_bubblewrap), "plain"])
def sandbox(request) -> Sandbox:
    return detect(request.param)


@pytest.fixture
def make(tmp_path, sandbox):
    """Make a runner for a fresh node."""
    (tmp_path / "node").mkdir()

    def _make(**options) -> Runner:
        options.setdefault("limits", LIMITS)
        return Runner(tmp_path / "records", tmp_path / "node", node_id="n1", sandbox=sandbox, **options)

    return _make


@pytest.fixture
def runner(make) -> Runner:
    return make()


def carrying(mark: str) -> list[int]:
    """Living processes whose command line holds a mark that only one test uses."""
    found = []
    for pid in all_pids():
        try:
            line = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if mark.encode() in line and pid != os.getpid():
            found.append(pid)
    return found


# -- what is recorded --------------------------------------------------------------------------------


def test_a_run_is_recorded_whole(runner):
    (runner.work_dir / "given.txt").write_text("abc")
    record = runner.run("cat given.txt; echo made > made.txt; echo oops >&2; exit 3", label="try")
    assert (record.index, record.label, record.outcome, record.exit_status) == (0, "try", "failed", 3)
    assert (record.stdout, record.stderr) == ("abc", "oops\n")
    assert record.argv == ["bash", "-euo", "pipefail", "-c", record.command]
    assert [(item.path, item.size) for item in record.inputs] == [("given.txt", 3)]
    made = hash_file(runner.work_dir / "made.txt")
    assert [(item.path, item.sha256, item.change) for item in record.outputs] == [
        ("made.txt", made.sha256, "added")
    ]
    assert record.started_at.endswith("Z") and 0 < record.duration_s < 30
    assert record.environment["python"] and record.sandbox.kind == runner.sandbox.kind


def test_records_grow_by_one_a_run_and_go_on_after_a_restart(runner, make):
    runner.run("true")
    runner.run(["false"])
    make().run("exit 4")
    raw = json.loads((runner.records_dir / "run_record.json").read_text())
    assert (raw["schema_version"], raw["node_id"]) == (1, "n1")
    assert [(run["index"], run["exit_status"]) for run in raw["runs"]] == [(0, 0), (1, 1), (2, 4)]


def test_changed_rewritten_and_deleted_files_are_told_apart(runner):
    for name in ("same", "changed", "gone", "untouched"):
        (runner.work_dir / name).write_text("old")
    record = runner.run(
        "printf old > same.new; mv same.new same; echo new > changed; rm gone; echo x > fresh"
    )
    assert {item.path: item.change for item in record.outputs} == {
        "same": "rewritten",
        "changed": "modified",
        "fresh": "added",
    }
    assert record.deleted == ["gone"]


def test_readable_files_are_inputs_by_relative_path(make, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "x.csv").write_text("1,2")
    (tmp_path / "one.csv").write_text("3")
    runner = make(read_only=[tmp_path / "data", tmp_path / "one.csv"])
    record = runner.run(["cat", str(tmp_path / "data" / "x.csv"), str(tmp_path / "one.csv")])
    assert record.stdout == "1,23"
    assert [item.path for item in record.inputs] == ["../data/x.csv", "../one.csv"]
    assert runner.run("true").inputs == record.inputs


def test_folders_reached_through_links_work(tmp_path, sandbox):
    (tmp_path / "real" / "node").mkdir(parents=True)
    (tmp_path / "real" / "data.csv").write_text("1")
    (tmp_path / "alias").symlink_to("real", target_is_directory=True)
    alias = tmp_path / "alias"
    runner = Runner(
        alias / "records", alias / "node", sandbox=sandbox, limits=LIMITS, read_only=[alias / "data.csv"]
    )
    record = runner.run(["cp", str(alias / "data.csv"), "copy.csv"])
    assert [item.path for item in record.outputs] == ["copy.csv"]


def test_cpu_time_and_memory_of_children_count(runner):
    record = runner.run("python3 -c 'x = bytearray(100_000_000); sum(range(3_000_000))' & wait")
    assert record.ok
    assert record.max_rss_bytes > 100_000_000
    assert record.cpu_s > 0.01


def test_standard_input_is_closed_or_given(runner):
    assert runner.run("cat; echo end").stdout == "end\n"
    assert runner.run(["cat"], stdin="αβγ").stdout == "αβγ"
    assert runner.run(["wc", "-c"], stdin=b"x" * 3_000_000).stdout.strip() == "3000000"


@pytest.mark.parametrize("script", ["false; true", "false | true", "echo $NEVER_SET"])
def test_a_script_stops_at_its_first_error(runner, script):
    assert runner.run(script).outcome == "failed"


def test_a_program_that_does_not_exist_is_not_started(runner):
    record = runner.run(["no-such-program", "x"])
    assert (record.outcome, record.exit_status) == ("not_started", None)
    assert "no-such-program" in record.reason and "No such file" in record.reason


def test_a_crash_is_recorded_by_its_signal(runner):
    record = runner.run("kill -SEGV $$")
    assert (record.outcome, record.signal, record.exit_status) == ("failed", "SIGSEGV", 139)


def test_output_without_end_of_line_and_without_text_is_kept(runner):
    assert runner.run("printf 'a\\377b'").stdout == "a\ufffdb"


def test_commands_from_several_threads_do_not_mix(make, tmp_path, sandbox):
    answers: dict[int, str] = {}

    def work(number: int) -> None:
        folder = tmp_path / f"node{number}"
        folder.mkdir()
        own = Runner(tmp_path / f"records{number}", folder, sandbox=sandbox, limits=LIMITS)
        answers[number] = own.run(f"echo {number}; echo {number} > out").stdout

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {number: f"{number}\n" for number in range(4)}


# -- what a command sees -----------------------------------------------------------------------------


def test_secrets_of_our_environment_do_not_reach_the_command(runner, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "sesame-4711")
    monkeypatch.setenv("ARI_REGISTRY_TOKEN", "sesame-4711")
    # Not even through the processes above it that it can see.
    record = runner.run(
        "env; cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' || true", env={"MINE": "yes"}
    )
    assert "MINE=yes" in record.stdout
    if runner.sandbox.kind == "bubblewrap":
        assert "sesame-4711" not in record.stdout
    else:
        assert "sesame-4711" not in record.stdout.partition("\nMINE=yes\n")[0] + runner.run("env").stdout


def test_the_interpreter_inside_is_ours(runner):
    record = runner.run(["python3", "-c", "import sys, numpy; print(sys.prefix)"])
    assert record.stdout.strip() == runner_module.sys.prefix


def test_temporary_files_are_no_results(runner):
    record = runner.run('f=$(mktemp); echo x > "$f"; echo "$f"')
    assert record.ok and record.outputs == []
    assert not Path(record.stdout.strip()).exists()


def test_c_programs_are_built_and_run(runner):
    (runner.work_dir / "a.c").write_text('#include <stdio.h>\nint main(void){puts("built");return 0;}')
    assert runner.run("cc -O2 a.c -o a && ./a").stdout == "built\n"


@needs_bubblewrap
class TestContained:
    """What only bubblewrap can promise."""

    @pytest.fixture
    def sandbox(self) -> Sandbox:
        return CONTAINED

    def test_nothing_outside_can_be_written_or_read(self, runner, tmp_path):
        secret = tmp_path / "secret"
        secret.write_text("mine")
        (runner.work_dir / "link").symlink_to(secret)
        record = runner.run(f"cat {secret} link || true; echo no > {secret} || true; echo no > link || true")
        assert secret.read_text() == "mine" and "mine" not in record.stdout

    def test_readable_paths_cannot_be_written(self, make, tmp_path):
        given = tmp_path / "given"
        given.write_text("mine")
        assert make(read_only=[given]).run(f"echo no > {given}").outcome == "failed"
        assert given.read_text() == "mine"

    def test_records_are_out_of_reach(self, runner):
        runner.run("true")
        assert runner.run(["ls", str(runner.records_dir)]).outcome == "failed"

    def test_there_is_no_network(self, runner):
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            record = runner.run(f"exec 3<>/dev/tcp/127.0.0.1/{port}")
        assert "Connection refused" in record.stderr

    def test_other_processes_are_neither_seen_nor_hit(self, runner):
        record = runner.run(f"kill -9 {os.getppid()} || true; ls /proc | grep -c '^[0-9]'")
        assert int(record.stdout) < 8


# -- limits ------------------------------------------------------------------------------------------

DAEMON = """
import os, signal, sys, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
print(os.environ["ARI_RUN_TOKEN"], flush=True)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execve("/usr/bin/sleep", ["sleep", sys.argv[1]], {})  # without the marker in its environment
    os._exit(0)
if sys.argv[2] == "stay":
    time.sleep(1000)
"""


@pytest.mark.parametrize("then", ["stay", "leave"])
def test_nothing_survives_not_even_a_daemon_without_marker(runner, then):
    mark = f"7{os.getpid()}{len(then)}.25"
    record = runner.run(["python3", "-c", DAEMON, mark, then], limits=SHORT if then == "stay" else LIMITS)
    assert record.outcome == ("timeout" if then == "stay" else "ok")
    assert with_token(record.stdout.strip()) == [] and carrying(f"sleep\0{mark}") == []


@pytest.mark.parametrize(
    "script",
    [
        "trap '' TERM; while :; do :; done",
        "sleep 1000",
        "sleep 1000 & sleep 1000 & wait",
        "(trap '' TERM INT HUP; sleep 1000) | cat",
        "kill -STOP $$",
        "setsid -w sleep 1000",
    ],
)
def test_the_time_limit_ends_everything_within_two_seconds(runner, script):
    record = runner.run(f"echo $ARI_RUN_TOKEN; {script}", limits=SHORT)
    assert (record.outcome, record.reason, record.exit_status) == ("timeout", "time limit of 0.6 s", None)
    assert 0.6 <= record.duration_s < 0.6 + 2
    assert with_token(record.stdout.strip()) == []


def test_what_was_printed_and_written_before_the_limit_is_kept(runner):
    record = runner.run("echo early; echo x > partial; sleep 1000", limits=SHORT)
    assert record.stdout == "early\n" and [item.path for item in record.outputs] == ["partial"]


def test_a_bystander_with_telling_words_lives_on(runner):
    bystander = subprocess.Popen(
        ["bash", "-c", "read line", "python", "experiment", "torch", "sleep"], stdin=subprocess.PIPE
    )
    try:
        runner.run("sleep 1000", limits=SHORT)
        runner.run("true")
        assert bystander.poll() is None
    finally:
        bystander.communicate(timeout=10)


def test_lack_of_memory_is_named(runner):
    record = runner.run(["python3", "-c", "x = bytearray(2_000_000_000)"])
    assert (record.outcome, record.reason) == ("out_of_memory", f"memory limit of {512 * MIB} bytes")


def test_memory_is_summed_over_processes(runner):
    eater = "x = bytearray(60_000_000); print('.', flush=True); __import__('time').sleep(1000)"
    record = runner.run(
        f'for i in 1 2 3 4; do python3 -c "{eater}" & done; wait',
        limits=Limits(wall_s=30, memory_bytes=150 * MIB),
    )
    assert (record.outcome, record.exit_status) == ("out_of_memory", None)


def test_shared_memory_counts_too(runner):
    script = """
import mmap, sys
shared = mmap.mmap(-1, 300_000_000)
for _ in range(300):
    shared.write(bytes(1_000_000))
__import__("time").sleep(1000)
"""
    record = runner.run(["python3", "-c", script], limits=Limits(wall_s=30, memory_bytes=200 * MIB))
    assert (record.outcome, record.exit_status) == ("out_of_memory", None)


def test_cpu_time_is_limited(runner):
    record = runner.run("while :; do :; done", limits=Limits(wall_s=30, cpu_s=0.3))
    assert (record.outcome, record.reason) == ("timeout", "CPU time limit of 0.3 s")


def test_a_flood_of_output_is_cut_off_and_head_and_tail_are_kept(runner):
    record = runner.run("echo first; yes")
    assert (record.outcome, record.reason) == ("output_limit", f"more than {MIB} bytes of output")
    assert record.stdout.startswith("first\n") and "bytes left out" in record.stdout
    assert record.stdout_info.size > MIB and record.stdout_info.truncated
    assert len(record.stdout) < MIB / 4


def test_a_lot_of_output_within_the_limit_is_counted(runner):
    record = runner.run("head -c 500000 /dev/zero | tr '\\0' a; echo; echo GFlops/s: 3.5; echo z >&2")
    assert record.ok and record.stdout_info.size == 500001 + 14
    assert record.stdout.endswith("\nGFlops/s: 3.5\n") and record.stderr == "z\n"


def test_a_file_that_grows_too_large_is_cut_off(runner):
    assert runner.run("head -c 20000000 /dev/zero > big").outcome == "output_limit"
    assert (runner.work_dir / "big").stat().st_size == 4 * MIB
    record = runner.run(
        ["python3", "-c", "open('big2', 'wb').write(bytes(20_000_000))"]
    )  # which ignores the signal
    assert record.outcome == "output_limit"
    assert runner.run("exit 3").outcome == "failed"  # an old large file is not this run's fault


def test_too_many_processes_are_ended(runner):
    # Each child may start two more, 1,000 in all: enough to be noticed, too few to do harm.
    script = 'f() { if [ "$1" -gt 8 ]; then sleep 20; else f $(($1+1)) & f $(($1+1)) & wait; fi; }; f 0'
    record = runner.run(f"echo $ARI_RUN_TOKEN; {script}")
    assert (record.outcome, record.reason) == ("failed", "more than 40 processes at once")
    assert with_token(record.stdout.strip()) == []


def test_threads_count_as_processes(runner):
    script = """
import threading
barrier = threading.Barrier(80)
for _ in range(79):
    threading.Thread(target=barrier.wait).start()
"""
    assert runner.run(["python3", "-c", script]).reason == "more than 40 processes at once"


# -- interruption ------------------------------------------------------------------------------------


def test_cancel_from_another_thread_ends_the_command(runner):
    os.mkfifo(runner.work_dir / "ready")

    def cancel_when_ready() -> None:
        (runner.work_dir / "ready").read_text()
        runner.cancel()

    thread = threading.Thread(target=cancel_when_ready)
    thread.start()
    record = runner.run("echo $ARI_RUN_TOKEN; echo > ready; sleep 1000")
    thread.join()
    assert (record.outcome, record.reason) == ("failed", "cancelled")
    assert with_token(record.stdout.strip()) == []
    assert runner.run("true").outcome == "not_started"


def test_a_command_that_ends_its_supervisor_is_ended_as_well(tmp_path):
    (tmp_path / "node").mkdir()
    runner = Runner(tmp_path / "records", tmp_path / "node", sandbox=detect("plain"), limits=LIMITS)
    record = runner.run("echo $ARI_RUN_TOKEN > token; setsid sleep 1000 & kill -9 $PPID; sleep 1000")
    assert record.outcome == "failed" and "supervisor was ended by SIGKILL" in record.reason
    assert with_token((runner.work_dir / "token").read_text().strip()) == []


# -- misuse ------------------------------------------------------------------------------------------


def test_records_inside_the_work_folder_are_refused(tmp_path):
    with pytest.raises(ExecutionError, match="inside the work folder"):
        Runner(tmp_path / "records", tmp_path)


def test_a_missing_work_folder_is_refused(tmp_path):
    with pytest.raises(ExecutionError, match="does not exist"):
        Runner(tmp_path / "records", tmp_path / "nowhere")


def test_a_missing_readable_path_is_refused_and_nothing_is_recorded(make, tmp_path, sandbox):
    runner = make(read_only=[tmp_path / "nowhere"])
    with pytest.raises((SandboxError, ExecutionError), match="nowhere"):
        runner.run("true")
    assert runner.runs == ()


@pytest.mark.parametrize("command", [[], [""], "a\0b", "a\udcffb"])
def test_commands_that_cannot_be_run_are_refused(runner, command):
    with pytest.raises(ExecutionError):
        runner.run(command)
