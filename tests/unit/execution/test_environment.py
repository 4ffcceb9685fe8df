from __future__ import annotations

from pathlib import Path

import pytest

from ari.execution.environment import child_environment, fingerprint

HOME = Path("/somewhere/node")


def environment(parent, **options):
    return child_environment(home=HOME, temporary="/scratch", parent=parent, **options)


@pytest.mark.parametrize(
    "name",
    [
        *("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "SSH_AUTH_SOCK"),
        *("HTTP_PROXY", "LD_PRELOAD", "PYTHONPATH", "PYTHONSTARTUP", "BASH_ENV", "ENV", "MY_SETTING"),
        *("ARI_REGISTRY_TOKEN", "ARI_api_key", "ARI_DB_PASSWORD"),
    ],
)
def test_what_is_not_allowed_by_name_stays_outside(name):
    assert name not in environment({name: "value", "PATH": "/usr/bin"})


@pytest.mark.parametrize("name", ["LANG", "OMP_NUM_THREADS", "ARI_CHECKPOINT_DIR", "LD_LIBRARY_PATH"])
def test_what_a_computation_needs_gets_in(name):
    assert environment({name: "value"})[name] == "value"


def test_home_and_temporary_folder_are_the_nodes_own():
    chosen = environment({"HOME": "/root", "TMPDIR": "/var/tmp", "USER": "ada"})
    assert (chosen["HOME"], chosen["TMPDIR"], chosen["USER"]) == (str(HOME), "/scratch", "nobody")


def test_relative_search_path_entries_are_dropped():
    folders = environment({"PATH": ".:bin::/opt/tool/bin"})["PATH"].split(":")
    assert all(folder.startswith("/") for folder in folders)
    assert "/opt/tool/bin" in folders and "/usr/bin" in folders


def test_what_the_caller_sets_on_purpose_wins():
    assert environment({"LANG": "de_DE"}, extra={"LANG": "C", "PAPER_KEY": "a"}).items() >= {
        ("LANG", "C"),
        ("PAPER_KEY", "a"),
    }


def test_a_search_in_a_command_starts_no_processes_unless_told():
    assert environment({"SR_HARNESS_JOBS": "8"})["SR_HARNESS_JOBS"] == "1"
    assert environment({}, extra={"SR_HARNESS_JOBS": "2"})["SR_HARNESS_JOBS"] == "2"


def test_fingerprint_names_machine_and_compiler():
    found = fingerprint()
    assert set(found) == {"python", "platform", "machine", "cpu", "cores", "memory_bytes", "compiler"}
    assert found["cpu"] and int(found["cores"] or 0) >= 1
