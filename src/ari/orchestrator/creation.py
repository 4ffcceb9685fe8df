"""Setting up a study: everything that is checked, written and sealed before the first node runs.

A study that cannot be run is refused here, with nothing but an explanation left behind.
"""

from __future__ import annotations

import platform
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ari.agent import prompts
from ari.agent.ideas import DataProfile
from ari.agent.models import check_model
from ari.agent.models.preflight import verify_model
from ari.budget import SearchBudget
from ari.checkpoint import Checkpoint
from ari.checkpoint.files import atomic_write
from ari.checkpoint.store import file_sha256
from ari.errors import ExperimentError
from ari.formats.evaluation_criteria import EvaluationCriteria
from ari.formats.idea import merge_ideas
from ari.formats.jsonio import strict_dumps
from ari.formats.metric_contract import MetricContract
from ari.orchestrator.node_dirs import INPUTS
from ari.paths import next_output
from ari.pipeline.criteria import derive_criteria
from ari.pipeline.experiment_md import append_idea_block
from ari.pipeline.experiment_spec import (
    Experiment,
    parse_experiment,
    read_experiment_text,
    unused_parameters,
)
from ari.pipeline.metric_spec import CONTRACT_NAME, mint_contract
from ari.pipeline.survey import survey_of
from ari.pipeline.yaml_loader import WORKFLOW, faulty, load_workflow, missing_inputs, workflow_file
from ari.settings import OFFLINE, Settings

SYMBOLIC_METRICS: Mapping[str, bool] = {
    "nrmse": False,
    "rmse": False,
    "mae": False,
    "r2": True,
    "max_abs_error": False,
    "max_rel_error": False,
    "trajectory_error": False,
}
"""Metrics that a symbolic study can be judged by, and whether higher is better."""


@dataclass(frozen=True)
class Inheritance:
    """What a sub-experiment takes from its parent, which it never changes.

    Attributes:
        parent_run_id: The parent.
        ideas: A content of `idea.json` whose ideas are all pinned; the child's own come behind them.
        recursion_depth: How many studies stand above the child.
        max_recursion_depth: How many may; None for no limit.
        text: The parent's `experiment.md` where the child asks the same question, else None.
        source_sha256: The data the parent was given.
        sealed_sha256: The rows that the parent sealed. A child on the same data must seal the same ones.
    """

    parent_run_id: str
    ideas: Mapping[str, Any]
    recursion_depth: int
    max_recursion_depth: int | None = None
    text: str | None = None
    source_sha256: str | None = None
    sealed_sha256: str | None = None

    def as_meta(self) -> dict[str, Any]:
        """The keys of the child's `meta.json`."""
        return {
            "parent_run_id": self.parent_run_id,
            "recursion_depth": self.recursion_depth,
            "max_recursion_depth": self.max_recursion_depth,
        }


@dataclass(frozen=True)
class Prepared:
    """A study that is ready to run."""

    checkpoint: Checkpoint
    experiment: Experiment
    ideas: list[dict[str, Any]]
    settings: Settings
    warnings: tuple[str, ...]


def create_study(
    source: Path,
    output: Path | None,
    settings: Settings,
    *,
    parallel_given: bool = True,
    inherited: Inheritance | None = None,
) -> Prepared:
    """Check an experiment and create its checkpoint.

    Args:
        source: The `experiment.md`.
        output: Directory of the checkpoint; default: a fresh one below `runs/`, named after the title.
        settings: Settings of the run.
        parallel_given: Whether the user has said how many nodes to run at a time.
        inherited: What a sub-experiment takes from its parent.

    Raises:
        ExperimentError: When the experiment cannot be run as written.
        ConfigError: When the model cannot be used; nothing has been paid for then.
        CheckpointError: When the checkpoint cannot be created.
    """
    check_model(settings.model)
    own_text = None if inherited is None else inherited.text
    text = read_experiment_text(source) if own_text is None else own_text
    experiment = parse_experiment(text, folder=source.parent, name=str(source))
    _check_driver(source, experiment, settings)
    criteria = _criteria(text, experiment)
    experiment = experiment.model_copy(update={"primary_metric": criteria.primary_metric})
    if experiment.kind != "symbolic":
        settings = _one_at_a_time(settings, parallel_given=parallel_given)
    _check_workflow(source.parent)
    verify_model(settings.model)
    path = output or next_output(experiment.title)
    existed = path.exists()
    try:
        return _set_up(
            path,
            source,
            text=text,
            experiment=experiment,
            criteria=criteria,
            settings=settings,
            inherited=inherited,
        )
    except BaseException:  # whatever happened, a study that was refused leaves nothing behind
        if not existed:
            shutil.rmtree(path, ignore_errors=True)
        raise


