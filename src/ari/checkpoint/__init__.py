"""The store of a run: journal, lock, projections, validation, repair and migration."""

from __future__ import annotations

from ari.checkpoint.findings import Finding
from ari.checkpoint.migration import MigrationReport, migrate
from ari.checkpoint.repairs import RepairReport, repair
from ari.checkpoint.state import NodeState, RunState, StageState
from ari.checkpoint.store import Checkpoint, replay_source
from ari.checkpoint.validation import validate

__all__ = [
    "Checkpoint",
    "Finding",
    "MigrationReport",
    "NodeState",
    "RepairReport",
    "RunState",
    "StageState",
    "migrate",
    "repair",
    "replay_source",
    "validate",
]
