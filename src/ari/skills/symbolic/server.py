"""The `symbolic` skill: every tool of `sr_harness.tools`, generated from its one catalogue."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, get_type_hints

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from ari.errors import SkillError
from sr_harness.errors import SRError
from sr_harness.tools import CATALOGUE, ToolContext

if TYPE_CHECKING:
    from ari.skills.session import NodeSession


def build(session: NodeSession) -> MCPServer:
    """The server of the skill, bound to one node's training data."""
    if session.symbolic is None:
        raise SkillError("the symbolic skill needs data", cure="Give the experiment a '## Data' section.")
    server = MCPServer("ari-skill-symbolic", log_level="WARNING")
    for spec in CATALOGUE.values():
        server.add_tool(bind(spec.function, session.symbolic), name=spec.name)
    return server


def bind(function: Callable[..., dict[str, Any]], context: ToolContext) -> Callable[..., dict[str, Any]]:
    """The tool without its context argument, its own errors turned into answers a caller can read."""

    @functools.wraps(function)
    def tool(**arguments: Any) -> dict[str, Any]:  # noqa: ANN401 - the arguments are those of the wrapped tool
        try:
            return function(context, **arguments)
        except SRError as error:
            raise ToolError(str(error)) from error

    hints = get_type_hints(function)
    signature = inspect.signature(function)
    parameters = [
        p.replace(annotation=hints.get(p.name, p.annotation)) for p in signature.parameters.values()
    ][1:]
    tool.__signature__ = signature.replace(parameters=parameters, return_annotation=dict[str, Any])  # type: ignore[attr-defined]
    tool.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": dict[str, Any]}
    del tool.__wrapped__
    return tool
