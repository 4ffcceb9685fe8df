"""The `memory` skill: what a node and its ancestors remember, and the claims that artefacts back.

Bound to a node, it remembers and recalls; bound to a study, it recalls from every node and serves the stage
tools.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from ari.checkpoint.store import utc_now
from ari.memory import Entry, open_memory
from ari.memory.base import AGENT
from ari.skills.boundary import SkillServer, tool
from ari.skills.session import NodeSession
from ari.skills.stage import StageSession, stage_tools

MAX_ENTRIES = 50


def build(session: NodeSession | StageSession | None) -> SkillServer:
    """The server of the skill, bound to one node or to one study."""
    given = {"session": session}
    tools = [tool(recall, given=given, read_only=True)]
    if not isinstance(session, StageSession):
        tools.append(tool(remember, given=given))
    if not isinstance(session, NodeSession):
        tools += stage_tools("memory", session)
    return SkillServer("memory", tools)


def remember(session: NodeSession, text: str, mem_kind: str = "observation") -> dict[str, Any]:
    """Remember something for this node's descendants; it is no evidence for a claim.

    Args:
        session: The node.
        text: What, in a few sentences; it is cut at 600 characters.
        mem_kind: What kind of thing: `observation`, `hypothesis`, `advice`.

    Returns:
        `entry_id`; `added`: false when it was remembered before.
    """
    task = session.task
    digest = hashlib.sha256(f"{mem_kind}\0{text}".encode()).hexdigest()[:12]
    entry = Entry(
        id=f"{task.node_id}.{digest}",
        node_id=task.node_id,
        ancestor_ids=tuple(ancestor.node_id for ancestor in task.ancestors),
        kind="node_scope",
        mem_kind=mem_kind,
        text=text,
        ts=utc_now(),
        source=AGENT,
    )
    return {"entry_id": entry.id, "added": bool(open_memory(Path(task.checkpoint)).add([entry]))}


def recall(session: NodeSession | StageSession, query: str, limit: int = 5) -> dict[str, Any]:
    """Recall what is remembered, the closest to the query first: of a node and its ancestors, or of a study.

    Args:
        session: The node or the study.
        query: Words; empty for the latest entries.
        limit: Number of entries at most, from 1 to 50.

    Returns:
        `entries`: as `memory_store.jsonl` holds them.
    """
    most = max(1, min(limit, MAX_ENTRIES))
    if isinstance(session, StageSession):
        store = open_memory(session.checkpoint)
        visible = {entry.node_id for entry in store.entries()}
    else:
        store = open_memory(Path(session.task.checkpoint))
        visible = {session.task.node_id, *(ancestor.node_id for ancestor in session.task.ancestors)}
    found = store.recall(query, node_ids=visible, limit=most)
    return {"entries": [entry.record() for entry in found]}
