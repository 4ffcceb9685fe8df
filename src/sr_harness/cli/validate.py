"""`sr-harness validate`: every fault of a `context.data` directory, and advice."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sr_harness.cli.output import JsonOption, print_json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="validate", short_help="Check a context.data directory.")(validate)


def validate(
    directory: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            exists=True,
            file_okay=False,
            help="The directory that holds manifest.json.",
            show_default=False,
        ),
    ],
    as_json: JsonOption = False,
) -> int:
    """Check a context.data directory and list every fault and warning.

    Exit status 0 when it is valid, 1 when it is not. Warnings do not count.
    """
    from sr_harness.core import inspect_context_data

    report = inspect_context_data(directory)
    if as_json:
        print_json(report)
    else:
        print("\n".join(_lines(report)))
    return 0 if report["valid"] else 1


def _lines(report: dict[str, Any]) -> list[str]:
    lines = [f"error    {message}" for message in report["errors"]]
    lines += [f"warning  {message}" for message in report["warnings"]]
    if not report["valid"]:
        count = len(report["errors"])
        return [*lines, f"{report['path']} is not valid: {count} fault{'' if count == 1 else 's'}."]
    axes = ", ".join(f"{name} ({entry['size']})" for name, entry in report["axes"].items())
    lines.append(
        f"{report['path']} is valid: {_count(report['variables'], 'variable')}"
        f"{f' on {axes}' if axes else ''}{_network(report)}."
    )
    return lines


def _count(items: dict[str, Any], noun: str) -> str:
    return f"{len(items)} {noun}{'' if len(items) == 1 else 's'}"


def _network(report: dict[str, Any]) -> str:
    relations = [name for name, entry in report["variables"].items() if entry["kind"] == "relation"]
    if not relations:
        return ""
    return f"; {report['num_nodes']} nodes related by {', '.join(relations)}"
