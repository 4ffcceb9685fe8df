"""`sr-harness benchmark`: how often known formulas are found again, and what that costs."""

from __future__ import annotations

import math
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sr_harness.cli.output import JsonOption, print_json

if TYPE_CHECKING:
    from sr_harness.bench import BenchmarkSettings, BenchProblem
    from sr_harness.bench.runner import Step
    from sr_harness.bench.summary import Group

PEER_SAMPLE = 24
FORMULA_WIDTH = 70


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="benchmark", short_help="Measure how often known formulas are found again.")(benchmark)


def benchmark(
    table: Annotated[
        Path,
        typer.Argument(
            metavar="PROBLEMS.csv",
            exists=True,
            dir_okay=False,
            help="Table with the columns id, target, formula, n_vars, variables (name:low:high;…).",
            show_default=False,
        ),
    ],
    *,
    output: Annotated[Path, typer.Option(help="Directory for the results.", show_default=False)],
    time_limit: Annotated[float, typer.Option(help="Ceiling in seconds for a problem.")] = 30.0,
    work: Annotated[
        int | None, typer.Option(min=1, help="Units of work for a problem. Default: that of discover.")
    ] = None,
    threads: Annotated[int, typer.Option(min=1, help="Threads that a method may use.")] = 1,
    jobs: Annotated[int, typer.Option(min=1, help="Problems at a time.")] = 1,
    noise: Annotated[
        str, typer.Option(help="Levels of noise, separated by commas, as shares of the target's RMS.")
    ] = "0",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the data and of every method.")] = 0,
    rows: Annotated[int, typer.Option(min=2, help="Training rows of a problem.")] = 500,
    sample: Annotated[
        int | None, typer.Option(min=1, help="Only so many problems, drawn with the seed.")
    ] = None,
    ids: Annotated[str, typer.Option(help="Only these problems, separated by commas.")] = "",
    peers: Annotated[
        str, typer.Option(help="Other programs to measure, separated by commas: pyoperon, gplearn.")
    ] = "",
    peer_sample: Annotated[
        int, typer.Option(min=1, help="Problems that the peers get, drawn with the seed.")
    ] = PEER_SAMPLE,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where the same command stopped.")] = False,
    as_json: JsonOption = False,
) -> int:
    """Let the search find known formulas again, and count how often it does.

    Each problem runs in a process of its own and leaves a file as soon as it is done; summary.md,
    summary.csv and summary.json follow at the end. Exit status 0 whatever the rate is.
    """
    from sr_harness.bench import BenchmarkSettings, read_table, run_benchmark
    from sr_harness.bench.problems import choose
    from sr_harness.bench.summary import summarise, write_summary
    from sr_harness.search import DEFAULT_WORK

    if not time_limit > 0:
        raise typer.BadParameter(f"{time_limit} is not above 0", param_hint="--time-limit")
    problems, digest = read_table(table)
    chosen = choose(problems, ids=_names(ids), sample=sample, seed=seed)
    present, notes = _peers(_names(peers))
    settings = BenchmarkSettings(
        table=table.name,
        table_sha256=digest,
        ids=tuple(problem.id for problem in chosen),
        peers=present,
        peer_ids=_ids(choose(chosen, sample=peer_sample, seed=seed)) if present else (),
        noise=_levels(noise),
        seed=seed,
        rows=rows,
        work=work or DEFAULT_WORK,
        time_limit=time_limit,
        threads=threads,
    )
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    with _display(settings, as_json=as_json) as show:
        results = run_benchmark(chosen, settings, output, jobs=jobs, resume=resume, report=show)
    asked: dict[str, object] = {"--ids": ids, "--sample": sample, "--peers": ",".join(present)}
    asked |= {"--peer-sample": peer_sample if present else None, "--jobs": jobs}
    document = write_summary(output, results, settings, notes, _command(settings, asked))
    if as_json:
        print_json(document)
    else:
        print("\n".join(_summary(summarise(results, settings), output)))
    return 0


def _names(text: str) -> list[str]:
    return list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def _ids(problems: tuple[BenchProblem, ...]) -> tuple[str, ...]:
    return tuple(problem.id for problem in problems)


