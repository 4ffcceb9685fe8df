"""What would be done: which stages are asked for, and which of them would be run, and why."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ari.checkpoint import Checkpoint
from ari.errors import WorkflowError
from ari.pipeline.freshness import Freshness
from ari.pipeline.workflow import Stage, Workflow


@dataclass(frozen=True)
class PlanStep:
    """What would be done with a stage.

    Attributes:
        stage: The stage.
        action: `run`; `run_if_changed` when a stage before it is run and may give other products; `keep`;
            `disabled`; `not_asked`.
        why: The reason.
    """

    stage: Stage
    action: Literal["run", "run_if_changed", "keep", "disabled", "not_asked"]
    why: str


@dataclass(frozen=True)
class Selection:
    """Which stages are asked for: all, those from one on, or a single one."""

    start: str | None = None
    only: str | None = None

    def check(self, workflow: Workflow) -> None:
        """Refuse names that the workflow does not have.

        Raises:
            WorkflowError: With the names there are.
        """
        for name in (self.start, self.only):
            if name is not None and name not in workflow:
                known = ", ".join(stage.name for stage in workflow.stages)
                raise WorkflowError(f"the workflow has no stage {name!r}", cure=f"Stages: {known}.")
            if name is not None and workflow[name].phase == "search":
                raise WorkflowError(
                    f"the stage {name} is the search itself",
                    cure="`ari run` and `ari resume` do it; name a stage that comes after it.",
                )

    def wants(self, stage: Stage) -> bool:
        """Whether a stage is asked for."""
        return self.only is None or stage.name == self.only

    def forces(self, stage: Stage, workflow: Workflow) -> bool:
        """Whether a stage is to be run even if nothing has changed."""
        if self.start is not None:
            return stage.name == self.start or stage.name in workflow.after(self.start)
        return stage.name == self.only


def plan(checkpoint: Checkpoint, workflow: Workflow, selection: Selection | None = None) -> list[PlanStep]:
    """Say what would be run, and why, without doing anything.

    Raises:
        WorkflowError: When a stage is asked for that does not exist.
    """
    chosen = selection or Selection()
    chosen.check(workflow)
    freshness = Freshness(checkpoint.path, workflow, lambda: checkpoint.state.stages)
    steps: list[PlanStep] = []
    for stage in workflow.stages:
        moving = {step.stage.name for step in steps if step.action.startswith("run")}
        step = _unconditional(stage, workflow, chosen, checkpoint.path)
        steps.append(step or _judged(stage, workflow, freshness, moving))
    return steps


def _unconditional(stage: Stage, workflow: Workflow, chosen: Selection, checkpoint: Path) -> PlanStep | None:
    if not stage.enabled:
        return PlanStep(stage, "disabled", "enabled: false")
    if stage.phase == "search":
        missing = absent_outputs(stage, checkpoint)
        why = f"the search has not written {missing[0]}" if missing else "done by the search"
        return PlanStep(stage, "keep", why)
    if not chosen.wants(stage):
        return PlanStep(stage, "not_asked", "not asked for")
    return PlanStep(stage, "run", "asked for") if chosen.forces(stage, workflow) else None


def _judged(stage: Stage, workflow: Workflow, freshness: Freshness, moving: set[str]) -> PlanStep:
    verdict = freshness.verdict(stage)
    if verdict.run:
        return PlanStep(stage, "run", verdict.why)
    before = [name for name in workflow.needs[stage.name] if name in moving]
    if before and not stage.skip_if_exists:
        return PlanStep(stage, "run_if_changed", f"if {', '.join(before)} gives anything else than last time")
    return PlanStep(stage, "keep", verdict.why)


StageState = Literal["done", "up to date", "would run", "might run", "failed", "blocked", "disabled"]


@dataclass(frozen=True)
class Standing:
    """How a stage stands.

    Attributes:
        step: What `ari paper` would do with it.
        state: `done` by the search itself; `up to date`; `would run`; `might run` when a stage before it
            gives other products; `failed` or `blocked` the last time, which would be run too; `disabled`.
        why: Why it failed, was blocked or would be run.
    """

    step: PlanStep
    state: StageState
    why: str


def standings(checkpoint: Checkpoint, workflow: Workflow) -> list[Standing]:
    """How the stages of a study stand, as `plan` knows it and the journal recorded it; nothing is done."""
    recorded = checkpoint.state.stages
    found = []
    for step in plan(checkpoint, workflow):
        last = recorded.get(step.stage.name)
        if (
            step.action == "run"
            and last is not None
            and last.finished
            and last.status in {"failed", "blocked"}
        ):
            state: StageState = "failed" if last.status == "failed" else "blocked"
            found.append(Standing(step, state, last.reason))
        else:
            found.append(Standing(step, _state(step), step.why))
    return found


def _state(step: PlanStep) -> StageState:
    if step.action == "keep":
        return "done" if step.stage.phase == "search" else "up to date"
    if step.action == "disabled":
        return "disabled"
    return "might run" if step.action == "run_if_changed" else "would run"


def absent_outputs(stage: Stage, checkpoint: Path) -> list[str]:
    """Required products of a stage that are not there."""
    return [ref.path for ref in stage.outputs if not ref.optional and not (checkpoint / ref.path).exists()]
