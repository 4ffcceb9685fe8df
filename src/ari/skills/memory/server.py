"""The `memory` skill: what a node and its ancestors remember, and the claims that artefacts back.

Bound to a node, it remembers and recalls; bound to a study, it serves the stage tools.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp.server import MCPServer

from ari.checkpoint.store import utc_now
from ari.memory import Entry, open_memory
from ari.memory.base import AGENT
from ari.skills.stage import StageSession, add_stage_tools

if TYPE_CHECKING:
    from ari.skills.session import NodeSession


def build(session: NodeSession | StageSession) -> MCPServer:
    """The server of the skill, bound to one node or to one study."""
    server = MCPServer("ari-skill-memory", log_level="WARNING")
    if isinstance(session, StageSession):
        add_stage_tools(server, "memory", session)
        return server
    tools = _NodeMemory(session)
    server.add_tool(tools.remember)
    server.add_tool(tools.recall)
    return server


class _NodeMemory:
    def __init__(self, session: NodeSession) -> None:
        self._task = session.task
        self._store = open_memory(Path(session.task.checkpoint))
        self._line = [ancestor.node_id for ancestor in session.task.ancestors]

    def remember(self, text: str, mem_kind: str = "observation") -> dict[str, Any]:
        """Remember something for this node's descendants; it is no evidence for a claim.

        Args:
            text: What, in a few sentences; it is cut at 600 characters.
            mem_kind: What kind of thing: `observation`, `hypothesis`, `advice`.
        """
        digest = hashlib.sha256(f"{mem_kind}\0{text}".encode()).hexdigest()[:12]
        entry = Entry(
            id=f"{self._task.node_id}.{digest}",
            node_id=self._task.node_id,
            ancestor_ids=tuple(self._line),
            kind="node_scope",
            mem_kind=mem_kind,
            text=text,
            ts=utc_now(),
            source=AGENT,
        )
        return {"entry_id": entry.id, "added": bool(self._store.add([entry]))}

    def recall(self, query: str, limit: int = 5) -> dict[str, Any]:
        """Recall what this node and its ancestors remember, the closest to the query first.

        Args:
            query: Words; empty for the latest entries.
            limit: How many entries at most.
        """
        visible = {*self._line, self._task.node_id}
        found = self._store.recall(query, node_ids=visible, limit=max(1, min(limit, 50)))
        return {"entries": [entry.record() for entry in found]}
