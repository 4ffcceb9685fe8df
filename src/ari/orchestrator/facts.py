"""Facts of a study that a paper states beside its results, recorded as metrics so that they can be checked.

A paper says how many rows there were, what the constants of a formula are, how far repeats spread. Such a
number is written into the tree like any measurement, at the node it belongs to, and so the gate finds it
under `metrics.NAME`:

    root        data_rows, data_rows_train, data_rows_validation, data_rows_sealed, data_inputs,
                study_seed, study_nodes, study_nodes_failed, study_nodes_sterile, study_depth,
                study_parameters, study_repeats
    finalists   formula_constant_1, formula_constant_2, … (in the order in which the formula names them),
                formula_inputs
    repeats     METRIC_n, METRIC_min, METRIC_max, METRIC_ci95_low, METRIC_ci95_high

They are recorded when the search ends. Nothing here enters a score.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ari.checkpoint import Checkpoint, NodeState
from ari.orchestrator.closing import PREFIX
from ari.orchestrator.node_report import read_relative
from ari.pipeline.experiment_spec import Experiment

INTERVAL_LEVEL = 0.95
MIN_REPEATS = 3
"""Fewer repeats give no interval that is worth stating."""

_STUDY_FACT = re.compile(r"data_(?:rows(?:_train|_validation|_sealed)?|inputs)|study_[a-z_]+")
_FORMULA_FACT = re.compile(r"formula_(?:constant_\d+|inputs)")
_SPREAD_FACT = re.compile(r"(.+)_(?:n|min|max|ci95_low|ci95_high)")


def is_fact(name: str, metrics: Mapping[str, Any]) -> bool:
    """Say whether a metric of the tree is a fact in the sense of this module and no measurement by itself.

    Args:
        name: The metric.
        metrics: All metrics of the same node.
    """
    spread = _SPREAD_FACT.fullmatch(name)
    return bool(
        _STUDY_FACT.fullmatch(name)
        or _FORMULA_FACT.fullmatch(name)
        or (spread and spread.group(1) in metrics and f"{spread.group(1)}_n" in metrics)
    )


@dataclass(frozen=True)
class NodeFacts:
    """Facts to be recorded at one node."""

    node_id: str
    metrics: dict[str, float | None]
    extractor: str

    @property
    def metadata(self) -> dict[str, dict[str, Any]]:
        """The note of each metric."""
        return {
            name: {"value": value, "confidence": 1.0, "extractor": self.extractor}
            for name, value in self.metrics.items()
        }


def study_facts(checkpoint: Checkpoint, experiment: Experiment) -> Iterator[NodeFacts]:
    """Collect the facts that are not recorded yet, or no longer true (a study was carried further)."""
    for facts in _all_facts(checkpoint, experiment):
        present = checkpoint.nodes[facts.node_id].metrics
        fresh = {name: value for name, value in facts.metrics.items() if present.get(name) != value}
        if fresh:
            yield NodeFacts(facts.node_id, fresh, facts.extractor)


def record_facts(checkpoint: Checkpoint) -> bool:
    """Record the facts of a finished study that was ended by a program that did not know them yet.

    Returns:
        Whether anything was recorded; the files derived from the tree are then written anew.
    """
    document = checkpoint.state.settings.get("experiment")
    if document is None or checkpoint.state.finished is None:
        return False
    facts = list(study_facts(checkpoint, Experiment.model_validate(document)))
    for item in facts:
        checkpoint.append(
            "node_evaluated", node_id=item.node_id, metrics=item.metrics, metrics_with_metadata=item.metadata
        )
    if facts:
        checkpoint.write_nodes_tree()
        checkpoint.write_results(checkpoint.best_node_id)
    return bool(facts)


def _all_facts(checkpoint: Checkpoint, experiment: Experiment) -> Iterator[NodeFacts]:
    root = checkpoint.root_node_id
    if root is None:
        return
    yield NodeFacts(root, _of_study(checkpoint, experiment), "counted by the study")
    for node in checkpoint.nodes.values():
        if node.status != "completed" or not node.has_real_data:
            continue
        if experiment.kind == "symbolic":
            yield NodeFacts(node.id, _of_formula(checkpoint, node), "read from the parsed formula")
            yield NodeFacts(node.id, _of_notes(node), "sr_harness.evaluator over resampled rows")
        else:
            spread = _of_repeats(checkpoint, node, experiment)
            yield NodeFacts(node.id, spread, "spread of the values printed by the node's runs")


def _of_study(checkpoint: Checkpoint, experiment: Experiment) -> dict[str, float | None]:
    nodes = list(checkpoint.nodes.values())
    found: dict[str, float | None] = {
        "study_nodes": len(nodes),
        "study_nodes_failed": sum(node.status == "errored" for node in nodes),
        "study_nodes_sterile": sum(node.search_state.sterile for node in nodes),
        "study_depth": checkpoint.max_depth,
    }
    if checkpoint.state.seed is not None:
        found["study_seed"] = checkpoint.state.seed
    if experiment.kind == "command":
        found["study_parameters"] = len(experiment.parameters)
        found["study_repeats"] = experiment.repeats
        return found
    if experiment.kind == "code":
        return found
    data = checkpoint.meta.to_dict().get("data", {})
    rows: Mapping[str, int] = data.get("rows", {})
    if rows:
        found["data_rows"] = sum(rows.values())
        found |= {f"data_rows_{part}": count for part, count in rows.items()}
        found["data_inputs"] = len(data.get("inputs", ()))
    return found


def _of_formula(checkpoint: Checkpoint, node: NodeState) -> dict[str, float | None]:
    """Constants of a formula that was measured on the sealed rows, in the order of its text."""
    if f"{PREFIX}n" not in node.metrics:
        return {}
    from sr_harness.engine import free_numbers, parse, variables

    text = read_relative(checkpoint.path, node).submission.get("formula")
    if not text:
        return {}
    expression = parse(text)
    _, values = free_numbers(expression, whole=True)
    found: dict[str, float | None] = {
        f"formula_constant_{number}": value for number, value in enumerate(values.values(), 1)
    }
    return found | {"formula_inputs": len(variables(expression))}


def _of_notes(node: NodeState) -> dict[str, float | None]:
    """What the evaluator noted beside a metric: interval, range and number of repeats."""
    found: dict[str, float | None] = {}
    for name, note in node.metrics_with_metadata.items():
        if "ci95_low" in note:
            found |= {f"{name}_n": note["n"]}
            found |= {f"{name}_ci95_low": note["ci95_low"], f"{name}_ci95_high": note["ci95_high"]}
        elif "min" in note and "max" in note:
            found |= {f"{name}_n": note["n"], f"{name}_min": note["min"], f"{name}_max": note["max"]}
    return found


def _of_repeats(checkpoint: Checkpoint, node: NodeState, experiment: Experiment) -> dict[str, float | None]:
    from ari.evaluation.evaluator import node_values

    metric = experiment.primary_metric
    values = node_values(experiment.kind, checkpoint.path, node.id).get(metric, [])
    if len(values) < 2 or not all(math.isfinite(value) for value in values):
        return {}
    found: dict[str, float | None] = {
        f"{metric}_n": len(values),
        f"{metric}_min": min(values),
        f"{metric}_max": max(values),
    }
    interval = mean_interval(values)
    if interval is not None:
        found |= {f"{metric}_ci95_low": interval[0], f"{metric}_ci95_high": interval[1]}
    return found


def mean_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """The 95 % interval of the mean by Student's t distribution; None for fewer than three values."""
    if len(values) < MIN_REPEATS:
        return None
    from scipy.special import stdtrit

    quantile = float(stdtrit(len(values) - 1, 0.5 + INTERVAL_LEVEL / 2))
    half = quantile * statistics.stdev(values) / math.sqrt(len(values))
    mean = statistics.fmean(values)
    return mean - half, mean + half
