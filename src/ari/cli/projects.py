"""`ari projects`: the checkpoints below a directory."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from ari.cli.common import RUNS, JsonOption, number, print_json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="projects", short_help="List checkpoints.")(projects)


def projects(
    directory: Annotated[Path, typer.Argument(metavar="DIRECTORY", help="Where to look.")] = RUNS,
    as_json: JsonOption = False,
) -> int:
    """List the checkpoints below a directory, the latest first."""
    from ari.checkpoint.standing import find_checkpoints
    from ari.errors import ConfigError

    if not directory.is_dir():
        if directory == RUNS:
            found: list[Path] = []
        else:
            raise ConfigError(
                f"{directory} is no directory", cure="Name the directory that your runs lie in."
            )
    else:
        found = find_checkpoints(directory)
    entries = [entry(path) for path in found]
    if as_json:
        print_json({"directory": str(directory), "checkpoints": entries})
    elif not entries:
        print(f"no checkpoint below {directory}; start a run with: ari run EXPERIMENT.md")
    else:
        print("\n".join(table(entries)))
    return 0


def entry(path: Path) -> dict[str, Any]:
    """Describe a checkpoint; one that cannot be read says why and stays in the list."""
    from ari.checkpoint import Checkpoint
    from ari.checkpoint.standing import last_change, run_state
    from ari.cli.status import best_id
    from ari.errors import AriError

    changed = datetime.fromtimestamp(last_change(path)).astimezone().isoformat(timespec="seconds")
    try:
        checkpoint = Checkpoint.open(path, read_only=True)
    except AriError as error:
        return {"checkpoint": str(path), "state": "damaged", "error": error.message, "changed": changed}
    best = checkpoint.nodes.get(best_id(checkpoint) or "")
    metric = checkpoint.state.primary_metric
    return {
        "checkpoint": str(path),
        "state": run_state(checkpoint),
        "goal": checkpoint.state.goal,
        "nodes": len(checkpoint.nodes),
        "failed": checkpoint.status_counts.get("errored", 0),
        "primary_metric": metric,
        "best_node_id": best.id if best is not None else None,
        "best": best.metrics.get(metric) if best is not None else None,
        "changed": changed,
    }


def table(entries: list[dict[str, Any]]) -> list[str]:
    """Lay the entries out in columns."""
    rows = [("CHECKPOINT", "STATE", "NODES", "BEST", "CHANGED")]
    for item in entries:
        best = f"{item['primary_metric']} = {number(item['best'])}" if item.get("best_node_id") else "-"
        nodes = str(item.get("nodes", "-"))
        rows.append((item["checkpoint"], item["state"], nodes, best, item["changed"].replace("T", " ")[:16]))
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    return lines + [f"{item['checkpoint']}: {item['error']}" for item in entries if "error" in item]
