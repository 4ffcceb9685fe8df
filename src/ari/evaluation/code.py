"""Measuring a node that wrote its own programs: what a recorded run measured, and nothing that was only said.

Such a node explores before it measures, so not every number it printed is its result. A value counts when

- a recorded, successful run of this node printed it, or wrote it into a `results*.json` that is unchanged;
- the run did work of its own: at least `MIN_CPU_SECONDS` of processor time;
- the number does not stand, as the same number, in the command or in a file which the run could read and
  the node or its ancestors wrote, and no such file has been changed or removed since;
- the run belongs to the final state: it has the same command, and the same files except what that command
  itself writes, as the last run that gave the metric. Of these repeats the median counts.

Everything else that stands in `results*.json` is kept as *declared*: a reader may see it, no score and no
paper uses it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ari.agent.task import NodeOutcome, NodeTask
from ari.evaluation.command import (
    Measurement,
    describe_failure,
    incorrect,
    measured_ceiling,
    measurement,
    metric_note,
    summary_text,
    written_metrics,
)
from ari.evaluation.metrics_text import numeric_items, parse_metrics
from ari.evaluation.provenance import (
    MAX_SCANNED_BYTES,
    MIN_CPU_SECONDS,
    SIGNIFICANT_DIGITS,
    supported_provenance,
)
from ari.evaluation.score import metric_score

if TYPE_CHECKING:
    from ari.execution.records import RunRecord

MAX_DECLARED = 50
"""Numbers that were only said and are kept for the reader."""

_NUMBER = re.compile(rb"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_RESULT_FILE = re.compile(r"(?:results[^/]*|formula|front|node_report)\.json")


class Counted(NamedTuple):
    """What counts at a node, and why other metrics do not.

    Attributes:
        values: Metric to its values with the index of the run that gave each.
        refused: Metric to the reason why it does not count.
        command: Metric to the command that gave it.
    """

    values: dict[str, list[tuple[int, float]]]
    refused: dict[str, str]
    command: dict[str, str]


class OwnRuns:
    """The run records of a node, with the questions that decide what counts.

    Args:
        records: The records, in order.
        work_dir: The node's folder.
        given: Hashes of the experiment's own files, which cannot hold numbers that the node made up.
    """

    def __init__(self, records: Sequence[RunRecord], work_dir: Path, given: frozenset[str]) -> None:
        self.records = records
        self.work_dir = work_dir
        self.given = given
        self._numbers: dict[str, frozenset[float]] = {}

    def counted(self) -> Counted:
        """Decide for every metric that a successful run gave."""
        found = Counted({}, {}, {})
        given: dict[str, list[tuple[RunRecord, float]]] = {}
        for record in self.records:
            if record.outcome == "ok":
                for name, value in self._metrics(record).items():
                    given.setdefault(name, []).append((record, value))
        for name, pairs in given.items():
            last = pairs[-1][0]
            same = [(r, value) for r, value in pairs if self._same_state(r, last)]
            kept = [(r.index, value) for r, value in same if self._objection(r, value) is None]
            if kept:
                found.values[name] = kept
                found.command[name] = last.command
            else:
                found.refused[name] = self._objection(*same[-1]) or ""
        return found

    def _metrics(self, record: RunRecord) -> dict[str, float]:
        return written_metrics(record, self.work_dir) | parse_metrics(record.stdout)

    def _same_state(self, record: RunRecord, last: RunRecord) -> bool:
        return record.command == last.command and self._state(record) == self._state(last)

    def _state(self, record: RunRecord) -> dict[str, str]:
        """The files a run started from, without results and what runs of the same command write."""
        own = {o.path for r in self.records if r.command == record.command for o in r.outputs}
        return {
            entry.path: entry.sha256
            for entry in record.inputs
            if entry.path not in own and not _RESULT_FILE.fullmatch(entry.path)
        }

    def _objection(self, record: RunRecord, value: float) -> str | None:
        """Why a value is not a measurement of this run; None when it is one."""
        if record.cpu_s < MIN_CPU_SECONDS:
            return (
                f"the run that gave it took {record.cpu_s:.3g} s of processor time, too little to have "
                "measured "
                "anything"
            )
        altered = [entry.path for entry in self._written_by_hand(record) if not self._is_unchanged(entry)]
        if altered:
            return f"{altered[0]} was changed after the run that gave it; measure again after the last change"
        if not math.isfinite(value) or _significant(value) < SIGNIFICANT_DIGITS:
            return None
        if value in _numbers_in(record.command.encode()):
            return "the number stands in the command that gave it"
        holder = next(
            (e.path for e in self._readable(record) if value in self._numbers_of(e.path, e.sha256)), None
        )
        return f"the number stands in {holder}, which the run could read" if holder else None

    @cached_property
    def _written(self) -> frozenset[str]:
        return frozenset(output.path for record in self.records for output in record.outputs)

    def _readable(self, record: RunRecord) -> Iterator[Any]:
        """Files a run could read that the node or its ancestors wrote, results left out."""
        for entry in record.inputs:
            if entry.sha256 not in self.given and not _RESULT_FILE.fullmatch(entry.path):
                yield entry

    def _written_by_hand(self, record: RunRecord) -> Iterator[Any]:
        return (entry for entry in self._readable(record) if entry.path not in self._written)

    def _is_unchanged(self, entry: Any) -> bool:  # noqa: ANN401 - a FileRecord
        from ari.execution.workdir import hash_file

        path = self.work_dir / entry.path
        return path.is_file() and not path.is_symlink() and hash_file(path).sha256 == entry.sha256

    def _numbers_of(self, relative: str, sha256: str) -> frozenset[float]:
        if sha256 not in self._numbers:
            path = self.work_dir / relative
            readable = path.is_file() and not path.is_symlink() and path.stat().st_size <= MAX_SCANNED_BYTES
            self._numbers[sha256] = _numbers_in(path.read_bytes()) if readable else frozenset()
        return self._numbers[sha256]


def _numbers_in(data: bytes) -> frozenset[float]:
    if b"\0" in data[:8000]:
        return frozenset()  # a compiled program; its text is looked at instead
    return frozenset(float(match) for match in _NUMBER.findall(data))


def _significant(value: float) -> int:
    return len(re.sub(r"\D", "", repr(abs(value)).split("e")[0]).strip("0"))


def own_runs(task: NodeTask, records: Sequence[RunRecord]) -> OwnRuns:
    """The runs of a node, ready to be judged."""
    checkpoint = Path(task.checkpoint)
    return OwnRuns(records, checkpoint / "experiments" / task.node_id, given_files(checkpoint))


def given_files(checkpoint: Path) -> frozenset[str]:
    """Hashes of the experiment's own files."""
    from ari.execution.workdir import snapshot
    from ari.orchestrator.node_dirs import INPUTS

    folder = checkpoint / INPUTS
    return frozenset(item.sha256 for item in snapshot(folder).values()) if folder.is_dir() else frozenset()


