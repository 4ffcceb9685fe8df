"""What the tools of a skill act on: a node of a study, or a folder or data that somebody else names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ari.agent.task import NodeTask
    from ari.execution.runner import Runner
    from sr_harness.tools import ToolContext


@dataclass
class NodeSession:
    """The reach of a node's tools.

    Attributes:
        task: What the node is to do.
        work_dir: The node's folder; tools read and write nowhere else.
        runner: Runs commands contained and records them.
        symbolic: Training data of a symbolic experiment; None for command experiments.
    """

    task: NodeTask
    work_dir: Path
    runner: Runner
    symbolic: ToolContext | None = None


@dataclass
class WorkSession:
    """A folder outside any study, for the tools of `coding`.

    Attributes:
        work_dir: The folder; tools read and write nowhere else.
        runner: Runs commands contained and records them outside that folder.
    """

    work_dir: Path
    runner: Runner


@dataclass
class DataSession:
    """Data outside any study, for the tools of `symbolic`.

    Attributes:
        symbolic: The data and what is to be explained.
    """

    symbolic: ToolContext | None
