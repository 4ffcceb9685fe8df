"""Stage tools over MCP: the functions of `ari.pipeline.stages`, bound to one checkpoint."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ari.pipeline.stages import GIVEN, STAGE_TOOLS, StageTool, resolve
from ari.skills.boundary import tool

if TYPE_CHECKING:
    from mcp.server.mcpserver.tools import Tool


@dataclass(frozen=True)
class StageSession:
    """What stage tools act on.

    Attributes:
        checkpoint: The study.
    """

    checkpoint: Path


def stage_tools(skill: str, session: StageSession | None) -> list[Tool]:
    """Every stage tool of a skill, bound to a study; without one they can be described but not called."""
    return [bind(resolve(skill, name), session, name=name) for name in STAGE_TOOLS[skill]]


def bind(function: StageTool, session: StageSession | None, *, name: str) -> Tool:
    """A stage tool without the keywords that its caller does not choose."""
    checkpoint = session.checkpoint.absolute() if session is not None else None
    given = {"checkpoint": checkpoint, "inputs": (), "outputs": (), "attempt": 0}
    taken = inspect.signature(function).parameters
    return tool(function, name=name, given={key: given[key] for key in GIVEN if key in taken})
