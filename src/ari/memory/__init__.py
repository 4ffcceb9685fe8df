"""What the nodes of a study remember: typed entries, one store, and how node reports end up in it."""

from __future__ import annotations

from pathlib import Path

from ari.memory.base import Entry, MemoryStore
from ari.memory.consolidation import consolidate, remember_all
from ari.memory.file import FileMemory

__all__ = ["Entry", "FileMemory", "MemoryStore", "consolidate", "open_memory", "remember_all"]


def open_memory(checkpoint: Path) -> MemoryStore:
    """The memory of a study.

    Args:
        checkpoint: Its directory.
    """
    return FileMemory(checkpoint)
