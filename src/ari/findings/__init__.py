"""What a finished study found, read from its checkpoint: the common ground of figures, paper and reviews."""

from __future__ import annotations

from ari.findings.study import FinishedStudy, Node

__all__ = ["FinishedStudy", "Node"]