def _check_driver(source: Path, experiment: Experiment, settings: Settings) -> None:
    """Refuse an experiment whose programs have to be written, when nobody is there who can."""
    if experiment.kind == "code" and settings.model == OFFLINE:
        raise ExperimentError(
            f"{source} tells in prose what to find out and has neither '## Command' nor '## Data': its "
            "programs "
            "have to be written, which the offline researcher cannot do",
            cure="Name a language model (--model openai/<model>, or ARI_MODEL; see "
            "docs/model_research.md), or say "
            "what to run in a '## Command' section, or which data to explain in '## Data'.",
        )


def _check_workflow(folder: Path) -> None:
    """Refuse a workflow that could not be run after the search."""
    workflow = load_workflow(workflow_file(folder))
    faults = missing_inputs(workflow, None)
    if faults:
        raise faulty(workflow.source, faults)


def _one_at_a_time(settings: Settings, *, parallel_given: bool) -> Settings:
    """Commands are timed and would disturb each other side by side; so each result is also seen at once."""
    parallel = settings.parallel if parallel_given else 1
    return settings.model_copy(update={"parallel": parallel, "lookahead": parallel})


def _criteria(text: str, experiment: Experiment) -> EvaluationCriteria:
    symbolic = experiment.kind == "symbolic"
    if symbolic and experiment.primary_metric not in SYMBOLIC_METRICS:
        raise ExperimentError(
            f"a formula cannot be judged by {experiment.primary_metric!r}",
            cure=f"Metrics of a symbolic study: {', '.join(SYMBOLIC_METRICS)}.",
        )
    return derive_criteria(text, None, symbolic=symbolic)


def _set_up(
    path: Path,
    source: Path,
    *,
    text: str,
    experiment: Experiment,
    criteria: EvaluationCriteria,
    settings: Settings,
    inherited: Inheritance | None,
) -> Prepared:
    """Write every file that the study starts from, and the journal last: a study that exists is complete."""
    if path.exists() and any(path.iterdir()):
        raise ExperimentError(
            f"{path} is not empty",
            cure=f"Choose another --output, or go on with the study there: ari resume {path}",
        )
    minted = mint_contract(text, folder=source.parent, name=str(source), experiment=experiment)
    contract = MetricContract.from_document(minted, source=CONTRACT_NAME)
    meta: dict[str, Any] = {"versions": _versions(), "source": str(source.absolute())}
    profile: DataProfile | None = None
    if experiment.kind == "symbolic":
        profile, warnings = _prepare_data(path, source, experiment, settings, meta)
    else:
        warnings = _prepare_files(path, source, experiment, meta)
    if inherited is not None:
        _check_sealed(inherited, meta)
        meta |= inherited.as_meta()
    atomic_write(path / "settings.json", strict_dumps(settings.to_document(), indent=True))
    meta["prompts"] = prompts.install(path, source.parent)
    survey = survey_of(text, source.parent)
    SearchBudget(path, settings).put_in_force()  # the ideas may be asked for already
    ideas = _ideas(path, experiment, profile, settings, survey=survey, inherited=inherited)
    warnings = (*warnings, *ideas.get("concerns", ()))
    atomic_write(path / "experiment.md", text.encode("utf-8"))
    append_idea_block(path / "experiment.md", ideas)
    atomic_write(path / "idea.json", strict_dumps(ideas, indent=True))
    atomic_write(path / "evaluation_criteria.json", criteria.to_bytes())
    atomic_write(path / CONTRACT_NAME, contract.to_bytes())
    atomic_write(path / WORKFLOW, workflow_file(source.parent).read_bytes())
    checkpoint = Checkpoint.create(
        path,
        run_id=path.name,
        primary_metric=criteria.primary_metric,
        higher_is_better=criteria.higher_is_better,
        seed=settings.seed,
        goal=experiment.question or experiment.title,
        settings=settings.to_document() | {"experiment": experiment.model_dump(mode="json")},
        meta=meta,
    )
    return Prepared(checkpoint, experiment, ideas["ideas"], settings, warnings)


