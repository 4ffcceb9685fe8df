"""`ari validate`: every finding about a checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import typer

from ari.cli.common import CheckpointArgument, JsonOption, QuietOption, checkpoint_path, print_json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="validate", short_help="Check the files of a checkpoint.")(validate)


def validate(
    checkpoint: CheckpointArgument = None, as_json: JsonOption = False, quiet: QuietOption = False
) -> int:
    """Check every file of a checkpoint against its documented shape and against the others.

    Exit status 0 when nothing was found, 1 when something was. With --quiet only the status tells.
    """
    from ari import checkpoint as store

    path = checkpoint_path(checkpoint)
    findings = [asdict(finding) for finding in store.validate(path)]
    if as_json:
        print_json({"checkpoint": str(path), "findings": findings})
    elif not quiet:
        print("\n".join(_lines(str(path), findings)))
    return 1 if findings else 0


def _lines(path: str, findings: Sequence[dict[str, Any]]) -> list[str]:
    if not findings:
        return [f"{path}: nothing found"]
    lines = [
        f"{item['severity']:<8}{item['file']}{f' {where}' if (where := item['where']) else ''}: "
        f"{item['message']} [{item['code']}]"
        for item in findings
    ]
    errors = sum(item["severity"] == "error" for item in findings)
    return [*lines, f"{path}: {len(findings)} findings, {errors} of them errors"]
