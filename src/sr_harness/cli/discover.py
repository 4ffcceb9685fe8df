"""`sr-harness discover`: search for a formula in a table or a context.data directory."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sr_harness.cli.dynamics import Request, search_derivative, search_system
from sr_harness.cli.output import JsonOption, print_json

if TYPE_CHECKING:
    from rich.table import Table

    from sr_harness.core import AgentContext
    from sr_harness.search import Candidate, Discovery, Event, ParetoFront, Problem

VALIDATION_SHARE = 0.2
FEWEST_ROWS = 2
SMALLEST_VALIDATED = 40
"""From this many rows on a share of them is held out: a formula must hold there too."""

TEXT_WIDTH = 100


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="discover", short_help="Search for a formula that explains a column.")(discover)


def discover(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            exists=True,
            help="A context.data directory, or a CSV, TSV or Parquet file.",
            show_default=False,
        ),
    ],
    *,
    target: Annotated[
        str,
        typer.Option(help="Variable to explain; dx_dt is the derivative of x by time.", show_default=False),
    ] = "",
    system: Annotated[
        str, typer.Option(help="Instead of a target: the states of a system, separated by commas.")
    ] = "",
    time_axis: Annotated[
        str, typer.Option(help="Axis or column of the times, for derivatives. Default: time or t.")
    ] = "",
    inputs: Annotated[str, typer.Option(help="Inputs, separated by commas. Default: all that fit.")] = "",
    work: Annotated[
        int, typer.Option(min=1, help="Units of work; the same work gives the same result.")
    ] = 100_000,
    time: Annotated[float | None, typer.Option(help="Ceiling in seconds. Default: none.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
    strategies: Annotated[str, typer.Option(help="Strategies, separated by commas. Default: all.")] = "",
    jobs: Annotated[
        int,
        typer.Option(
            envvar="SR_HARNESS_JOBS",
            help="Worker processes, -1 for all available cores; the result is the same.",
        ),
    ] = -1,
    drop_missing: Annotated[
        bool, typer.Option("--drop-missing", help="Leave out rows with NaN or infinite values.")
    ] = False,
    robust: Annotated[
        bool,
        typer.Option("--robust", help="Set rows aside that lie far from the formula, and say which."),
    ] = False,
    as_json: JsonOption = False,
) -> int:
    """Search for a formula that explains one variable by others, and print the best by length and error.

    A target dx_dt is the derivative of x by time, estimated from its samples. With --system x,y a right-hand
    side is sought for every state, and the whole system is judged by integrated trajectories. Exit status 0
    when something better than a constant was found, 1 when not, 2 when a name does not exist.
    """
    from sr_harness.evaluator.dynamics import derivative_target
    from sr_harness.search import Budget
    from sr_harness.search import discover as search
    from sr_harness.search.outliers import described

    if time is not None and not time > 0:
        raise typer.BadParameter(f"{time} is not above 0", param_hint="--time")
    if jobs == 0:
        raise typer.BadParameter("0 cannot search; give at least 1, or -1 for all cores", param_hint="--jobs")
    if bool(target) == bool(system):
        raise typer.BadParameter("give either --target or --system", param_hint="--target")
    request = Request(
        Budget(work, time), seed, _names(inputs), _names(strategies), time_axis or None, jobs, as_json=as_json
    )
    with _context(data) as context:
        if robust and (system or derivative_target(context, target) is not None):
            raise typer.BadParameter(
                "a derivative or a system is judged by whole runs, not row by row", param_hint="--robust"
            )
        status = _dynamic(context, target, _names(system), request)
        if status is not None:
            return status
        if time_axis:
            raise typer.BadParameter(
                f"{target!r} is no derivative and has no times", param_hint="--time-axis"
            )
        problem = _problem(context, target, _names(inputs), drop_missing=drop_missing, seed=seed)
    for note in problem.notes:
        print(f"note: {note}", file=sys.stderr)
    with _display(quiet=as_json) as show, _best_if_interrupted(problem, show) as watch:
        result = search(
            problem,
            budget=Budget(work, time),
            seed=seed,
            strategies=_names(strategies) or None,
            on_event=watch,
            jobs=jobs,
            robust=robust,
        )
    if robust:
        total = problem.rows + (0 if problem.validation is None else problem.validation.rows)
        print(f"note: {described(result.outliers, total)}", file=sys.stderr)
    for event in result.events:
        if event.kind == "worker":
            print(f"note: {event.message}", file=sys.stderr)
    if as_json:
        print_json(_document(problem, result))
    else:
        print("\n".join(_summary(problem, result)))
    return 0 if result.best is not None and result.best.judged_nmse < 0.5 else 1


def _dynamic(context: AgentContext, target: str, states: list[str], request: Request) -> int | None:
    """Search for a system or a derivative; None where neither was asked for."""
    from sr_harness.evaluator.dynamics import derivative_target

    if states:
        return search_system(context, states, request)
    if derivative_target(context, target) is None:
        return None
    with _display(quiet=request.as_json) as show:
        return search_derivative(context, target, request, show)


def _names(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _problem(
    context: AgentContext, target: str, inputs: list[str], *, drop_missing: bool, seed: int
) -> Problem:
    """The problem, with some rows held out for validation where there are enough."""
    from dataclasses import replace

    from sr_harness.errors import ProblemError
    from sr_harness.evaluator import make_split
    from sr_harness.search import Problem

    try:
        problem = Problem.from_context(
            context, target, inputs or None, missing="drop" if drop_missing else "refuse"
        )
    except ProblemError as error:
        # the library's name of the cure is not the command line's
        text = str(error).replace("drop them (missing='drop')", "leave them out with --drop-missing")
        raise type(error)(text) from error
    if problem.rows < FEWEST_ROWS:
        raise ProblemError(
            f"{problem.rows} row is too few to search for a formula; give at least {FEWEST_ROWS}"
        )
    if problem.graph is not None or problem.rows < SMALLEST_VALIDATED:
        return problem
    split = make_split(problem.rows, seed=seed, fractions=(1 - VALIDATION_SHARE, VALIDATION_SHARE, 0.0))
    return replace(problem.take(split.train), validation=problem.take(split.validation))


@contextmanager
def _context(data: Path) -> Iterator[AgentContext]:
    """The data, imported into a temporary directory first if they are a table."""
    from sr_harness.core import AgentContext

    if data.is_dir():
        yield AgentContext.from_directory(data)
        return
    from sr_harness.data import import_table

    with tempfile.TemporaryDirectory(prefix="sr-harness-") as folder:
        report = import_table(data, Path(folder) / "context.data")
        for header, variable in report.columns.items():
            if header != variable:
                print(f"note: column {header!r} is called {variable} here", file=sys.stderr)
        yield AgentContext.from_directory(Path(folder) / "context.data")


@contextmanager
def _display(*, quiet: bool) -> Iterator[Callable[[Event], None]]:
    """A live table of the front on a terminal; else nothing until the end."""
    if quiet or not sys.stdout.isatty():
        yield lambda _event: None
        return
    from rich.live import Live

    from sr_harness.search import ParetoFront

    front = ParetoFront()
    with Live(transient=True, refresh_per_second=4) as live:

        def show(event: Event) -> None:
            if event.candidate is not None:
                front.add(event.candidate)
            live.update(_table(front, f"{event.origin}: {event.work} units of work"))

        yield show


@contextmanager
def _best_if_interrupted(
    problem: Problem, show: Callable[[Event], None]
) -> Iterator[Callable[[Event], None]]:
    """Pass events on to `show`; an interrupted search tells the best formula that it had."""
    from sr_harness.search import ParetoFront

    front = ParetoFront()

    def watch(event: Event) -> None:
        if event.candidate is not None:
            front.add(event.candidate)
        show(event)

    try:
        yield watch
    except KeyboardInterrupt:
        best = front.best()
        if best is not None:
            text = f"best so far: {problem.target_name} = {best.formula()}; 1 - R²: {best.nmse:.2e}"
            print(text, file=sys.stderr)
        raise


def _table(front: ParetoFront, title: str) -> Table:
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for heading in ("size", "1 - R²", "formula", "found by"):
        table.add_column(heading, overflow="fold")
    for candidate in front.candidates:
        table.add_row(*_cells(candidate))
    return table


def _cells(candidate: Candidate) -> tuple[str, str, str, str]:
    return (
        str(candidate.complexity),
        f"{candidate.nmse:.2e}",
        _shortened(_readable(candidate)),
        candidate.origin,
    )


def _readable(candidate: Candidate) -> str:
    """The formula for the table: in its plainest form, with few digits."""
    from sr_harness import engine

    return engine.render(engine.simplify(candidate.expression), digits=5)


def _closed_form(candidate: Candidate) -> str | None:
    """An exact formula with closed forms in place of long numbers; None where there are none."""
    from sr_harness import engine

    if not candidate.exact:
        return None
    closed = engine.recognise(candidate.expression)
    return None if closed == candidate.expression else engine.render(closed)


def _shortened(text: str) -> str:
    return text if len(text) <= TEXT_WIDTH else text[: TEXT_WIDTH - 1] + "…"


def _summary(problem: Problem, result: Discovery) -> list[str]:
    """The front as plain text, then the formula to believe."""
    lines = [f"{'size':>4}  {'1 - R²':>9}  formula"]
    for candidate in result.front.candidates:
        size, error, formula, origin = _cells(candidate)
        mark = "*" if candidate is result.best else " "
        lines.append(f"{size:>4}{mark} {error:>9}  {formula}  [{origin}]")
    for event in result.events:
        if event.kind == "skipped" and "no relation" not in event.message:
            lines.append(f"{event.origin} {event.message}")
    held_out = 0 if problem.validation is None else problem.validation.rows
    rows = f"{problem.rows} rows" + (f" and {held_out} held out" if held_out else "")
    lines.append(f"stopped: {result.stop_reason}, {result.work_used} units of work, {rows}")
    if result.best is not None:
        held = result.best.validation_nmse
        tail = "" if held is None else f"; 1 - R² on held-out rows: {held:.2e}"
        lines.append(f"best: {problem.target_name} = {result.best.formula()}{tail}")
        closed = _closed_form(result.best)
        if closed is not None:
            lines.append(f"that is: {problem.target_name} = {closed}")
    return lines


def _document(problem: Problem, result: Discovery) -> dict[str, Any]:
    return {
        "target": problem.target_name,
        "inputs": list(problem.names),
        "rows": problem.rows,
        "notes": list(problem.notes),
        "outliers": list(result.outliers),
        "best": None if result.best is None else result.best.to_row(),
        "front": result.front.to_rows(),
        "work_used": result.work_used,
        "stop_reason": result.stop_reason,
        "skipped": {event.origin: event.message for event in result.events if event.kind == "skipped"},
    }