def _versions() -> dict[str, str]:
    return {name: version(name) for name in ("ari-research", "numpy", "scipy")} | {
        "python": platform.python_version()
    }


def _prepare_data(
    path: Path, source: Path, experiment: Experiment, settings: Settings, meta: dict[str, Any]
) -> tuple[DataProfile, tuple[str, ...]]:
    from ari.evaluation.data import HOLDOUT, TRAIN, VALIDATION, prepare_data, profile_of

    path.mkdir(parents=True, exist_ok=True)
    prepared = prepare_data(experiment, source.parent, path, seed=settings.seed)
    meta["data_hashes"] = {
        file.relative_to(path).as_posix(): file_sha256(file)
        for part in (TRAIN, VALIDATION, HOLDOUT)
        for file in sorted((path / part).iterdir())
    }
    meta["sealed"] = {"sha256": prepared.holdout_sha256, "rows": prepared.rows["sealed"]}
    meta["data"] = {
        "source_sha256": prepared.source_sha256,
        "rows": prepared.rows,
        "target": prepared.target,
        "inputs": list(prepared.inputs),
        "axis": prepared.axis,
        "divided_by": prepared.divided_by,
        "estimated": prepared.estimated,
    }
    return profile_of(path / TRAIN, prepared, time=experiment.time), prepared.warnings


def _prepare_files(path: Path, source: Path, experiment: Experiment, meta: dict[str, Any]) -> tuple[str, ...]:
    target = path / INPUTS
    target.mkdir(parents=True)
    hashes: dict[str, str] = {}
    for relative in experiment.files:
        origin = source.parent / relative
        for file in sorted(origin.rglob("*")) if origin.is_dir() else [origin]:
            if file.is_file():
                name = file.relative_to(source.parent).as_posix()
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, target / name)
                hashes[f"{INPUTS}/{name}"] = file_sha256(target / name)
    meta["data_hashes"] = hashes
    return tuple(
        f"the parameter {name!r} does not occur in the command, so changing it changes nothing"
        for name in unused_parameters(experiment)
    )


def _check_sealed(inherited: Inheritance, meta: Mapping[str, Any]) -> None:
    """Refuse a child whose training rows could hold what its parent, whose ideas it inherits, has sealed."""
    if (
        inherited.sealed_sha256 is None
        or meta.get("data", {}).get("source_sha256") != inherited.source_sha256
    ):
        return
    if meta["sealed"]["sha256"] != inherited.sealed_sha256:
        raise ExperimentError(
            f"the sub-experiment would seal other rows than {inherited.parent_run_id}, on the same data",
            cure="Leave the seed as it was in the parent study: it decides which rows are sealed.",
        )


def _ideas(
    path: Path,
    experiment: Experiment,
    profile: DataProfile | None,
    settings: Settings,
    *,
    survey: str,
    inherited: Inheritance | None,
) -> dict[str, Any]:
    """The content of `idea.json`: what is inherited first, then what the skill proposes."""
    from ari.skills import call_tool
    from ari.skills.idea.server import IdeaSession

    given = None if inherited is None else inherited.ideas
    session = IdeaSession(
        experiment,
        profile,
        settings.seed,
        model=settings.model,
        checkpoint=path,
        survey=survey,
        inherited=tuple(idea["title"] for idea in given["ideas"]) if given is not None else (),
    )
    return merge_ideas(given, call_tool("idea", session, "generate_ideas"))
