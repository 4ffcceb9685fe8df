"""`ari replay`: run a study once more from its recordings, and say whether the same comes out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ari.cli.common import CheckpointArgument, JsonOption, QuietOption, checkpoint_path, print_json

if TYPE_CHECKING:
    from ari.orchestrator.replay import ReplayReport


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="replay", short_help="Run a study again from its recordings, and compare.")(replay)


def replay(
    checkpoint: CheckpointArgument = None,
    *,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The new checkpoint; default: <checkpoint>-replay-<number>."),
    ] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Run a finished study again from its recordings: no model is asked and no command is run.

    Then compare tree, results, paper and all that lies between, dates and durations aside. Exit status 0 when
    they are equal, 1 when they are not; the first difference of each file is shown.
    """
    from ari.cli.live import watch
    from ari.execution.signals import stop_on_signals
    from ari.orchestrator import replay as replays
    from ari.orchestrator.sessions import read_recorded
    from ari.paths import next_output

    path = checkpoint_path(checkpoint)
    recorded = read_recorded(path)
    target = output or next_output(f"{path.absolute().name} replay", path.absolute().parent)
    title = recorded.checkpoint.state.goal or path.name
    with (
        stop_on_signals() as stop,
        watch(title, len(recorded.checkpoint.nodes), silent=quiet or as_json) as on_event,
    ):
        report = replays.replay(path, target, stop=stop, on_event=on_event)
    if stop.is_set():
        return 130
    if as_json:
        print_json(document(report))
    elif not quiet:
        print("\n".join(lines(report)))
    return 0 if report.ok else 1


def document(report: ReplayReport) -> dict[str, Any]:
    """Turn a report into JSON types."""
    return {
        "checkpoint": str(report.source),
        "replay": str(report.replay),
        "ok": report.ok,
        "nodes": report.nodes,
        "equal": list(report.equal),
        "differences": [vars(item) for item in report.differences],
        "taken_as_recorded": list(report.given_up),
    }


def lines(report: ReplayReport) -> list[str]:
    """Compose the report for people."""
    text = [f"Replayed {report.nodes} nodes of {report.source} into {report.replay}"]
    if report.given_up:
        text.append(f"Ended from outside, so taken as recorded: {', '.join(report.given_up)}")
    for item in report.differences:
        text += [
            f"differs: {item.file}{f', {item.where}' if item.where else ''}",
            f"  recorded  {item.recorded}",
            f"  replayed  {item.replayed}",
        ]
    verdict = "equal" if report.ok else f"equal, {len(report.differences)} not"
    return [*text, f"{len(report.equal)} files {verdict}"]
