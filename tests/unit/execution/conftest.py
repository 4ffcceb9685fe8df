"""Real processes to look at: each says when it is there, and none outlives its test."""

from __future__ import annotations

import subprocess

import pytest


@pytest.fixture
def start():
    """Start a process that announces itself, then waits for ever."""
    started: list[subprocess.Popen] = []

    def _start(script: str = "echo ready; exec sleep 1000", **options) -> subprocess.Popen:
        process = subprocess.Popen(
            ["bash", "-c", script, *options.pop("args", [])], stdout=subprocess.PIPE, **options
        )
        started.append(process)
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        return process

    yield _start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()
