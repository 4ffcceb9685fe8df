"""Running a study once more from its recordings, and comparing the two.

No model is asked and no command is run: recorded answers (`records/*/exchanges.jsonl`) and recorded runs
(`records/*/run_record.json`) stand in for both, everything else is done again. The copy starts from the
frozen inputs of the study: `experiment.md`, ideas, criteria, settings, data, files, workflow.

A study may have come to its end more than once: with a budget that was spent and raised, with more nodes
asked for later. Each such end is replayed (`ari.orchestrator.sessions`); kills and interruptions leave no
trace in the result and are not.
"""

from __future__ import annotations

import shutil
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from ari.checkpoint import Checkpoint
from ari.checkpoint.stable import strip_volatile
from ari.errors import CheckpointError
from ari.formats.jsonio import pointer
from ari.orchestrator.sessions import Recorded, read_recorded
from ari.orchestrator.study import EventListener, replay_session
from ari.orchestrator.workers import warm_up
from ari.pipeline.orchestrator import checked_workflow, run_stages

FROZEN = (
    "experiment.md",
    "idea.json",
    "evaluation_criteria.json",
    "metric_contract.json",
    "workflow.yaml",
    "settings.json",
    "data",
    "sealed",
    "inputs",
    "prompts",
    "web",
)
"""What a study starts from, and what it was told from the web: files and folders that are taken over."""

NOT_FROZEN = ("access.jsonl",)
"""Logs below `sealed/`, which the replay writes itself."""

COMPARED = (
    "tree.json",
    "nodes_tree.json",
    "results.json",
    "lineage_decisions.jsonl",
    "memory_store.jsonl",
    "experiments/*/node_report.json",
    "experiments/*/results*.json",
    "verified_context.json",
    "science_data.json",
    "figures_manifest.json",
    "full_paper.tex",
    "refs.bib",
    "paper_claim_links.json",
    "paper_claim_links_final.json",
    "evaluation/*.json",
)
"""Files that must be equal: JSON without the fields of `ari.checkpoint.stable.VOLATILE_FIELDS`, text byte by
byte. `full_paper.pdf` and pictures are made from these."""


@dataclass(frozen=True)
class Difference:
    """The first place in which two files differ.

    Attributes:
        file: The file.
        where: JSON pointer, line, or empty for a file that one of the two lacks.
        recorded: What stands there in the recorded study.
        replayed: What stands there in the replay.
    """

    file: str
    where: str
    recorded: str
    replayed: str


@dataclass(frozen=True)
class ReplayReport:
    """What came of a replay.

    Attributes:
        source: The recorded study.
        replay: The new checkpoint.
        nodes: How many nodes it has.
        equal: Files that agree.
        differences: The first difference of each other file.
        given_up: Nodes whose end was taken as recorded.
    """

    source: Path
    replay: Path
    nodes: int
    equal: tuple[str, ...]
    differences: tuple[Difference, ...]
    given_up: tuple[str, ...] = field(default=())

    @property
    def ok(self) -> bool:
        """Whether all files agree."""
        return not self.differences


def replay(
    source: Path, output: Path, *, stop: threading.Event, on_event: EventListener | None = None
) -> ReplayReport:
    """Run a study once more from its recordings, and compare.

    Args:
        source: The recorded study; it is only read.
        output: The new checkpoint.
        stop: Set when the replay is to stop.
        on_event: Told of every event.

    Raises:
        ReplayError: When the study asks for what is not recorded; says what.
        CheckpointError: When the study cannot be read, or the new checkpoint not be written.
    """
    recorded = read_recorded(source)
    warm_up()
    with _copy(recorded, output) as checkpoint:
        for session in recorded.sessions:
            if not stop.is_set():
                replay_session(checkpoint, session, stop=stop, on_event=on_event)
        if recorded.checkpoint.state.stages and not stop.is_set():
            run_stages(checkpoint, checked_workflow(checkpoint.path), stop=stop)
        nodes = len(checkpoint.nodes)
    equal, differences = compare(recorded.checkpoint.path, output)
    return ReplayReport(
        recorded.checkpoint.path,
        output,
        nodes,
        equal,
        differences,
        tuple(sorted({name for session in recorded.sessions for name in session.given_up})),
    )


