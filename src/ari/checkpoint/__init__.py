"""The store of a run: journal, lock, projections, validation, repair and migration."""

from __future__ import annotations

from ari.checkpoint.state import NodeState, RunState, StageState
from ari.checkpoint.store import Checkpoint

__all__ = ["Checkpoint", "NodeState", "RunState", "StageState"]
