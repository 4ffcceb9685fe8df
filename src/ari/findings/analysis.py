"""Questions about a finished study that figures and paper both ask: fronts, ablations, changes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ari.findings.parts import Taken, taken_out
from ari.findings.study import FinishedStudy, Node

ERROR_METRICS = ("nrmse", "rmse", "mae", "mse", "max_abs_error", "max_rel_error", "trajectory_error")
"""Metrics of a formula for which zero is perfect."""


def error_metric(study: FinishedStudy) -> str:
    """The error that formulas are compared by: the primary metric where it is one, else `nrmse`."""
    return study.primary_metric if study.primary_metric in ERROR_METRICS else "nrmse"


def pareto_front(nodes: Sequence[Node], metric: str) -> list[Node]:
    """The nodes that no other beats in both error and complexity; of equals the earliest."""
    front: list[Node] = []
    best = math.inf
    for node in sorted(nodes, key=lambda n: (n.metrics["complexity"], n.metrics[metric], n.order)):
        if node.metrics[metric] < best:
            front.append(node)
            best = node.metrics[metric]
    return front


def ablations(study: FinishedStudy) -> list[Node]:
    """The ablations of the reported formula that were measured, each part once."""
    if study.best is None or study.best.formula is None:
        return []
    seen: dict[str, Node] = {}
    for node in study.nodes:
        part = node.plan.get("part")
        parent = study.node(node.parent)
        same = parent is not None and parent.formula == study.best.formula
        if node.label == "ablation" and node.counts and same and isinstance(part, str):
            seen.setdefault(taken(study, node).text, node)
    return list(seen.values())


def changes(study: FinishedStudy) -> list[tuple[Node, Node, str]]:
    """Every measured experiment that changed one parameter of its parent: child, parent, parameter."""
    found = []
    for node in study.nodes:
        parent, name = study.node(node.parent), node.plan.get("changed")
        if not (node.counts and parent is not None and parent.counts and isinstance(name, str)):
            continue
        if all(study.primary_metric in n.metrics for n in (node, parent)):
            found.append((node, parent, name))
    return found


def taken(study: FinishedStudy, node: Node) -> Taken:
    """What an ablation took out of its parent's formula."""
    parent = study.node(node.parent)
    return taken_out(parent.formula if parent is not None else None, str(node.plan.get("part", "")))
