"""A study from its first node to its last: plan, run, record, and at the end open the sealed rows.

`start` begins a study, `resume` goes on with one that was interrupted or killed. Both end with the same
files, whichever way they came there: nodes that have finished are never run again, nodes that were under
way are run afresh, and everything is planned from recorded results alone.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson

from ari.agent import prompts
from ari.agent.models.preflight import verify_model
from ari.agent.task import NodeOutcome, NodeTask
from ari.agent.worker import errored
from ari.budget import EXHAUSTED, SearchBudget, check_prices
from ari.checkpoint import Checkpoint, NodeState, replay_source
from ari.checkpoint.readers import is_checkpoint
from ari.checkpoint.store import utc_now
from ari.errors import AriError, BudgetExhausted, CheckpointError, ReplayError
from ari.execution.child import wait_until_alone
from ari.execution.signals import stop_on_signals
from ari.formats.lineage_decisions import ChildPlan
from ari.memory import consolidate, open_memory, remember_all
from ari.orchestrator import node_dirs
from ari.orchestrator.bfts import SearchLimits, best, exit_reason
from ari.orchestrator.children import child_output, inherit, settings_of, source_of
from ari.orchestrator.closing import SealedResult, measure_sealed
from ari.orchestrator.creation import create_study
from ari.orchestrator.facts import study_facts
from ari.orchestrator.fanout import pending_children, plan_children, plan_of_finding
from ari.orchestrator.lineage_decision import LineageDecision, StagnationRule
from ari.orchestrator.node_report import build_report, read_relative
from ari.orchestrator.planning import PlannedNode, Planner, ancestors_of, node_id, search_view
from ari.orchestrator.sessions import Session
from ari.orchestrator.tasks import node_task
from ari.orchestrator.workers import WorkerPool, read_outcome, warm_up
from ari.pipeline.experiment_spec import Experiment
from ari.settings import LIMITS, OFFLINE, Settings, load

EventListener = Callable[[Mapping[str, Any], Checkpoint], None]

TICK_S = 0.5
_OPTIONS = ("nodes", "parallel", "seed", "model", "node_time", *LIMITS)


@dataclass(frozen=True)
class RunOptions:
    """What a caller may say about a new study; None means: as the settings say.

    Attributes:
        experiment: The `experiment.md`.
        output: The new checkpoint.
        nodes: Experiments in the tree at most.
        parallel: Experiments at a time.
        seed: Seed of everything random.
        model: Who proposes.
        node_time: Seconds one experiment may take.
        parent: Checkpoint of the study that this is a sub-experiment of. Its settings are those that count
            where nothing else is said.
        ideas: Positions of the parent's ideas that are handed down; None for the selected one.
        max_calls: Calls of models that the study may make.
        max_tokens: Tokens that it may use.
        max_cost_usd: US dollars that it may spend.
        max_wall_s: Seconds that the search may take.
    """

    experiment: Path
    output: Path | None = None
    nodes: int | None = None
    parallel: int | None = None
    seed: int | None = None
    model: str | None = None
    node_time: float | None = None
    parent: Path | None = None
    ideas: tuple[int, ...] | None = None
    max_calls: int | None = None
    max_tokens: int | None = None
    max_cost_usd: float | None = None
    max_wall_s: float | None = None


@dataclass(frozen=True)
class StudyResult:
    """What came of a study.

    Attributes:
        checkpoint: Where it lies.
        reason: Why it ended.
        goal: The question.
        primary_metric: The metric that decides.
        higher_is_better: Its direction.
        best: The best node; None when no node has a result.
        formula: The best formula of a symbolic study, `target = …`.
        latex: The same for a document.
        sealed_metrics: Its metrics on the sealed rows.
        warnings: What the user should know.
        seconds: Wall time of this process.
        interrupted: Whether it was asked to stop.
        exhausted: Whether it ended because what may be spent is spent.
        parameters: The best configuration of a command study.
        root_value: The root's value of the primary metric, where the search began.
        ceiling: The measured maximum of the primary metric at the best node.
    """

    checkpoint: Path
    reason: str
    goal: str
    primary_metric: str
    higher_is_better: bool
    best: NodeState | None
    formula: str | None
    latex: str | None
    sealed_metrics: dict[str, float]
    warnings: list[str]
    seconds: float
    interrupted: bool
    exhausted: bool = False
    parameters: Mapping[str, Any] = field(default_factory=dict)
    root_value: float | None = None
    ceiling: float | None = None


def start(options: RunOptions, *, on_event: EventListener | None = None) -> StudyResult:
    """Begin a study and run it to its end.

    Raises:
        AriError: When the experiment, a setting or the output directory cannot be used; nothing has run then.
    """
    with stop_on_signals() as stop:
        return _begin(options, stop, on_event)


def _begin(options: RunOptions, stop: threading.Event, on_event: EventListener | None) -> StudyResult:
    given = {name: getattr(options, name) for name in _OPTIONS}
    given = {name: value for name, value in given.items() if value is not None}
    output, inherited = options.output, None
    if options.parent is not None:
        given = settings_of(options.parent, other_model=options.model) | given
        inherited = inherit(options.parent, experiment=options.experiment, ideas=options.ideas)
        output = output or child_output(options.parent)
    settings = load(options=given).settings
    notes = _check_budget(settings)
    parallel_given = options.parallel is not None or options.parent is not None
    warm_up(settings.model)
    prepared = create_study(
        options.experiment, output, settings, parallel_given=parallel_given, inherited=inherited
    )
    with prepared.checkpoint as checkpoint:
        study = Study(
            checkpoint,
            prepared.experiment,
            prepared.ideas,
            prepared.settings,
            stop=stop,
            on_event=on_event,
        )
        study.warnings.extend([*prepared.warnings, *notes])
        return study.run()


def resume(
    path: Path,
    *,
    nodes: int | None = None,
    parallel: int | None = None,
    limits: Mapping[str, float | None] | None = None,
    on_event: EventListener | None = None,
) -> StudyResult:
    """Go on with a study.

    Args:
        path: The checkpoint.
        nodes: A larger number of nodes than the study was begun with.
        parallel: How many nodes to run at a time.
        limits: What may be spent from now on, by the names of `ari.settings.LIMITS`; None: as before.
        on_event: Told of every event.

    Raises:
        CheckpointError: When it cannot be opened, or its data are no longer those it was begun with.
    """
    with stop_on_signals() as stop:
        return _go_on(path, stop, on_event, nodes=nodes, parallel=parallel, limits=limits)


def _go_on(
    path: Path,
    stop: threading.Event,
    on_event: EventListener | None,
    *,
    nodes: int | None = None,
    parallel: int | None = None,
    limits: Mapping[str, float | None] | None = None,
) -> StudyResult:
    with Checkpoint.open(path, read_only=False) as checkpoint:
        if (source := replay_source(checkpoint.path)) is not None:
            raise CheckpointError(
                f"{checkpoint.path} is a replay of {source}, which cannot be gone on with",
                cure=f"Go on with the study itself, or replay it once more: ari replay {source}",
            )
        warm_up(str(checkpoint.state.settings.get("model", OFFLINE)))
        checkpoint.verify_data_hashes(checkpoint.path)
        prompts.verify(checkpoint.path, checkpoint.meta.prompts)
        _verify_source(checkpoint)
        document = dict(checkpoint.state.settings)
        experiment = Experiment.model_validate(document.pop("experiment"))
        document.pop("prices", None)  # the settings.json of the checkpoint is where they are mended
        asked = {"nodes": nodes, "parallel": parallel, **(limits or {})}
        given = {name: value for name, value in asked.items() if value is not None}
        settings = load(checkpoint.path, options=document | given).settings
        ideas = orjson.loads((checkpoint.path / "idea.json").read_bytes())["ideas"]
        study = Study(checkpoint, experiment, ideas, settings, stop=stop, on_event=on_event)
        study.warnings.extend(_check_budget(settings))
        ended = checkpoint.state.finished
        if ended is not None and not study.can_go_on(ended, more_nodes=nodes):
            return study.result(ended, interrupted=False)
        verify_model(settings.model, checkpoint=checkpoint.path)
        return study.run(resumed=given)


def replay_session(
    checkpoint: Checkpoint,
    session: Session,
    *,
    stop: threading.Event,
    on_event: EventListener | None = None,
) -> StudyResult:
    """Run a study, or go on with it, up to the end that a recorded session of it came to.

    Args:
        checkpoint: The replay, whose `meta.json` names the recorded study.
        session: What is known of the recorded session.
        stop: Set when the replay is to stop.
        on_event: Told of every event.

    Raises:
        ReplayError: When it asks for what is not recorded.
    """
    document = dict(session.settings)
    experiment = Experiment.model_validate(document.pop("experiment"))
    ideas = orjson.loads((checkpoint.path / "idea.json").read_bytes())["ideas"]
    settings = Settings.model_validate(document)
    study = Study(checkpoint, experiment, ideas, settings, stop=stop, on_event=on_event, recorded=session)
    return study.run(resumed=session.changed)


def _check_budget(settings: Settings) -> list[str]:
    """Refuse a budget that cannot be kept; say which price is not known."""
    return check_prices(settings.model, own=settings.prices, max_cost_usd=settings.max_cost_usd)


def _verify_source(checkpoint: Checkpoint) -> None:
    """Refuse to go on when the user's data file has changed since the study began."""
    from ari.evaluation.data import hash_source

    meta = checkpoint.meta.to_dict()
    recorded = meta.get("data", {}).get("source_sha256")
    source = Path(meta.get("source", ""))
    if recorded is None or not source.is_file():
        return
    experiment = Experiment.model_validate(checkpoint.state.settings["experiment"])
    data = source.parent / (experiment.data_source or "context.data")
    if data.exists() and (found := hash_source(experiment, source.parent)) != recorded:
        raise CheckpointError(
            f"{data} has changed since the study began: sha256 {found}, recorded {recorded}",
            cure="Put the original data back, or start a new study on the changed ones.",
        )


