"""Time per transition of a large tree: journal write with fsync, state, and the rewrite of tree.json.

Usage: `python benchmarks/checkpoint_transitions.py [nodes] [directory]`.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

from ari.checkpoint import Checkpoint


def build(checkpoint: Checkpoint, nodes: int) -> list[tuple[str, float]]:
    """Grow a tree to `nodes` nodes and time every transition of the last twentieth."""
    times: list[tuple[str, float]] = []

    def timed(event: str, **fields: object) -> None:
        started = time.perf_counter()
        checkpoint.append(event, **fields)
        if index >= nodes - nodes // 20:
            times.append((event, time.perf_counter() - started))

    for index in range(nodes):
        parent = None if index == 0 else f"node_{(index - 1) // 3:05d}"
        depth = 0 if parent is None else checkpoint.nodes[parent].depth + 1
        node_id = f"node_{index:05d}"
        plan = {"summary": f"Try variant {index} of the parent's hypothesis with other settings."}
        node = {"id": node_id, "parent_id": parent, "depth": depth, "label": "improve", "order": index}
        timed("node_created", node={**node, "plan": plan})
        timed("node_started", node_id=node_id, attempt=1)
        timed(
            "node_finished",
            node_id=node_id,
            status="completed",
            metrics={"nrmse": 0.1 + 1 / (index + 1), "r2": 0.9, "mae": 0.25, "complexity": 12},
            score=0.5,
            has_real_data=True,
            eval_summary="The formula explains the validation rows a little better than its parent.",
            artifacts=[{"path": "formula.json", "sha256": "0" * 64}],
            duration_s=1.5,
        )
    return times


def main() -> None:
    nodes = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    base = sys.argv[2] if len(sys.argv) > 2 else None
    with tempfile.TemporaryDirectory(dir=base) as folder:
        path = Path(folder) / "checkpoint"
        with Checkpoint.create(path, run_id="bench", primary_metric="nrmse", higher_is_better=False) as store:
            times = build(store, nodes)
            started = time.perf_counter()
            store.write_nodes_tree()
            detail = time.perf_counter() - started
        started = time.perf_counter()
        Checkpoint.open(path)
        opened = time.perf_counter() - started
        milliseconds = [1000 * seconds for _, seconds in times]
        size = (path / "tree.json").stat().st_size
        print(f"tree of {nodes} nodes, tree.json {size / 1024:.0f} KiB")
        print(
            f"one transition: median {statistics.median(milliseconds):.2f} ms, "
            f"90 % {statistics.quantiles(milliseconds, n=10)[-1]:.2f} ms, most {max(milliseconds):.2f} ms"
        )
        print(f"open for reading: {1000 * opened:.0f} ms; write nodes_tree.json: {1000 * detail:.0f} ms")


if __name__ == "__main__":
    main()
