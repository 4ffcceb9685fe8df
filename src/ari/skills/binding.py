"""From options to a session: what the tools of a skill act on when it is served to another program."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ari.errors import ConfigError
from ari.skills.catalogue import CATALOGUE

if TYPE_CHECKING:
    from ari.checkpoint import Checkpoint
    from ari.pipeline.experiment_spec import Experiment
    from ari.skills.benchmark.server import ResultsSession
    from ari.skills.idea.server import IdeaSession
    from ari.skills.orchestrator.server import RootSession
    from ari.skills.session import DataSession, NodeSession, WorkSession
    from ari.skills.stage import StageSession
    from ari.skills.web.server import WebSession

STANDARD_LIMIT_S = 600.0
"""Seconds that a command of `coding` may take unless `--time-limit` says otherwise."""


@dataclass(frozen=True, kw_only=True)
class Binding:
    """What a skill is bound to; each field is an option of `ari skills serve` and `call`.

    Attributes:
        checkpoint: A study; for `coding` where run records go.
        node: Id of one of its nodes.
        experiment: An `experiment.md`.
        data: A `context.data` directory.
        target: The variable to be explained.
        inputs: The variables it may be explained by.
        time: Axis or variable that holds the times.
        seed: Seed of everything random.
        work_dir: The folder in which files are written.
        time_limit: Seconds that a command may take.
        root: A folder of studies.
    """

    checkpoint: Path | None = None
    node: str | None = None
    experiment: Path | None = None
    data: Path | None = None
    target: str | None = None
    inputs: tuple[str, ...] = ()
    time: str | None = None
    seed: int | None = None
    work_dir: Path | None = None
    time_limit: float | None = None
    root: Path | None = None

    def given(self) -> list[str]:
        """The options that were given, as the command line writes them."""
        return [f.name.replace("_", "-") for f in fields(self) if getattr(self, f.name) not in (None, ())]


def bind(skill: str, binding: Binding) -> object:
    """The session of a skill.

    Raises:
        ConfigError: When an option is missing, does not belong to the skill, or names nothing that exists.
        AriError: When what it names cannot be used.
    """
    check_options(skill, binding)
    if skill == "benchmark":
        return _results(binding)
    if skill == "coding":
        return _work(binding)
    if skill == "orchestrator":
        return _root(binding)
    if skill == "symbolic":
        return _data(binding)
    if skill == "idea":
        return _idea(binding)
    if skill == "web":
        return _web(binding)
    if binding.node is not None:
        return _node(binding)
    return _study(binding)


def check_options(skill: str, binding: Binding) -> None:
    """Refuse options that a skill does not take, and miss those it needs.

    Raises:
        ConfigError: With the options there are.
    """
    if skill not in CATALOGUE:
        raise ConfigError(f"there is no skill {skill!r}", cure=f"Available: {', '.join(CATALOGUE)}.")
    info = CATALOGUE[skill]
    given = binding.given()
    usage = f"Usage: ari skills serve {skill} {info.usage}".rstrip()
    foreign = [option for option in given if option not in info.options]
    if foreign:
        raise ConfigError(f"the skill {skill} takes no --{foreign[0]}", cure=usage)
    for group in info.needs:
        if not any(option in given for option in group):
            wanted = " or ".join(f"--{option}" for option in group)
            raise ConfigError(f"the skill {skill} is bound to nothing: {wanted} is missing", cure=usage)


def _study(binding: Binding) -> StageSession:
    from ari.skills.stage import StageSession

    return StageSession(_checkpoint(binding))


def _checkpoint(binding: Binding) -> Path:
    from ari.checkpoint.readers import locate
    from ari.errors import CheckpointError

    assert binding.checkpoint is not None
    try:
        return locate(binding.checkpoint)
    except CheckpointError as error:
        raise ConfigError(error.message, cure=error.cure) from None


def _node(binding: Binding) -> NodeSession:
    from ari.agent.worker import build_session
    from ari.checkpoint import Checkpoint
    from ari.orchestrator.tasks import node_task
    from ari.settings import load

    checkpoint = Checkpoint.open(_checkpoint(binding), read_only=True)
    node = checkpoint.nodes.get(binding.node or "")
    if node is None:
        known = ", ".join(list(checkpoint.nodes)[:10]) or "none"
        raise ConfigError(
            f"{checkpoint.path} has no node {binding.node!r}",
            cure=f"Its nodes: {known}. `ari status` lists all.",
        )
    experiment = _experiment_of(checkpoint)
    document = {k: v for k, v in checkpoint.state.settings.items() if k != "experiment"}
    settings = load(checkpoint.path, options=document).settings
    return build_session(node_task(checkpoint, node, experiment=experiment, settings=settings))


def _experiment_of(checkpoint: Checkpoint) -> Experiment:
    from ari.pipeline.experiment_spec import Experiment

    recorded = checkpoint.state.settings.get("experiment")
    if not isinstance(recorded, Mapping):
        raise ConfigError(
            f"{checkpoint.path} does not record its experiment", cure="Name a study that `ari run` has made."
        )
    return Experiment.model_validate(recorded)


def _results(binding: Binding) -> ResultsSession:
    from ari.skills.benchmark.server import ResultsSession

    if binding.checkpoint is not None and binding.work_dir is not None:
        raise ConfigError("--checkpoint and --work-dir exclude each other", cure="Give one of them.")
    if binding.work_dir is not None and not binding.work_dir.is_dir():
        raise ConfigError(f"{binding.work_dir} is no directory", cure="Name a folder of results.")
    return ResultsSession(_checkpoint(binding) if binding.checkpoint is not None else binding.work_dir)


def _web(binding: Binding) -> WebSession:
    from ari.literature import open_library
    from ari.settings import load
    from ari.skills.web.server import WebSession

    checkpoint = _checkpoint(binding) if binding.checkpoint is not None else None
    loaded = load(checkpoint)
    return WebSession(open_library(loaded.settings, loaded.environment, checkpoint=checkpoint))


def _root(binding: Binding) -> RootSession:
    from ari.skills.orchestrator.server import RootSession

    assert binding.root is not None
    root = binding.root.resolve()
    if not root.is_dir():
        raise ConfigError(
            f"{binding.root} is no directory", cure="Name the folder of experiments and studies."
        )
    study = _study_around(root)
    if study is not None:
        raise ConfigError(
            f"{binding.root} lies in the study {study}", cure="Name a folder that holds studies."
        )
    return RootSession(root)


def _work(binding: Binding) -> WorkSession:
    from ari.execution.limits import Limits
    from ari.execution.runner import Runner
    from ari.paths import safe_name
    from ari.skills.session import WorkSession

    assert binding.work_dir is not None
    folder = binding.work_dir.resolve()
    study = _study_around(folder)
    if study is not None:
        raise ConfigError(
            f"{binding.work_dir} lies in the study {study}, whose files are evidence",
            cure="Give a folder outside of studies.",
        )
    folder.mkdir(parents=True, exist_ok=True)
    base = binding.checkpoint.resolve() / "records" / "served" if binding.checkpoint else folder.parent
    name = safe_name(folder.name) if binding.checkpoint else f"{folder.name}.records"
    limits = Limits(wall_s=binding.time_limit or STANDARD_LIMIT_S)
    return WorkSession(folder, Runner(base / name, folder, limits=limits, node_id=folder.name))


def _study_around(folder: Path) -> Path | None:
    from ari.checkpoint.readers import is_checkpoint

    return next((place for place in (folder, *folder.parents) if is_checkpoint(place)), None)


def _data(binding: Binding) -> DataSession:
    from ari.skills.session import DataSession
    from sr_harness.core import AgentContext
    from sr_harness.evaluator.dynamics import derivative_target
    from sr_harness.tools import ToolContext

    assert binding.data is not None and binding.target is not None
    context = AgentContext.from_directory(binding.data)
    target = [] if derivative_target(context, binding.target) is not None else [binding.target]
    for name in (*target, *binding.inputs):
        if name not in context.data:
            known = ", ".join(context.variables)
            raise ConfigError(f"{binding.data} has no variable {name!r}", cure=f"It has: {known}.")
    work_dir = (binding.work_dir or Path()).resolve()
    work_dir.mkdir(parents=True, exist_ok=True)
    return DataSession(
        ToolContext(
            context=context,
            target=binding.target,
            inputs=binding.inputs,
            seed=binding.seed or 0,
            work_dir=work_dir,
            time=binding.time,
        )
    )


def _idea(binding: Binding) -> IdeaSession:
    from ari.skills.idea.server import IdeaSession

    if binding.checkpoint is not None and binding.experiment is not None:
        raise ConfigError("--experiment and --checkpoint exclude each other", cure="Give one of them.")
    if binding.experiment is not None:
        return _idea_of_experiment(binding.experiment, binding.seed or 0)
    from ari.checkpoint import Checkpoint
    from ari.evaluation.data import TRAIN, PreparedData, profile_of

    checkpoint = Checkpoint.open(_checkpoint(binding), read_only=True)
    experiment = _experiment_of(checkpoint)
    seed = binding.seed if binding.seed is not None else checkpoint.state.seed or 0
    if experiment.kind == "command":
        return _with_panel(IdeaSession(experiment, None, seed, checkpoint=checkpoint.path), checkpoint)
    meta = checkpoint.meta.to_dict()
    recorded = {"divided_by": "rows", **meta["data"]}  # older studies divided at random and did not say so
    prepared = PreparedData(**recorded, holdout_sha256=meta["sealed"]["sha256"])
    profile = profile_of(checkpoint.path / TRAIN, prepared, time=experiment.time)
    session = IdeaSession(experiment, profile, seed, checkpoint=checkpoint.path)
    return _with_panel(session, checkpoint)


def _with_panel(session: IdeaSession, checkpoint: Checkpoint) -> IdeaSession:
    """The session with the panel of a study that has a model; what the study has is not proposed again."""
    from ari.pipeline.survey import survey_of
    from ari.settings import OFFLINE

    model = str(checkpoint.state.settings.get("model", OFFLINE))
    if model == OFFLINE:
        return session
    present = json.loads((checkpoint.path / "idea.json").read_bytes())["ideas"]
    text = (checkpoint.path / "experiment.md").read_text(encoding="utf-8")
    return replace(
        session,
        model=model,
        survey=survey_of(text, Path(checkpoint.meta.to_dict().get("source", "")).parent),
        inherited=tuple(idea["title"] for idea in present),
    )


def _idea_of_experiment(path: Path, seed: int) -> IdeaSession:
    import tempfile

    from ari.evaluation.data import TRAIN, prepare_data, profile_of
    from ari.pipeline.experiment_spec import parse_experiment, read_experiment_text
    from ari.skills.idea.server import IdeaSession

    source = path / "experiment.md" if path.is_dir() else path
    experiment = parse_experiment(read_experiment_text(source), folder=source.parent, name=str(source))
    if experiment.kind == "command":
        return IdeaSession(experiment, None, seed)
    with tempfile.TemporaryDirectory(prefix="ari-idea-") as scratch:
        prepared = prepare_data(experiment, source.parent, Path(scratch), seed=seed)
        return IdeaSession(
            experiment, profile_of(Path(scratch) / TRAIN, prepared, time=experiment.time), seed
        )
