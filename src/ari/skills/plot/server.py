"""The `plot` skill: the figures of a finished study."""

from __future__ import annotations

from ari.skills.boundary import SkillServer
from ari.skills.stage import StageSession, stage_tools


def build(session: StageSession | None) -> SkillServer:
    """The server of the skill, bound to one study."""
    return SkillServer("plot", stage_tools("plot", session))
