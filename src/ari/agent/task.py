"""What a node's agent loop is given and what it answers: plain data that crosses process borders as JSON."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ari.pipeline.experiment_spec import Experiment

Label = Literal["draft", "improve", "debug", "ablation", "validation", "other"]


class Relative(BaseModel):
    """What is known of another node of the tree: an ancestor, or an earlier child of the same parent."""

    model_config = ConfigDict(frozen=True)

    node_id: str
    label: str
    status: str
    score: float
    metrics: dict[str, float | None]
    plan: dict[str, Any]
    submission: dict[str, Any]
    summary: str = ""
    error: str | None = None


class NodeTask(BaseModel):
    """One node to be run: who it is, what it is to try, and with what means."""

    model_config = ConfigDict(frozen=True)

    checkpoint: str
    node_id: str
    parent_id: str | None
    label: str
    depth: int
    order: int
    plan: dict[str, Any]
    experiment: Experiment
    higher_is_better: bool
    ancestors: tuple[Relative, ...] = Field(default=(), description="Root first, parent last.")
    seed: int = 0
    model: str = "offline"
    repairs: int = 3
    search_work: int = 60_000
    symbolic_driver: Literal["agent", "loop"] = "agent"
    sr_shape: tuple[int, int, int, int] = (1, 2, 4, 2)
    time_limit_s: float = 300.0
    command_limit_s: float = 60.0
    memory_bytes: int | None = None

    @property
    def parent(self) -> Relative | None:
        """The node this one was expanded from."""
        return self.ancestors[-1] if self.ancestors else None


class NodeOutcome(BaseModel):
    """What came of a node, as the evaluator measured it.

    `exhausted` says that the budget ended the node's work before the node did; `unrecorded` that a replayed
    node asked for what its recording does not hold.
    """

    node_id: str
    status: Literal["completed", "errored"]
    metrics: dict[str, float | None] = {}
    metrics_with_metadata: dict[str, dict[str, Any]] = {}
    score: float = 0.0
    has_real_data: bool = False
    sterile: bool = False
    eval_summary: str = ""
    what_was_done: str = ""
    submission: dict[str, Any] = {}
    provenance: dict[str, str] = {}
    concerns: list[str] = []
    error: str | None = None
    duration_s: float = 0.0
    work_used: int = 0
    exhausted: str | None = None
    unrecorded: str | None = None


class Proposal(BaseModel):
    """The next experiment to try below a node."""

    label: str = Field(description="draft, improve, debug, ablation, validation, or a label of your own.")
    summary: str = Field(description="One sentence: what is tried and why.")
    plan: dict[str, Any] = Field(default_factory=dict, description="Details the node's agent works from.")