def _levels(text: str) -> tuple[float, ...]:
    levels = []
    for part in _names(text):
        try:
            level = float(part)
        except ValueError:
            level = math.nan
        if not 0 <= level < math.inf:
            raise typer.BadParameter(f"{part!r} is not a number from 0 up", param_hint="--noise")
        levels.append(level)
    if not levels:
        raise typer.BadParameter("give at least one level", param_hint="--noise")
    return tuple(dict.fromkeys(levels))


def _peers(names: list[str]) -> tuple[tuple[str, ...], list[str]]:
    """The peers that can run here, and a note for each that cannot."""
    from sr_harness.bench.peers import PEERS

    present, notes = [], []
    for name in names:
        if name not in PEERS:
            raise typer.BadParameter(
                f"there is no peer {name!r}; choose from {', '.join(PEERS)}", param_hint="--peers"
            )
        obstacle = PEERS[name].obstacle
        if obstacle is None:
            present.append(name)
        else:
            notes.append(f"the peer {name} was skipped: {obstacle}")
    return tuple(present), notes


def _command(settings: BenchmarkSettings, options: dict[str, object]) -> str:
    """The command that gives these results again; the table by its name alone."""
    parts = [
        *("sr-harness", "benchmark", settings.table),
        *("--time-limit", f"{settings.time_limit:g}", "--work", str(settings.work)),
        *("--threads", str(settings.threads), "--rows", str(settings.rows), "--seed", str(settings.seed)),
        *("--noise", ",".join(f"{level:g}" for level in settings.noise)),
    ]
    for option, value in options.items():
        if value:
            parts += [option, str(value)]
    return shlex.join([*parts, "--output", "DIR"])


@contextmanager
def _display(settings: BenchmarkSettings, *, as_json: bool) -> Iterator[Callable[[Step], None]]:
    """A bar and the problems that run, on a terminal; else a line for each problem that is done."""
    stream = sys.stderr if as_json else sys.stdout
    if not stream.isatty():
        yield lambda step: _say(step, stream)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(file=stream), transient=True) as progress:
        task = progress.add_task("", total=None)
        running: dict[object, str] = {}
        found = [0, 0]

        def show(step: Step) -> None:
            name = step.key.id if not settings.peers else f"{step.key.id} ({step.key.method})"
            running.pop(step.key, None)
            if step.kind == "began":
                running[step.key] = name
            elif step.result is not None:
                found[0] += step.result.recovered
                found[1] += 1
            if step.kind == "finished":
                progress.console.print(_line(step), highlight=False, markup=False)
            text = f"{found[0]} of {found[1]} recovered; running: {', '.join(running.values()) or 'none'}"
            progress.update(task, completed=step.done, total=step.total, description=text)

        yield show


def _say(step: Step, stream: object) -> None:
    if step.kind == "finished":
        print(_line(step), file=stream, flush=True)  # type: ignore[call-overload]


def _line(step: Step) -> str:
    from sr_harness.bench.summary import verdict_word

    result = step.result
    assert result is not None
    formula = result.formula or result.error or "no formula"
    shown = formula if len(formula) <= FORMULA_WIDTH else formula[: FORMULA_WIDTH - 1] + "…"
    noise = f", noise {result.noise:g}" if result.noise else ""
    return (
        f"[{step.done}/{step.total}] {result.id} ({result.method}{noise}): {verdict_word(result)}, "
        f"{result.processor_seconds:.2f} processor s, {shown}".replace("\n", " ")
    )


def _summary(groups: list[Group], output: Path) -> list[str]:
    lines = []
    for group in groups:
        spent = (
            ""
            if group.median_processor_seconds is None
            else f", median {group.median_processor_seconds:.2f} processor s where recovered"
        )
        trouble = f", {group.stopped} stopped, {group.failed} failed" * bool(group.stopped or group.failed)
        lines.append(
            f"{group.method}, {group.problems} problems, noise {group.noise:g}: "
            f"recovered {group.recovered} of {group.n} "
            f"({group.rate:.1%}, 95 % interval {group.low:.1%} to {group.high:.1%}), "
            f"{group.strict} strictly{spent}{trouble}"
        )
    return [*lines, f"tables: {output / 'summary.md'}"]
