"""`memory_access.jsonl`: what was written to and read from the memory, one operation a line."""

from __future__ import annotations

from ari.formats.base import FormatModel


class MemoryAccess(FormatModel):
    """One operation."""

    ts: str
    node_id: str | None
    op: str
    collection: str | None = None
