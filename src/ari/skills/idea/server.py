"""The `idea` skill: what is known, and ranked research ideas with plan, metric and alternatives."""

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
    given = {"session": session}
    return SkillServer("idea", [tool(survey, given=given), tool(generate_ideas, given=given, read_only=True)])


def survey(session: IdeaSession, *, topic: str = "", limit: int = 10) -> dict[str, Any]:
    """Bring together what is known: papers from the web where it is configured, else what is at hand.

    Args:
        session: The study.
        topic: What to look for, in words; default: the question of the experiment.
        limit: Number of papers, and of memories, at most, from 1 to 100.

    Returns:
        `source`: `web` or `local`; `papers`, best first; `memory`: what the study's nodes remember about it;
        `warnings`: why the web was not asked, or which service did not answer.
    """
    from ari.literature import open_library
    from ari.literature.survey import survey as bring_together
    from ari.paper.references import OWN
    from ari.settings import load

    loaded = load(session.checkpoint)
    shelves = {"references.bib": OWN}
    if session.checkpoint is not None:
        shelves["refs.bib"] = session.checkpoint / "refs.bib"
    return bring_together(
        topic.strip() or f"{session.experiment.title} {session.experiment.question}",
        library=open_library(loaded.settings, loaded.environment, checkpoint=session.checkpoint),
        bibliographies={name: path.read_text("utf-8") for name, path in shelves.items() if path.is_file()},
        checkpoint=session.checkpoint,
        limit=limit,
    )


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
