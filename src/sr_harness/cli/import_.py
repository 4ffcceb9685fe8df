"""`sr-harness import`: a table becomes a `context.data` directory."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sr_harness.cli.output import JsonOption, print_json

if TYPE_CHECKING:
    from sr_harness.data import ImportReport

_KINDS = {"i": "integers", "u": "integers", "f": "floats", "b": "booleans", "U": "text"}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="import", short_help="Import a CSV, TSV or Parquet table.")(import_)


def import_(
    source: Annotated[
        Path,
        typer.Argument(metavar="SOURCE", exists=True, dir_okay=False, help="The table.", show_default=False),
    ],
    dest: Annotated[
        Path, typer.Argument(metavar="DEST", help="The context.data directory to write.", show_default=False)
    ],
    *,
    decimal: Annotated[
        str | None, typer.Option(help="Decimal sign, . or , where numbers can be read in two ways.")
    ] = None,
    delimiter: Annotated[
        str | None, typer.Option(help="Sign between cells, \\t for a tab. Default: found out.")
    ] = None,
    encoding: Annotated[str | None, typer.Option(help="Encoding of the text. Default: UTF-8.")] = None,
    axis: Annotated[str, typer.Option(help="Name of the axis that the rows lie on.")] = "row",
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a context.data directory at DEST.")
    ] = False,
    as_json: JsonOption = False,
) -> int:
    """Import a CSV, TSV or Parquet table as a context.data directory.

    The mapping of column names to variables is printed and stands in the manifest. Exit status 1 when the
    table cannot be imported; DEST is then as it was.
    """
    from sr_harness.data import import_table

    if decimal not in {None, ".", ","}:
        raise typer.BadParameter(f"{decimal!r} is neither '.' nor ','", param_hint="--decimal")
    if delimiter is not None:
        delimiter = "\t" if delimiter in {"\\t", "tab"} else delimiter
        if len(delimiter) != 1 or delimiter in '"\r\n':
            raise typer.BadParameter(f"{delimiter!r} cannot separate cells", param_hint="--delimiter")
    report = import_table(
        source, dest, axis=axis, decimal=decimal, delimiter=delimiter, encoding=encoding, overwrite=overwrite
    )
    if as_json:
        print_json(report.to_json())
        return 0
    print("\n".join(_lines(report)))
    for warning in report.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    return 0


def _lines(report: ImportReport) -> list[str]:
    lines = [f"{report.source} -> {report.destination}: {report.rows} rows on the axis {report.axis!r}"]
    width = max(len(repr(header)) for header in report.columns)
    for header, variable in report.columns.items():
        missing = report.missing.get(variable)
        tail = f", {missing} missing" if missing else ""
        kind = _KINDS[report.dtypes[variable][1]]
        lines.append(f"  {header!r:<{width}}  ->  {variable}  ({kind}{tail})")
    return lines
