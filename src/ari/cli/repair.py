"""`ari repair`: mend a damaged journal, keeping it as it was beside the mended one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ari.cli.common import JsonOption, checkpoint_path, print_json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="repair", short_help="Mend a damaged checkpoint.")(repair)


def repair(
    checkpoint: Annotated[Path, typer.Argument(metavar="CHECKPOINT", help="The checkpoint to mend.")],
    take_over: Annotated[
        bool,
        typer.Option("--take-over", help="Free a lock whose holder is gone, where the machine cannot tell."),
    ] = False,
    as_json: JsonOption = False,
) -> int:
    """Mend a checkpoint whose journal is damaged; what is dropped is listed and kept in a copy."""
    from dataclasses import asdict

    from ari import checkpoint as store

    path = checkpoint_path(checkpoint)
    report = store.repair(path, take_over=take_over)
    if as_json:
        print_json({"checkpoint": str(path), **asdict(report)})
    else:
        print("\n".join(report.lines()))
    return 0
