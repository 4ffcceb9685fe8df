"""The `paper` skill: the paper of a finished study, written, reviewed, refined and compiled."""

from __future__ import annotations

from typing import Any

from ari.skills.boundary import SkillServer, tool
from ari.skills.stage import StageSession, stage_tools


def build(session: StageSession | None) -> SkillServer:
    """The server of the skill, bound to one study."""
    return SkillServer("paper", [*stage_tools("paper", session), tool(list_templates, read_only=True)])


def list_templates() -> dict[str, Any]:
    """List the layouts that `write_paper` can use and the rubrics that `review_paper` can use.

    Returns:
        `templates` and `rubrics`: names, sorted.
    """
    from ari.paper.render import template_names
    from ari.paper.reviews.rubric import rubric_names

    return {"templates": template_names(), "rubrics": rubric_names()}
