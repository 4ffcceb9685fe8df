"""`python -m ari` and `python -m sr_harness` are the commands `ari` and `sr-harness`."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(("module", "program"), [("ari", "ari"), ("sr_harness", "sr-harness")])
def test_a_package_runs_as_its_command(module: str, program: str) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", module, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    shown = run("--help")
    assert shown.returncode == 0 and f"Usage: {program}" in shown.stdout
    wrong = run("frobnicate")
    assert wrong.returncode == 2 and f"`{program} --help`" in wrong.stderr
