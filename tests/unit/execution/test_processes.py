from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys

import pytest

from ari.execution import processes
from ari.execution.processes import Family, in_group, kill_tree, read_process, send, with_token


def environment(token: str) -> dict[str, str]:
    return {"PATH": "/usr/bin:/bin", "ARI_RUN_TOKEN": token}


@pytest.fixture
def token() -> str:
    return secrets.token_hex(16)


def test_bearers_of_a_token_are_found_and_no_others(start, token):
    ours = start(env=environment(token))
    start(env=environment(token + "x"))
    start(env={"PATH": "/usr/bin:/bin", "OTHER": f"ARI_RUN_TOKEN={token}"})
    assert [process.pid for process in with_token(token)] == [ours.pid]


@pytest.mark.parametrize("bad", ["", "short"])
def test_a_token_that_could_match_strangers_is_refused(bad):
    with pytest.raises(ValueError, match="at least 16 characters"):
        with_token(bad)


def test_kill_tree_by_token_reaches_another_session(start, token):
    ours = start(env=environment(token), start_new_session=True)
    assert kill_tree(token=token) == 1
    assert ours.wait(timeout=10) == -signal.SIGKILL


def test_kill_tree_by_group(start):
    ours = start("sleep 1000 & echo ready; wait", start_new_session=True)
    assert len(in_group(ours.pid)) == 2
    assert kill_tree(pgid=ours.pid) == 2
    assert in_group(ours.pid) == []


def test_kill_tree_by_root_takes_grandchildren(start):
    ours = start("(sleep 1000 & wait) & echo ready; wait")
    kill_tree(root=ours.pid)
    assert Family(ours.pid).members() == []
    assert ours.wait(timeout=10) == -signal.SIGKILL


def test_bystanders_with_telling_names_live_on(start, token):
    bystander = start("echo ready; read line", args=["python", "experiment", "torch", "ari"], stdin=-1)
    ours = start(env=environment(token))
    kill_tree(root=ours.pid, token=token)
    assert bystander.poll() is None
    bystander.stdin.close()
    assert bystander.wait(timeout=10) == 1  # it ends by itself, at the end of its input


SPARED = """
import os, subprocess, sys
from ari.execution.processes import kill_tree
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(kill_tree(root=os.getpid()), child.wait(10))
"""


def test_the_caller_and_its_ancestors_are_spared():
    # In a process of its own: the servers that other tests keep are descendants of this one.
    done = subprocess.run([sys.executable, "-c", SPARED], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", str(-signal.SIGKILL)]


def test_a_recycled_process_id_is_not_hit(start):
    ours = start()
    found = read_process(ours.pid)
    assert found is not None
    found.start -= 1  # as if another process had had this id
    assert not send(found, signal.SIGKILL)
    assert ours.poll() is None


def test_an_ended_process_is_not_signalled(start):
    ours = start()
    found = read_process(ours.pid)
    assert found is not None
    ours.kill()
    ours.wait()
    assert not send(found, signal.SIGTERM)
    assert read_process(ours.pid) is None


def test_a_name_with_parentheses_and_blanks_is_read(tmp_path, start):
    odd = tmp_path / "a) R 1 (b"
    odd.symlink_to("/usr/bin/sleep")
    ours = start(f"echo ready; exec '{odd}' 1000")
    process = next(item for item in Family(os.getpid()).members() if item.pid == ours.pid)
    assert process.parent == os.getpid() and process.threads == 1


def test_family_finds_children_born_after_the_first_look(start):
    family = Family(os.getpid())
    before = {process.pid for process in family.members()}
    ours = start()
    assert {process.pid for process in family.members()} - before == {ours.pid}


def test_all_pids_holds_our_own():
    assert os.getpid() in processes.all_pids()