def _copy(recorded: Recorded, output: Path) -> Checkpoint:
    """Make the new checkpoint from the frozen inputs of the study."""
    source = recorded.checkpoint
    if output.exists() and any(output.iterdir()):
        raise CheckpointError(f"{output} is not empty", cure="Choose another --output.")
    output.mkdir(parents=True, exist_ok=True)
    for name in FROZEN:
        origin = source.path / name
        if origin.is_dir():
            shutil.copytree(origin, output / name, ignore=shutil.ignore_patterns(*NOT_FROZEN))
        elif origin.is_file():
            shutil.copy(origin, output / name)
    meta = source.meta.to_dict() | {"replay_of": str(source.path.absolute())}
    state, first = source.state, recorded.sessions[0]
    checkpoint = Checkpoint.create(
        output,
        run_id=state.run_id,
        primary_metric=state.primary_metric,
        higher_is_better=bool(state.higher_is_better),
        seed=state.seed,
        goal=state.goal,
        settings=first.settings,
        meta={k: v for k, v in meta.items() if k not in {"schema_version", "run_id", "seed", "created_at"}},
    )
    checkpoint.verify_data_hashes(output)
    return checkpoint


# ------------------------------------------------------------------------------------------ the comparison


def compare(recorded: Path, replayed: Path) -> tuple[tuple[str, ...], tuple[Difference, ...]]:
    """Compare two checkpoints of one study.

    Args:
        recorded: The one.
        replayed: The other.

    Returns:
        The files that agree, and the first difference of each other file, in the order of `COMPARED`.
    """
    equal, differences = [], []
    for pattern in COMPARED:
        names = {
            path.relative_to(place).as_posix()
            for place in (recorded, replayed)
            for path in place.glob(pattern)
        }
        for name in sorted(names):
            found = _difference(name, recorded / name, replayed / name)
            if found is None:
                equal.append(name)
            else:
                differences.append(found)
    return tuple(equal), tuple(differences)


def _difference(name: str, recorded: Path, replayed: Path) -> Difference | None:
    if not (recorded.is_file() and replayed.is_file()):
        there = ("there" if recorded.is_file() else "absent", "there" if replayed.is_file() else "absent")
        return Difference(name, "", *there)
    one, other = recorded.read_bytes(), replayed.read_bytes()
    if one == other:
        return None
    if recorded.suffix == ".json":
        return _json_difference(name, "", _stable(one), _stable(other))
    lines, others = one.split(b"\n"), other.split(b"\n")
    for number in range(1, max(len(lines), len(others)) + 1):
        mine, theirs = (group[number - 1] if number <= len(group) else b"" for group in (lines, others))
        if recorded.suffix == ".jsonl" and mine and theirs:
            found = _json_difference(name, f"line {number} ", _stable(mine), _stable(theirs))
            if found is not None:
                return found
        elif mine != theirs:
            return Difference(name, f"line {number}", _short(mine), _short(theirs))
    return None


def _stable(data: bytes) -> Any:  # noqa: ANN401 - any JSON value
    return strip_volatile(orjson.loads(data))


def _json_difference(name: str, before: str, one: Any, other: Any) -> Difference | None:  # noqa: ANN401
    if orjson.dumps(one) == orjson.dumps(other):
        return None
    place, mine, theirs = _first_place(one, other) or ("(order of keys)", one, other)
    shown = (_short(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)) for value in (mine, theirs))
    return Difference(name, f"{before}{place}".strip(), *shown)


def _first_place(one: Any, other: Any, place: str = "") -> tuple[str, Any, Any] | None:  # noqa: ANN401
    """The first place, in document order, in which two JSON values differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in dict.fromkeys([*one, *other]):
            if key not in one or key not in other:
                return f"{place}{pointer(key)}", one.get(key), other.get(key)
            found = _first_place(one[key], other[key], f"{place}{pointer(key)}")
            if found is not None:
                return found
        return None
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = enumerate(zip(one, other, strict=True))
        return next(
            (found for i, (a, b) in pairs if (found := _first_place(a, b, f"{place}{pointer(i)}"))), None
        )
    return None if orjson.dumps(one) == orjson.dumps(other) else (place, one, other)


def _short(data: bytes) -> str:
    text = data.decode("utf-8", "replace")
    return text if len(text) <= 200 else f"{text[:199]}…"
