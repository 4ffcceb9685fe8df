"""The `idea` skill: ranked research ideas with plan, metric and the alternatives considered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ari.agent.ideas import DataProfile, command_ideas, symbolic_ideas
from ari.pipeline.experiment_spec import Experiment
from ari.skills.boundary import SkillServer, tool


@dataclass(frozen=True)
class IdeaSession:
    """What ideas are made from.

    Attributes:
        experiment: The experiment.
        profile: The facts about its data; None for a command.
        seed: Seed of the study.
    """

    experiment: Experiment
    profile: DataProfile | None
    seed: int = 0


def build(session: IdeaSession | None) -> SkillServer:
    """The server of the skill, bound to one study."""
    return SkillServer("idea", [tool(generate_ideas, given={"session": session}, read_only=True)])


def generate_ideas(session: IdeaSession) -> dict[str, Any]:
    """Propose research ideas for the study, strongest first, in the shape of `idea.json`."""
    if session.profile is None:
        return {"ideas": command_ideas(session.experiment, seed=session.seed)}
    return {"ideas": symbolic_ideas(session.experiment, session.profile)}
