"""What a memory store promises, whatever keeps it.

- An entry belongs to one node. It has an id; adding an entry whose id is there already changes nothing, so
  whoever adds may do it again after a kill.
- Entries are never changed and never lost; they come back in the order in which they were added, until
  `settle` puts them in an order of its own.
- Reading can be limited to nodes: a node sees what its ancestors remember, and nothing of its siblings.
- Texts and numbers of entries are bounded (`MAX_TEXT`, `MAX_REFS`), so that a store grows with the number of
  nodes and not with what they print.
- Several processes may add at the same time.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ari.formats.memory_store import MemoryRecord

Kind = Literal["node_scope", "react_trace"]
MAX_TEXT = 600
"""Characters of an entry's text."""

MAX_REFS = 20
"""Files that an entry refers to at most."""

NODE_REPORT = "node_report"
AGENT = "agent"
"""Who made an entry: the run, from what was measured; or an agent, whose word is no evidence."""


@dataclass(frozen=True)
class Entry:
    """One thing remembered.

    Attributes:
        id: Its identity.
        node_id: The node it belongs to.
        ancestor_ids: From the root to the parent of that node.
        kind: `node_scope` for what the node found, `react_trace` for how it went about it.
        mem_kind: Its type: `experiment_result`, `failure_case`, `no_change`, or a type of an agent's.
        text: In words.
        ts: When, ISO 8601, UTC.
        source: `node_report` or `agent`.
        artifact_refs: Files of the node's folder that back it, `path` and `sha256`.
        details: What else is known.
    """

    id: str
    node_id: str
    ancestor_ids: tuple[str, ...]
    kind: Kind
    mem_kind: str
    text: str
    ts: str
    source: str = NODE_REPORT
    artifact_refs: tuple[Mapping[str, str], ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def supported(self) -> bool:
        """Whether it rests on a measurement that the run has confirmed."""
        return self.source == NODE_REPORT and self.mem_kind == "experiment_result"

    def record(self) -> dict[str, Any]:
        """The entry as `memory_store.jsonl` holds it."""
        metadata: dict[str, Any] = {
            "mem_kind": self.mem_kind,
            "entry_id": self.id,
            "source": self.source,
            **self.details,
        }
        if self.artifact_refs:
            metadata["artifact_refs"] = [dict(ref) for ref in self.artifact_refs[:MAX_REFS]]
        return {
            "node_id": self.node_id,
            "ancestor_ids": list(self.ancestor_ids),
            "kind": self.kind,
            "text": bounded(self.text),
            "metadata": metadata,
            "ts": self.ts,
        }

    @classmethod
    def from_record(cls, record: MemoryRecord, *, number: int) -> Entry:
        """Read an entry; one of another tool has no id and gets the number of its line."""
        known = {"mem_kind", "entry_id", "source", "artifact_refs"}
        metadata = record.metadata
        refs = metadata.get("artifact_refs")
        return cls(
            id=str(metadata.get("entry_id") or f"line-{number}"),
            node_id=record.node_id,
            ancestor_ids=tuple(record.ancestor_ids),
            kind="react_trace" if record.kind == "react_trace" else "node_scope",
            mem_kind=str(metadata.get("mem_kind") or ""),
            text=record.text,
            ts=record.ts,
            source=str(metadata.get("source") or AGENT),
            artifact_refs=tuple(ref for ref in refs if isinstance(ref, dict))
            if isinstance(refs, list)
            else (),
            details={key: value for key, value in metadata.items() if key not in known},
        )


def bounded(text: str, limit: int = MAX_TEXT) -> str:
    """A text of one line and at most `limit` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


class MemoryStore(ABC):
    """A store of entries; see the module for what it promises."""

    @abstractmethod
    def add(self, entries: Sequence[Entry]) -> int:
        """Add entries that are not there yet.

        Returns:
            How many were added.

        Raises:
            CheckpointError: If they cannot be written; none is then half there.
        """

    @abstractmethod
    def entries(self, *, node_ids: Collection[str] | None = None, kind: Kind | None = None) -> list[Entry]:
        """Read entries.

        Args:
            node_ids: Of these nodes only; None for all.
            kind: Of this kind only.

        Raises:
            FormatError: If the store cannot be read; names the place.
        """

    @abstractmethod
    def settle(self, order: Mapping[str, int]) -> None:
        """Put the entries in the order of their nodes, so that the store tells nothing of who was faster.

        Args:
            order: Node to its position.

        Raises:
            CheckpointError: If it cannot be written.
        """

    def recall(self, query: str, *, node_ids: Collection[str], limit: int = 5) -> list[Entry]:
        """The entries of some nodes that share most words with a query, the best first.

        Args:
            query: Words.
            node_ids: Whose entries may be seen.
            limit: How many at most.
        """
        wanted = _words(query)
        scored = []
        for place, entry in enumerate(self.entries(node_ids=node_ids)):
            common = len(wanted & _words(f"{entry.mem_kind} {entry.text}"))
            if common or not wanted:
                scored.append((-common, -place, entry))
        scored.sort(key=lambda item: item[:2])
        return [entry for _, _, entry in scored[:limit]]


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))
