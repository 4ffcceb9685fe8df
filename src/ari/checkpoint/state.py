"""The state of a run, folded from its events; no file is touched here.

`RunState.apply` is the only way in which the state changes. It refuses an event that contradicts what is
known (a node that does not exist, a depth that is not the parent's plus one, a node finished twice), so a
wrong event never reaches the journal and a damaged journal never becomes a plausible tree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ari.errors import CheckpointError
from ari.formats.tree import Label, SearchState, Status

_FINISHED = ("completed", "errored")


@dataclass(slots=True)
class NodeState:
    """What is known of one node: all of `nodes_tree.json` but the trace, and the search's own notes.

    Attributes:
        id: Identity, also the name of its folder.
        parent_id: The parent; None for the root.
        depth: Steps from the root.
        label: What it is for.
        order: Position in which the search planned it; selection sees nodes in this order.
        raw_label: The label as it was given, where `label` is `other`.
        plan: What the search asked of it.
        status: One of the four documented statuses.
        attempt: How often it was started.
        metrics: Finite numbers or None.
        score: Always finite, 0.0 where there is none.
        children: Ids in the order of their creation.
        eval_summary: The evaluator's verdict in words.
        metrics_with_metadata: Confidence, extractor and `non_finite` per metric.
        has_real_data: Whether the evaluator confirmed a real measurement.
        work_dir: Folder, relative to the checkpoint.
        artifacts: Files it produced (`path` relative to the work_dir, `sha256`, …).
        search_state: Flags of the search.
        error: Why it failed.
        started_at: Time of its last start.
        completed_at: Time at which it ended.
        duration_s: Seconds it took.
        session: 1 for the first process that wrote the run, one more with every resume.
        extra: Keys of other tools, kept.
    """

    id: str
    parent_id: str | None
    depth: int
    label: Label
    order: int = 0
    raw_label: str | None = None
    plan: dict[str, Any] = field(default_factory=dict)
    status: Status = "pending"
    attempt: int = 0
    metrics: dict[str, float | None] = field(default_factory=dict)
    score: float = 0.0
    children: list[str] = field(default_factory=list)
    eval_summary: str | None = None
    metrics_with_metadata: dict[str, dict[str, Any]] = field(default_factory=dict)
    has_real_data: bool = False
    work_dir: str = ""
    artifacts: list[dict[str, Any]] = field(default_factory=list)
    search_state: SearchState = field(default_factory=SearchState)
    error: str | None = None
    started_at: str | None = None
    completed_at: str | None = None
    duration_s: float | None = None
    session: int = 1
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def finished(self) -> bool:
        """Whether the node has ended, well or badly."""
        return self.status in _FINISHED


@dataclass(slots=True)
class StageState:
    """What is known of one stage of the workflow.

    Attributes:
        finished: Whether it ended, well or badly; not while it runs, nor when a kill ended it.
        status: `done`, `blocked`, `failed`; `running` before.
        outputs: Its products, path to SHA-256.
        inputs: What it read, path to SHA-256; None for a file that was absent.
        parameters: SHA-256 of its tool, parameters and list of outputs.
        code: SHA-256 of the program that ran it.
        reason: Why it is blocked or failed, or has to be run again.
        summary: What was done.
        seq: Number of the event that ended it.
    """

    finished: bool = False
    status: str = "running"
    outputs: dict[str, str] = field(default_factory=dict)
    inputs: dict[str, str | None] = field(default_factory=dict)
    parameters: str | None = None
    code: str | None = None
    reason: str = ""
    summary: str = ""
    seq: int = 0


@dataclass(slots=True)
class RunState:
    """The whole run.

    Attributes:
        run_id: Identity of the run; empty before `run_created`.
        seed: Its seed.
        goal: The experiment's goal.
        primary_metric: The metric it is about.
        higher_is_better: Its direction.
        settings: The settings it was started with, and those it was resumed with since.
        nodes: Id to node, in order of creation.
        root_node_id: The node without a parent.
        decisions: The stagnation rule's decisions, as in `lineage_decisions.jsonl`.
        idea_index: The idea that the search follows.
        stages: Name to state.
        session: Present session, from 1.
        interrupted: Why the run was last asked to stop; None while it goes on.
        finished: Why the run ended; None before.
        best_node_id: What `run_finished` named.
        last_seq: Number of the last event.
        last_ts: Time of the last event.
    """

    run_id: str = ""
    seed: int | None = None
    goal: str = ""
    primary_metric: str = ""
    higher_is_better: bool | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    nodes: dict[str, NodeState] = field(default_factory=dict)
    root_node_id: str | None = None
    decisions: list[dict[str, Any]] = field(default_factory=list)
    idea_index: int = 0
    stages: dict[str, StageState] = field(default_factory=dict)
    session: int = 1
    interrupted: str | None = None
    finished: str | None = None
    best_node_id: str | None = None
    last_seq: int = 0
    last_ts: str = ""

    def check(self, event: dict[str, Any]) -> None:
        """Refuse an event that contradicts the state, without changing anything.

        Args:
            event: A sound event.

        Raises:
            CheckpointError: If it contradicts what is known.
        """
        name = event["event"]
        if name == "run_created":
            _require(not self.run_id, "the run has been created already")
        else:
            _require(bool(self.run_id), f"{name} comes before run_created")
        check = _CHECKS.get(name)
        if check is not None:
            check(self, event)

    def apply(self, event: dict[str, Any]) -> tuple[str, ...]:
        """Fold one event into the state.

        Args:
            event: A sound event.

        Returns:
            The ids of the nodes whose summary changed.

        Raises:
            CheckpointError: If it contradicts what is known; the state is then unchanged.
        """
        self.check(event)
        self.last_seq, self.last_ts = event["seq"], event["ts"]
        return _FOLDS[event["event"]](self, event)


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise CheckpointError(message)


def _check_created(state: RunState, event: dict[str, Any]) -> None:
    node = event["node"]
    name, parent_id = node["id"], node["parent_id"]
    _require(name not in state.nodes, f"node {name} has been created already")
    if parent_id is None:
        _require(
            state.root_node_id is None, f"node {name} has no parent, but the root is {state.root_node_id}"
        )
        _require(node["depth"] == 0, f"the root {name} has depth {node['depth']} instead of 0")
        return
    _require(parent_id in state.nodes, f"node {name} has the unknown parent {parent_id}")
    depth = state.nodes[parent_id].depth + 1
    _require(node["depth"] == depth, f"node {name} has depth {node['depth']} instead of {depth}")


def _check_started(state: RunState, event: dict[str, Any]) -> None:
    node = _known(state, event)
    _require(not node.finished, f"node {node.id} has finished ({node.status}) and is not run twice")


def _check_finished(state: RunState, event: dict[str, Any]) -> None:
    node = _known(state, event)
    _require(not node.finished, f"node {node.id} has finished already ({node.status})")


def _known(state: RunState, event: dict[str, Any]) -> NodeState:
    node = state.nodes.get(event["node_id"])
    if node is None:
        raise CheckpointError(f"{event['event']} names the unknown node {event['node_id']}")
    return node


def _check_node(state: RunState, event: dict[str, Any]) -> None:
    if event["node_id"] is not None:
        _known(state, event)


def _check_best(state: RunState, event: dict[str, Any]) -> None:
    best = event.get("best_node_id")
    _require(best is None or best in state.nodes, f"run_finished names the unknown node {best}")


_CHECKS: dict[str, Callable[[RunState, dict[str, Any]], None]] = {
    "node_created": _check_created,
    "node_started": _check_started,
    "node_finished": _check_finished,
    "node_paused": _check_finished,
    "node_evaluated": _check_node,
    "node_state": _check_node,
    "lineage_decision": _check_node,
    "run_finished": _check_best,
}


def _run_created(state: RunState, event: dict[str, Any]) -> tuple[str, ...]:
    state.run_id = event["run_id"]
    state.seed = event.get("seed")
    state.goal = event.get("goal", "")
    state.primary_metric = event["primary_metric"]
    state.higher_is_better = event["higher_is_better"]
    state.settings = event.get("settings", {})
    return ()


_PLANNED = frozenset({"id", "parent_id", "depth", "label", "raw_label", "order", "plan"})


def _node_created(state: RunState, event: dict[str, Any]) -> tuple[str, ...]:
    planned = event["node"]
    node = NodeState(
        id=planned["id"],
        parent_id=planned["parent_id"],
        depth=planned["depth"],
        label=planned["label"],
        raw_label=planned.get("raw_label"),
        order=planned["order"],
        plan=planned.get("plan", {}),
        work_dir=f"experiments/{planned['id']}",
        session=state.session,
        extra={key: value for key, value in planned.items() if key not in _PLANNED},
    )
    state.nodes[node.id] = node
    if node.parent_id is None:
        state.root_node_id = node.id
        return (node.id,)
    state.nodes[node.parent_id].children.append(node.id)
    return (node.id, node.parent_id)


def _node_started(state: RunState, event: dict[str, Any]) -> tuple[str, ...]:
    node = state.nodes[event["node_id"]]
    node.status = "running"
    node.attempt = event.get("attempt", node.attempt + 1)
    node.started_at = event.get("started_at") or event["ts"]
    return (node.id,)


def _node_paused(state: RunState, event: dict[str, Any]) -> tuple[str, ...]:
    node = state.nodes[event["node_id"]]
    node.status = "pending"
    return (node.id,)


def _merge_search_state(node: NodeState, changes: dict[str, Any]) -> None:
    if changes:
        node.search_state = SearchState.model_validate({**node.search_state.to_dict(), **changes})


_FINISH_KEYS = frozenset(
    {"seq", "ts", "event", "node_id", "status", "metrics", "score", "has_real_data", "eval_summary"}
    | {
        "metrics_with_metadata",
        "work_dir",
        "artifacts",
        "search_state",
        "error",
        "duration_s",
        "completed_at",
    }
)


def _node_finished(state: RunState, event: dict[str, Any]) -> tuple[str, ...]:
    node = state.nodes[event["node_id"]]
    node.status = event["status"]
    node.metrics = event.get("metrics", {})
    node.score = event.get("score", 0.0)
    node.has_real_data = event.get("has_real_data", False)
    node.eval_summary = event.get("eval_summary")
    node.metrics_with_metadata = event.get("metrics_with_metadata", {})
    node.work_dir = event.get("work_dir") or node.work_dir
    node.artifacts = event.get("artifacts", [])
    node.error = event.get("error")
    node.duration_s = event.get("duration_s")
    node.completed_at = event.get("completed_at") or event["ts"]
    node.extra.update({key: value for key, value in event.items() if key not in _FINISH_KEYS})
    _merge_search_state(node, event.get("search_state", {}))
    return (node.id,)


def _node_evaluated(state: RunState, event: dict[str, Any]) -> tuple[str, ...]:
    node = state.nodes[event["node_id"]]
    node.metrics = {**node.metrics, **event.get("metrics", {})}
    node.metrics_with_metadata = {**node.metrics_with_metadata, **event.get("metrics_with_metadata", {})}
    return (node.id,)


def _node_state(state: RunState, event: dict[str, Any]) -> tuple[str, ...]:
    node = state.nodes[event["node_id"]]
    _merge_search_state(node, event["search_state"])
    return (node.id,)


def _lineage_decision(state: RunState, event: dict[str, Any]) -> tuple[str, ...]:
    record = {key: value for key, value in event.items() if key not in {"seq", "event"}}
    state.decisions.append({"rationale": "", **record})
    if event.get("idea_index") is not None and event["decision"] == "switch_to_idea":
        state.idea_index = event["idea_index"]
    return ()


def _idea_selected(state: RunState, event: dict[str, Any]) -> tuple[str, ...]:
    state.idea_index = event["index"]
    return ()


def _stage_started(state: RunState, event: dict[str, Any]) -> tuple[str, ...]:
    state.stages[event["stage"]] = StageState()
    return ()


def _stage_finished(state: RunState, event: dict[str, Any]) -> tuple[str, ...]:
    state.stages[event["stage"]] = StageState(
        finished=True,
        status=event.get("status", "done"),
        outputs=event.get("outputs", {}),
        inputs=event.get("inputs", {}),
        parameters=event.get("parameters"),
        code=event.get("code"),
        reason=event.get("reason", ""),
        summary=event.get("summary", ""),
        seq=event["seq"],
    )
    return ()


def _run_interrupted(state: RunState, event: dict[str, Any]) -> tuple[str, ...]:
    state.interrupted = event["reason"]
    return ()


def _run_resumed(state: RunState, event: dict[str, Any]) -> tuple[str, ...]:
    state.session += 1
    state.settings = {**state.settings, **event.get("settings", {})}
    state.interrupted = state.finished = None
    return ()


def _run_finished(state: RunState, event: dict[str, Any]) -> tuple[str, ...]:
    state.finished = event["reason"]
    state.best_node_id = event.get("best_node_id")
    return ()


def _journal_repaired(_state: RunState, _event: dict[str, Any]) -> tuple[str, ...]:
    return ()


_FOLDS: dict[str, Callable[[RunState, dict[str, Any]], tuple[str, ...]]] = {
    "run_created": _run_created,
    "node_created": _node_created,
    "node_started": _node_started,
    "node_finished": _node_finished,
    "node_paused": _node_paused,
    "node_evaluated": _node_evaluated,
    "node_state": _node_state,
    "lineage_decision": _lineage_decision,
    "idea_selected": _idea_selected,
    "stage_started": _stage_started,
    "stage_finished": _stage_finished,
    "run_interrupted": _run_interrupted,
    "run_resumed": _run_resumed,
    "run_finished": _run_finished,
    "journal_repaired": _journal_repaired,
}
