"""The driver of the stages: what has to be run is run, in order, side by side where nothing forbids it.

Promises:

- Everything is checked before anything runs (`WorkflowError`).
- A stage whose inputs (by content), parameters and program are those of its last good run is not run again.
- A stage that fails or blocks stops those that depend on it, and nothing else; the next call goes on there.
- A stage runs in a process of its own and is ended, with everything it started, when its time is up, when
  the run is asked to stop, and when the run dies. What it then has written counts for nothing.
- Every start and end stands in the journal before the next step.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import multiprocessing.forkserver
import signal
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ari.checkpoint import Checkpoint
from ari.errors import FormatError
from ari.execution.child import describe_death, wait_until_alone
from ari.formats.base import read_json
from ari.pipeline.freshness import Freshness, Hashes, code_version, hash_of, parameters_of
from ari.pipeline.stage_outcome import GOOD, StageOutcome, StagesResult, StageStatus
from ari.pipeline.stage_plan import PlanStep, Selection, absent_outputs, plan
from ari.pipeline.stage_worker import OUTCOME, StageTask, stage_main
from ari.pipeline.stages import STAGE_TOOLS
from ari.pipeline.workflow import Stage, Workflow
from ari.pipeline.yaml_loader import faulty, missing_inputs, substitute, workflow_of

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerProcess

__all__ = [
    "PlanStep",
    "Selection",
    "StageOutcome",
    "StagesResult",
    "checked_workflow",
    "plan",
    "run_stages",
    "warm_up",
]

TICK_S = 0.25
GRACE_S = 5.0
PRELOAD = ("ari.pipeline.stage_worker", "ari.checkpoint")

StageListener = Callable[[Mapping[str, Any]], None]


def checked_workflow(checkpoint: Path, *, workflow: Workflow | None = None) -> Workflow:
    """The workflow of a study, every fault of it refused.

    Raises:
        WorkflowError: If it cannot be run as it is; names every fault with its line.
    """
    found = workflow or workflow_of(checkpoint)
    faults = missing_inputs(found, checkpoint)
    if faults:
        raise faulty(found.source, faults)
    return found


def run_stages(
    checkpoint: Checkpoint,
    workflow: Workflow,
    *,
    selection: Selection | None = None,
    stop: threading.Event | None = None,
    on_event: StageListener | None = None,
    parallel: int = 2,
) -> StagesResult:
    """Run the stages of a workflow.

    Args:
        checkpoint: The study, open for writing.
        workflow: A result of `checked_workflow`.
        selection: Which stages; all by default.
        stop: Set when the run is to stop.
        on_event: Told of every start (`stage_started`) and every end (`stage_ended`, with the outcome).
        parallel: How many stages at a time.

    Raises:
        WorkflowError: When a stage is asked for that does not exist.
        CheckpointError: When the journal cannot be written.
    """
    chosen = selection or Selection()
    chosen.check(workflow)
    wait_until_alone(checkpoint.path)
    warm_up(workflow)
    driver = _Driver(checkpoint, workflow, chosen, stop=stop, on_event=on_event, parallel=parallel)
    return driver.run()


def warm_up(workflow: Workflow) -> None:
    """Start the fork server with what the stages need; one that runs already is used as it is."""
    targets = [STAGE_TOOLS.get(s.skill, {}).get(s.tool, "") for s in workflow.stages if s.enabled]
    modules = dict.fromkeys([*PRELOAD, *(target.partition(":")[0] for target in targets if target)])
    multiprocessing.get_context("forkserver").set_forkserver_preload(list(modules))
    if threading.current_thread() is not threading.main_thread():
        multiprocessing.forkserver.ensure_running()
        return
    # Ctrl-C goes to every process of the terminal's group; the server must ignore it from the start.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        multiprocessing.forkserver.ensure_running()
    finally:
        signal.signal(signal.SIGINT, before)


@dataclass
class _Running:
    stage: Stage
    task: StageTask
    process: ForkServerProcess
    inputs: Hashes
    started: float
    tries: int = 0
    warnings: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started


class _Driver:
    """One pass over the stages; the only writer of the checkpoint's journal."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        workflow: Workflow,
        selection: Selection,
        *,
        stop: threading.Event | None,
        on_event: StageListener | None,
        parallel: int,
    ) -> None:
        self._checkpoint = checkpoint
        self._workflow = workflow
        self._selection = selection
        self._stop = stop or threading.Event()
        self._on_event = on_event
        self._parallel = max(1, parallel)
        self._freshness = Freshness(checkpoint.path, workflow, lambda: checkpoint.state.stages)
        self._context = multiprocessing.get_context("forkserver")
        self._ended: dict[str, StageOutcome] = {}
        self._running: dict[str, _Running] = {}
        self._forced = {s.name for s in workflow.stages if selection.forces(s, workflow)}
        self._loops: dict[str, int] = {}
        self._turn: dict[str, int] = {}
        self._asking: list[tuple[Stage, StageOutcome]] = []

    def run(self) -> StagesResult:
        """Run until every stage has an end."""
        begun = time.monotonic()
        try:
            while len(self._ended) < len(self._workflow.stages):
                if self._stop.is_set():
                    self._interrupt()
                    break
                self._settle()
                self._collect()
        finally:
            for running in self._running.values():
                _end(running)
        outcomes = tuple(self._ended[stage.name] for stage in self._workflow.stages)
        return StagesResult(self._checkpoint.path, outcomes, time.monotonic() - begun)

    # --------------------------------------------------------------------------------------------- before

    def _settle(self) -> None:
        """Decide about every stage whose turn it is, and start those that have to be run."""
        moved = not self._asking  # before going back, what still runs is let come to its end
        while moved:
            moved = False
            for stage in self._workflow.stages:
                if stage.name in self._ended or stage.name in self._running or not self._ready(stage):
                    continue
                outcome = self._without_running(stage)
                if outcome is not None:
                    self._end(stage, outcome)
                    moved = True
                elif len(self._running) < self._parallel:
                    self._start(stage)
                    moved = stage.name in self._ended

    def _ready(self, stage: Stage) -> bool:
        return all(name in self._ended for name in self._workflow.needs[stage.name])

    def _without_running(self, stage: Stage) -> StageOutcome | None:
        """How a stage ends that is not run; None when it has to be."""
        if not stage.enabled:
            return StageOutcome(stage.name, "disabled", "enabled: false")
        if stage.phase == "search":
            missing = absent_outputs(stage, self._checkpoint.path)
            if missing:
                return StageOutcome(stage.name, "failed", f"the search has not written {', '.join(missing)}")
            return StageOutcome(stage.name, "unchanged", "done by the search")
        bad = [n for n in self._workflow.needs[stage.name] if self._ended[n].status not in GOOD]
        if bad:
            first = self._ended[bad[0]]
            return StageOutcome(stage.name, "skipped", f"{first.name} {_ended_how(first)}")
        if not self._selection.wants(stage):
            return StageOutcome(stage.name, "not_asked", "not asked for")
        if stage.name in self._forced:
            return None
        verdict = self._freshness.verdict(stage)
        if verdict.run:
            return None
        self._freshness.restore(stage)
        state = self._checkpoint.state.stages.get(stage.name)
        summary, outputs = (state.summary, state.outputs) if state is not None else ("", {})
        status: StageStatus = "exists" if stage.skip_if_exists else "unchanged"
        return StageOutcome(stage.name, status, verdict.why, summary, outputs=outputs)

    def _start(self, stage: Stage, *, tries: int = 0) -> None:
        self._freshness.prepare(stage)
        absent = [r.path for r in stage.inputs if not r.optional and not self._there(r.path)]
        if absent:
            self._end(stage, StageOutcome(stage.name, "failed", f"{', '.join(absent)} is not there"))
            return
        copies = self._freshness.set_aside(stage)
        warnings = tuple(f"a product that was changed by hand is kept as {copy}" for copy in copies)
        inputs = self._freshness.input_hashes(stage)
        task = self._task(stage)
        task.records.mkdir(parents=True, exist_ok=True)
        (task.records / OUTCOME).unlink(missing_ok=True)
        self._checkpoint.append("stage_started", stage=stage.name)
        process = self._context.Process(target=stage_main, args=(task.model_dump_json(),), daemon=False)
        process.start()
        self._running[stage.name] = _Running(stage, task, process, inputs, time.monotonic(), tries, warnings)
        self._tell({"event": "stage_started", "stage": stage.name})

    def _task(self, stage: Stage) -> StageTask:
        return StageTask(
            checkpoint=str(self._checkpoint.path.absolute()),
            stage=stage.name,
            skill=stage.skill,
            tool=stage.tool,
            target=STAGE_TOOLS[stage.skill][stage.tool] if stage.outside is None else "",
            outside=stage.outside,
            inputs=tuple(ref.path for ref in stage.inputs),
            outputs=tuple(ref.path for ref in stage.outputs),
            parameters=substitute(dict(stage.parameters), self._checkpoint.path.absolute()),
            attempt=self._turn.get(stage.name, 0),
        )

    def _there(self, path: str) -> bool:
        return (self._checkpoint.path / path).exists()

    # ---------------------------------------------------------------------------------------------- after

    def _collect(self) -> None:
        """Wait a moment for stages that run, and take in those that have ended or used up their time."""
        if not self._running:
            self._go_back()
            return
        multiprocessing.connection.wait([r.process.sentinel for r in self._running.values()], timeout=TICK_S)
        for running in list(self._running.values()):
            overdue = running.seconds > running.stage.timeout_s
            if running.process.is_alive() and not overdue:
                continue
            was_alive = running.process.is_alive()
            _end(running)
            del self._running[running.stage.name]
            outcome = self._overdue(running) if overdue and was_alive else self._read(running)
            self._take_in(running, outcome)

    @staticmethod
    def _overdue(running: _Running) -> StageOutcome:
        limit = f"it ran into its time limit of {running.stage.timeout_s:g} s and was ended"
        return StageOutcome(running.stage.name, "failed", limit, seconds=running.seconds)

    def _read(self, running: _Running) -> StageOutcome:
        """What a process that has ended leaves: the answer of its tool, or why there is none."""
        stage = running.stage
        try:
            document: Any = read_json(running.task.records / OUTCOME)
        except FormatError:
            document = {"error": describe_death(running.process.exitcode, whose="its", owed="answer")}
        if "error" in document:
            cure = str(document.get("cure") or "")
            reason = f"{document['error']}{f' ({cure})' if cure else ''}"
            return StageOutcome(stage.name, "failed", reason, seconds=running.seconds)
        answer: dict[str, Any] = document["answer"]
        status: StageStatus = "blocked" if answer.get("should_block") else "done"
        reason = str(answer.get("reason") or "") if status == "blocked" else ""
        absent = [ref.path for ref in stage.outputs if not ref.optional and not self._there(ref.path)]
        if absent and status == "done":
            status, reason = "failed", f"its tool ended well but has not written {', '.join(absent)}"
        return StageOutcome(
            stage.name,
            status,
            reason or ("its tool says so" if status == "blocked" else ""),
            str(answer.get("summary") or ""),
            (*running.warnings, *_texts(answer.get("warnings"))),
            running.seconds,
            answer=answer,
        )

    def _take_in(self, running: _Running, outcome: StageOutcome) -> None:
        stage = running.stage
        if outcome.status == "failed" and running.tries < stage.retries and not self._stop.is_set():
            self._tell({"event": "stage_retried", "stage": stage.name, "reason": outcome.reason})
            self._start(stage, tries=running.tries + 1)
            return
        hashes = {ref.path: hash_of(self._checkpoint.path / ref.path) for ref in stage.outputs}
        outputs = {path: sha256 for path, sha256 in hashes.items() if sha256 is not None}
        again = str(outcome.answer.get("incomplete") or "") if outcome.status == "done" else outcome.reason
        self._freshness.keep(stage)
        self._checkpoint.append(
            "stage_finished",
            stage=stage.name,
            status=outcome.status,
            outputs=outputs,
            inputs=running.inputs,
            parameters=parameters_of(stage),
            code=code_version(),
            reason=again,
            summary=outcome.summary,
            duration_s=round(outcome.seconds, 3),
        )
        self._forced.discard(stage.name)
        ended = replace(outcome, reason=again, outputs=outputs)
        asks = ended.status == "blocked" or bool(ended.answer.get("loop_back"))
        if stage.loop_back_to is not None and asks and self._loops.get(stage.name, 0) < stage.max_loops:
            self._asking.append((stage, ended))
        else:
            self._end(stage, ended)

    def _go_back(self) -> None:
        """Go back as far as the first of the stages that ask for it says; the others will ask again."""
        for stage, outcome in self._asking[1:]:
            self._end(stage, outcome)
        for stage, outcome in self._asking[:1]:
            target = str(stage.loop_back_to)
            self._loops[stage.name] = self._loops.get(stage.name, 0) + 1
            path = {target, stage.name} | (self._workflow.after(target) & self._workflow.before(stage.name))
            for name in path:
                self._turn[name] = self._turn.get(name, 0) + 1
            self._forced |= path
            for name in path | self._workflow.after(target):
                self._ended.pop(name, None)
            reason = f"{stage.name} goes back to {target}: {outcome.reason or outcome.summary}"
            self._tell({"event": "stage_looped", "stage": stage.name, "reason": reason})
        self._asking.clear()

    def _interrupt(self) -> None:
        for running in list(self._running.values()):
            _end(running)
            del self._running[running.stage.name]
        for stage, outcome in self._asking:
            self._end(stage, outcome)
        for stage in self._workflow.stages:
            if stage.name not in self._ended:
                self._ended[stage.name] = StageOutcome(stage.name, "interrupted", "asked to stop")
        self._checkpoint.append("run_interrupted", reason="asked to stop between stages")

    def _end(self, stage: Stage, outcome: StageOutcome) -> None:
        self._ended[stage.name] = outcome
        self._tell({"event": "stage_ended", "stage": stage.name, "outcome": outcome})

    def _tell(self, event: Mapping[str, Any]) -> None:
        if self._on_event is not None:
            self._on_event(event)


def _ended_how(outcome: StageOutcome) -> str:
    words = {
        "failed": "failed",
        "blocked": "is blocked",
        "skipped": "was not run",
        "interrupted": "was ended",
    }
    word = words.get(outcome.status, outcome.status)
    return f"{word}: {outcome.reason}" if outcome.status in {"failed", "blocked"} else word


def _texts(value: object) -> Sequence[str]:
    items: Iterable[object] = value if isinstance(value, list) else [value] if value else []
    return tuple(str(item) for item in items)


def _end(running: _Running) -> None:
    """End a stage's process and everything it started; only then return."""
    from ari.execution.processes import kill_tree

    pid = running.process.pid
    if pid is not None:
        kill_tree(root=pid if running.process.is_alive() else None, pgid=pid)
    running.process.join(GRACE_S)
