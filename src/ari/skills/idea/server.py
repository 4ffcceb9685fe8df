"""The `idea` skill: ranked research ideas with plan, metric and the alternatives considered."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ari.agent.ideas import DataProfile, find_ideas
from ari.pipeline.experiment_spec import Experiment
from ari.settings import OFFLINE
from ari.skills.boundary import SkillServer, tool


@dataclass(frozen=True)
class IdeaSession:
    """What ideas are made from.

    Attributes:
        experiment: The experiment.
        profile: The facts about its data; None for a command.
        seed: Seed of the study.
        model: Whom the panel consists of; the offline researcher needs none.
        checkpoint: The study that a panel works for.
        survey: What is known of the subject.
        inherited: Titles of ideas that are there already.
    """

    experiment: Experiment
    profile: DataProfile | None
    seed: int = 0
    model: str = OFFLINE
    checkpoint: Path | None = None
    survey: str = ""
    inherited: tuple[str, ...] = ()


def build(session: IdeaSession | None) -> SkillServer:
    """The server of the skill, bound to one study."""
    return SkillServer("idea", [tool(generate_ideas, given={"session": session}, read_only=True)])


def generate_ideas(session: IdeaSession) -> dict[str, Any]:
    """Propose research ideas for the study, strongest first, in the shape of `idea.json`.

    With a model a panel of proposer, critic and synthesiser works from the survey and the profile of the
    data; what it had to do without stands in `concerns`.
    """
    return find_ideas(
        session.experiment,
        session.profile,
        seed=session.seed,
        model=session.model,
        checkpoint=session.checkpoint,
        survey=session.survey,
        inherited=session.inherited,
    )
