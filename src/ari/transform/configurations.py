"""Which nodes are configurations, what stands in each, which are left out and why, and what looks odd."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ari.transform.spread import node_statistics
from ari.transform.view import Anomaly, NodeView, StudyView

MEASURED_TAGS = frozenset({"microbench", "benchmark", "correctness", "reference"})


def ranked(view: StudyView) -> list[NodeView]:
    """The nodes that are results: the best first, then by score, equals in the order of their planning."""
    counted = [node for node in view.nodes.values() if node.counts]
    best = view.best
    return sorted(counted, key=lambda node: (node is not best, -node.state.score, node.state.order))


def configuration(view: StudyView, node: NodeView, rank: int) -> dict[str, Any]:
    """One entry of `configurations`: settings apart from measurements, each value with its origin."""
    provenance = value_provenance(view, node)
    measured = node.metrics
    others = {k: v for k, v in node.sections.get("measurements", {}).items() if _numeric(v)}
    entry: dict[str, Any] = {
        "config_id": f"cfg{rank}",
        "rank": rank,
        "node_id": node.id,
        "label": node.state.label,
        "parameters": parameters(node),
        "metrics": measured,
        "measurements": {**others, **measured},
        "predictions": {k: v for k, v in node.sections.get("predictions", {}).items() if _numeric(v)},
        "scores": {k: v for k, v in node.sections.get("scores", {}).items() if _numeric(v)},
        "statistics": node_statistics(view, node),
        "score": node.state.score,
        "depth": node.state.depth,
        "parent_id": node.state.parent_id,
        "what_was_done": node.report.get("what_was_done") or node.state.eval_summary or "",
        "_provenance": provenance,
    }
    if node.formula is not None:
        entry["formula"] = node.formula
    return {key: value for key, value in entry.items() if value != {} or key in _ALWAYS}


_ALWAYS = frozenset({"parameters", "metrics", "measurements"})


def parameters(node: NodeView) -> dict[str, Any]:
    """What was set: the values of a command's parameters, or how a formula was looked for."""
    if node.params:
        return node.params
    chosen = {key: node.plan[key] for key in ("strategies", "part", "refine") if key in node.plan}
    return ({"formula": node.formula} if node.formula is not None else {}) | chosen


def value_provenance(view: StudyView, node: NodeView) -> dict[str, str]:
    """The `_provenance` of a configuration.

    A tag that the run record bears out stays. A tag that it does not, and a reported value that no run of
    the node produced, become `declared`.
    """
    tags: dict[str, str] = {}
    for name in node.metrics:
        tag = node.tag(name)
        if tag is not None:
            tags[name] = tag
    for name, claimed in node.declared.items():
        tags.setdefault(name, _checked(view, node, name, claimed))
    for section in ("measurements", "predictions", "scores"):
        for name, value in node.sections.get(section, {}).items():
            known = name in node.metrics or name in tags or not _numeric(value)
            if not known and not _run_wrote(view, node, name, value):
                tags[name] = "declared"
    return dict(sorted(tags.items()))


def _checked(view: StudyView, node: NodeView, name: str, claimed: str) -> str:
    if claimed not in MEASURED_TAGS:
        return claimed
    value = node.sections.get("measurements", {}).get(name)
    if isinstance(value, list) and _run_wrote(view, node, name, value):
        return claimed
    return "declared"


def _run_wrote(view: StudyView, node: NodeView, name: str, value: Any) -> bool:  # noqa: ANN401 - a JSON value
    """Whether a run of the node wrote the file in which the value stands, and nobody has changed it since."""
    from ari.evaluation.provenance import was_written
    from ari.execution.records import load

    file = node.written_by.get(name)
    if file is None:
        return False
    runs = load(view.path / "records" / node.id, node_id=node.id).runs
    folder = view.path / (node.state.work_dir or f"experiments/{node.id}")
    return was_written(file, value, runs, Path(folder))


def _numeric(value: object) -> bool:
    if isinstance(value, list):
        return bool(value) and all(_numeric(item) for item in value)
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def left_out(view: StudyView) -> list[dict[str, Any]]:
    """Every node that is no configuration, in the order of planning, with the reason."""
    rest = [node for node in view.nodes.values() if not node.counts]
    return [
        {
            "node_id": node.id,
            "reason": _why(node),
            "status": node.state.status,
            "label": node.state.label,
            "what_was_done": str(node.plan.get("summary", "")),
        }
        for node in sorted(rest, key=lambda node: node.state.order)
    ]


def _why(node: NodeView) -> str:
    state = node.state
    if state.status == "errored":
        return state.error or state.eval_summary or "it failed; no reason was recorded"
    if state.status != "completed":
        return "it was still running when the search ended" if state.status == "running" else "it was not run"
    if state.search_state.sterile:
        return "it changed nothing against its parent"
    return "the evaluator found no measurement that a recorded run bears out"


def anomalies(view: StudyView, nodes: Sequence[NodeView]) -> list[Anomaly]:
    """What a reader should know about the numbers: not finite, above a measured ceiling, unreadable."""
    found = [Anomaly(node.id, None, reason) for node in view.nodes.values() for reason in node.unreadable]
    for node in nodes:
        for name, note in node.state.metrics_with_metadata.items():
            if note.get("non_finite"):
                found.append(Anomaly(node.id, name, f"came out as {note['non_finite']}"))
        found += _above_ceiling(view.experiment.get("ceiling"), node)
    return found


def _above_ceiling(ceiling: Mapping[str, Any] | None, node: NodeView) -> list[Anomaly]:
    if not ceiling:
        return []
    value, most = node.metrics.get(ceiling["bounds"]), node.metrics.get(ceiling["metric"])
    if value is None or most is None or value <= most:
        return []
    reason = f"{value:.6g} is above the measured ceiling {ceiling['metric']} = {most:.6g}"
    return [Anomaly(node.id, str(ceiling["bounds"]), reason)]
