"""The `paper` skill: the paper of a finished study, written, reviewed, refined and compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp.server import MCPServer

from ari.skills.stage import add_stage_tools

if TYPE_CHECKING:
    from ari.skills.stage import StageSession


def build(session: StageSession) -> MCPServer:
    """The server of the skill, bound to one study."""
    server = MCPServer("ari-skill-paper", log_level="WARNING")
    add_stage_tools(server, "paper", session)
    return server
