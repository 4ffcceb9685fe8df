"""`ari agent`: agents that do one job alone, without a study."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ari.cli.common import JsonOption, QuietOption, note, print_json

if TYPE_CHECKING:
    from ari.agents.symbolic_regression import AgentResult
    from ari.agents.symbolic_regression.agent import Progress
    from sr_harness.core import AgentContext

SHOWN = 10


def register(app: typer.Typer) -> None:
    """Add the command and its own ones."""
    agents = typer.Typer(no_args_is_help=True, rich_markup_mode=None, add_completion=False)
    agents.command(name="sr", short_help="Let a model search for a formula.")(sr)
    app.add_typer(agents, name="agent", short_help="Agents that do one job alone.", help=__doc__)


@contextmanager
def _context(data: Path) -> Iterator[AgentContext]:
    """The data, imported into a temporary directory first if they are a table."""
    import tempfile

    from sr_harness.core import AgentContext

    if data.is_dir():
        yield AgentContext.from_directory(data)
        return
    from sr_harness.data import import_table

    with tempfile.TemporaryDirectory(prefix="ari-agent-") as folder:
        report = import_table(data, Path(folder) / "context.data")
        for header, variable in report.columns.items():
            if header != variable:
                note(f"note: column {header!r} is called {variable} here")
        yield AgentContext.from_directory(Path(folder) / "context.data")


def sr(
    data: Annotated[
        Path,
        typer.Argument(metavar="DATA", help="A context.data directory, or a CSV, TSV or Parquet file."),
    ],
    *,
    target: Annotated[str, typer.Option(help="Variable to explain; dx_dt is the derivative of x by time.")],
    inputs: Annotated[str, typer.Option(help="Inputs, separated by commas. Default: all that fit.")] = "",
    time_axis: Annotated[str, typer.Option(help="Axis or column of the times, for derivatives.")] = "",
    question: Annotated[str, typer.Option(help="What the model should know of the data, in words.")] = "",
    model: Annotated[
        str | None, typer.Option("--model", help="Who proposes: offline, or <provider>/<model>.")
    ] = None,
    restarts: Annotated[
        int | None, typer.Option("--restarts", "-R", min=1, max=1000, help="Searches that begin afresh.")
    ] = None,
    conversations: Annotated[
        int | None,
        typer.Option("--conversations", "-C", min=1, max=1000, help="Conversations of each restart."),
    ] = None,
    depth: Annotated[
        int | None, typer.Option("--depth", "-L", min=1, max=1000, help="Steps of each conversation.")
    ] = None,
    samples: Annotated[
        int | None, typer.Option("--samples", "-K", min=1, max=1000, help="Replies at each step.")
    ] = None,
    work: Annotated[
        int | None, typer.Option(min=1, help="Model evaluations that all tool calls may spend together.")
    ] = None,
    time: Annotated[float | None, typer.Option(help="No request is begun after so many seconds.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of everything random.")] = None,
    trace: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write every message to FILE, a JSON line each.")
    ] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Search for a formula with a model: R restarts of C conversations of L steps with K replies each.

    Whatever formula the model writes is parsed, fitted and measured here, on training and held-out rows. An
    exact formula ends the search. The offline model answers with the discovery portfolio. Exit status 0 when
    something better than a constant was found, 1 when not.
    """
    import asyncio

    from ari import settings
    from ari.agent.models import resolve_model
    from ari.agent.models.preflight import verify_model
    from ari.agents.symbolic_regression import Shape, Workbench, find_formula

    if time is not None and not time > 0:
        raise typer.BadParameter(f"{time} is not above 0", param_hint="--time")
    chosen = settings.load(options={"model": model, "seed": seed, "search_work": work}).settings
    verify_model(chosen.model)
    given = {"restarts": restarts, "conversations": conversations, "depth": depth, "samples": samples}
    offline = chosen.model == settings.OFFLINE
    usual = (1, 1, 2, 1) if offline else chosen.sr_shape
    shape = Shape(*(value or usual[place] for place, value in enumerate(given.values())))
    with _context(data) as context, _trace(trace) as record:
        bench = Workbench.of(
            context,
            target,
            inputs=[part.strip() for part in inputs.split(",") if part.strip()],
            seed=chosen.seed,
            time=time_axis or None,
        )
        for remark in bench.problem.notes:
            note(f"note: {remark}")
        result = asyncio.run(
            find_formula(
                bench,
                resolve_model(chosen.model, purpose="symbolic regression"),
                shape=shape,
                seed=chosen.seed,
                question=question,
                work=chosen.search_work,
                seconds=time,
                on_progress=None if quiet or as_json else _show,
                on_record=record,
            )
        )
    for remark in result.notes:
        note(f"note: {remark}")
    if as_json:
        print_json(_document(target, bench.problem.rows, chosen.model, shape, result))
    else:
        print("\n".join(_summary(target, result)))
    return 0 if result.best is not None and result.best.judged_nmse < 0.5 else 1


@contextmanager
def _trace(path: Path | None) -> Iterator[Callable[[str, str], None] | None]:
    """Where messages go; None where nobody wants them."""
    if path is None:
        yield None
        return
    from ari.formats.jsonio import strict_dumps

    with path.open("wb") as stream:
        yield lambda role, content: _write(stream, strict_dumps({"role": role, "content": content}))


def _write(stream: Any, line: bytes) -> None:  # noqa: ANN401 - a binary stream
    stream.write(line + b"\n")
    stream.flush()


def _show(progress: Progress) -> None:
    """One line a reply, on standard error."""
    place = f"{progress.restart}.{progress.conversation}.{progress.step}.{progress.sample}"
    best = "nothing yet" if progress.best is None else progress.best.formula(digits=4)
    error = "" if progress.best is None else f"  1 - R² {progress.best.judged_nmse:.1e}"
    print(f"{place:<10} {progress.formulas:>4} formulas{error}  {best}", file=sys.stderr, flush=True)


def _summary(target: str, result: AgentResult) -> list[str]:
    ranked = sorted(result.front.candidates, key=lambda candidate: (candidate.length, candidate.complexity))
    lines = [f"{'size':>4}  {'1 - R²':>9}  formula"]
    for candidate in ranked[:SHOWN]:
        lines.append(
            f"{candidate.complexity:>4}  {candidate.judged_nmse:>9.2e}  {candidate.formula(digits=5)}"
            f"  [{candidate.origin}]"
        )
    lines.append(
        f"stopped: {result.stop_reason}; requests: {result.requests}, formulas proposed: {result.proposals}, "
        f"usable: {result.measured}, replies without one: {result.failures}"
    )
    if result.best is not None:
        lines.append(f"best: {target} = {result.best.formula()}")
    return lines


def _document(target: str, rows: int, model: str, shape: Any, result: AgentResult) -> dict[str, Any]:  # noqa: ANN401 - a Shape
    from dataclasses import asdict

    return {
        "target": target,
        "rows": rows,
        "model": model,
        "shape": asdict(shape),
        "best": None if result.best is None else result.best.to_row(),
        "front": result.front.to_rows(),
        "requests": result.requests,
        "proposals": result.proposals,
        "measured": result.measured,
        "failures": result.failures,
        "stop_reason": result.stop_reason,
        "notes": list(result.notes),
    }
