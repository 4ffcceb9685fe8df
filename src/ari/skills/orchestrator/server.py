"""The `orchestrator` skill: start studies and sub-experiments below a folder, watch and read them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ari.checkpoint import Checkpoint
from ari.checkpoint.readers import is_checkpoint
from ari.checkpoint.standing import find_checkpoints, holder, run_state
from ari.errors import AriError, ConfigError, PathEscapeError, SkillError
from ari.formats.base import read_json
from ari.orchestrator.background import launch, names, reserve, standing
from ari.orchestrator.children import inherit, source_of
from ari.paths import inside
from ari.pipeline.experiment_spec import Experiment, parse_experiment, read_experiment_text
from ari.skills.boundary import SkillServer, tool

MAX_RUNNING = 4
"""Studies that may run at a time below one folder."""

MAX_TEXT = 200_000
GATE = "evaluation/claim_evidence_hard_gate_final.json"


@dataclass(frozen=True)
class RootSession:
    """Where studies lie.

    Attributes:
        root: The folder; experiments, data and studies are named relative to it, and nothing lies outside.
    """

    root: Path

    @property
    def runs(self) -> Path:
        """Where new studies are put."""
        return self.root if self.root.name == "runs" else self.root / "runs"


def build(session: RootSession | None) -> SkillServer:
    """The server of the skill, bound to a folder of studies."""
    given = {"session": session}
    return SkillServer(
        "orchestrator",
        [
            tool(run, given=given, read_only=False),
            tool(run_experiment, given=given, read_only=False),
            tool(get_status, given=given, read_only=True),
            tool(list_runs, given=given, read_only=True),
            tool(get_paper, given=given, read_only=True),
            tool(list_children, given=given, read_only=True),
        ],
    )


def run(
    session: RootSession,
    *,
    experiment: str,
    nodes: int | None = None,
    seed: int | None = None,
    model: str | None = None,
    paper: bool = True,
) -> dict[str, Any]:
    """Start a study in the background and return at once.

    Args:
        session: The folder.
        experiment: An `experiment.md`, or the folder it lies in, relative to the root.
        nodes: Number of experiments in the tree at most; default: as the settings say.
        seed: Seed of everything random.
        model: Who proposes experiments: `offline`, or `<provider>/<model>`.
        paper: Whether the stages after the search are run too.

    Returns:
        `run`: its name for the other tools; `state`; `pid`; `started_at`.
    """
    source = _file(session, experiment)
    asked = _checked(session, source)
    study = _reserve(session, asked.title)
    return _start(session, study, [str(source), *_options(nodes, seed, model, paper=paper)])


def run_experiment(
    session: RootSession,
    *,
    parent: str,
    experiment: str | None = None,
    ideas: list[int] | None = None,
    nodes: int | None = None,
    model: str | None = None,
    paper: bool = True,
) -> dict[str, Any]:
    """Start a sub-experiment of a study in the background and return at once.

    It is a study of its own whose `meta.json` names the parent. The ideas that are handed down come first and
    are pinned; nothing of the parent is written.

    Args:
        session: The folder.
        parent: Name of the parent study, as `run` and `list_runs` give it.
        experiment: An `experiment.md` of its own, relative to the root; default: the parent's question.
        ideas: Positions in the parent's `idea.json` (from 0) of what is handed down;
            default: its present idea.
        nodes: Number of experiments in the tree at most; default: as for the parent.
        model: Who proposes experiments: `offline`, or `<provider>/<model>`; default: as for the parent.
        paper: Whether the stages after the search are run too.

    Returns:
        `run`: its name for the other tools; `parent`; `state`; `pid`; `started_at`.
    """
    above = _study(session, parent)
    opened = Checkpoint.open(above, read_only=True)
    source = _file(session, experiment) if experiment is not None else source_of(opened)
    _checked(session, source)
    inherit(above, experiment=source, ideas=ideas)  # what cannot be inherited is refused here and now
    study = _reserve(session, f"{above.name} child")
    words = [str(source), "--parent", str(above), *_options(nodes, None, model, paper=paper)]
    if ideas is not None:
        words += ["--ideas", ",".join(str(index) for index in ideas)]
    return _start(session, study, words) | {"parent": parent}


def _options(nodes: int | None, seed: int | None, model: str | None, *, paper: bool) -> Iterator[str]:
    for name, value in (("nodes", nodes), ("seed", seed), ("model", model)):
        if value is not None:
            yield f"--{name}={value}"
    yield "--paper" if paper else "--no-paper"


def _file(session: RootSession, name: str) -> Path:
    path = inside(session.root, name)
    return path / "experiment.md" if path.is_dir() else path


def _checked(session: RootSession, source: Path) -> Experiment:
    """The experiment, refused where it cannot be run or reads anything outside the root."""
    root = session.root.resolve()
    if not source.resolve().is_relative_to(root):
        raise PathEscapeError(
            f"{source} lies outside {session.root}", cure="Serve the skill with a --root that holds it."
        )
    experiment = parse_experiment(read_experiment_text(source), folder=source.parent, name=source.name)
    for read in (experiment.data_source, *experiment.files):
        if read is not None and not (source.parent / read).resolve().is_relative_to(root):
            raise PathEscapeError(
                f"{source.name} reads {read}, which lies outside {session.root}",
                cure="Copy it below the root.",
            )
    return experiment


def _reserve(session: RootSession, title: str) -> Path:
    running = [name for name in names(session.root) if _alive(session, name)]
    if len(running) >= MAX_RUNNING:
        raise SkillError(
            f"{len(running)} studies are running already: {', '.join(running)}",
            cure="Wait until one has ended.",
        )
    return reserve(title, session.runs)


def _alive(session: RootSession, name: str) -> bool:
    known = standing(session.root, name)
    return known is not None and known.record.alive


def _start(session: RootSession, study: Path, words: list[str]) -> dict[str, Any]:
    arguments = ["run", *words, "--output", str(study), "--quiet"]
    record = launch(session.root, study, arguments)
    return {"run": record.study, "state": "starting", "pid": record.pid, "started_at": record.started_at}


def get_status(session: RootSession, *, run: str) -> dict[str, Any]:
    """Tell how a study stands.

    Args:
        session: The folder.
        run: Its name, as `run` and `list_runs` give it.

    Returns:
        `state`: `starting`, `running`, `finished`, `interrupted`, `stopped`, `recorded` or `failed` (before
        it began); `reason`; `nodes` by status; `best` node with its metrics; `stages` after the search; and
        for a study that was started here `exit_status` and the end of its `log`.
    """
    path = inside(session.root, run)
    known = standing(session.root, run)
    if not is_checkpoint(path):
        if known is None:
            raise _unknown(session, run)
        state = "starting" if known.record.alive else "failed"
        return {"run": run, "state": state, "exit_status": known.record.exit_status, "log": known.log_tail}
    checkpoint = Checkpoint.open(path, read_only=True)
    document = _summary(session, checkpoint)
    stages = {name: stage.status for name, stage in checkpoint.state.stages.items()}
    document |= {"nodes": checkpoint.status_counts, "depth": checkpoint.max_depth, "stages": stages}
    if known is not None:
        document |= {"exit_status": known.record.exit_status, "log": known.log_tail}
    return document


def _summary(session: RootSession, checkpoint: Checkpoint) -> dict[str, Any]:
    state = checkpoint.state
    best = checkpoint.nodes.get(checkpoint.best_node_id or "")
    return {
        "run": checkpoint.path.relative_to(session.root).as_posix(),
        "run_id": state.run_id,
        "parent_run_id": checkpoint.meta.to_dict().get("parent_run_id"),
        "state": run_state(checkpoint),
        "reason": state.finished or state.interrupted or holder(checkpoint.path),
        "goal": state.goal,
        "primary_metric": state.primary_metric,
        "higher_is_better": state.higher_is_better,
        "best": {"node_id": best.id, "metrics": best.metrics, "score": best.score} if best else None,
    }


def list_runs(session: RootSession) -> dict[str, Any]:
    """List the studies below the root, the latest first.

    Returns:
        `runs`: per study its name, state, goal, metric and best node; one that cannot be read says why.
    """
    found = [_listed(session, path) for path in find_checkpoints(session.root)]
    there = {entry["run"] for entry in found}
    waiting = [get_status(session, run=name) for name in names(session.root) if name not in there]
    return {"runs": waiting + found}


def _listed(session: RootSession, path: Path) -> dict[str, Any]:
    try:
        return _summary(session, Checkpoint.open(path, read_only=True))
    except AriError as error:
        return {"run": path.relative_to(session.root).as_posix(), "state": "damaged", "reason": error.message}


def list_children(session: RootSession, *, run: str) -> dict[str, Any]:
    """List the sub-experiments of a study that lie below the root.

    Args:
        session: The folder.
        run: Name of the parent, as `run` and `list_runs` give it.

    Returns:
        `children`: as of `list_runs`.
    """
    wanted = Checkpoint.open(_study(session, run), read_only=True).state.run_id
    every = (_listed(session, path) for path in find_checkpoints(session.root))
    return {"children": [entry for entry in every if entry.get("parent_run_id") == wanted]}


def get_paper(session: RootSession, *, run: str) -> dict[str, Any]:
    """Read the paper of a study, and what the final gate says of it.

    Args:
        session: The folder.
        run: Name of the study, as `run` and `list_runs` give it.

    Returns:
        `tex`: the source (at most 200,000 characters); `truncated`; `pdf` and `source`: their files relative
        to the root, `pdf` null when it was not compiled; `gate`: status and whether it blocks, null before it
        ran.
    """
    study = _study(session, run)
    source = study / "full_paper.tex"
    if not source.is_file():
        state = run_state(Checkpoint.open(study, read_only=True))
        raise SkillError(
            f"{run} has no paper; it is {state}", cure=f"`ari paper {run}` writes it when it is finished."
        )
    text = source.read_text(encoding="utf-8", errors="replace")
    pdf = study / "full_paper.pdf"
    return {
        "tex": text[:MAX_TEXT],
        "truncated": len(text) > MAX_TEXT,
        "source": source.relative_to(session.root).as_posix(),
        "pdf": pdf.relative_to(session.root).as_posix() if pdf.is_file() else None,
        "gate": _gate(study),
    }


def _gate(study: Path) -> dict[str, Any] | None:
    if not (study / GATE).is_file():
        return None
    report = read_json(study / GATE)
    return {key: report.get(key) for key in ("status", "should_block", "policy")}


def _study(session: RootSession, name: str) -> Path:
    path = inside(session.root, name)
    if not is_checkpoint(path):
        raise _unknown(session, name)
    return path


def _unknown(session: RootSession, name: str) -> ConfigError:
    known = [path.relative_to(session.root).as_posix() for path in find_checkpoints(session.root)]
    told = ", ".join(known[:10]) or "none"
    return ConfigError(f"there is no study {name!r} below {session.root}", cure=f"Studies there: {told}.")
