"""A finished study as figures and paper read it: one frozen object, taken from the checkpoint once.

Everything here was written by the run (tree, experiment, meta, node reports, run records); nothing is
computed but the best node, and nothing is written. A checkpoint of another tool, which lacks some of it,
gives a study with fewer facts, never an error about what is merely absent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ari.paths import inside

if TYPE_CHECKING:
    from ari.checkpoint import Checkpoint, NodeState
    from ari.pipeline.experiment_spec import Experiment

Kind = Literal["symbolic", "command", "code"]

SEALED = "sealed_"
"""Prefix of metrics measured on the sealed rows."""


@dataclass(frozen=True)
class Node:
    """One experiment of the tree.

    Attributes:
        id: Its identity.
        parent: Identity of its parent; None for the root.
        order: Position in which the search planned it.
        depth: Steps from the root.
        label: What it was for.
        status: `completed`, `errored`, `pending` or `running`.
        metrics: Name to finite number; what was not finite is left out.
        metadata: Per metric: n, range, extractor.
        score: Its score; None where it has none.
        plan: What the search asked of it.
        submission: What it handed in: `formula` or `params`.
        sterile: Whether it changed nothing.
        measured: Whether the evaluator confirmed a measurement.
        error: Why it failed.
        work_dir: Its folder, relative to the checkpoint.
        artifacts: Its files with `path` and `sha256`.
        duration_s: Seconds it took.
    """

    id: str
    parent: str | None
    order: int
    depth: int
    label: str
    status: str
    metrics: Mapping[str, float]
    metadata: Mapping[str, Mapping[str, Any]]
    score: float | None
    plan: Mapping[str, Any]
    submission: Mapping[str, Any]
    sterile: bool
    measured: bool
    error: str | None
    work_dir: str
    artifacts: Sequence[Mapping[str, Any]] = ()
    duration_s: float | None = None

    @property
    def formula(self) -> str | None:
        """The formula it submitted, in the expression language."""
        text = self.submission.get("formula")
        return text if isinstance(text, str) and text else None

    @property
    def params(self) -> Mapping[str, Any]:
        """The parameter values of its configuration."""
        params = self.submission.get("params") or self.plan.get("params")
        return params if isinstance(params, Mapping) else {}

    @property
    def counts(self) -> bool:
        """Whether it may be best: it completed, changed something, and was measured."""
        return self.status == "completed" and not self.sterile and self.measured

    @property
    def number(self) -> str:
        """The short name shown in figures and tables: its position, or its identity where it has none."""
        return str(self.order)


@dataclass(frozen=True)
class FinishedStudy:
    """What a run left behind.

    Attributes:
        path: The checkpoint.
        kind: Whether formulas were searched, configurations of a command, or programs were written.
        title: Title of `experiment.md`.
        question: Its text.
        goal: The goal recorded with the run.
        primary_metric: The metric that the study is about.
        higher_is_better: Its direction.
        nodes: All nodes in the order they were planned.
        best: The node whose result is reported; None when nothing was measured.
        experiment: What `experiment.md` asked for; None in checkpoints of other tools.
        meta: `meta.json`.
        settings: Settings of the run.
        decisions: What the stagnation rule decided.
        ideas: `idea.json`.
        contract: `metric_contract.json`; empty where there is none.
    """

    path: Path
    kind: Kind
    title: str
    question: str
    goal: str
    primary_metric: str
    higher_is_better: bool
    nodes: tuple[Node, ...]
    best: Node | None
    experiment: Experiment | None
    meta: Mapping[str, Any]
    settings: Mapping[str, Any]
    decisions: Sequence[Mapping[str, Any]] = ()
    ideas: Sequence[Mapping[str, Any]] = ()
    contract: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def open(cls, path: Path) -> FinishedStudy:
        """Read a checkpoint.

        Raises:
            CheckpointError: If it cannot be opened.
        """
        from ari.checkpoint import Checkpoint

        return read_study(Checkpoint.open(path, read_only=True))

    def node(self, identity: str | None) -> Node | None:
        """The node with this identity."""
        return next((node for node in self.nodes if node.id == identity), None)

    @property
    def root(self) -> Node | None:
        """The node without a parent."""
        return next((node for node in self.nodes if node.parent is None), None)

    @property
    def target(self) -> str:
        """Name of the variable that a formula is to give."""
        data = self.meta.get("data")
        recorded = data.get("target") if isinstance(data, Mapping) else None
        return str(recorded or (self.experiment.target if self.experiment else "") or "y")

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs of the formula search."""
        data = self.meta.get("data")
        recorded = data.get("inputs") if isinstance(data, Mapping) else None
        return tuple(str(name) for name in recorded or ())

    @property
    def estimated(self) -> str | None:
        """What was derived, and along what, where the target is an estimated derivative: `x along t`."""
        data = self.meta.get("data")
        recorded = data.get("estimated") if isinstance(data, Mapping) else None
        return recorded if isinstance(recorded, str) else None

    @property
    def ceiling_metric(self) -> str | None:
        """The metric that bounds the primary one, where one was measured."""
        ceiling = self.experiment.ceiling if self.experiment else None
        return ceiling.metric if ceiling and ceiling.bounds == self.primary_metric else None

    def lineage(self, node: Node) -> tuple[Node, ...]:
        """The nodes from the root to `node`."""
        chain: list[Node] = []
        current: Node | None = node
        while current is not None and current not in chain:
            chain.append(current)
            current = self.node(current.parent)
        return tuple(reversed(chain))