def own_measurements(
    task: NodeTask, records: Sequence[RunRecord]
) -> tuple[dict[str, Measurement], dict[str, str]]:
    """What a node has measured so far, and why its other numbers do not count."""
    counted = own_runs(task, records).counted()
    return {name: measurement(values) for name, values in counted.values.items()}, counted.refused


def evaluate_code_node(
    task: NodeTask, work_dir: Path, records: Sequence[RunRecord], *, reference: float | None
) -> NodeOutcome:
    """Measure a node that wrote its own programs.

    Args:
        task: The node's task.
        work_dir: The node's folder.
        records: Its run records.
        reference: The root's value of the primary metric, against which the score is set.
    """
    name = task.experiment.primary_metric
    counted = own_runs(task, records).counted()
    found = {metric: measurement(values) for metric, values in counted.values.items()}
    said = _said(work_dir)
    provenance = supported_provenance(
        _stated_tags(task) | said.tags, task.experiment, records, work_dir, found
    )
    submission: dict[str, Any] = {"params": said.params, "command": counted.command.get(name)}
    declared = said.declared(found)
    if declared:
        submission["declared"] = declared
    outcome = NodeOutcome(
        node_id=task.node_id,
        status="completed",
        metrics={metric: m.value if math.isfinite(m.value) else None for metric, m in found.items()},
        metrics_with_metadata={metric: metric_note(metric, m, provenance) for metric, m in found.items()},
        submission=submission,
        provenance=provenance,
        concerns=[f"declared only: {metric} = {value:g}" for metric, value in declared.items()],
    )
    fault = _fault(task, records, found, counted)
    if fault:
        return outcome.model_copy(update={"status": "errored", "error": fault, "eval_summary": fault})
    ceiling = measured_ceiling(task, found, provenance)
    score = metric_score(
        found[name].value, higher_is_better=task.higher_is_better, reference=reference, ceiling=ceiling
    )
    return outcome.model_copy(
        update={
            "score": score,
            "has_real_data": True,
            "eval_summary": summary_text(task, found[name], ceiling),
        }
    )


def _stated_tags(task: NodeTask) -> dict[str, str]:
    """What the experiment itself says of two metrics: which is the residual, which the measured ceiling."""
    tags: dict[str, str] = {}
    if task.experiment.correctness:
        tags[re.split(r"[\s<>=]", task.experiment.correctness, maxsplit=1)[0]] = "correctness"
    if task.experiment.ceiling is not None:
        tags[task.experiment.ceiling.metric] = "microbench"
    return tags


