"""What a journal tells of the sessions of a study: the ends that it came to, and what was done by then."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ari.budget import EXHAUSTED
from ari.checkpoint import Checkpoint
from ari.errors import ReplayError
from ari.formats.lineage_decisions import ChildPlan
from ari.orchestrator import node_dirs
from ari.orchestrator.fanout import FROM_RUN
from ari.orchestrator.planning import node_id


@dataclass(frozen=True)
class Session:
    """One end that a study came to.

    Attributes:
        source: The study.
        settings: Those in force, the experiment among them.
        changed: Those of them that were given when it was resumed; None for the first session.
        created: Nodes planned by then.
        finished: Nodes that had ended by then.
        reason: Why it ended.
        given_up: Node to reason, for nodes that were ended from outside (time limit, kill, memory): what they
            would have done is not known, so their end is taken as recorded.
        fanouts: Place in the tree to the sub-experiments that a fanout there had.
        findings: Sub-experiment to the plan of the node that took over what it found. Sub-experiments are
            studies of their own and are not replayed with their parent.
    """

    source: Path
    settings: Mapping[str, Any]
    changed: Mapping[str, Any] | None
    created: frozenset[str]
    finished: frozenset[str]
    reason: str
    given_up: Mapping[str, str]
    fanouts: Mapping[int, tuple[ChildPlan, ...]] = field(default_factory=dict)
    findings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def children_of(self, order: int) -> list[ChildPlan]:
        """The sub-experiments that a fanout at this place of the tree had."""
        return list(self.fanouts.get(order, ()))

    @property
    def exhausted(self) -> bool:
        """Whether it ended because its budget was spent; how far it came is then a matter of chance."""
        return self.reason.startswith(EXHAUSTED)

    def planned(self, order: int) -> bool:
        """Whether the node of that order may be planned in this session."""
        return not self.exhausted or node_id(order) in self.created

    def ran(self, node: str) -> bool:
        """Whether a node was run to its end in this session."""
        return not self.exhausted or node in self.finished

    def take_over(self, checkpoint: Path, node: str) -> None:
        """Copy what a node left, its files, records and trace, into another checkpoint."""
        for name in node_dirs.LEFT:
            record = node_dirs.records_dir(self.source, node) / name
            if record.is_file():
                shutil.copy(record, node_dirs.records_dir(checkpoint, node) / name)
        target = node_dirs.work_dir(checkpoint, node)
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(
            node_dirs.work_dir(self.source, node),
            target,
            symlinks=True,
            ignore=shutil.ignore_patterns(node_dirs.REPORT),
        )


@dataclass(frozen=True)
class Recorded:
    """A study as it is recorded."""

    checkpoint: Checkpoint
    sessions: tuple[Session, ...]


def read_recorded(path: Path) -> Recorded:
    """Read what a study's journal tells of its sessions.

    Raises:
        ReplayError: When the study has not ended, or was not recorded by this program.
    """
    checkpoint = Checkpoint.open(path)
    settings: dict[str, Any] = {}
    changed: dict[str, Any] = {}
    created: list[str] = []
    fanouts: dict[int, tuple[ChildPlan, ...]] = {}
    findings: dict[str, Mapping[str, Any]] = {}
    finished: dict[str, Mapping[str, Any]] = {}
    sessions: list[Session] = []
    for event in checkpoint.events():
        match event["event"]:
            case "run_created":
                settings = dict(event.get("settings", {}))
            case "run_resumed":
                changed |= event.get("settings", {})
                settings |= changed
            case "node_created":
                created.append(event["node"]["id"])
                plan = event["node"].get("plan", {})
                if FROM_RUN in plan:
                    findings[plan[FROM_RUN]] = plan
            case "lineage_decision" if event.get("children"):
                children = tuple(ChildPlan.model_validate(child) for child in event["children"])
                fanouts[event["at_order"]] = children
            case "node_finished":
                finished[event["node_id"]] = event
            case "run_finished":
                sessions.append(
                    Session(
                        source=checkpoint.path.absolute(),
                        settings=dict(settings),
                        changed=dict(changed) if sessions else None,
                        created=frozenset(created),
                        finished=frozenset(finished),
                        reason=event["reason"],
                        given_up=dict(_given_up(checkpoint.path, finished)),
                        fanouts=dict(fanouts),
                        findings=dict(findings),
                    )
                )
                changed = {}
    if not sessions or checkpoint.state.finished is None:
        raise ReplayError(
            f"{checkpoint.path} has not come to its end, so there is nothing to compare a replay with",
            cure=f"Let it end first: ari resume {checkpoint.path}",
        )
    if "experiment" not in settings:
        raise ReplayError(f"{checkpoint.path} was not recorded by this program and cannot be replayed")
    return Recorded(checkpoint, tuple(sessions))


def _given_up(path: Path, finished: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Nodes that left no outcome of their own."""
    for name, event in finished.items():
        if event["status"] == "errored" and not (path / "records" / name / "outcome.json").is_file():
            yield name, str(event.get("error") or "")
