"""How long the light parts take to import, as multiples of a bare interpreter start.

Multiples compare between machines and between busy and idle moments; milliseconds do not. The target is
below 0.3 s on two cores for each line.

Usage: python benchmarks/import_times.py [--repeats N] [--json]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time

CASES = {
    "bare interpreter": "pass",
    "import numpy": "import numpy",
    "import pydantic": "import pydantic",
    "import ari": "import ari",
    "import sr_harness": "import sr_harness",
    "import sr_harness.core": "import sr_harness.core",
    "import sr_harness.engine": "import sr_harness.engine",
    "import ari.checkpoint": "import ari.checkpoint",
    "ari --help": "from ari.cli import main; main(['--help'])",
    "ari version": "from ari.cli import main; main(['version'])",
}


def seconds(code: str) -> float:
    """Wall time of one interpreter that runs `code`."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def measure(repeats: int) -> dict[str, float]:
    """Median seconds of each case; the cases take turns, so that a busy moment hits all alike."""
    for code in CASES.values():  # once without counting: bytecode is compiled and files come into memory
        seconds(code)
    times: dict[str, list[float]] = {name: [] for name in CASES}
    for _ in range(repeats):
        for name, code in CASES.items():
            times[name].append(seconds(code))
    return {name: statistics.median(values) for name, values in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    medians = measure(options.repeats)
    bare = medians["bare interpreter"]
    rows = {name: {"ms": value * 1000, "multiple": value / bare} for name, value in medians.items()}
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    print(f"{'':<26}{'ms':>8}{'multiple':>10}")
    for name, row in rows.items():
        print(f"{name:<26}{row['ms']:>8.0f}{row['multiple']:>9.1f}x")


if __name__ == "__main__":
    main()
