"""The end of a symbolic study: the final candidates meet the sealed rows, once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ari.checkpoint import Checkpoint, NodeState
from ari.orchestrator.node_report import read_relative
from ari.pipeline.experiment_spec import Experiment

FINALISTS = 3
"""How many different formulas, best score first, are measured on the sealed rows."""

PREFIX = "sealed_"


@dataclass(frozen=True)
class SealedResult:
    """Metrics of one finalist on the sealed rows."""

    node_id: str
    metrics: dict[str, float | None]
    metadata: dict[str, dict[str, Any]]

    @staticmethod
    def of_node(node: NodeState | None) -> dict[str, float]:
        """The sealed metrics that a node carries, without their prefix."""
        metrics = node.metrics if node is not None else {}
        return {
            name.removeprefix(PREFIX): value
            for name, value in metrics.items()
            if name.startswith(PREFIX) and value is not None
        }


def measure_sealed(checkpoint: Checkpoint, experiment: Experiment) -> Iterator[SealedResult]:
    """Measure the finalists on the sealed rows; nothing is opened when it has been done already."""
    from ari.evaluation.data import open_holdout
    from ari.evaluation.symbolic import extractor, measure_formula

    finalists = _finalists(checkpoint)
    if all(f"{PREFIX}n" in node.metrics for node, _ in finalists):
        return
    sealed = checkpoint.meta.sealed or {}
    context = open_holdout(
        checkpoint.path,
        committed=sealed.get("sha256", ""),
        reason="final candidates: " + ", ".join(n.id for n, _ in finalists),
    )
    for node, formula in finalists:
        measured = measure_formula(formula, context, experiment.target or "", time=experiment.time)
        yield SealedResult(
            node.id,
            {f"{PREFIX}{name}": value for name, value in measured.items()},
            {
                f"{PREFIX}{name}": {
                    "value": value,
                    "confidence": 1.0,
                    "extractor": f"{extractor(name)} on the sealed rows",
                    "n": int(measured.get("n") or 0),
                }
                for name, value in measured.items()
            },
        )


def _finalists(checkpoint: Checkpoint) -> list[tuple[NodeState, str]]:
    usable = [n for n in checkpoint.nodes.values() if n.status == "completed" and not n.search_state.sterile]
    chosen: list[tuple[NodeState, str]] = []
    for node in sorted(usable, key=lambda node: (-node.score, node.order)):
        formula = read_relative(checkpoint.path, node).submission.get("formula")
        if formula and all(formula != other for _, other in chosen):
            chosen.append((node, formula))
        if len(chosen) == FINALISTS:
            break
    return chosen
