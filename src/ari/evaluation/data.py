"""Data of a symbolic study: split once, the hold-out sealed, every access logged.

    data/train/            context.data the agent works on
    sealed/validation/     context.data the evaluator scores nodes with
    sealed/holdout/        context.data opened once, for the final candidates; its hash stands in meta.json

Nothing below `sealed/` is ever mounted into a sandbox or handed to a tool.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from ari.agent.ideas import DataProfile
from ari.errors import EvaluationError, ExperimentError
from ari.evaluation.dynamics import (
    TRAJECTORY_ERROR,
    divide,
    inputs_of_derivative,
    judged_context,
    state_of,
)
from ari.formats.jsonio import strict_dumps
from ari.pipeline.experiment_spec import Experiment
from sr_harness.core import AgentContext, load_context_data
from sr_harness.errors import SRError
from sr_harness.evaluator import make_split
from sr_harness.evaluator.dynamics.reading import time_axis

TRAIN, VALIDATION, HOLDOUT = Path("data/train"), Path("sealed/validation"), Path("sealed/holdout")
ACCESS_LOG = Path("sealed/access.jsonl")
MIN_ROWS = 5


@dataclass(frozen=True)
class PreparedData:
    """What splitting the data gave: sizes, what was set aside, and the hashes that bind it.

    Attributes:
        target: What is to be explained.
        inputs: By what.
        axis: The axis that was divided.
        rows: Number of rows (samples, where the target is a derivative) of each part.
        source_sha256: Of the data as they were given.
        holdout_sha256: Of the sealed part.
        divided_by: `rows` at random, `blocks` along the axis, whole `runs`, or stretches of `time`.
        estimated: How the target was estimated, where it is a derivative.
        warnings: What was left out.
    """

    target: str
    inputs: tuple[str, ...]
    axis: str
    rows: dict[str, int]
    source_sha256: str
    holdout_sha256: str
    divided_by: str
    estimated: str | None = None
    warnings: tuple[str, ...] = field(default=())


def load_source(experiment: Experiment, folder: Path) -> AgentContext:
    """Load the experiment's data: a `context.data` directory, or a table that is imported first.

    Raises:
        ExperimentError: When the data cannot be used, with what the reader said.
    """
    source = folder / (experiment.data_source or "context.data")
    try:
        if source.is_dir():
            return AgentContext.from_loaded(load_context_data(source))
        from sr_harness.data import import_table

        with tempfile.TemporaryDirectory() as scratch:
            import_table(source, Path(scratch) / "context.data")
            context = AgentContext.from_loaded(load_context_data(Path(scratch) / "context.data"))
            return _in_memory(context)
    except SRError as error:
        raise ExperimentError(f"the data cannot be used: {error}") from error


def _in_memory(context: AgentContext) -> AgentContext:
    axes = {axis for names in context.variable_axes.values() for axis in names}
    for axis in sorted(axes):
        return context.take(axis, np.arange(len(context.data[axis])))
    return context


def prepare_data(experiment: Experiment, folder: Path, checkpoint: Path, *, seed: int) -> PreparedData:
    """Check the data, split them and write the three parts into the checkpoint.

    Rows whose target or numeric inputs are not finite are left out and named in a warning.

    Raises:
        ExperimentError: When there is no such target, too few usable rows, or a constant target.
    """
    context = load_source(experiment, folder)
    target = experiment.target or ""
    inputs = choose_inputs(context, target, experiment.inputs, time=experiment.time)
    state = state_of(context, target, experiment.time)
    if state is not None:
        return _prepare_derivative(experiment, folder, checkpoint, context, state=state, seed=seed)
    if experiment.primary_metric == TRAJECTORY_ERROR:
        raise ExperimentError(
            f"{target!r} is measured, not a derivative: no trajectory can be integrated and judged",
            cure="Judge the formula by another metric, such as nrmse, or ask for a derivative dx_dt.",
        )
    axis = context.variable_axes[target][0] if context.variable_axes[target] else ""
    if not axis:
        raise ExperimentError(
            f"the target {target!r} is a single number; a law needs at least {MIN_ROWS} rows"
        )
    usable, warnings = _usable_rows(context, target, inputs, axis)
    _check_target(context, target, axis, usable)
    blocked = len(context.variable_axes[target]) > 1
    split = make_split(len(usable), seed=seed, blocked=blocked)
    _write_parts(
        checkpoint, context, axis, [usable[rows] for rows in (split.train, split.validation, split.sealed)]
    )
    return PreparedData(
        target=target,
        inputs=inputs,
        axis=axis,
        rows={"train": len(split.train), "validation": len(split.validation), "sealed": len(split.sealed)},
        source_sha256=hash_source(experiment, folder),
        holdout_sha256=hash_directory(checkpoint / HOLDOUT),
        divided_by="blocks" if blocked else "rows",
        warnings=tuple(warnings),
    )


def _prepare_derivative(
    experiment: Experiment, folder: Path, checkpoint: Path, context: AgentContext, *, state: str, seed: int
) -> PreparedData:
    """The same for the derivative of `state`: whole runs or stretches of time are set apart."""
    target, time = experiment.target or "", experiment.time
    inputs = choose_inputs(context, target, experiment.inputs, time=time)
    where = time_axis(context, state, time)
    usable, warnings = _usable_rows(context, state, (*inputs, where.name), where.axis)
    kept = context.take(where.axis, usable)
    parts = divide(kept, state, time, seed=seed)
    _write_parts(checkpoint, kept, parts.axis, [parts.train, parts.validation, parts.sealed])
    left_out = kept.axis_length(parts.axis) - sum(
        rows.size for rows in (parts.train, parts.validation, parts.sealed)
    )
    if left_out:
        warnings.append(f"{left_out} samples lie in runs that are too short to be divided: left out")
    for name, rows in zip(parts.samples, (parts.train, parts.validation, parts.sealed), strict=True):
        _check_slopes(kept.take(parts.axis, rows), target, time, f"the {name} part")
    return PreparedData(
        target=target,
        inputs=inputs,
        axis=parts.axis,
        rows=parts.samples,
        source_sha256=hash_source(experiment, folder),
        holdout_sha256=hash_directory(checkpoint / HOLDOUT),
        divided_by=parts.by,
        estimated=f"{state} along {where.name}",
        warnings=tuple(warnings),
    )


def _check_slopes(part: AgentContext, target: str, time: str | None, where: str) -> None:
    """Refuse a part whose slopes do not exist or do not vary; nothing could be judged by them."""
    try:
        slopes = judged_context(part, target, time).data[target]
    except SRError as error:
        raise ExperimentError(f"the target {target!r} cannot be estimated in {where}: {error}") from error
    if not np.isfinite(slopes).all() or np.ptp(slopes) == 0:
        raise ExperimentError(
            f"the estimate of {target!r} is constant or not finite in {where}: there is nothing to judge by",
            cure="Give longer runs, or runs that change throughout.",
        )


def _write_parts(checkpoint: Path, context: AgentContext, axis: str, parts: Sequence[Any]) -> None:
    """Write the positions of the three parts where they belong."""
    for relative, rows in zip((TRAIN, VALIDATION, HOLDOUT), parts, strict=True):
        destination = checkpoint / relative
        shutil.rmtree(destination, ignore_errors=True)
        destination.parent.mkdir(parents=True, exist_ok=True)
        context.take(axis, rows).to_directory(destination)


def _cure(context: AgentContext, unknown: Sequence[str], names: Sequence[str]) -> str:
    """Name the variables there are: those that the columns meant became, and the nearest ones, first."""
    from difflib import get_close_matches

    from sr_harness.data import ColumnMapping

    columns = ColumnMapping.from_descriptions(context.variable_descriptions).columns
    hints = [f"The column {name!r} is called {columns[name]} here." for name in unknown if name in columns]
    if not hints:
        near = [match for name in unknown for match in get_close_matches(name, names, n=1)]
        hints = [f"Did you mean {', '.join(map(repr, dict.fromkeys(near)))}?"] if near else []
    return " ".join([*hints, f"Variables there: {', '.join(names)}."])


def choose_inputs(
    context: AgentContext, target: str, wanted: Sequence[str] | None, *, time: str | None = None
) -> tuple[str, ...]:
    """The input variables: those asked for, else every numeric variable that lies on the target's axes.

    A derivative `dx_dt` may read `x` itself and what is measured beside it; time only if it is named.
    """
    names = [name for name in context.variables if name not in context.relation_names]
    state = state_of(context, target, time)
    if target not in names and state is None:
        raise ExperimentError(
            f"the data have no variable {target!r} to explain", cure=_cure(context, [target], names)
        )
    missing = [name for name in wanted or () if name not in context.data]
    if missing:
        raise ExperimentError(
            f"the data have no input called {', '.join(map(repr, missing))}",
            cure=_cure(context, missing, names),
        )
    if state is not None:
        return inputs_of_derivative(context, state, time, wanted)
    if context.data[target].dtype.kind not in "fiub":
        raise ExperimentError(f"the target {target!r} holds text, not numbers")
    if wanted:
        return tuple(wanted)
    chosen = [n for n in names if n != target and context.data[n].dtype.kind in "fiub"]
    chosen = [n for n in chosen if set(context.variable_axes[n]) <= set(context.variable_axes[target])]
    if not chosen:
        raise ExperimentError(f"there is no numeric variable beside the target {target!r}")
    return tuple(chosen)


def _usable_rows(
    context: AgentContext, target: str, inputs: Sequence[str], axis: str
) -> tuple[np.ndarray[Any, Any], list[str]]:
    length = len(context.data[axis])
    good = np.ones(length, dtype=bool)
    warnings = []
    for name in (target, *inputs):
        axes = context.variable_axes.get(name, (name,))
        if axis not in axes or context.data[name].dtype.kind not in "f":
            continue
        finite = (
            np.isfinite(np.moveaxis(context.data[name], axes.index(axis), 0)).reshape(length, -1).all(axis=1)
        )
        if not finite.all():
            rows = np.flatnonzero(~finite)
            shown = ", ".join(str(row + 1) for row in rows[:8]) + (", …" if len(rows) > 8 else "")
            plural = "row" if len(rows) == 1 else "rows"
            warnings.append(
                f"{name} is missing or infinite in {plural} {shown}: {len(rows)} {plural} left out"
            )
            good &= finite
    return np.flatnonzero(good), warnings


def _check_target(context: AgentContext, target: str, axis: str, usable: np.ndarray[Any, Any]) -> None:
    if len(usable) < MIN_ROWS:
        raise ExperimentError(
            f"{len(usable)} usable row{'s' if len(usable) != 1 else ''} of {target!r}: "
            f"at least {MIN_ROWS} are needed to train, validate and hold out",
            cure="Add data, or fill in the values that are missing or infinite.",
        )
    values = np.take(context.data[target], usable, axis=context.variable_axes[target].index(axis))
    if np.ptp(values) == 0:
        raise ExperimentError(
            f"the target {target!r} is {values.flat[0]:g} in every row: there is no law to find",
            cure="Choose another target.",
        )


def hash_source(experiment: Experiment, folder: Path) -> str:
    """SHA-256 over the experiment's data as they lie on disk."""
    source = folder / (experiment.data_source or "context.data")
    return hash_directory(source) if source.is_dir() else _hash_file(source)


