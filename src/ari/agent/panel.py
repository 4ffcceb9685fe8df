"""The panel that finds the ideas of a study with a model: proposer, critic, synthesiser.

It works from the question, the profile of the data, and the survey. Each member answers in a fixed shape that
is validated. One that gives no usable answer is gone without: without a proposer the ideas are those of
`ari.agent.ideas`, without a critic nothing is objected to, without a synthesiser the proposals stay in their
order, those that were objected to last. What was gone without is said in the concerns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, Field, StringConstraints

from ari.agent.asking import ask
from ari.errors import AriError
from ari.formats.jsonio import strict_dumps
from ari.pipeline.experiment_spec import Experiment, Value

if TYPE_CHECKING:
    from pydantic_ai.models import Model

MOST_IDEAS = 8
FEWEST_IDEAS = 3
"""With fewer ideas of the panel the study's usual ones follow, so that there is something to turn to."""

MOST_SURVEY = 20_000
"""Characters of the survey that the panel is told."""

Title = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Line = Annotated[str, StringConstraints(strip_whitespace=True, max_length=2_000)]


class PanelIdea(BaseModel):
    """An idea as a member of the panel writes it."""

    title: Title = Field(description="A few words.")
    hypothesis: Line = Field("", description="One sentence that could be refuted.")
    experiment_plan: str = Field("", max_length=20_000, description="Markdown with sections §1, §2, §3.")
    strategies: list[str] = Field([], description="For a formula: families to search first.")
    params: dict[str, Any] = Field({}, description="For a program: the configuration to start from.")


class Proposals(BaseModel):
    """The proposer's answer."""

    ideas: list[PanelIdea] = Field(min_length=1, max_length=2 * MOST_IDEAS)


class Verdict(BaseModel):
    """What the critic says of one idea."""

    title: Title
    objection: Line = ""
    keep: bool = True


class Critique(BaseModel):
    """The critic's answer."""

    verdicts: list[Verdict] = []
    missing: list[Line] = []


class Rejected(BaseModel):
    """A proposal that the synthesiser left out."""

    title: Title
    reason: Line = ""


class Synthesis(BaseModel):
    """The synthesiser's answer."""

    ideas: list[PanelIdea] = Field(min_length=1, max_length=2 * MOST_IDEAS)
    rejected: list[Rejected] = []


@dataclass(frozen=True)
class Brief:
    """What the panel works from.

    Attributes:
        experiment: The question.
        statistics: The profile of the data, as the tools describe them; empty for a program.
        survey: What is known of the subject; empty where nothing was given.
        strategies: Families that a formula may be searched in; empty for a program.
        inherited: Titles of ideas that are there already.
    """

    experiment: Experiment
    statistics: Mapping[str, Any]
    survey: str = ""
    strategies: Sequence[str] = ()
    inherited: Sequence[str] = ()


@dataclass(frozen=True)
class PanelResult:
    """What the panel came to.

    Attributes:
        ideas: Entries of `idea.json`, the most promising first; empty where nobody proposed anything.
        concerns: What was gone without, and why.
    """

    ideas: list[dict[str, Any]]
    concerns: list[str]


def convene(brief: Brief, member: Callable[[str], Model], instructions: Callable[[str], str]) -> PanelResult:
    """Let the panel work.

    Args:
        brief: What it works from.
        member: The model of a member, by the member's name.
        instructions: What a member is told to be, by the name of the prompt.
    """
    panel = _Panel(brief, member, instructions, [])
    proposals = panel.ask("proposer", {}, Proposals, lambda found: _faults(found.ideas, brief))
    if proposals is None:
        return PanelResult([], panel.concerns)
    told: dict[str, Any] = {"proposals": [_told(idea) for idea in proposals.ideas]}
    critique = panel.ask("critic", told, Critique, None) or Critique()
    told["verdicts"] = [verdict.model_dump() for verdict in critique.verdicts]
    told["missing"] = list(critique.missing)
    synthesis = panel.ask("synthesiser", told, Synthesis, lambda found: _faults(found.ideas, brief))
    if synthesis is None:
        synthesis = _without_synthesiser(proposals, critique)
    return PanelResult(_documents(synthesis, proposals, critique, brief), panel.concerns)


@dataclass
class _Panel:
    brief: Brief
    member: Callable[[str], Model]
    instructions: Callable[[str], str]
    concerns: list[str]

    def ask(
        self,
        name: str,
        told: Mapping[str, Any],
        answer: type[Any],
        check: Callable[[Any], str] | None,
    ) -> Any:  # noqa: ANN401 - of the type `answer`, or None
        try:
            return ask(
                self.member(name),
                instructions=self.instructions(f"idea_{name}"),
                message=_message(self.brief, told),
                answer=answer,
                check=check,
            )
        except AriError as error:  # no answer, or a limit of the run: there are other ideas
            self.concerns.append(f"the {name} of the panel gave no usable answer: {error.message[:300]}")
            return None


