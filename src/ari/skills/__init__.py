"""Skills: MCP servers over the domain packages, called in-process or served to any MCP client."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ari.errors import SkillError
from ari.pipeline.outside import GROUP, answer_of
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


def build_installed(name: str, options: Mapping[str, str]) -> MCPServer:
    """The server of a skill that another distribution has installed (entry point group `ari.skills`).

    Args:
        name: The skill.
        options: What it is bound to, as it understands it.

    Raises:
        SkillError: When there is no such skill, it cannot be loaded, or it gives no server.
    """
    from importlib.metadata import entry_points

    from mcp.server import MCPServer

    for point in entry_points(group=GROUP, name=name):
        try:
            server = point.load()(dict(options))
        except Exception as error:  # whatever somebody else's code raises is a fault of the skill
            reason = f"{type(error).__name__}: {error}"
            raise SkillError(f"the skill {name} ({point.value}) cannot be built: {reason}") from error
        if not isinstance(server, MCPServer):
            raise SkillError(
                f"the skill {name} ({point.value}) gives no MCPServer but a {type(server).__name__}"
            )
        return server
    raise SkillError(f"there is no installed skill {name!r}", cure=f"Available: {', '.join(SKILLS)}.")


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
    return answer_of(result)
