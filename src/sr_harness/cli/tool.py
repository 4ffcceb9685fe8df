"""`sr-harness tool`: one symbolic tool of the catalogue, called with JSON arguments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from sr_harness.cli.output import JsonOption, print_json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="tool", short_help="Call one symbolic tool, or list them.")(tool)


def tool(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="The tool to call.", show_default=False)
    ] = None,
    *,
    listing: Annotated[bool, typer.Option("--list", help="List the tools and their arguments.")] = False,
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", exists=True, file_okay=False, help="A context.data directory."),
    ] = None,
    target: Annotated[str, typer.Option(help="Variable to explain.")] = "",
    inputs: Annotated[str, typer.Option(help="Inputs, separated by commas. Default: all that fit.")] = "",
    params: Annotated[
        str, typer.Option(metavar="JSON", help="Arguments of the tool as a JSON object.")
    ] = "{}",
    seed: Annotated[int, typer.Option(help="Seed of every search.")] = 0,
    work_dir: Annotated[Path, typer.Option(help="Where `submit_formula` writes.")] = Path(),
    as_json: JsonOption = False,
) -> int:
    """Call one symbolic tool on a context.data directory and print its answer as JSON.

    Exit status 1 when the tool refuses its arguments, 2 when the call itself makes no sense.
    """
    if listing or name is None:
        return _list(as_json=as_json)
    from sr_harness.core import AgentContext
    from sr_harness.tools import CATALOGUE, ToolContext

    if name not in CATALOGUE:
        raise typer.BadParameter(f"there is no tool {name!r}; choose from {', '.join(CATALOGUE)}")
    if data is None or not target:
        raise typer.BadParameter("a tool needs --data DIR and --target VARIABLE")
    arguments = _arguments(params, name)
    context = ToolContext(
        context=AgentContext.from_directory(data),
        target=target,
        inputs=tuple(part.strip() for part in inputs.split(",") if part.strip()),
        seed=seed,
        work_dir=work_dir,
    )
    print_json(CATALOGUE[name].function(context, **arguments))
    return 0


def _arguments(params: str, name: str) -> dict[str, Any]:
    """The arguments, each known to the tool and none missing."""
    try:
        arguments = json.loads(params)
    except json.JSONDecodeError as error:
        raise typer.BadParameter(f"not JSON: {error}", param_hint="--params") from None
    if not isinstance(arguments, dict):
        raise typer.BadParameter('write a JSON object such as {"formula": "2*x"}', param_hint="--params")
    known = _parameters(name)
    for argument in arguments:
        if argument not in known:
            raise typer.BadParameter(f"{name} has no argument {argument!r}; it takes {', '.join(known)}")
    missing = [argument for argument, (_, needed) in known.items() if needed and argument not in arguments]
    if missing:
        raise typer.BadParameter(f"{name} needs {', '.join(missing)}", param_hint="--params")
    return arguments


def _parameters(name: str) -> dict[str, tuple[str, bool]]:
    """Arguments of a tool without the context: type and default as text, and whether it is needed."""
    import inspect

    from sr_harness.tools import CATALOGUE

    known = {}
    for parameter in list(inspect.signature(CATALOGUE[name].function).parameters.values())[1:]:
        needed = parameter.default is inspect.Parameter.empty
        default = "" if needed else f" = {parameter.default!r}"
        known[parameter.name] = (f"{parameter.annotation}{default}", needed)
    return known


def _list(*, as_json: bool) -> int:
    from sr_harness.tools import CATALOGUE

    if as_json:
        print_json(
            [
                {
                    "name": spec.name,
                    "summary": spec.summary,
                    "read_only": spec.read_only,
                    "arguments": {key: text for key, (text, _) in _parameters(spec.name).items()},
                }
                for spec in CATALOGUE.values()
            ]
        )
        return 0
    for spec in CATALOGUE.values():
        shown = ", ".join(f"{key}: {text}" for key, (text, _) in _parameters(spec.name).items())
        print(f"{spec.name}({shown})\n    {spec.summary}{'' if spec.read_only else ' (writes)'}")
    return 0
