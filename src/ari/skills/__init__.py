"""Skills: MCP servers over the domain packages, called in-process or served to any MCP client."""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ari.errors import SkillError
from ari.skills.catalogue import CATALOGUE

if TYPE_CHECKING:
    from mcp.server import MCPServer

SKILLS = tuple(CATALOGUE)
"""Names of the skills in this distribution; the server of each is called `ari-skill-<name>`."""


def build_server(name: str, session: object | None) -> MCPServer:
    """The MCP server of a skill, bound to what its tools act on.

    Args:
        name: The skill.
        session: A `NodeSession`; for `idea` an `IdeaSession`, for skills of stages a `StageSession`.
            `evaluator` and `memory` take either of node and stage. With None the tools can be listed only.

    Raises:
        SkillError: When there is no such skill.
    """
    if name not in SKILLS:
        raise SkillError(f"there is no skill {name!r}", cure=f"Available: {', '.join(SKILLS)}.")
    server: MCPServer = import_module(f"ari.skills.{name}.server").build(session)
    return server


def call_tool(
    name: str, session: object, tool: str, arguments: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Call one tool of a skill through the MCP client, in this process.

    Returns:
        Its answer; numbers that are not finite as `ari.skills.boundary` describes.

    Raises:
        SkillError: When the tool does not exist or refuses the call.
    """
    return asyncio.run(call(build_server(name, session), tool, arguments or {}))


async def call(server: MCPServer, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Call one tool of a server in this process.

    Raises:
        SkillError: When the tool does not exist or refuses the call.
    """
    from mcp import Client

    async with Client(server) as client:
        result = await client.call_tool(tool, arguments)
    if result.is_error:
        text = " ".join(getattr(block, "text", "") for block in result.content)
        raise SkillError(f"the tool {tool} of {server.name} failed: {text}")
    return dict(result.structured_content or {})
