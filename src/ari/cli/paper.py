"""`ari paper`: the stages after the search, from the tree to the paper."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ari.cli.common import (
    CheckpointArgument,
    JsonOption,
    QuietOption,
    checkpoint_path,
    duration,
    note,
    print_json,
)

if TYPE_CHECKING:
    from ari.pipeline.stage_outcome import StageOutcome, StagesResult
    from ari.pipeline.stage_plan import PlanStep

_WORDS = {
    "done": "done",
    "unchanged": "unchanged",
    "exists": "there already",
    "disabled": "disabled",
    "not_asked": "not asked for",
    "skipped": "not run",
    "failed": "FAILED",
    "blocked": "BLOCKED",
    "interrupted": "interrupted",
}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="paper", short_help="Run the stages after the search, or show them.")(paper)


def paper(
    checkpoint: CheckpointArgument = None,
    *,
    start: Annotated[
        str | None, typer.Option("--from", metavar="STAGE", help="Run this stage and all after it again.")
    ] = None,
    only: Annotated[
        str | None, typer.Option("--only", metavar="STAGE", help="Run this stage, and no other.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be run, and why; run nothing.")
    ] = False,
    parallel: Annotated[
        int | None, typer.Option("--parallel", "-j", min=1, help="Stages at a time; default: one a core.")
    ] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Run the stages of workflow.yaml on a finished study: science data, figures, paper, gate.

    What is unchanged is not run again. After a failure the same command goes on from there.
    """
    from ari.errors import ConfigError

    if start is not None and only is not None:
        raise ConfigError("--from and --only cannot be used together", cure="Choose one of them.")
    path = checkpoint_path(checkpoint)
    if dry_run:
        return _show_plan(path, start, only, as_json=as_json)
    result = run_paper(path, start=start, only=only, parallel=parallel, silent=quiet or as_json)
    if as_json:
        print_json(document(result))
    elif not quiet:
        print("\n".join(lines(result)))
    return status(result)


def status(result: StagesResult) -> int:
    """The exit status: 0 when everything asked for is done, 130 when interrupted, else 1."""
    if result.interrupted:
        return 130
    return 0 if result.ok else 1


def run_paper(
    path: Path,
    *,
    start: str | None = None,
    only: str | None = None,
    parallel: int | None = None,
    silent: bool = False,
) -> StagesResult:
    """Run the stages of a checkpoint's workflow.

    Args:
        path: The checkpoint.
        start: Run this stage and all after it, changed or not.
        only: Run this stage alone.
        parallel: Stages at a time; default: as the settings say.
        silent: Show no progress.

    Raises:
        AriError: When the workflow or the checkpoint cannot be used; nothing has run then.
    """
    from ari import settings
    from ari.checkpoint import Checkpoint
    from ari.execution.signals import stop_on_signals
    from ari.memory import open_memory, remember_all
    from ari.orchestrator.facts import record_facts
    from ari.pipeline.orchestrator import Selection, checked_workflow, run_stages

    chosen = settings.load(path, options={"parallel": parallel}).settings
    workflow = checked_workflow(path)
    shown = [stage.name for stage in workflow.stages if stage.enabled and stage.phase != "search"]
    with stop_on_signals() as stop, Checkpoint.open(path, read_only=False) as opened:
        for warning in opened.warnings if not silent else ():
            note(f"warning: {warning}")
        if opened.state.finished is not None:  # a program of old has left these undone
            record_facts(opened)
            remember_all(opened, open_memory(path))
        return run_stages(
            opened,
            workflow,
            selection=Selection(start, only),
            stop=stop,
            on_event=None if silent else Progress(shown, sys.stderr.write).on_event,
            parallel=chosen.parallel,
        )


