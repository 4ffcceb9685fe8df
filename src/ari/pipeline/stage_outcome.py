"""How stages end: one by one, and all of a workflow together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

StageStatus = Literal[
    "done", "unchanged", "exists", "disabled", "not_asked", "skipped", "failed", "blocked", "interrupted"
]
GOOD: frozenset[str] = frozenset({"done", "unchanged", "exists", "disabled", "not_asked"})
"""Ends after which dependants may run."""


@dataclass(frozen=True)
class StageOutcome:
    """How one stage ended.

    Attributes:
        name: The stage.
        status: How.
        reason: Why, where that is a question.
        summary: What was done, in a line.
        warnings: For people.
        seconds: Wall time.
        outputs: Products that are there, path to SHA-256.
        answer: What the tool returned.
    """

    name: str
    status: StageStatus
    reason: str = ""
    summary: str = ""
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0
    outputs: Mapping[str, str] = field(default_factory=dict)
    answer: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class StagesResult:
    """How the stages of a workflow ended, in their order."""

    checkpoint: Path
    stages: tuple[StageOutcome, ...]
    seconds: float

    @property
    def interrupted(self) -> bool:
        """Whether the run was asked to stop."""
        return any(stage.status == "interrupted" for stage in self.stages)

    @property
    def bad(self) -> tuple[StageOutcome, ...]:
        """Stages that failed or blocked, not those skipped on their account."""
        return tuple(stage for stage in self.stages if stage.status in {"failed", "blocked"})

    @property
    def ok(self) -> bool:
        """Whether everything that was asked for is done."""
        return all(stage.status in GOOD for stage in self.stages)
