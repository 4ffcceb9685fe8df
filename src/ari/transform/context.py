"""`experiment_context`: what was asked, with what data and means, and how the search went."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ari.errors import FormatError
from ari.formats.base import read_json
from ari.transform.view import NodeView, StudyView

TRAIN_MANIFEST = Path("data/train/manifest.json")


def experiment_context(view: StudyView) -> dict[str, Any]:
    """Compose the context; keys whose answer is not known are absent."""
    state = view.checkpoint.state
    experiment = view.experiment
    context: dict[str, Any] = {
        "title": experiment.get("title"),
        "question": experiment.get("question") or state.goal or None,
        "kind": view.kind or None,
        "run_id": state.run_id or None,
        "seed": state.seed,
        "primary_metric": view.primary_metric or None,
        "higher_is_better": view.higher_is_better,
        "metric_rationale": view.criteria.get("metric_rationale"),
        "root_node_id": view.checkpoint.root_node_id,
        "best_node_id": view.best.id if view.best else None,
        "lineage": [node.id for node in view.lineage(view.best)] if view.best else None,
        "search": _search(view),
        "ideas": _ideas(view),
        "decisions": [
            {key: d.get(key) for key in ("node_id", "decision", "rationale")} for d in state.decisions
        ],
        "versions": view.meta.get("versions"),
        "environment": _environment(view),
    }
    context |= (
        _symbolic(view)
        if view.kind == "symbolic"
        else _command(view)
        if view.kind in ("command", "code")
        else {}
    )
    return {key: value for key, value in context.items() if value is not None}


def _search(view: StudyView) -> dict[str, Any]:
    settings = view.checkpoint.state.settings
    kept = ("model", "nodes", "max_depth", "lookahead", "search_work", "node_time", "parallel")
    found = {key: settings[key] for key in kept if key in settings}
    labels: dict[str, int] = {}
    for node in view.nodes.values():
        labels[node.state.label] = labels.get(node.state.label, 0) + 1
    return found | {"ended": view.checkpoint.state.finished, "labels": labels}


def _ideas(view: StudyView) -> list[dict[str, Any]] | None:
    ideas = view.document("idea.json").get("ideas")
    if not isinstance(ideas, list):
        return None
    followed: dict[int, list[str]] = {}
    for node in view.nodes.values():
        index = node.plan.get("idea_index")
        if isinstance(index, int):
            followed.setdefault(index, []).append(node.id)
    return [
        {
            "title": idea.get("title"),
            "plan": idea.get("experiment_plan"),
            "strategies": idea.get("strategies"),
            "tried_by": followed.get(index, []),
        }
        for index, idea in enumerate(ideas)
        if isinstance(idea, Mapping)
    ]


def _environment(view: StudyView) -> dict[str, Any] | None:
    """The machine on which the best node ran its commands."""
    if view.best is None:
        return None
    from ari.execution.records import load

    runs = load(view.path / "records" / view.best.id, node_id=view.best.id).runs
    return dict(runs[-1].environment) if runs else None


def _symbolic(view: StudyView) -> dict[str, Any]:
    data = view.meta.get("data", {})
    notes = variable_notes(view.path)
    names = [*data.get("inputs", ()), data.get("target")]
    found: dict[str, Any] = {
        "target": view.experiment.get("target"),
        "inputs": data.get("inputs"),
        "data": {
            "source": view.experiment.get("data_source"),
            "source_sha256": data.get("source_sha256"),
            "rows": data.get("rows"),
            "axis": data.get("axis"),
            "variables": {name: notes[name] for name in names if name in notes},
        },
        "sealed": view.meta.get("sealed"),
    }
    best = view.best
    if best is not None and best.formula is not None:
        found["formula"] = _formula(view, best)
    return found


def _formula(view: StudyView, best: NodeView) -> dict[str, Any]:
    from sr_harness.engine import complexity, latex, parse, relations, render, variables
    from sr_harness.engine.build import var
    from sr_harness.errors import ExpressionError

    target = str(view.experiment.get("target") or "y")
    found: dict[str, Any] = {"target": target, "text": best.formula, "node_id": best.id}
    try:
        expression = parse(best.formula or "")
    except ExpressionError as error:
        return found | {"unreadable": str(error)}
    used = sorted(variables(expression))
    return found | {
        "rendered": render(expression),
        "latex": f"{latex(var(target))} = {latex(expression)}",
        "complexity": complexity(expression),
        "variables": used,
        "unused_inputs": [n for n in view.meta.get("data", {}).get("inputs", ()) if n not in used],
        "relations": sorted(relations(expression)),
    }


def _command(view: StudyView) -> dict[str, Any]:
    experiment = view.experiment
    return {
        "command": experiment.get("command"),
        "parameters": experiment.get("parameters"),
        "ceiling": experiment.get("ceiling"),
        "correctness": experiment.get("correctness"),
        "repeats": experiment.get("repeats"),
        "files": list(experiment.get("files", ())),
        "best_parameters": view.best.params if view.best else None,
    }


def variable_notes(checkpoint: Path) -> dict[str, dict[str, Any]]:
    """What the training data's manifest says of each variable: description and unit."""
    path = checkpoint / TRAIN_MANIFEST
    if not path.exists():
        return {}
    document = read_json(path)
    variables = document.get("variables") if isinstance(document, dict) else None
    if not isinstance(variables, dict):
        raise FormatError(f"{path} describes no variables")
    kept = ("description", "unit", "axes")
    return {name: {k: v for k, v in note.items() if k in kept} for name, note in variables.items()}