class Study:
    """One study under way; the only writer of its checkpoint."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        experiment: Experiment,
        ideas: Sequence[Mapping[str, Any]],
        settings: Settings,
        *,
        stop: threading.Event,
        on_event: EventListener | None = None,
        recorded: Session | None = None,
    ) -> None:
        self.checkpoint = checkpoint
        self._recorded = recorded
        self.experiment = experiment
        self.settings = settings
        self.warnings: list[str] = list(checkpoint.warnings)
        self._on_event = on_event
        self._started = time.monotonic()
        self._memory = open_memory(checkpoint.path)
        self._stop = stop
        self._ending: str | None = None
        self._budget = SearchBudget(checkpoint.path, settings, keep=recorded is None)
        self._limits = SearchLimits(max_nodes=settings.nodes, max_depth=settings.max_depth)
        self._planner = Planner(
            experiment=experiment,
            ideas=ideas,
            model=settings.model,
            repairs=settings.repairs,
            seed=settings.seed,
            limits=self._limits,
            rule=StagnationRule(
                window=settings.stagnation_window,
                threshold=settings.stagnation_threshold,
                min_nodes=settings.stagnation_min_nodes,
                max_switches=settings.max_switches,
            ),
            lookahead=settings.lookahead,
            advice=settings.max_advice,
            may_fan_out=self._may_fan_out(),
        )
        self._barren: set[str] = set()
        self._pool = WorkerPool(min(settings.parallel, settings.lookahead))

    def can_go_on(self, ended: str, *, more_nodes: int | None) -> bool:
        """Say whether a study that has ended can be carried further, and warn when it cannot."""
        if ended.startswith(EXHAUSTED):
            spent = self._budget.look()
            if spent is not None:
                self.warnings.append(f"nothing was done: {spent}; a larger budget is needed to go on")
            return spent is None
        if (more_nodes or 0) > len(self.checkpoint.nodes):
            return True
        self.warnings.append("the study had already ended; nothing was left to do")
        return False

    def run(self, *, resumed: Mapping[str, Any] | None = None) -> StudyResult:
        """Run to the end, until asked to stop, or until the budget is spent.

        Args:
            resumed: For a study that is gone on with, the settings that are other than before.
        """
        try:
            self._budget.begin()
            if resumed is not None:
                self._take_up(resumed)
            self._search()
        finally:
            self._pool.close()
            self._budget.end()
        if self._recorded is not None and self._recorded.exhausted:
            self._budget.spent = self._recorded.reason
        self._pause_unfinished()
        if self._stop.is_set():
            self._append("run_interrupted", reason="asked to stop")
            return self.result("interrupted", interrupted=True)
        return self._finish()

    # ------------------------------------------------------------------------------------------ the search

    def _take_up(self, settings: Mapping[str, Any]) -> None:
        """After a kill: keep what nodes had finished measuring, make the others pending again."""
        wait_until_alone(self.checkpoint.path)
        self._append("run_resumed", pid=os.getpid(), settings=dict(settings))
        for node in list(self.checkpoint.nodes.values()):
            if node.status == "running":
                outcome = read_outcome(self._task(node))
                if outcome is not None and not outcome.error and not outcome.exhausted:
                    self._record(outcome)
        self._remember([node for node in self.checkpoint.nodes.values() if node.finished])
        terminated = [d for d in self.checkpoint.state.decisions if d["decision"] == "terminate"]
        if terminated and len(self.checkpoint.nodes) >= terminated[-1].get("at_order", 0):
            self._ending = self._ending_of(terminated[-1]["rationale"])

    def _search(self) -> None:
        while not self._stop.is_set():
            if self._budget.out_of_time():
                return
            self._plan()
            ended = self._launch()
            if not self._pool.running and not ended:
                return
            for outcome in self._pool.finished(TICK_S):
                self._take_in(outcome)
            self._tick()

    def _take_in(self, outcome: NodeOutcome) -> None:
        """Record what a node came to; one that the budget cut short without a result is left for later."""
        if outcome.unrecorded:
            raise ReplayError(outcome.unrecorded)
        if outcome.exhausted and self._recorded is None:
            self._budget.spent = outcome.exhausted
        if not outcome.exhausted or outcome.has_real_data:
            self._record(outcome)

    def _pause_unfinished(self) -> None:
        """Nodes that the budget cut short are pending again."""
        for node in list(self.checkpoint.nodes.values()) if self._budget.spent else ():
            if node.status == "running":
                self._append("node_paused", node_id=node.id, reason=self._budget.spent)

    def _plan(self) -> None:
        while self._ending is None and self._budget.spent is None and not self._stop.is_set():
            if self._children():
                if any(not node.finished for node in self.checkpoint.nodes.values()):
                    return  # they end first; a child has the machine to itself
                self._run_children()
                continue
            if self._recorded is not None and not self._recorded.planned(len(self.checkpoint.nodes)):
                return
            try:
                plan = self._planner.next(self.checkpoint)
            except BudgetExhausted as error:
                self._budget.spent = error.message
                return
            if plan.decision is not None:
                self._decide(plan.decision)
            if plan.node is not None:
                self._create(plan.node)
            elif plan.decision is None or plan.decision.decision != "fanout":
                return

    def _decide(self, decision: LineageDecision) -> None:
        order = len(self.checkpoint.nodes)
        told: dict[str, Any] = {} if decision.by == "rule" else {"by": decision.by}
        if decision.idea_indices:
            left = self._limits.max_nodes - order
            if self._recorded is None:
                children = plan_children(self.checkpoint.path, decision.idea_indices, left=left)
            else:
                children = self._recorded.children_of(order)
            told["children"] = [child.model_dump() for child in children]
        self._append(
            "lineage_decision",
            node_id=decision.node_id,
            decision=decision.decision,
            rationale=decision.rationale,
            idea_index=decision.idea_index,
            at_order=order,
            **told,
        )
        if decision.decision == "terminate":
            self._ending = self._ending_of(decision.rationale)

    @staticmethod
    def _ending_of(rationale: str) -> str:
        return f"the search stood still: {rationale}"

    # ---------------------------------------------------------------------------------- sub-experiments

    def _may_fan_out(self) -> bool:
        """Whether the study may have children, and knows what to do with what they find."""
        depth = self.checkpoint.meta.recursion_depth
        return depth < self.settings.max_recursion_depth and self.experiment.kind in ("symbolic", "command")

    def _children(self) -> list[ChildPlan]:
        if len(self.checkpoint.nodes) >= self._limits.max_nodes:
            return []
        return pending_children(self.checkpoint, self._barren)

    def _run_children(self) -> None:
        """Run every child of the fanout that has not been run, and take over what it found."""
        for child in self._children():
            if self._recorded is not None:
                plan = self._recorded.findings.get(child.name)
            else:
                result = self._run_child(child)
                if result is not None and result.exhausted:
                    self._budget.spent = result.reason
                if self._stop.is_set() or self._budget.spent is not None:
                    return
                plan = None if result is None else plan_of_finding(child, result)
            order = len(self.checkpoint.nodes)
            if plan is None:
                self._barren.add(child.name)
            elif order < self._limits.max_nodes:
                root = self.checkpoint.root_node_id
                self._create(PlannedNode(node_id(order), root, 1, "improve", order, dict(plan)))

    def _run_child(self, child: ChildPlan) -> StudyResult | None:
        """Begin a child or go on with it; None where that is not possible, with a warning."""
        path = self.checkpoint.path.absolute().parent / child.name
        limits = self._budget.allowance(child.name)
        try:
            if is_checkpoint(path):
                return _go_on(path, self._stop, self._listen_to(child), limits=limits)
            shutil.rmtree(path, ignore_errors=True)  # what a killed run had begun to set up under this name
            options = RunOptions(
                source_of(self.checkpoint),
                output=path,
                nodes=child.nodes,
                parent=self.checkpoint.path,
                ideas=(child.idea_index,),
                **limits,
            )
            return _begin(options, self._stop, self._listen_to(child))
        except (AriError, OSError) as error:
            self.warnings.append(f"the sub-experiment {child.name} could not be run: {error}")
            return None
        finally:
            self._budget.note_child(child.name, path)

    def _listen_to(self, child: ChildPlan) -> EventListener | None:
        """Show whoever watches that a child is at work; its own events are its own."""
        watcher, started = self._on_event, time.monotonic()
        if watcher is None:
            return None

        def tell(_event: Mapping[str, Any], _checkpoint: Checkpoint) -> None:
            seconds = time.monotonic() - started
            running = {"node_id": child.name, "label": "sub-experiment", "seconds": seconds}
            watcher({"event": "tick", "running": [running]}, self.checkpoint)

        return tell

    def _create(self, node: PlannedNode) -> None:
        if node.parent_id is None:
            self._tell_of_the_root_idea(node)
        self._append("node_created", node=node.as_event())
        if node.parent_id is not None:
            count = len(self.checkpoint.nodes[node.parent_id].children)
            self._append("node_state", node_id=node.parent_id, search_state={"expansions": count})

    def _tell_of_the_root_idea(self, root: PlannedNode) -> None:
        """Record which idea the study begins with; once, also when it is killed before the root is there."""
        if any(event["event"] == "idea_selected" for event in self.checkpoint.events()):
            return
        index = root.plan["idea_index"]
        idea = self._planner.ideas[index]
        place = f"first of {len(self._planner.ideas)} ideas"
        why = "inherited and pinned, and therefore" if idea.get("_pinned") else "ranked"
        self._append("idea_selected", index=index, title=str(idea["title"]), rationale=f"{why} {place}")

    def _launch(self) -> bool:
        """Start nodes while there is room; says whether one ended at once, so that planning can go on."""
        ended = False
        if self._budget.spent is not None:
            return ended
        waiting = [
            node
            for node in self.checkpoint.nodes.values()
            if not node.finished and (self._recorded is None or self._recorded.ran(node.id))
        ]
        for node in sorted(waiting, key=lambda node: node.order):
            if self._pool.free <= 0 or self._stop.is_set():
                break
            if node.id not in self._pool.running:
                ended = not self._start(node) or ended
        return ended

    def _start(self, node: NodeState) -> bool:
        """Start a node; False when it has ended already."""
        self._append("node_started", node_id=node.id, attempt=node.attempt + 1)
        task = self._task(node)
        try:
            node_dirs.prepare(
                self.checkpoint.path,
                node.id,
                node.parent_id,
                written_sources=self.experiment.kind == "code",
            )
        except (AriError, OSError) as error:
            self._record(NodeOutcome(node_id=node.id, status="errored", error=f"the node's folder: {error}"))
            return False
        if self._recorded is not None and node.id in self._recorded.given_up:
            self._recorded.take_over(self.checkpoint.path, node.id)
            self._record(errored(node.id, self._recorded.given_up[node.id]))
            return False
        self._pool.start(task)
        return True

    def _task(self, node: NodeState) -> NodeTask:
        return node_task(self.checkpoint, node, experiment=self.experiment, settings=self.settings)

    def _record(self, outcome: NodeOutcome) -> None:
        """Write the node's report, then its end into the journal."""
        node = self.checkpoint.nodes[outcome.node_id]
        ancestors = ancestors_of(node, self.checkpoint.nodes)
        report: dict[str, Any] = {}
        try:
            report = build_report(
                self.checkpoint.path, node, outcome, ancestors=ancestors, completed_at=utc_now()
            )
            self.checkpoint.write_product(f"experiments/{node.id}/{node_dirs.REPORT}", report)
        except (AriError, OSError, ValueError) as error:
            self.warnings.append(f"{node.id}: its report could not be written: {error}")
        self._append(
            "node_finished",
            node_id=node.id,
            status=outcome.status,
            metrics=outcome.metrics,
            metrics_with_metadata=outcome.metrics_with_metadata,
            score=outcome.score,
            has_real_data=outcome.has_real_data,
            eval_summary=outcome.eval_summary,
            work_dir=f"experiments/{node.id}",
            artifacts=report.get("artifacts", []),
            search_state={"sterile": True} if outcome.sterile else {},
            error=outcome.error,
            duration_s=outcome.duration_s,
        )
        self._remember([self.checkpoint.nodes[outcome.node_id]])

    def _settle_memory(self) -> None:
        try:
            remember_all(self.checkpoint, self._memory)
        except AriError as error:  # see `_remember`: a damaged memory must not keep a study from its end
            self.warnings.append(f"the memory could not be written: {error.message}")

    def _remember(self, nodes: Sequence[NodeState]) -> None:
        try:
            consolidate(self._memory, self.checkpoint, nodes)
        except AriError as error:  # the tree holds everything; what is remembered can be derived again
            self.warnings.append(f"the memory could not be written: {error.message}")

    # --------------------------------------------------------------------------------------------- the end

    def _finish(self) -> StudyResult:
        view = search_view(self.checkpoint, self._limits, len(self.checkpoint.nodes))
        for node in view.nodes.values():
            reason = exit_reason(node, view) if node.finished else None
            if reason is not None:
                flag = reason.split(":")[0]
                state = {flag: True, "reason": reason.partition(": ")[2]}
                self._append("node_state", node_id=node.id, search_state=state)
        top = best(list(view.nodes.values()))
        if self.experiment.kind == "symbolic" and top is not None:
            self._measure_sealed()
        self._record_facts()
        self._settle_memory()
        reason = self._budget.spent or self._ending or self._size_reason()
        self.checkpoint.write_nodes_tree()
        self.checkpoint.write_results(top.id if top else None)
        self._append("run_finished", reason=reason, best_node_id=top.id if top else None)
        return self.result(reason, interrupted=False)

    def _size_reason(self) -> str:
        if len(self.checkpoint.nodes) >= self.settings.nodes:
            return f"all {self.settings.nodes} nodes have been run"
        return "no node is left to expand"

    def _measure_sealed(self) -> None:
        for measured in measure_sealed(self.checkpoint, self.experiment):
            self._append(
                "node_evaluated",
                node_id=measured.node_id,
                metrics=measured.metrics,
                metrics_with_metadata=measured.metadata,
            )

    def _record_facts(self) -> None:
        for facts in study_facts(self.checkpoint, self.experiment):
            self._append(
                "node_evaluated",
                node_id=facts.node_id,
                metrics=facts.metrics,
                metrics_with_metadata=facts.metadata,
            )

    def result(self, reason: str, *, interrupted: bool) -> StudyResult:
        """The study as it stands now."""
        state = self.checkpoint.state
        view = search_view(self.checkpoint, self._limits, len(self.checkpoint.nodes))
        top = best(list(view.nodes.values()))
        node = self.checkpoint.nodes[top.id] if top is not None else None
        formula = self._formula(node)
        return StudyResult(
            checkpoint=self.checkpoint.path,
            reason=reason,
            goal=state.goal,
            primary_metric=state.primary_metric,
            higher_is_better=bool(state.higher_is_better),
            best=replace(node) if node is not None else None,
            formula=formula,
            latex=_latex(formula, self.experiment),
            sealed_metrics=SealedResult.of_node(node),
            parameters=dict(node.plan.get("params", {})) if node is not None else {},
            root_value=self._value(self.checkpoint.nodes.get(self.checkpoint.root_node_id or "")),
            ceiling=self._ceiling(node),
            warnings=self.warnings,
            seconds=time.monotonic() - self._started,
            interrupted=interrupted,
            exhausted=reason.startswith(EXHAUSTED),
        )

    def _value(self, node: NodeState | None) -> float | None:
        return None if node is None else node.metrics.get(self.experiment.primary_metric)

    def _ceiling(self, node: NodeState | None) -> float | None:
        """The ceiling at a node, if its run records bear out that it was measured."""
        ceiling = self.experiment.ceiling
        if node is None or ceiling is None or ceiling.bounds != self.experiment.primary_metric:
            return None
        measured = node.metrics_with_metadata.get(ceiling.metric, {}).get("provenance")
        return node.metrics.get(ceiling.metric) if measured in ("microbench", "benchmark") else None

    def _formula(self, node: NodeState | None) -> str | None:
        if node is None or self.experiment.kind != "symbolic":
            return None
        text = read_relative(self.checkpoint.path, node).submission.get("formula")
        return f"{self.experiment.target} = {text}" if text else None

    # ----------------------------------------------------------------------------------------------- events

    def _append(self, event: str, **fields: Any) -> None:  # noqa: ANN401 - the fields of the event
        recorded = self.checkpoint.append(event, **fields)
        if self._on_event is not None:
            self._on_event(recorded, self.checkpoint)

    def _tick(self) -> None:
        if self._on_event is not None:
            running = [
                {"node_id": node.task.node_id, "label": node.task.label, "seconds": node.seconds}
                for node in self._pool.running.values()
            ]
            self._on_event({"event": "tick", "running": running}, self.checkpoint)


def _latex(formula: str | None, experiment: Experiment) -> str | None:
    if formula is None:
        return None
    from sr_harness.engine import latex, parse
    from sr_harness.engine.build import var

    right = formula.split(" = ", 1)[1]
    return f"{latex(var(experiment.target or 'y'))} = {latex(parse(right))}"
