"""Measuring a command node: from its run records, never from what the agent says.

A number is evidence when a recorded, successful run of this node printed it, or wrote it into a
`results*.json` of its own. `results.json` as the `coding` skill writes it is a convenience for readers;
everything in it is derived again here.
"""

from __future__ import annotations

import json
import math
import operator
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ari.agent.task import NodeOutcome, NodeTask
from ari.evaluation.metrics_text import numeric_items, parse_metrics
from ari.evaluation.provenance import supported_provenance
from ari.evaluation.score import metric_score

if TYPE_CHECKING:
    from ari.execution.records import RunRecord

CEILING_LABEL = "ceiling"
_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
}


class Measurement(NamedTuple):
    """One metric over the repeats of a node: the median counts, the range is kept."""

    value: float
    n: int
    low: float
    high: float
    runs: tuple[int, ...]


def measurements(records: Sequence[RunRecord], work_dir: Path | None = None) -> dict[str, Measurement]:
    """All metrics that the successful runs of a node printed or wrote.

    Args:
        records: The node's run records, in order.
        work_dir: Where files written by the runs lie; None leaves them out.
    """
    return {name: measurement(values) for name, values in _seen(records, work_dir).items()}


def repeated_values(records: Sequence[RunRecord], work_dir: Path | None = None) -> dict[str, list[float]]:
    """Every value of each metric that the successful runs of a node printed or wrote, in their order."""
    return {name: [value for _, value in pairs] for name, pairs in _seen(records, work_dir).items()}


def _seen(records: Sequence[RunRecord], work_dir: Path | None) -> dict[str, list[tuple[int, float]]]:
    seen: dict[str, list[tuple[int, float]]] = {}
    for record in records:
        if record.outcome != "ok":
            continue
        printed = parse_metrics(record.stdout)
        if work_dir is not None:
            printed = written_metrics(record, work_dir) | printed
        for name, value in printed.items():
            seen.setdefault(name, []).append((record.index, value))
    return seen


def measurement(values: Sequence[tuple[int, float]]) -> Measurement:
    """One metric from its values with the index of the run that gave each."""
    numbers = [value for _, value in values]
    if not all(math.isfinite(number) for number in numbers):
        worst = next(number for number in numbers if not math.isfinite(number))
        return Measurement(worst, len(numbers), worst, worst, tuple(index for index, _ in values))
    return Measurement(
        statistics.median(numbers),
        len(numbers),
        min(numbers),
        max(numbers),
        tuple(index for index, _ in values),
    )


def written_metrics(record: RunRecord, work_dir: Path) -> dict[str, float]:
    """Metrics of `results*.json` files that this very run wrote and nobody has changed since."""
    from ari.execution.workdir import hash_file

    found: dict[str, float] = {}
    for output in record.outputs:
        path = work_dir / output.path
        if not re.fullmatch(r"results[^/]*\.json", output.path) or not path.is_file():
            continue
        if hash_file(path).sha256 != output.sha256:
            continue
        try:
            loaded = json.loads(path.read_bytes())
        except (ValueError, RecursionError):
            continue
        if isinstance(loaded, dict):
            inner = loaded.get("measurements")
            found.update(numeric_items(inner if isinstance(inner, dict) else loaded))
    return found


def collect_results(
    records: Sequence[RunRecord],
    *,
    params: dict[str, Any],
    provenance: dict[str, str],
    task: NodeTask | None = None,
) -> dict[str, Any]:
    """The content of a node's `results.json`: medians of what its runs printed; empty tags left out.

    Args:
        records: The node's run records.
        params: What characterises the node's configuration.
        provenance: Where values come from, as the agent says.
        task: The node's task; of a node that writes its own programs only what is borne out is taken, and
            `not_counted` says why the rest is not.
    """
    refused: dict[str, str] = {}
    if task is not None and task.experiment.kind == "code":
        from ari.evaluation.code import own_measurements

        found, refused = own_measurements(task, records)
    else:
        found = measurements(records)
    results: dict[str, Any] = {
        "schema_version": "1.0",
        "params": params,
        "measurements": {name: m.value if math.isfinite(m.value) else None for name, m in found.items()},
        "predictions": {},
        "scores": {},
    }
    if provenance:
        results["_provenance"] = provenance
    if refused:
        results["not_counted"] = refused
    return results


def evaluate_command_node(
    task: NodeTask, work_dir: Path, records: Sequence[RunRecord], *, reference: float | None
) -> NodeOutcome:
    """Measure a command node.

    Args:
        task: The node's task.
        work_dir: The node's folder.
        records: Its run records.
        reference: The root's value of the primary metric, against which the score is set.
    """
    experiment = task.experiment
    found = measurements(records, work_dir)
    declared = _declared_provenance(work_dir)
    provenance = supported_provenance(declared, experiment, records, work_dir, found)
    outcome = NodeOutcome(
        node_id=task.node_id,
        status="completed",
        metrics={name: m.value if math.isfinite(m.value) else None for name, m in found.items()},
        metrics_with_metadata={name: metric_note(name, m, provenance) for name, m in found.items()},
        submission={"params": _params(work_dir)},
        provenance=provenance,
    )
    fault = _fault(task, records, found)
    if fault:
        return outcome.model_copy(update={"status": "errored", "error": fault, "eval_summary": fault})
    primary = found[experiment.primary_metric]
    ceiling = measured_ceiling(task, found, provenance)
    score = metric_score(
        primary.value, higher_is_better=task.higher_is_better, reference=reference, ceiling=ceiling
    )
    return outcome.model_copy(
        update={"score": score, "has_real_data": True, "eval_summary": summary_text(task, primary, ceiling)}
    )


