"""`ari skills`: list the skills, serve one over MCP, call one tool."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ari.cli.common import JsonOption, note, print_json

if TYPE_CHECKING:
    from ari.skills.binding import Binding

SkillArgument = Annotated[str, typer.Argument(metavar="NAME", help="The skill; `ari skills list` has them.")]
CheckpointOption = Annotated[
    Path | None, typer.Option("--checkpoint", metavar="DIR", help="A study; for coding: where records go.")
]
NodeOption = Annotated[
    str | None, typer.Option("--node", metavar="ID", help="A node of the study (evaluator, memory).")
]
ExperimentOption = Annotated[
    Path | None, typer.Option("--experiment", metavar="FILE", help="An experiment.md (idea).")
]
DataOption = Annotated[
    Path | None, typer.Option("--data", metavar="DIR", help="A context.data directory (symbolic).")
]
TargetOption = Annotated[
    str | None, typer.Option("--target", metavar="NAME", help="Variable to explain (symbolic).")
]
InputsOption = Annotated[
    str, typer.Option("--inputs", metavar="NAMES", help="Inputs, separated by commas (symbolic).")
]
TimeOption = Annotated[
    str | None, typer.Option("--time", metavar="NAME", help="What holds the times (symbolic).")
]
SeedOption = Annotated[int | None, typer.Option("--seed", help="Seed of everything drawn at random.")]
WorkDirOption = Annotated[
    Path | None,
    typer.Option("--work-dir", metavar="DIR", help="Where files are written (coding, symbolic)."),
]
TimeLimitOption = Annotated[
    float | None, typer.Option("--time-limit", min=0.001, help="Seconds a command may take (coding).")
]
OptionOption = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="KEY=VALUE", help="For a skill that another distribution brings."),
]
RootOption = Annotated[
    Path | None, typer.Option("--root", metavar="DIR", help="Where studies lie (orchestrator).")
]


def register(app: typer.Typer) -> None:
    """Add the command group."""
    group = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="List, serve and call the skills.")
    group.command(name="list", short_help="The skills and their tools.")(list_skills)
    group.command(name="serve", short_help="Serve one skill to any MCP client.")(serve)
    group.command(name="call", short_help="Call one tool and print its answer.")(call)
    app.add_typer(group, name="skills", short_help="The tools as MCP servers: list, serve, call.")


def list_skills(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Only this skill, with every argument of its tools.")
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """List the skills: what each is bound to, and its tools."""
    from ari.skills.description import describe, lines

    described = describe(name)
    if as_json:
        print_json({"skills": described})
        return 0
    print("\n".join(lines(described, arguments=name is not None)))
    return 0


def serve(  # noqa: PLR0917 - each parameter is an option of the command
    name: SkillArgument,
    transport: Annotated[
        Literal["stdio", "streamable-http"], typer.Option("--transport", help="How clients connect.")
    ] = "stdio",
    host: Annotated[str, typer.Option("--host", help="Address to listen on (HTTP).")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port (HTTP); 0 takes a free one.")
    ] = 8765,
    checkpoint: CheckpointOption = None,
    node: NodeOption = None,
    experiment: ExperimentOption = None,
    data: DataOption = None,
    target: TargetOption = None,
    inputs: InputsOption = "",
    time: TimeOption = None,
    seed: SeedOption = None,
    work_dir: WorkDirOption = None,
    time_limit: TimeLimitOption = None,
    root: RootOption = None,
    option: OptionOption = None,
) -> int:
    """Serve one skill to any MCP client, until the client leaves (stdio) or a signal comes.

    Over HTTP the address is printed as soon as connections are accepted.
    """
    from ari.skills.serving import serve_http, serve_stdio

    binding = _binding(
        checkpoint=checkpoint,
        node=node,
        experiment=experiment,
        data=data,
        target=target,
        inputs=inputs,
        time=time,
        seed=seed,
        work_dir=work_dir,
        time_limit=time_limit,
        root=root,
    )
    build = _builder(name, binding, option or [])
    if transport == "stdio":
        if sys.stdin.isatty():
            note(f"note: ari-skill-{name} waits for an MCP client on standard input; Ctrl-C ends it")
        serve_stdio(build)
        return 0
    if host not in ("127.0.0.1", "localhost", "::1"):
        note(f"warning: whoever can reach {host} can call every tool")
    serve_http(build, host=host, port=port, announce=lambda address: print(address, flush=True))
    return 0


def call(  # noqa: PLR0917 - each parameter is an option of the command
    name: SkillArgument,
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="The tool.")],
    params: Annotated[
        str, typer.Option("--params", metavar="JSON", help="Its arguments as a JSON object.")
    ] = "{}",
    checkpoint: CheckpointOption = None,
    node: NodeOption = None,
    experiment: ExperimentOption = None,
    data: DataOption = None,
    target: TargetOption = None,
    inputs: InputsOption = "",
    time: TimeOption = None,
    seed: SeedOption = None,
    work_dir: WorkDirOption = None,
    time_limit: TimeLimitOption = None,
    root: RootOption = None,
    option: OptionOption = None,
) -> int:
    """Call one tool in this process and print its answer as JSON.

    Exit status 1 when the tool refuses, 2 when the call itself makes no sense.
    """
    import asyncio

    from ari.skills import call as call_server
    from ari.skills.serving import output_diverted

    arguments = _arguments(params)
    binding = _binding(
        checkpoint=checkpoint,
        node=node,
        experiment=experiment,
        data=data,
        target=target,
        inputs=inputs,
        time=time,
        seed=seed,
        work_dir=work_dir,
        time_limit=time_limit,
        root=root,
    )
    with output_diverted():
        answer = asyncio.run(call_server(_builder(name, binding, option or [])(), tool, arguments))
    print_json(answer)
    return 0


def _binding(*, inputs: str, **options: Any) -> Binding:  # noqa: ANN401 - the options of the command
    from ari.skills.binding import Binding

    names = tuple(part.strip() for part in inputs.split(",") if part.strip())
    return Binding(inputs=names, **options)


def _builder(name: str, binding: Binding, options: list[str]) -> Callable[[], Any]:
    """Check the options now, so that misuse is told before anything is served; load the skill later."""
    from ari.pipeline.outside import installed_skills
    from ari.skills.binding import check_options
    from ari.skills.catalogue import CATALOGUE

    given = _options(options)
    if name not in CATALOGUE and name in installed_skills():
        if binding.given():
            taken = f"--{binding.given()[0]}"
            raise typer.BadParameter(
                f"{name} is an installed skill; give --option KEY=VALUE instead of {taken}"
            )
        return lambda: _installed(name, given)
    check_options(name, binding)
    if given:
        raise typer.BadParameter(f"{name} takes no --option", param_hint="--option")

    def build() -> Any:  # noqa: ANN401 - an MCPServer, a heavy import
        from ari.skills import build_server
        from ari.skills.binding import bind

        return build_server(name, bind(name, binding))

    return build


def _installed(name: str, options: dict[str, str]) -> Any:  # noqa: ANN401 - an MCPServer, a heavy import
    from ari.skills import build_installed

    return build_installed(name, options)


def _options(words: list[str]) -> dict[str, str]:
    found = {}
    for word in words:
        key, sign, value = word.partition("=")
        if not key or not sign:
            raise typer.BadParameter(f"{word!r} is not of the form KEY=VALUE", param_hint="--option")
        found[key] = value
    return found


def _arguments(params: str) -> dict[str, Any]:
    from ari.errors import FormatError
    from ari.formats.jsonio import strict_loads

    try:
        arguments = strict_loads(params.encode("utf-8", "surrogateescape"))
    except FormatError as error:
        raise typer.BadParameter(error.message, param_hint="--params") from None
    if not isinstance(arguments, dict):
        raise typer.BadParameter('write a JSON object such as {"path": "a.txt"}', param_hint="--params")
    return arguments