def hash_directory(directory: Path) -> str:
    """SHA-256 over the names and contents of a directory's files, in name order."""
    entries = [
        [p.relative_to(directory).as_posix(), _hash_file(p)]
        for p in sorted(directory.rglob("*"))
        if p.is_file()
    ]
    return hashlib.sha256(strict_dumps(entries)).hexdigest()


def _hash_file(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def open_train(checkpoint: Path) -> AgentContext:
    """The rows that the researcher works on."""
    return AgentContext.from_loaded(load_context_data(checkpoint / TRAIN))


def open_validation(checkpoint: Path) -> AgentContext:
    """The rows that nodes are scored with."""
    return AgentContext.from_loaded(load_context_data(checkpoint / VALIDATION))


def open_holdout(checkpoint: Path, *, committed: str, reason: str) -> AgentContext:
    """Open the sealed rows; the access is logged, and rows that differ from their commitment are refused.

    Raises:
        EvaluationError: When the rows are not those that were sealed when the study began.
    """
    found = hash_directory(checkpoint / HOLDOUT)
    if found != committed:
        raise EvaluationError(
            f"{checkpoint / HOLDOUT}: the sealed rows have been changed "
            f"(sha256 {found[:12]}…, committed {committed[:12]}…)",
            cure="Restore them from a copy, or start a new study; no result can rest on changed rows.",
        )
    entry = {"ts": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), "reason": reason, "sha256": found}
    with (checkpoint / ACCESS_LOG).open("ab") as stream:
        stream.write(strict_dumps(entry) + b"\n")
    return AgentContext.from_loaded(load_context_data(checkpoint / HOLDOUT))


def profile_of(train: Path, prepared: PreparedData, *, time: str | None = None) -> DataProfile:
    """The facts about the training rows that decide which ideas come first."""
    context = judged_context(AgentContext.from_loaded(load_context_data(train)), prepared.target, time)
    positive = {name: bool(np.all(context.data[name] > 0)) for name in (prepared.target, *prepared.inputs)}
    return DataProfile(
        rows=prepared.rows["train"],
        positive=positive[prepared.target] and any(positive[name] for name in prepared.inputs),
        network=bool(context.relation_names),
        inputs=len(prepared.inputs),
        derivative=prepared.estimated is not None,
    )
