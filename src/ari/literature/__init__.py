"""Literature: searching three public services and keeping every answer, so that a study can be replayed."""

from __future__ import annotations

from ari.literature.library import Library, open_library
from ari.literature.papers import Paper

__all__ = ["Library", "Paper", "open_library"]