def read_study(checkpoint: Checkpoint) -> FinishedStudy:
    """Take the study from an open checkpoint."""
    path, state = checkpoint.path, checkpoint.state
    nodes = tuple(
        _node(path, state_of) for state_of in sorted(checkpoint.nodes.values(), key=lambda n: (n.order, n.id))
    )
    experiment = _experiment(state.settings)
    criteria = _document(path / "evaluation_criteria.json")
    best = next((node for node in nodes if node.id == checkpoint.best_node_id), None)
    symbolic = any(node.formula for node in nodes)
    ideas = _document(path / "idea.json").get("ideas")
    title, question = (experiment.title, experiment.question) if experiment else _prose(path)
    return FinishedStudy(
        path=path,
        kind=experiment.kind if experiment else "symbolic" if symbolic else "command",
        title=title,
        question=question,
        goal=state.goal or question,
        primary_metric=state.primary_metric or str(criteria.get("primary_metric") or "score"),
        higher_is_better=bool(
            state.higher_is_better
            if state.higher_is_better is not None
            else criteria.get("higher_is_better", True)
        ),
        nodes=nodes,
        best=best,
        experiment=experiment,
        meta=_document(path / "meta.json"),
        settings={key: value for key, value in state.settings.items() if key != "experiment"}
        or _document(path / "settings.json"),
        decisions=tuple(state.decisions),
        ideas=tuple(idea for idea in ideas if isinstance(idea, Mapping)) if isinstance(ideas, list) else (),
        contract=_document(path / "metric_contract.json"),
    )


def _node(checkpoint: Path, state: NodeState) -> Node:
    report = _document(checkpoint / state.work_dir / "node_report.json") if state.work_dir else {}
    submission = report.get("submission")
    sterile = bool(state.search_state.sterile)
    scored = state.status == "completed" and not sterile
    return Node(
        id=state.id,
        parent=state.parent_id,
        order=state.order,
        depth=state.depth,
        label=state.label,
        status=state.status,
        metrics={name: float(value) for name, value in state.metrics.items() if value is not None},
        metadata=state.metrics_with_metadata,
        score=state.score if scored else None,
        plan=state.plan,
        submission=submission if isinstance(submission, Mapping) else {},
        sterile=sterile,
        measured=state.has_real_data,
        error=state.error,
        work_dir=state.work_dir,
        artifacts=tuple(state.artifacts),
        duration_s=state.duration_s,
    )


def _experiment(settings: Mapping[str, Any]) -> Experiment | None:
    from pydantic import ValidationError

    from ari.pipeline.experiment_spec import Experiment

    try:
        return Experiment.model_validate(settings.get("experiment"))
    except ValidationError:
        return None  # recorded by another tool


def _prose(path: Path) -> tuple[str, str]:
    """Title and text of an `experiment.md` that this project did not check."""
    try:
        text = (path / "experiment.md").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return path.name, ""
    lines = [line.strip() for line in text.split("<!--", 1)[0].splitlines()]
    title = next((line.lstrip("# ") for line in lines if line.startswith("#")), path.name)
    body = [line for line in lines if line and not line.startswith("#")]
    return title, " ".join(body)


def _document(path: Path) -> dict[str, Any]:
    """A JSON object of the checkpoint; empty where the file is absent or holds something else."""
    try:
        loaded = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}  # `ari validate` is the place that reports unreadable files
    return loaded if isinstance(loaded, dict) else {}


def commands_of(study: FinishedStudy, node: Node) -> tuple[str, ...]:
    """The commands that a node's runs recorded, in order, each once."""
    try:
        record = inside(study.path, f"records/{node.id}/run_record.json")
    except ValueError:
        return ()
    runs = _document(record).get("runs")
    found = [run.get("command") for run in runs if isinstance(run, Mapping)] if isinstance(runs, list) else []
    return tuple(dict.fromkeys(command for command in found if isinstance(command, str)))
