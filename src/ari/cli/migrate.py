"""`ari migrate`: write a checkpoint of an earlier shape in the present one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ari.cli.common import JsonOption, checkpoint_path, print_json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="migrate", short_help="Write an earlier shape in the present one.")(migrate)


def migrate(
    checkpoint: Annotated[
        Path, typer.Argument(metavar="CHECKPOINT", help="The earlier checkpoint; only read.")
    ],
    output: Annotated[Path, typer.Argument(metavar="NEW_DIRECTORY", help="Where to write; must not exist.")],
    as_json: JsonOption = False,
) -> int:
    """Write a checkpoint of an earlier shape, or of another tool, in the present shape."""
    from ari import checkpoint as store

    report = store.migrate(checkpoint_path(checkpoint), output)
    if as_json:
        print_json(
            {
                "checkpoint": str(report.source),
                "output": str(report.target),
                "nodes": report.nodes,
                "notes": report.notes,
            }
        )
    else:
        print(f"wrote {report.target} with {report.nodes} nodes from {report.source}")
        print("".join(f"  {remark}\n" for remark in report.notes), end="")
    return 0
