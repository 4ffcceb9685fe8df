"""`ari repair`: mend a damaged journal, keeping it as it was beside the mended one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ari.cli.common import JsonOption, checkpoint_path, print_json

if TYPE_CHECKING:
    from ari.checkpoint.repairs import RepairReport


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
    from ari import checkpoint as store

    report = store.repair(checkpoint_path(checkpoint), take_over=take_over)
    if as_json:
        print_json(
            {
                "checkpoint": str(report.path),
                "actions": report.actions,
                "lost": report.lost,
                "backups": [str(path) for path in report.backups],
            }
        )
    else:
        print("\n".join(_lines(report)))
    return 0


def _lines(report: RepairReport) -> list[str]:
    if not report.changed:
        return [f"{report.path}: nothing had to be mended"]
    lines = [f"{report.path}: mended"]
    lines += [f"  {action}" for action in report.actions]
    lines += [f"  lost: {item}" for item in report.lost]
    return lines + [f"  as it was: {backup}" for backup in report.backups]
