"""Stage tools that the tests of the driver play with; importable by the stages' own processes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ari.errors import ExperimentError


def mark(checkpoint: Path, name: str) -> None:
    """Note that a tool was called."""
    with (checkpoint / "calls.log").open("a", encoding="utf-8") as log:
        log.write(f"{name}\n")


def join(
    *, checkpoint: Path, inputs: Sequence[str], outputs: Sequence[str], tag: str = "", attempt: int
) -> dict[str, Any]:
    """Write what was read, with a tag, into every output."""
    mark(checkpoint, tag or outputs[0])
    text = "".join((checkpoint / name).read_text() for name in inputs if (checkpoint / name).exists())
    for name in outputs:
        (checkpoint / name).write_text(f"({text}{tag})")
    return {
        "summary": f"joined {len(inputs)}",
        "attempt": attempt,
        "warnings": [f"warned by {tag}"] if tag == "w" else [],
    }


def gate(
    *, checkpoint: Path, inputs: Sequence[str], outputs: Sequence[str], attempt: int, passes_at: int = 0
) -> dict[str, Any]:
    """Block until the given turn."""
    mark(checkpoint, f"gate{attempt}")
    for name in outputs:
        (checkpoint / name).write_text(str(attempt))
    return {"should_block": attempt < passes_at, "reason": f"turn {attempt} is too early"}


def refuse(*, checkpoint: Path) -> dict[str, Any]:
    """Refuse."""
    mark(checkpoint, "refuse")
    raise ExperimentError("nothing to work on", cure="Give it something.")


def crash(*, checkpoint: Path) -> dict[str, Any]:
    """Fail as programs do."""
    raise RuntimeError(f"unforeseen in {checkpoint.name}")


def die(*, checkpoint: Path) -> dict[str, Any]:
    """End without a word."""
    os.kill(os.getpid(), 9)
    return {"never": str(checkpoint)}


def nothing(*, checkpoint: Path) -> dict[str, Any]:
    """Claim success and write nothing."""
    return {"summary": f"all well in {checkpoint.name}"}


def hang(*, checkpoint: Path) -> dict[str, Any]:
    """Start a grandchild and never end."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    (checkpoint / "grandchild").write_text(str(child.pid))
    while True:
        time.sleep(1)


def flaky(*, checkpoint: Path, good_at: int = 1) -> dict[str, Any]:
    """Fail at first."""
    mark(checkpoint, "flaky")
    calls = (checkpoint / "calls.log").read_text().splitlines().count("flaky")
    if calls <= good_at:
        raise ExperimentError("not yet")
    return {"summary": "at last"}


def later(*, checkpoint: Path) -> dict[str, Any]:
    """Succeed as far as possible."""
    mark(checkpoint, "later")
    return {"incomplete": "a program is missing"}
