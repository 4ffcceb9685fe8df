"""The `transform` skill: `science_data.json` from the executed nodes."""

from __future__ import annotations

from ari.skills.boundary import SkillServer
from ari.skills.stage import StageSession, stage_tools


def build(session: StageSession | None) -> SkillServer:
    """The server of the skill, bound to one study."""
    return SkillServer("transform", stage_tools("transform", session))
