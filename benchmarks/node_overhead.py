"""What a node costs beside its own work: process, agent loop, tools, evaluation, records.

Runs a study whose command does nothing but print a number, and prints the time per node, split into what
the command itself took and everything else.

    python benchmarks/node_overhead.py [--nodes 12]
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from ari.checkpoint import Checkpoint
from ari.execution.records import load
from ari.orchestrator.study import RunOptions, start

EXPERIMENT = """# Nothing to do
Metrics: value (higher is better)

## Command
echo "value: {a}"

## Parameters
- a: 1..60

## Repeats
- repeats: 1
"""


def main() -> None:
    """Run the study and print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=12)
    nodes = parser.parse_args().nodes
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch) / "experiment.md"
        source.write_text(EXPERIMENT)
        began = time.perf_counter()
        result = start(RunOptions(source, output=Path(scratch) / "out", nodes=nodes))
        total = time.perf_counter() - began
        with Checkpoint.open(result.checkpoint) as checkpoint:
            durations = {node.id: node.duration_s or 0.0 for node in checkpoint.nodes.values()}
        own = {
            name: sum(r.duration_s for r in load(result.checkpoint / "records" / name).runs)
            for name in durations
        }
    first, *rest = durations
    overhead = [durations[name] - own[name] for name in rest]
    print(f"nodes                                {nodes}")
    print(f"whole study                          {total:8.2f} s")
    print(f"first node (libraries still loading) {durations[first]:8.2f} s")
    print(f"command itself, median               {1000 * statistics.median(own[n] for n in rest):8.1f} ms")
    print(f"overhead in a node, median           {1000 * statistics.median(overhead):8.1f} ms")
    print(f"study time per node                  {1000 * total / nodes:8.1f} ms")


if __name__ == "__main__":
    main()
