"""The study as the transform reads it: nodes with their reports and results, nothing computed yet.

Files of a node lie where the tree says (`work_dir`), and a file that cannot be read is an anomaly, not the
end: what the evaluator recorded is in the tree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ari.checkpoint import Checkpoint, NodeState
from ari.errors import AriError, FormatError
from ari.formats.base import read_json
from ari.formats.node_results import read_node_results
from ari.orchestrator.facts import is_fact
from ari.paths import inside

SECTIONS = ("params", "measurements", "predictions", "scores")
EVALUATOR = ("sr_harness.evaluator", "form fitted")
"""How the notes of metrics begin that the evaluator computed from data of its own."""

COUNTS = frozenset({"complexity", "n", "sealed_n"})
"""Metrics that count something and compare nothing with a reference."""


@dataclass(frozen=True)
class Anomaly:
    """Something odd that a reader of the data should know."""

    node_id: str
    metric: str | None
    reason: str


@dataclass(frozen=True)
class NodeView:
    """One node.

    Attributes:
        state: What the journal says of it.
        report: Its `node_report.json`; empty when there is none.
        sections: `params`, `measurements`, `predictions`, `scores` of its `results*.json`, joined.
        declared: The `_provenance` tags of those files.
        written_by: File name of each value in `sections`.
        unreadable: What could not be read, and why.
    """

    state: NodeState
    report: Mapping[str, Any] = field(default_factory=dict)
    sections: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    declared: Mapping[str, str] = field(default_factory=dict)
    written_by: Mapping[str, str] = field(default_factory=dict)
    unreadable: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The node's id."""
        return self.state.id

    @property
    def counts(self) -> bool:
        """Whether it is a result: completed, not sterile, really measured."""
        return (
            self.state.status == "completed"
            and self.state.has_real_data
            and not self.state.search_state.sterile
        )

    @property
    def formula(self) -> str | None:
        """The formula that was submitted, if the node submitted one."""
        found = self.report.get("submission", {}).get("formula")
        return found if isinstance(found, str) and found else None

    @cached_property
    def plan(self) -> dict[str, Any]:
        """What the search asked of it."""
        return dict(self.state.plan or self.report.get("plan") or self.state.extra.get("plan") or {})

    @property
    def params(self) -> dict[str, Any]:
        """The values of its configuration."""
        submitted = self.report.get("submission", {}).get("params")
        return dict(submitted or self.sections.get("params") or self.plan.get("params") or {})

    @property
    def metrics(self) -> dict[str, float]:
        """Its finite metrics, facts of the study left out."""
        every = self.state.metrics
        return {n: v for n, v in every.items() if v is not None and not is_fact(n, every)}

    def tag(self, name: str) -> str | None:
        """Where a recorded metric comes from, as the run record bears it out; None when it says nothing."""
        note = self.state.metrics_with_metadata.get(name, {})
        if note.get("provenance"):
            return str(note["provenance"])
        computed = str(note.get("extractor", "")).startswith(EVALUATOR) and name not in COUNTS
        return "reference" if computed else None


class StudyView:
    """A checkpoint, read once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.checkpoint = Checkpoint.open(path, read_only=True)
        self.experiment: dict[str, Any] = dict(self.checkpoint.state.settings.get("experiment") or {})
        self.meta: dict[str, Any] = self.checkpoint.meta.to_dict()
        self.criteria: dict[str, Any] = self._document("evaluation_criteria.json")
        self.nodes: dict[str, NodeView] = {
            node.id: read_node(path, node) for node in self.checkpoint.nodes.values()
        }

    @property
    def kind(self) -> str:
        """`symbolic`, `command`, `code`, or empty for a study of another tool."""
        return str(self.experiment.get("kind", ""))

    @property
    def primary_metric(self) -> str:
        """The metric that decides."""
        state = self.checkpoint.state
        results = self._document("results.json")
        return str(
            self.criteria.get("primary_metric") or state.primary_metric or results.get("primary_metric") or ""
        )

    @property
    def higher_is_better(self) -> bool | None:
        """Its direction; None when nothing says."""
        told = self.criteria.get("higher_is_better", self.checkpoint.state.higher_is_better)
        return told if isinstance(told, bool) else None

    @property
    def best(self) -> NodeView | None:
        """The best node: what the results name, else the highest score among those that count."""
        named = self.nodes.get(self.checkpoint.best_node_id or "")
        if named is not None and named.counts:
            return named
        counted = [node for node in self.nodes.values() if node.counts]
        return max(counted, key=lambda node: (node.state.score, -node.state.order), default=None)

    @property
    def root(self) -> NodeView | None:
        """Where the search began."""
        return self.nodes.get(self.checkpoint.root_node_id or "")

    def lineage(self, node: NodeView) -> list[NodeView]:
        """The nodes from the root down to a node, that node last."""
        chain = [node]
        while (parent := self.nodes.get(chain[-1].state.parent_id or "")) is not None and parent not in chain:
            chain.append(parent)
        return chain[::-1]

    def _document(self, name: str) -> dict[str, Any]:
        path = self.path / name
        if not path.exists():
            return {}
        document = read_json(path)
        if not isinstance(document, dict):
            raise FormatError(f"{path} holds no JSON object")
        return document

    def document(self, name: str) -> dict[str, Any]:
        """A JSON object of the checkpoint; empty when the file is absent.

        Raises:
            FormatError: If it is there and cannot be read.
        """
        return self._document(name)


def read_node(checkpoint: Path, state: NodeState) -> NodeView:
    """Read what lies in a node's folder."""
    faults: list[str] = []
    try:
        folder = inside(checkpoint, state.work_dir or f"experiments/{state.id}")
    except AriError as error:
        return NodeView(state, unreadable=(error.message,))
    report: dict[str, Any] = {}
    path = folder / "node_report.json"
    if path.exists():
        try:
            document = read_json(path)
            report = document if isinstance(document, dict) else {}
        except FormatError as error:
            faults.append(error.message)
    sections: dict[str, dict[str, Any]] = {name: {} for name in SECTIONS}
    declared: dict[str, str] = {}
    written_by: dict[str, str] = {}
    for file in sorted(folder.glob("results*.json")) if folder.is_dir() else ():
        try:
            results = read_node_results(file)
        except FormatError as error:
            faults.append(error.message)
            continue
        for name in SECTIONS:
            for key, value in getattr(results, name).items():
                sections[name].setdefault(key, value)
                written_by.setdefault(key, file.name)
        for key, tag in results.provenance.items():
            declared.setdefault(key, tag)
    return NodeView(state, report, sections, declared, written_by, tuple(faults))
