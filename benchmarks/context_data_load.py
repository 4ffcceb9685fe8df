"""How long it takes, and how much memory, to load and validate a large `context.data` directory.

    python benchmarks/context_data_load.py [--size GIB] [--edges N] [--directory DIR]

Writes an array of real data (2 GiB by default) and a graph in a temporary directory, then loads it in a
fresh Python process and prints the wall time of `inspect_context_data` and `load_context_data`, the time to
read some rows, and the peak memory of that process. The graph is read in full, because its endpoints are
checked; of the array only the header is read.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from sr_harness.core import AgentContext, Axis, Variable, write_context_data

COLUMNS = 8

CHILD = """
import json, re, sys, time
from pathlib import Path

def peak_mb():  # of this program alone; ru_maxrss would include the process that started it
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024

start = time.perf_counter()
from sr_harness.core import inspect_context_data, load_context_data
imported = time.perf_counter()
baseline = peak_mb()
imported_at = time.perf_counter()
report = inspect_context_data(sys.argv[1])
assert report["valid"], report["errors"]
inspected = time.perf_counter()
loaded = load_context_data(sys.argv[1])
loaded_at = time.perf_counter()
peak = peak_mb()
rows = loaded["data"]["x"][:: max(1, len(loaded["data"]["x"]) // 1000)].sum()
touched = time.perf_counter()
print(json.dumps({
    "import_s": imported - start,
    "inspect_s": inspected - imported_at,
    "load_s": loaded_at - inspected,
    "read_1000_rows_s": touched - loaded_at,
    "baseline_mb": baseline,
    "peak_mb": peak,
}))
"""


def write(directory: Path, gib: float, edges: int) -> Path:
    rows = int(gib * (1 << 30)) // (8 * COLUMNS)
    scratch = directory / "x.raw"
    generator = np.random.default_rng(0)
    with scratch.open("wb") as file:
        for start in range(0, rows, 1 << 20):
            file.write(generator.random((min(1 << 20, rows - start), COLUMNS)).tobytes())
    values = np.memmap(scratch, dtype=np.float64, mode="r", shape=(rows, COLUMNS))
    nodes = max(2, edges // 10)
    target = write_context_data(
        directory / "context.data",
        variables={
            "x": Variable(values, "Readings.", ["row", "channel"]),
            "A": Variable(
                generator.integers(0, nodes, (edges, 2)), "Edges.", ["edge", "end"], kind="relation"
            ),
        },
        axes={
            "row": Axis("Row.", size=rows),
            "channel": Axis("Channel.", size=COLUMNS),
            "edge": Axis("Edge.", size=edges),
            "end": Axis("End.", values=["target", "source"]),
        },
        num_nodes=nodes,
    )
    scratch.unlink()
    return target


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=float, default=2.0, help="size of the array in GiB")
    parser.add_argument("--edges", type=int, default=1_000_000, help="edges of the graph")
    parser.add_argument("--directory", type=Path, help="where to put the temporary directory")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.directory) as temporary:
        start = time.perf_counter()
        path = write(Path(temporary), options.size, options.edges)
        written = time.perf_counter() - start
        done = subprocess.run(
            [sys.executable, "-c", CHILD, str(path)], capture_output=True, text=True, check=True
        )
        assert AgentContext.from_directory(path).axis_length("edge") == options.edges
    figures = json.loads(done.stdout)
    print(f"array {options.size} GiB, graph of {options.edges} edges, written in {written:.1f} s")
    for name, value in figures.items():
        print(f"  {name:<18}{value:10.3f}")


if __name__ == "__main__":
    main()
