"""`sr-harness synthetic`: data of known systems as a context.data directory."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sr_harness.cli.output import JsonOption, print_json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="synthetic", short_help="Write data of a known system.")(synthetic)


def synthetic(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="The system.", show_default=False)] = "",
    *,
    output: Annotated[
        Path | None, typer.Option(help="The context.data directory to write.", show_default=False)
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the systems.")] = False,
    rows: Annotated[
        int | None, typer.Option(min=10, help="Rows, or samples in time. Default: the system's own.")
    ] = None,
    noise: Annotated[
        float, typer.Option(min=0.0, help="Noise on the target, as a share of its root mean square.")
    ] = 0.0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything random.")] = 0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what was written before.")] = False,
    as_json: JsonOption = False,
) -> int:
    """Write data of a known system, and the truth beside them.

    The directory holds data and descriptions that do not give the law away; the law is in a file beside it
    that ends in .truth.json.
    """
    from sr_harness.bench.synthetic import SYSTEMS, write_synthetic

    if list_:
        rows_of_list = [{"name": system.name, "summary": system.summary} for system in SYSTEMS.values()]
        if as_json:
            print_json(rows_of_list)
        else:
            width = max(map(len, SYSTEMS))
            print("\n".join(f"{item['name']:<{width}}  {item['summary']}" for item in rows_of_list))
        return 0
    if not name:
        raise typer.BadParameter("name a system, or list them with --list", param_hint="NAME")
    if name not in SYSTEMS:
        raise typer.BadParameter(
            f"there is no system {name!r}; choose from {', '.join(SYSTEMS)}", param_hint="NAME"
        )
    if output is None:
        raise typer.BadParameter("say where to write", param_hint="--output")
    written = write_synthetic(name, output, rows=rows, noise=noise, seed=seed, overwrite=overwrite)
    if as_json:
        print_json(
            {"directory": str(written.directory), "truth": str(written.truth), "target": written.target}
        )
    else:
        print(f"{written.directory}: {SYSTEMS[name].summary}; the target is {written.target}")
        print(f"the law is in {written.truth}")
    return 0