def _message(brief: Brief, told: Mapping[str, Any]) -> str:
    experiment = brief.experiment
    facts: dict[str, Any] = {
        "kind": experiment.kind,
        "primary_metric": experiment.primary_metric,
        "target": experiment.target,
        "inputs": list(experiment.inputs or ()),
        "command": experiment.command,
        "parameters": [{"name": p.name, "levels": list(p.levels)} for p in experiment.parameters],
        "strategies": list(brief.strategies),
        "profile": dict(brief.statistics),
        "inherited": list(brief.inherited),
        **told,
    }
    survey = brief.survey.strip()
    shown = survey[:MOST_SURVEY] + (" … (cut)" if len(survey) > MOST_SURVEY else "")
    parts = [f"# {experiment.title}", experiment.question]
    parts += [f"## Survey\n\n{shown}"] if shown else []
    block = strict_dumps({key: value for key, value in facts.items() if value}, indent=True).decode()
    return "\n\n".join([*parts, f"```json\n{block}\n```"])


def _told(idea: PanelIdea) -> dict[str, Any]:
    return {key: value for key, value in idea.model_dump().items() if value}


def _faults(ideas: Sequence[PanelIdea], brief: Brief) -> str:
    """What a schema cannot say: equal titles, families and parameter values that do not exist."""
    faults: list[str] = []
    titles = [_folded(idea.title) for idea in ideas]
    faults += [
        f"two ideas are called {idea.title!r}" for idea in ideas if titles.count(_folded(idea.title)) > 1
    ]
    for idea in ideas:
        if not (idea.hypothesis or idea.experiment_plan.strip()):
            faults.append(f"{idea.title!r} has neither hypothesis nor plan")
        unknown = [name for name in idea.strategies if name not in brief.strategies]
        if unknown:
            known = ", ".join(brief.strategies) or "none"
            faults.append(f"{idea.title!r}: there is no strategy {unknown[0]!r}; there are: {known}")
        faults += [f"{idea.title!r}: {fault}" for fault in _parameter_faults(idea.params, brief.experiment)]
    return "; ".join(dict.fromkeys(faults))


def _parameter_faults(params: Mapping[str, Any], experiment: Experiment) -> list[str]:
    levels = {parameter.name: parameter.levels for parameter in experiment.parameters}
    faults = []
    for name, value in params.items():
        if name not in levels:
            faults.append(f"there is no parameter {name!r}; there are: {', '.join(levels) or 'none'}")
        elif level_of(value, levels[name]) is None:
            faults.append(f"{name} cannot be {value!r}; its levels are {list(levels[name])}")
    return faults


def level_of(value: object, levels: Sequence[Value]) -> Value | None:
    """The level that a value means, also where it is written as text; None where it means none."""
    for level in levels:
        if not isinstance(value, bool) and (value == level or str(value).strip() == str(level)):
            return level
    return None


def _without_synthesiser(proposals: Proposals, critique: Critique) -> Synthesis:
    """The proposals in their order, those that were objected to last."""
    dropped = {_folded(verdict.title) for verdict in critique.verdicts if not verdict.keep}
    ordered = sorted(proposals.ideas, key=lambda idea: _folded(idea.title) in dropped)
    return Synthesis(ideas=ordered)


def _documents(
    synthesis: Synthesis, proposals: Proposals, critique: Critique, brief: Brief
) -> list[dict[str, Any]]:
    """Entries of `idea.json`; each names the others and why proposals were rejected."""
    known = {_folded(title) for title in brief.inherited}
    ideas = [idea for idea in synthesis.ideas if _folded(idea.title) not in known]
    kept, left_out = ideas[:MOST_IDEAS], ideas[MOST_IDEAS:]
    reasons = {_folded(v.title): v.objection for v in critique.verdicts if v.objection}
    reasons |= {_folded(item.title): item.reason for item in synthesis.rejected if item.reason}
    titles = {_folded(idea.title) for idea in kept}
    others = [*left_out, *proposals.ideas]
    rejected = {_folded(i.title): i.title for i in others if _folded(i.title) not in titles | known}
    shown = [
        f"{title}: rejected, {reasons[key]}" if reasons.get(key) else f"{title}: rejected"
        for key, title in rejected.items()
    ]
    return [_document(idea, [o.title for o in kept if o is not idea] + shown, brief) for idea in kept]


def _document(idea: PanelIdea, alternatives: list[str], brief: Brief) -> dict[str, Any]:
    plan = idea.experiment_plan.strip() or f"## §1 Hypothesis\n{idea.hypothesis}\n"
    document: dict[str, Any] = {
        "title": idea.title,
        "experiment_plan": plan,
        "primary_metric": brief.experiment.primary_metric,
        "alternatives_considered": alternatives,
        "_pinned": False,
        "hypothesis": idea.hypothesis or idea.title,
    }
    if idea.strategies:
        document["strategies"] = list(dict.fromkeys(idea.strategies))
    if brief.experiment.parameters:
        document["params"] = {
            p.name: level_of(idea.params[p.name], p.levels) if p.name in idea.params else p.baseline
            for p in brief.experiment.parameters
        }
    return document


def _folded(title: str) -> str:
    return " ".join(title.split()).casefold()
