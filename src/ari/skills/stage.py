"""Stage tools over MCP: the functions of `ari.pipeline.stages`, bound to one checkpoint."""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from mcp.server.mcpserver.exceptions import ToolError

from ari.errors import AriError
from ari.pipeline.stages import GIVEN, STAGE_TOOLS, StageTool, resolve

if TYPE_CHECKING:
    from mcp.server import MCPServer


@dataclass(frozen=True)
class StageSession:
    """What stage tools act on.

    Attributes:
        checkpoint: The study.
    """

    checkpoint: Path


def add_stage_tools(server: MCPServer, skill: str, session: StageSession) -> None:
    """Add every stage tool of a skill to its server."""
    for name in STAGE_TOOLS[skill]:
        server.add_tool(bind(resolve(skill, name), session.checkpoint), name=name)


def bind(function: StageTool, checkpoint: Path) -> StageTool:
    """The tool without the keywords that its caller does not choose, its errors turned into answers."""
    signature = inspect.signature(function)
    given = {"checkpoint": checkpoint.absolute(), "inputs": (), "outputs": (), "attempt": 0}
    fixed = {name: value for name, value in given.items() if name in signature.parameters}

    @functools.wraps(function)
    def tool(**arguments: Any) -> dict[str, Any]:  # noqa: ANN401 - the arguments are those of the wrapped tool
        try:
            return dict(function(**fixed, **arguments))
        except AriError as error:
            raise ToolError(str(error)) from error

    hints = get_type_hints(function)
    parameters = [
        p.replace(annotation=hints.get(p.name, p.annotation))
        for p in signature.parameters.values()
        if p.name not in GIVEN
    ]
    tool.__signature__ = signature.replace(parameters=parameters, return_annotation=dict[str, Any])  # type: ignore[attr-defined]
    tool.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": dict[str, Any]}
    del tool.__wrapped__
    return tool
