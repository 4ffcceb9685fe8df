"""The `paper` skill: the paper of a finished study, written, reviewed, refined and compiled."""

from __future__ import annotations

from ari.skills.boundary import SkillServer
from ari.skills.stage import StageSession, stage_tools


def build(session: StageSession | None) -> SkillServer:
    """The server of the skill, bound to one study."""
    return SkillServer("paper", stage_tools("paper", session))