def _fault(task: NodeTask, records: Sequence[RunRecord], found: dict[str, Measurement]) -> str | None:
    name = task.experiment.primary_metric
    if not records:
        return "the node ran no command"
    bad = next(
        (record for record in records if record.outcome != "ok" and record.label != CEILING_LABEL), None
    )
    if bad is not None:
        return describe_failure(bad)
    if name not in found:
        printed = ", ".join(sorted(found)) or "nothing that reads as a metric"
        return f"no run printed the metric {name!r} (printed: {printed}); print a line '{name}: VALUE'"
    if not math.isfinite(found[name].value):
        return f"the metric {name!r} came out as {found[name].value}"
    return incorrect(task.experiment.correctness, found)


def describe_failure(record: RunRecord) -> str:
    """Why a command failed, with the most telling line of its error output."""
    reason = record.reason or f"the command failed with exit status {record.exit_status}"
    lines = [line.strip() for line in record.stderr.splitlines() if line.strip()]
    telling = [line for line in lines if "error" in line.lower()] or lines[-1:]
    if any(line.startswith("Traceback (most recent call last)") for line in lines):
        telling = lines[-1:]  # Python says last what was wrong, below lines of the program
    return f"{reason}: {telling[0][:300]}" if telling else reason


def incorrect(check: str | None, found: Mapping[str, Measurement]) -> str | None:
    """Why a result fails the experiment's correctness check; None when it passes or there is none."""
    if check is None:
        return None
    name, symbol, number = re.match(r"^(\S+?)\s*(<=|>=|==|<|>)\s*(\S+)$", check).groups()  # type: ignore[union-attr]
    if name not in found:
        return f"the correctness check {check!r} could not be made: no run printed {name!r}"
    measured = found[name]
    worst = measured.high if symbol in ("<", "<=") else measured.low
    if math.isfinite(worst) and _OPERATORS[symbol](worst, float(number)):
        return None
    return f"the result is not correct: {name} = {worst:g}, required {symbol} {number}"


def _declared_provenance(work_dir: Path) -> dict[str, str]:
    try:
        loaded = json.loads((work_dir / "results.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}  # a node without a readable results.json declares nothing; its runs still count
    tags = loaded.get("_provenance") if isinstance(loaded, dict) else None
    return {str(k): str(v) for k, v in tags.items()} if isinstance(tags, dict) else {}


def _params(work_dir: Path) -> dict[str, Any]:
    try:
        loaded = json.loads((work_dir / "params.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}  # parameters are for display and for the children's plans, never evidence
    return loaded if isinstance(loaded, dict) else {}


def metric_note(name: str, measurement: Measurement, provenance: Mapping[str, str]) -> dict[str, Any]:
    """What is recorded beside a metric: confidence, extractor, repeats, range, provenance."""
    finite = math.isfinite(measurement.value)
    data: dict[str, Any] = {
        "value": measurement.value if finite else None,
        "confidence": 1.0 if finite else 0.0,
        "extractor": "median of the values printed by runs " + ", ".join(map(str, measurement.runs)),
        "n": measurement.n,
    }
    if not finite:
        value = measurement.value
        data["non_finite"] = "nan" if math.isnan(value) else "+inf" if value > 0 else "-inf"
    elif measurement.n > 1:
        data["min"], data["max"] = measurement.low, measurement.high
    if name in provenance:
        data["provenance"] = provenance[name]
    return data


def measured_ceiling(
    task: NodeTask, found: Mapping[str, Measurement], provenance: Mapping[str, str]
) -> float | None:
    """The ceiling of the primary metric, when the experiment names one and this node measured it."""
    ceiling = task.experiment.ceiling
    if ceiling is None or ceiling.bounds != task.experiment.primary_metric:
        return None
    if provenance.get(ceiling.metric) not in ("microbench", "benchmark") or ceiling.metric not in found:
        return None
    return found[ceiling.metric].value


def summary_text(task: NodeTask, primary: Measurement, ceiling: float | None) -> str:
    """The primary metric in words."""
    text = f"{task.experiment.primary_metric} = {primary.value:.6g}"
    if primary.n > 1:
        text += f" (median of {primary.n}, {primary.low:.6g} to {primary.high:.6g})"
    if ceiling:
        text += f", {100 * primary.value / ceiling:.1f} % of the measured ceiling {ceiling:.6g}"
    return text
