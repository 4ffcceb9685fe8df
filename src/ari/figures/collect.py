"""Which figures a study gives, and the data of each: plain JSON, nothing that is not in the checkpoint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ari.findings.analysis import ablations, changes, error_metric, pareto_front, taken
from ari.findings.predictions import judged_parts, predict
from ari.findings.study import FinishedStudy, Node

if TYPE_CHECKING:
    import numpy as np

    from ari.findings.predictions import Prediction
    from sr_harness.core import AgentContext

MOST_POINTS = 2000
"""A part with more values is drawn by evenly spaced ones of its sorted order."""

MOST_SERIES = 4
MOST_BARS = 16
CURVE_POINTS = 300


@dataclass(frozen=True)
class FigurePlan:
    """A figure about to be drawn.

    Attributes:
        id: `fig_…`, its key in the manifest; its label in LaTeX is `fig:…`.
        kind: The drawing module.
        caption: One or two sentences in plain text, without numbers.
        wide: Whether it spans both columns.
        data: What the drawing module is given.
    """

    id: str
    kind: str
    caption: str
    wide: bool
    data: Mapping[str, Any]


def plan_figures(study: FinishedStudy) -> Iterator[FigurePlan]:
    """The figures of a study, in the order in which a paper shows them."""
    if study.kind == "symbolic":
        yield from _formula_figures(study)
    yield from _progress(study)
    yield from _effects(study)
    if len(study.nodes) > 1:
        yield FigurePlan(
            "fig_tree",
            "tree",
            _tree_caption(study),
            True,
            {"nodes": [_tree_node(study, n) for n in study.nodes]},
        )


# ------------------------------------------------------------------------------------------ symbolic studies


def _formula_figures(study: FinishedStudy) -> Iterator[FigurePlan]:
    best = study.best
    parts = judged_parts(study, reason="figures: predictions of the reported formula")
    if best is not None and best.formula and parts:
        found = {name: predict(best.formula, part, study.target) for name, part in parts.items()}
        caption = (
            f"{'Estimated' if study.estimated else 'Measured'} against predicted {study.target} (left) "
            f"and the residuals (right) of the reported formula, for the rows of each part of the data."
        )
        data = {"target": study.target, "formula": best.formula, "node": best.id}
        yield FigurePlan("fig_parity", "parity", caption, True, data | {"parts": _parity(found)})
        yield from _law(study, best.formula, parts)
        yield from _along_axis(study, parts, found)
        yield from _network(study, parts, found)
    yield from _pareto(study)


def _parity(found: Mapping[str, Prediction]) -> dict[str, dict[str, list[float]]]:
    import numpy as np

    parts = {}
    for name, prediction in found.items():
        measured, predicted = prediction.measured.ravel(), prediction.predicted.ravel()
        finite = np.isfinite(measured) & np.isfinite(predicted)
        kept = _thinned(measured[finite])
        parts[name] = {
            "measured": measured[finite][kept].tolist(),
            "predicted": predicted[finite][kept].tolist(),
        }
    return parts


def _thinned(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Positions of at most `MOST_POINTS` values, evenly spaced in their order, the extremes among them."""
    import numpy as np

    if len(values) <= MOST_POINTS:
        return np.arange(len(values))
    order = np.argsort(values, kind="stable")
    return np.sort(order[np.linspace(0, len(values) - 1, MOST_POINTS).round().astype(int)])


def _law(study: FinishedStudy, formula: str, parts: Mapping[str, AgentContext]) -> Iterator[FigurePlan]:
    """A curve, where the formula has a single input that is a column like the target."""
    import numpy as np

    from sr_harness.engine import evaluate, parse, relations, variables

    context = next(iter(parts.values()))
    expression = parse(formula, names=[name for name in context.data if name != study.target])
    used = variables(expression)
    if len(used) != 1 or relations(expression):
        return
    (name,) = used
    if context.variable_axes.get(name) != context.variable_axes[study.target]:
        return
    points = {}
    for part, rows in parts.items():
        x, y = (np.asarray(rows.data[key], dtype=np.float64).ravel() for key in (name, study.target))
        kept = _thinned(x)
        points[part] = {"x": x[kept].tolist(), "y": y[kept].tolist()}
    everything = [value for part in points.values() for value in part["x"]]
    low, high = min(everything), max(everything)
    if low == high:
        return
    spread = low > 0 and high / low >= 50
    grid = np.geomspace(low, high, CURVE_POINTS) if spread else np.linspace(low, high, CURVE_POINTS)
    values = np.broadcast_to(evaluate(expression, {name: grid}), grid.shape)
    finite = np.isfinite(values)
    data = {
        "input": name, "target": study.target, "parts": points,
        "curve": {"x": grid[finite].tolist(), "y": values[finite].tolist()},
    }  # fmt: skip
    values_are = "estimated" if study.estimated else "measured"
    caption = f"The reported formula over {name}, its only input, through the {values_are} values."
    yield FigurePlan("fig_law", "law", caption, False, data)