def _fault(
    task: NodeTask, records: Sequence[RunRecord], found: Mapping[str, Measurement], counted: Counted
) -> str | None:
    name = task.experiment.primary_metric
    if not records:
        return "the node ran no command"
    if name in counted.refused:
        return f"the metric {name!r} does not count: {counted.refused[name]}"
    if name not in found:
        if records[-1].outcome != "ok":
            return describe_failure(records[-1])
        printed = ", ".join(sorted({*found, *counted.refused})) or "nothing that reads as a metric"
        return f"no run printed the metric {name!r} (printed: {printed}); print a line '{name}: VALUE'"
    if not math.isfinite(found[name].value):
        return f"the metric {name!r} came out as {found[name].value}"
    again = [record for record in records if record.command == counted.command[name]]
    if again[-1].outcome != "ok":
        return describe_failure(again[-1])
    return incorrect(task.experiment.correctness, found) or _untested(task, records, found[name])


def _untested(task: NodeTask, records: Sequence[RunRecord], primary: Measurement) -> str | None:
    """Why the experiment's own tests do not vouch for the node; None when they passed or there are none."""
    tests = task.experiment.tests
    if tests is None:
        return None
    checkpoint = Path(task.checkpoint)
    changed = [
        path
        for path in task.experiment.test_files
        if not _same_content(checkpoint / "inputs" / path, checkpoint / "experiments" / task.node_id / path)
    ]
    if changed:
        return f"the test file {changed[0]} was changed; tests are the experiment's own"
    runs = [record for record in records if tests in record.command]
    if not runs:
        return f"the tests were not run; run {tests!r} after the last change"
    if runs[-1].outcome != "ok":
        return f"the tests failed: {describe_failure(runs[-1])}"
    measured = next(record for record in records if record.index == primary.runs[-1])
    state = {entry.path: entry.sha256 for entry in measured.inputs}
    stale = [
        e.path for e in runs[-1].inputs if _is_source(e.path) and state.get(e.path, e.sha256) != e.sha256
    ]
    return f"{stale[0]} was changed between the tests and the measurement; run both again" if stale else None


def _is_source(path: str) -> bool:
    from ari.orchestrator.node_dirs import is_source

    return is_source(path)


def _same_content(one: Path, other: Path) -> bool:
    from ari.execution.workdir import hash_file

    return one.is_file() and other.is_file() and hash_file(one).sha256 == hash_file(other).sha256


class _Said(NamedTuple):
    """What a node's `results*.json` say, whoever wrote them."""

    params: dict[str, Any]
    tags: dict[str, str]
    numbers: dict[str, float]

    def declared(self, found: Mapping[str, Measurement]) -> dict[str, float]:
        """Numbers that were said and not measured, or measured as something else."""
        other = {
            name: value
            for name, value in self.numbers.items()
            if math.isfinite(value)
            and (name not in found or not math.isclose(value, found[name].value, rel_tol=1e-6))
        }
        return dict(list(other.items())[:MAX_DECLARED])


def _said(work_dir: Path) -> _Said:
    """Read `results*.json`; what cannot be read says nothing, and the runs still count."""
    params: dict[str, Any] = {}
    tags: dict[str, str] = {}
    numbers: dict[str, float] = {}
    for path in sorted(work_dir.glob("results*.json")):
        try:
            loaded = json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError):
            continue
        if not isinstance(loaded, dict):
            continue
        parts = {
            key: loaded[key] for key in ("params", "_provenance", "measurements", "scores") if key in loaded
        }
        params = _plain(parts.get("params")) | params
        tags = {str(k): str(v) for k, v in _mapping(parts.get("_provenance")).items()} | tags
        for inner in (parts.get("measurements"), parts.get("scores")) if parts else (loaded,):
            numbers = dict(numeric_items(_mapping(inner))) | numbers
    return _Said(params, tags, numbers)


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _plain(value: object) -> dict[str, Any]:
    """The parameters that are numbers or short texts; they describe a node and are never evidence."""
    return {
        str(name): item
        for name, item in _mapping(value).items()
        if isinstance(item, bool | int | float) or (isinstance(item, str) and len(item) <= 200)
    }


def changed_nothing(task: NodeTask, records: Sequence[RunRecord], command: str | None) -> bool:
    """Whether a node measured its parent's very programs by its parent's command."""
    from ari.orchestrator import node_dirs

    parent = task.parent
    if parent is None or parent.submission.get("command") != command:
        return False
    own = {o.path for r in records if r.command == command for o in r.outputs}
    written = {o.path for r in records for o in r.outputs}
    difference, _ = node_dirs.changes(Path(task.checkpoint), task.node_id, parent.node_id)
    added = [
        e["path"] for e in difference.added if e["path"] not in written or node_dirs.is_source(e["path"])
    ]
    altered = [*added, *(e["path"] for e in difference.modified), *difference.deleted]
    return not any(path not in own and not _RESULT_FILE.fullmatch(path) for path in altered)
