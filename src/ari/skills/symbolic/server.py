"""The `symbolic` skill: every tool of `sr_harness.tools`, generated from its one catalogue."""

from __future__ import annotations

from ari.errors import SkillError
from ari.skills.boundary import SkillServer, tool
from ari.skills.session import DataSession, NodeSession
from sr_harness.tools import CATALOGUE


def build(session: NodeSession | DataSession | None) -> SkillServer:
    """The server of the skill, bound to the data of one node or of one user.

    Raises:
        SkillError: When the session holds no data.
    """
    if session is not None and session.symbolic is None:
        raise SkillError("the symbolic skill needs data", cure="Give the experiment a '## Data' section.")
    context = session.symbolic if session is not None else None
    tools = [
        tool(spec.function, name=spec.name, given={"ctx": context}, read_only=spec.read_only)
        for spec in CATALOGUE.values()
    ]
    return SkillServer("symbolic", tools)
