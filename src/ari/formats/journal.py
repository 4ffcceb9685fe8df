"""`journal.jsonl`: the truth of a run, one event a line.

Every event carries `seq` (1, 2, 3, …), `ts` (ISO 8601, UTC, `Z`) and `event`. An event may carry further
keys; they are kept.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, ValidationError

from ari.formats.base import FiniteNumber, FormatModel, Metrics, Problem, translate
from ari.formats.lineage_decisions import ChildPlan, DecisionKind
from ari.formats.nodes_tree import Artifact, MetricNote, Sha256
from ari.formats.tree import Label


class Event(FormatModel):
    """What every event carries."""

    seq: int = Field(ge=1)
    ts: str = Field(min_length=1)


class RunCreated(Event):
    """The first event: what is asked and how."""

    event: Literal["run_created"]
    run_id: str = Field(min_length=1)
    seed: int | None = None
    goal: str = ""
    primary_metric: str
    higher_is_better: bool
    settings: dict[str, Any] = Field(default_factory=dict)


class NodePlan(FormatModel):
    """A node as the search planned it."""

    id: str = Field(min_length=1)
    parent_id: str | None
    depth: int = Field(ge=0)
    label: Label
    raw_label: str | None = None
    order: int = Field(ge=0)
    plan: dict[str, Any] = Field(default_factory=dict)


class NodeCreated(Event):
    """A node has been planned and is pending."""

    event: Literal["node_created"]
    node: NodePlan


class NodeStarted(Event):
    """A node runs; `attempt` counts from 1 and grows when a resumed run starts it again.

    `started_at` and, at the end, `completed_at` may give other times than those of the records.
    """

    event: Literal["node_started"]
    node_id: str
    attempt: int = Field(default=1, ge=1)
    started_at: str | None = None


class NodeFinished(Event):
    """A node has ended and its result has been measured."""

    event: Literal["node_finished"]
    node_id: str
    status: Literal["completed", "errored"]
    metrics: Metrics = Field(default_factory=dict)
    score: FiniteNumber = 0.0
    has_real_data: bool = False
    eval_summary: str | None = None
    metrics_with_metadata: dict[str, MetricNote] = Field(default_factory=dict)
    work_dir: str | None = None
    artifacts: list[Artifact] = Field(default_factory=list)
    search_state: dict[str, Any] = Field(default_factory=dict)
    error: str | None = None
    duration_s: FiniteNumber | None = None
    completed_at: str | None = None


class NodePaused(Event):
    """A node was cut short before it had a result, and is pending again; a resumed run goes on with it."""

    event: Literal["node_paused"]
    node_id: str
    reason: str


class NodeEvaluated(Event):
    """A finished node has been measured once more (sealed rows, repeats); the metrics are merged."""

    event: Literal["node_evaluated"]
    node_id: str
    metrics: Metrics = Field(default_factory=dict)
    metrics_with_metadata: dict[str, MetricNote] = Field(default_factory=dict)


class NodeSearchState(Event):
    """The search changed its mind about a node; the given flags are merged."""

    event: Literal["node_state"]
    node_id: str
    search_state: dict[str, Any]


class LineageDecided(Event):
    """The stagnation rule decided, or a model in place of the end."""

    event: Literal["lineage_decision"]
    node_id: str | None
    decision: DecisionKind
    rationale: str = ""
    idea_index: int | None = None
    by: Literal["rule", "model"] = "rule"
    children: list[ChildPlan] = Field(default_factory=list)


class IdeaSelected(Event):
    """The search chose the idea of `idea.json` that the root begins with, and why."""

    event: Literal["idea_selected"]
    index: int = Field(ge=0)
    title: str = ""
    rationale: str = ""


class StageStarted(Event):
    """A stage of the workflow began."""

    event: Literal["stage_started"]
    stage: str


class StageFinished(Event):
    """A stage of the workflow ended; its products lie in the checkpoint with these hashes.

    Attributes:
        stage: Its name.
        status: `done`; `blocked` when its tool forbids what follows; `failed`.
        outputs: Its products, path to SHA-256.
        inputs: What it read, path to SHA-256; null for a file that was absent and may be.
        parameters: SHA-256 of its tool, parameters and list of outputs.
        code: SHA-256 of the program's sources.
        reason: Why it is blocked or failed, or why it has to be run again next time.
        summary: What was done, in a line.
        duration_s: Seconds it took.
    """

    event: Literal["stage_finished"]
    stage: str
    status: Literal["done", "blocked", "failed"] = "done"
    outputs: dict[str, Sha256] = Field(default_factory=dict)
    inputs: dict[str, Sha256 | None] = Field(default_factory=dict)
    parameters: Sha256 | None = None
    code: Sha256 | None = None
    reason: str = ""
    summary: str = ""
    duration_s: FiniteNumber | None = None


class RunInterrupted(Event):
    """The run was asked to stop."""

    event: Literal["run_interrupted"]
    reason: str


class RunResumed(Event):
    """Another process went on with the run; `settings` are those that are no longer as at its beginning."""

    event: Literal["run_resumed"]
    pid: int
    settings: dict[str, Any] = Field(default_factory=dict)


class RunFinished(Event):
    """The run came to its end."""

    event: Literal["run_finished"]
    reason: str
    best_node_id: str | None = None


class JournalRepaired(Event):
    """`ari repair` dropped damaged lines; the journal as it was lies in `backup`."""

    event: Literal["journal_repaired"]
    dropped_lines: list[int]
    backup: str


EVENT_MODELS: dict[str, type[Event]] = {
    "run_created": RunCreated,
    "node_created": NodeCreated,
    "node_started": NodeStarted,
    "node_finished": NodeFinished,
    "node_paused": NodePaused,
    "node_evaluated": NodeEvaluated,
    "node_state": NodeSearchState,
    "lineage_decision": LineageDecided,
    "idea_selected": IdeaSelected,
    "stage_started": StageStarted,
    "stage_finished": StageFinished,
    "run_interrupted": RunInterrupted,
    "run_resumed": RunResumed,
    "run_finished": RunFinished,
    "journal_repaired": JournalRepaired,
}
"""Name of the event to its model."""


def event_problems(document: object) -> list[Problem]:
    """Say what is wrong with the object of one journal line.

    Args:
        document: The parsed line.

    Returns:
        The faults; empty for a sound event.
    """
    if not isinstance(document, dict):
        return [Problem("schema.type", "", "an event is a JSON object")]
    name = document.get("event")
    if name is None:
        return [Problem("schema.required", "/event", "Field required")]
    if name not in EVENT_MODELS:
        return [Problem("schema.enum", "/event", f"an event is one of {', '.join(EVENT_MODELS)}")]
    try:
        EVENT_MODELS[name].model_validate(document)
    except ValidationError as error:
        return translate(error, document)
    return []