def _along_axis(
    study: FinishedStudy, parts: Mapping[str, AgentContext], found: Mapping[str, Prediction]
) -> Iterator[FigurePlan]:
    """Series along the first axis, where that is an ordered quantity such as time, cut in blocks."""
    import numpy as np

    context = parts.get("train")
    axes = context.variable_axes[study.target] if context is not None else ()
    if context is None or len(axes) < 2 or not set(found) >= {"train", "sealed"}:
        return
    axis = axes[0]
    if axis not in context.data or np.asarray(context.data[axis]).dtype.kind not in "fiu":
        return
    x = np.concatenate([np.asarray(parts[name].data[axis], dtype=np.float64) for name in found])
    if not np.all(np.diff(x) > 0):
        return
    measured = np.concatenate([p.measured.reshape(len(p.measured), -1) for p in found.values()])
    predicted = np.concatenate([p.predicted.reshape(len(p.predicted), -1) for p in found.values()])
    names = _names(context, axes[1]) if len(axes) == 2 else [str(i) for i in range(measured.shape[1])]
    # Evenly spaced over the columns sorted by their spread: quiet and lively ones both.
    order = np.argsort(measured.std(axis=0), kind="stable")
    picked = order[np.unique(np.linspace(0, len(order) - 1, MOST_SERIES).round().astype(int))]
    step = max(1, len(x) // MOST_POINTS)
    series = [
        {"name": names[i], "x": x[::step].tolist(), "measured": measured[::step, i].tolist(),
         "predicted": predicted[::step, i].tolist()}
        for i in picked
    ]  # fmt: skip
    ends = np.asarray(parts["sealed"].data[axis], dtype=np.float64)
    data = {
        "axis": axis,
        "target": study.target,
        "series": series,
        "sealed": [[float(ends[0]), float(ends[-1])]],
    }
    caption = (
        f"{study.target} along {axis} for series between the quietest and the liveliest: measured (marks) "
        f"and given by the reported formula (lines). No experiment saw the shaded rows."
    )
    yield FigurePlan("fig_trajectory", "trajectory", caption, True, data)


def _names(context: AgentContext, axis: str) -> list[str]:
    length = context.axis_length(axis)
    values = context.data.get(axis)
    return [str(value) for value in values] if values is not None else [str(i) for i in range(length)]


def _network(
    study: FinishedStudy, parts: Mapping[str, AgentContext], found: Mapping[str, Prediction]
) -> Iterator[FigurePlan]:
    """The network, coloured by the error at each node, where the target lies on the nodes of one relation."""
    import numpy as np

    context = next(iter(parts.values()))
    relation = next(iter(context.relation_names), None)
    if relation is None or context.num_nodes is None:
        return
    edges = np.asarray(context.data[relation])
    axis = context.variable_axes[study.target][-1]
    if edges.ndim != 2 or edges.shape[1] != 2 or context.axis_length(axis) != context.num_nodes:
        return
    residuals = np.concatenate(
        [(p.measured - p.predicted).reshape(-1, context.num_nodes) for p in found.values()]
    )
    error = np.sqrt(np.mean(residuals**2, axis=0))
    if np.all(error < 1e-12 * max(1.0, float(np.max(np.abs(found[next(iter(found))].measured))))):
        measured = np.concatenate([p.measured.reshape(-1, context.num_nodes) for p in found.values()])
        values, value_name = measured.mean(axis=0), f"mean {study.target}"
        caption = (
            f"The network {relation}. Colour: the mean of {study.target} at each node; an arrow points from "
            f"source to target."
        )
    else:
        values, value_name = error, f"error of {study.target}"
        caption = (
            f"The network {relation}. Colour: root mean square residual of the reported formula there; "
            f"an arrow points from source to target."
        )
    data = {
        "nodes": _names(context, axis), "edges": edges.tolist(), "values": values.tolist(),
        "value_name": value_name,
    }  # fmt: skip
    yield FigurePlan("fig_network", "network", caption, False, data)


def _pareto(study: FinishedStudy) -> Iterator[FigurePlan]:
    metric = error_metric(study)
    measured = [n for n in study.nodes if n.counts and metric in n.metrics and "complexity" in n.metrics]
    if len(measured) < 3:
        return
    front = pareto_front(measured, metric)
    points = [
        {
            "node": node.id, "formula": node.formula, "complexity": node.metrics["complexity"],
            "error": node.metrics[metric], "on_front": node in front,
            "chosen": study.best is not None and node.id == study.best.id,
        }
        for node in measured
    ]  # fmt: skip
    caption = "Error on the validation rows against complexity, for every formula that was measured."
    data = {"error_name": f"{metric} (validation)", "points": points}
    yield FigurePlan("fig_pareto", "pareto", caption, False, data)


# ---------------------------------------------------------------------------------------------- every study


def _progress(study: FinishedStudy) -> Iterator[FigurePlan]:
    metric, flip = study.primary_metric, study.primary_metric == "r2"
    nodes = [
        _progress_node(study, node, flip=flip)
        for node in study.nodes
        if node.status in ("completed", "errored")
    ]
    if sum(node["value"] is not None for node in nodes) < 2:
        return
    label = (
        "1 − R² (validation)" if flip else f"{metric} (validation)" if study.kind == "symbolic" else metric
    )
    better = "higher" if study.higher_is_better and not flip else "lower"
    spread = any(node["low"] is not None for node in nodes)
    caption = (
        f"The metric of every experiment in the order planned; {better} is better."
        + (" Whiskers: smallest and largest of the repeats." if spread else "")
        + (
            " Short bars: the ceiling measured beside each."
            if any(n["ceiling"] is not None for n in nodes)
            else ""
        )
    )
    data = {"metric": label, "higher_is_better": study.higher_is_better and not flip, "nodes": nodes}
    yield FigurePlan("fig_progress", "progress", caption, False, data)


def _progress_node(study: FinishedStudy, node: Node, *, flip: bool) -> dict[str, Any]:
    value = node.metrics.get(study.primary_metric) if node.status == "completed" else None
    notes = node.metadata.get(study.primary_metric, {})
    low, high = notes.get("min"), notes.get("max")
    if flip and value is not None:
        value, low, high = max(1 - value, 0.0), None, None
    ceiling = node.metrics.get(study.ceiling_metric) if study.ceiling_metric else None
    return {
        "node": node.id, "order": node.order, "value": value, "low": low, "high": high, "ceiling": ceiling,
        "counts": node.counts,
    }  # fmt: skip


def _effects(study: FinishedStudy) -> Iterator[FigurePlan]:
    if study.kind == "symbolic":
        yield from _ablations(study)
    else:
        yield from _changes(study)


def _ablations(study: FinishedStudy) -> Iterator[FigurePlan]:
    metric = error_metric(study)
    measured = [node for node in ablations(study) if metric in node.metrics][:MOST_BARS]
    if not measured or study.best is None or metric not in study.best.metrics:
        return
    whole = study.best.metrics[metric]
    bars = [
        {"node": node.id, "name": taken(study, node).label, "value": node.metrics[metric],
         "better": node.metrics[metric] <= whole}
        for node in measured
    ]  # fmt: skip
    data = {"axis": f"{metric} (validation)", "ratio": False, "reference": whole, "bars": bars}
    caption = "Error after one part of the reported formula is taken out and the rest fitted again."
    yield FigurePlan("fig_ablation", "effects", caption, False, data)


def _changes(study: FinishedStudy) -> Iterator[FigurePlan]:
    metric = study.primary_metric
    bars = []
    for node, parent, name in changes(study)[:MOST_BARS]:
        before, after = parent.metrics[metric], node.metrics[metric]
        if before <= 0 or after <= 0:
            continue
        bars.append({
            "node": node.id, "name": f"{name}: {_level(parent, name)} → {_level(node, name)}",
            "value": after / before, "better": (after > before) == study.higher_is_better,
        })  # fmt: skip
    if bars:
        data = {"axis": f"ratio of {metric}, after to before", "ratio": True, "reference": None, "bars": bars}
        caption = "What each change of one parameter did, relative to the experiment it changed."
        yield FigurePlan("fig_ablation", "effects", caption, False, data)


def _level(node: Node, name: str) -> str:
    value = node.params.get(name, "")
    return "none" if value == "" else str(value)


def _tree_node(study: FinishedStudy, node: Node) -> dict[str, Any]:
    state = "sterile" if node.sterile else node.status
    return {
        "id": node.id, "parent": node.parent, "name": node.number, "label": node.label, "score": node.score,
        "state": state, "best": study.best is not None and node.id == study.best.id,
    }  # fmt: skip


def _tree_caption(study: FinishedStudy) -> str:
    failed = any(node.status == "errored" for node in study.nodes)
    return (
        "The tree of experiments. Numbers give the order in which they were planned, shapes what each was "
        "for, colour the score" + ("; crosses failed." if failed else ".")
    )
