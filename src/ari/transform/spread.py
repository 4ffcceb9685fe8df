"""Statistics: repeats of one node, and metrics over the nodes of a study. Directions are never guessed."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from ari.orchestrator.facts import INTERVAL_LEVEL, mean_interval
from ari.pipeline.criteria import known_direction
from ari.transform.view import NodeView, StudyView


def describe(values: Sequence[float]) -> dict[str, Any]:
    """n, mean, median, range, standard deviation, and from three values on the interval of the mean."""
    found: dict[str, Any] = {
        "n": len(values),
        "mean": statistics.fmean(values),
        "median": statistics.median(values),
        "min": min(values),
        "max": max(values),
    }
    if len(values) > 1:
        found["std"] = statistics.stdev(values)
    interval = mean_interval(values)
    if interval is not None and all(math.isfinite(bound) for bound in interval):
        found |= {"interval": list(interval), "interval_level": INTERVAL_LEVEL, "interval_of": "mean"}
    return found


def node_statistics(view: StudyView, node: NodeView) -> dict[str, dict[str, Any]]:
    """Statistics of a node's repeats: from its runs, or from the resampled rows of a validation node."""
    if view.kind in ("command", "code"):
        return _of_runs(view, node)
    found = {}
    for name, note in node.state.metrics_with_metadata.items():
        value = node.state.metrics.get(name)
        if "ci95_low" in note:
            found[name] = {
                "n": note["n"],
                "median": value,
                "interval": [note["ci95_low"], note["ci95_high"]],
                "interval_level": INTERVAL_LEVEL,
                "interval_of": f"bootstrap over rows, {note.get('resamples')} resamples",
            }
        elif "min" in note and "max" in note:
            found[name] = {"n": note["n"], "median": value, "min": note["min"], "max": note["max"]}
    return found


def _of_runs(view: StudyView, node: NodeView) -> dict[str, dict[str, Any]]:
    from ari.evaluation.evaluator import node_values

    values = node_values(view.kind, view.path, node.id, work_dir=node.state.work_dir)
    return {
        name: describe(found)
        for name, found in values.items()
        if len(found) > 1 and all(math.isfinite(value) for value in found)
    }


def direction(view: StudyView, metric: str) -> bool | None:
    """Whether a higher value of a metric is better; None when neither the study nor its name tells."""
    if metric == view.primary_metric:
        return view.higher_is_better
    return known_direction(metric)


def summary(view: StudyView, configurations: Sequence[NodeView], unsuccessful: int) -> dict[str, Any]:
    """The content of `summary_stats`.

    Args:
        view: The study.
        configurations: The nodes that are results, best first.
        unsuccessful: How many nodes are none.
    """
    primary = view.primary_metric
    higher = view.higher_is_better
    values = {n.id: n.metrics[primary] for n in configurations if primary in n.metrics}
    found: dict[str, Any] = {
        "count": len(configurations),
        "left_out": unsuccessful,
        "primary_metric": primary,
        "direction": _direction_word(higher),
        "metrics": _per_metric(view, configurations),
    }
    if values and higher is not None:
        best = max(values, key=lambda name: values[name] if higher else -values[name])
        worst = min(values, key=lambda name: values[name] if higher else -values[name])
        found |= {
            "primary_metric_best": values[best],
            "primary_metric_best_node": best,
            "primary_metric_worst": values[worst],
            "primary_metric_median": statistics.median(values.values()),
        }
    if view.best is not None:
        found["best_node_id"] = view.best.id
    if view.root is not None and view.root.metrics.get(primary) is not None:
        found["primary_metric_root"] = view.root.metrics[primary]
    return found


def _direction_word(higher: bool | None) -> str | None:
    return None if higher is None else "higher_is_better" if higher else "lower_is_better"


def _per_metric(view: StudyView, nodes: Sequence[NodeView]) -> Mapping[str, dict[str, Any]]:
    names = sorted({name for node in nodes for name in node.metrics})
    found = {}
    for name in names:
        values = [node.metrics[name] for node in nodes if name in node.metrics]
        entry: dict[str, Any] = {
            "n": len(values),
            "mean": statistics.fmean(values),
            "median": statistics.median(values),
            "min": min(values),
            "max": max(values),
        }
        higher = direction(view, name)
        if higher is not None:
            entry |= {"direction": _direction_word(higher), "best": max(values) if higher else min(values)}
        found[name] = entry
    return found