class Progress:
    """One line for each stage that starts, ends or is tried again.

    Args:
        stages: Names of the stages that count.
        write: Where the lines go.
    """

    def __init__(self, stages: Sequence[str], write: Callable[[str], object]) -> None:
        self._stages = list(stages)
        self._write = write
        self._ended: set[str] = set()

    def on_event(self, event: Mapping[str, Any]) -> None:
        """Show an event of the driver."""
        name = event["stage"]
        if name not in self._stages:
            return
        kind = event["event"]
        if kind in {"stage_retried", "stage_looped"}:
            word = "tried again" if kind == "stage_retried" else "once more"
            self._write(f"      {name}: {word}: {event['reason']}\n")
        elif kind == "stage_ended":
            self._ended.add(name)
            outcome: StageOutcome = event["outcome"]
            if outcome.status != "not_asked":
                self._write(f"[{len(self._ended)}/{len(self._stages)}] {line(outcome)}\n")
                for warning in outcome.warnings:
                    self._write(f"      {name}: warning: {warning}\n")


def line(outcome: StageOutcome) -> str:
    """One line about a stage that has ended."""
    word = _WORDS[outcome.status]
    took = f" [{duration(outcome.seconds)}]" if outcome.status in {"done", "failed", "blocked"} else ""
    about = {"done": outcome.summary, "unchanged": outcome.summary}.get(outcome.status, outcome.reason)
    if outcome.status == "done" and outcome.reason:
        about = f"{about}; incomplete: {outcome.reason}" if about else f"incomplete: {outcome.reason}"
    return f"{outcome.name}: {word}{took}" + (f": {about}" if about else "")


def document(result: StagesResult) -> dict[str, Any]:
    """Turn a result into JSON types."""
    return {
        "checkpoint": str(result.checkpoint),
        "ok": result.ok,
        "interrupted": result.interrupted,
        "seconds": result.seconds,
        "stages": [
            {
                "name": stage.name,
                "status": stage.status,
                "reason": stage.reason,
                "summary": stage.summary,
                "warnings": list(stage.warnings),
                "seconds": stage.seconds,
                "outputs": dict(stage.outputs),
            }
            for stage in result.stages
        ],
    }


def lines(result: StagesResult) -> list[str]:
    """Compose the end of the stages for people."""
    where = shlex.quote(str(result.checkpoint))
    products = [path for path in ("full_paper.pdf", "full_paper.tex") if (result.checkpoint / path).exists()]
    text = [f"Paper       {result.checkpoint / products[0]}"] if products else []
    if result.interrupted:
        return [*text, f"Stopped; `ari paper {where}` goes on."]
    if result.ok:
        return text or ["Every stage is done."] if result.stages else []
    text += [f"{_WORDS[stage.status]}: {stage.name}: {stage.reason}" for stage in result.bad]
    skipped = [stage.name for stage in result.stages if stage.status == "skipped"]
    text += [f"not run: {', '.join(skipped)}"] if skipped else []
    return [*text, f"When that is mended, `ari paper {where}` goes on from there."]


def _show_plan(path: Path, start: str | None, only: str | None, *, as_json: bool) -> int:
    from ari.checkpoint import Checkpoint
    from ari.pipeline.orchestrator import Selection, checked_workflow, plan

    workflow = checked_workflow(path)
    steps = plan(Checkpoint.open(path, read_only=True), workflow, Selection(start, only))
    if as_json:
        print_json(
            {
                "checkpoint": str(path),
                "workflow": workflow.source,
                "stages": [_step_document(step, workflow.needs[step.stage.name]) for step in steps],
            }
        )
    else:
        print(f"{path}: {workflow.source}")
        width = max((len(step.stage.name) for step in steps), default=0)
        words = {"run_if_changed": "run", "not_asked": "-", "disabled": "-"}
        for step in steps:
            print(f"  {step.stage.name:<{width}}  {words.get(step.action, step.action):<4}  {step.why}")
    return 0


def _step_document(step: PlanStep, needs: Sequence[str]) -> dict[str, Any]:
    stage = step.stage
    return {
        "name": stage.name,
        "skill": stage.skill,
        "tool": stage.tool,
        "phase": stage.phase,
        "action": step.action,
        "why": step.why,
        "needs": list(needs),
        "inputs": [ref.path for ref in stage.inputs],
        "outputs": [ref.path for ref in stage.outputs],
    }
