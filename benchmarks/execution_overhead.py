"""What it costs to run a command: bare, under the supervisor, contained, and with the record.

Usage: `python benchmarks/execution_overhead.py [repetitions]`
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from ari.execution.runner import Runner
from ari.execution.sandbox import Sandbox, detect, wrap


def milliseconds(action: Callable[[], object], repetitions: int) -> tuple[float, float]:
    """Return the median and the smallest time of an action."""
    action()
    times = []
    for _ in range(repetitions):
        began = time.perf_counter()
        action()
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times), min(times)


def report(name: str, times: tuple[float, float]) -> None:
    print(f"{name:<44}{times[0]:8.1f} ms median{times[1]:8.1f} ms least")


def measure(sandbox: Sandbox, repetitions: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder) / "node"
        work.mkdir()
        bare = wrap(["true"], work_dir=work, sandbox=sandbox)
        report(
            f"{sandbox.kind}: bare start",
            milliseconds(lambda: subprocess.run(bare, check=True, env={}), repetitions),
        )
        runner = Runner(Path(folder) / "records", work, sandbox=sandbox)
        report(f"{sandbox.kind}: run, record synced", milliseconds(lambda: runner.run(["true"]), repetitions))
        for number in range(200):
            (work / f"{number}.txt").write_text("x" * 10_000)
        runner = Runner(Path(folder) / "records2", work, sandbox=sandbox)
        report(
            f"{sandbox.kind}: run beside 200 files", milliseconds(lambda: runner.run(["true"]), repetitions)
        )


def main() -> None:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    print(f"{repetitions} repetitions of `true`")
    for kind in dict.fromkeys(("plain", detect().kind)):
        measure(detect(kind), repetitions)


if __name__ == "__main__":
    main()
