"""Measuring a symbolic node: the submitted formula is parsed again and judged on rows the agent never saw."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ari.agent.task import NodeOutcome, NodeTask
from ari.evaluation.data import open_train, open_validation
from ari.evaluation.dynamics import TRAJECTORY_ERROR, judged_context, trajectory_error_of
from ari.evaluation.repeats import repeat_measurement
from ari.evaluation.score import symbolic_score
from sr_harness.engine import Structure, complexity, evaluate, parse, render
from sr_harness.errors import ExpressionError, ProblemError
from sr_harness.evaluator import regression_metrics

if TYPE_CHECKING:
    from sr_harness.core import AgentContext

SUBMISSION = "formula.json"
RESAMPLES = 200
"""Bootstrap resamples of the validation rows behind the interval that a validation node reports."""

_SCIENCE_METRICS = ("nrmse", "rmse", "mae", "r2", "max_abs_error", "max_rel_error")


class Submission(NamedTuple):
    """A formula as it was submitted, and what is wrong with it if it cannot be used."""

    text: str
    fault: str | None = None
    note: str = ""


def read_submission(work_dir: Path) -> Submission:
    """Read `formula.json` of a node; a fault is an answer, not an exception."""
    path = work_dir / SUBMISSION
    try:
        loaded = json.loads(path.read_bytes())
    except FileNotFoundError:
        return Submission("", "the node submitted no formula; what was evaluated only does not count")
    except (OSError, ValueError, RecursionError) as error:
        return Submission("", f"{SUBMISSION} cannot be read: {error}")
    if not isinstance(loaded, dict) or not isinstance(loaded.get("formula"), str):
        return Submission("", f"{SUBMISSION} holds no formula")
    return Submission(loaded["formula"], note=str(loaded.get("note", "")))


def measure_formula(
    text: str, context: AgentContext, target: str, *, time: str | None = None
) -> dict[str, float | None]:
    """Metrics of a formula on the rows of `context`.

    Args:
        text: The formula in the expression language.
        context: The rows to judge on.
        target: Name of the variable the formula is to give, or `dx_dt` for a derivative to be estimated.
        time: Axis or variable that holds the times, for derivatives.

    Returns:
        Finite values or None; `n` is the number of values compared. For a derivative also
        `trajectory_error`, that of the integrated trajectories against the measured ones.

    Raises:
        ExpressionError: When the formula does not parse or its arrays do not align.
        ProblemError: When the formula of a derivative cannot be integrated.
    """
    judged = judged_context(context, target, time)
    names = [name for name in judged.data if name != target]
    expression = parse(text, names=names)
    truth = np.asarray(judged.data[target], dtype=np.float64)
    predicted = evaluate(expression, judged.data, structure=Structure.from_context(judged))
    found = dict(regression_metrics(truth, np.broadcast_to(predicted, truth.shape)))
    integrated = trajectory_error_of(text, context, target, time)
    return found if integrated is None else found | {TRAJECTORY_ERROR: integrated}


def extractor(metric: str) -> str:
    """What measured a metric of a formula."""
    if metric == TRAJECTORY_ERROR:
        return "sr_harness.evaluator.dynamics.trajectory_error"
    return "sr_harness.evaluator.regression_metrics"


def evaluate_symbolic_node(task: NodeTask, checkpoint: Path, work_dir: Path) -> NodeOutcome:
    """Measure a symbolic node on the validation rows."""
    submission = read_submission(work_dir)
    outcome = NodeOutcome(node_id=task.node_id, status="errored", submission={"formula": submission.text})
    if submission.fault:
        return outcome.model_copy(update={"error": submission.fault, "eval_summary": submission.fault})
    context = open_validation(checkpoint)
    target, time = task.experiment.target or "", task.experiment.time
    try:
        measured = measure_formula(submission.text, context, target, time=time)
        expression = parse(submission.text, names=[name for name in context.data if name != target])
    except (ExpressionError, ProblemError) as error:
        fault = f"the submitted formula cannot be used: {error}"
        return outcome.model_copy(update={"error": fault, "eval_summary": fault})
    size = complexity(expression)
    if measured.get("nrmse") is None:
        fault = f"the formula {submission.text} is not finite on every validation row"
        return outcome.model_copy(update={"error": fault, "eval_summary": fault, "has_real_data": True})
    metrics: dict[str, float | None] = {name: measured.get(name) for name in _SCIENCE_METRICS}
    if TRAJECTORY_ERROR in measured:
        metrics[TRAJECTORY_ERROR] = measured[TRAJECTORY_ERROR]
    metrics["complexity"] = float(size)
    metadata = {name: _metadata(name, value, measured) for name, value in metrics.items()}
    concerns: list[str] = []
    if task.label == "validation":
        judged = judged_context(context, target, time)
        _add_interval(metadata["nrmse"], submission.text, judged, target, seed=task.seed)
        train = judged_context(open_train(checkpoint), target, time)
        stretches = TRAJECTORY_ERROR in metrics
        repeats = repeat_measurement(
            submission.text, train, judged, target, seed=task.seed, stretches=stretches
        )
        metrics |= repeats.metrics
        metadata |= repeats.metadata
    sterile = _is_sterile(task, submission.text)
    if sterile:
        concerns.append("the formula is that of the parent: nothing was changed")
    return outcome.model_copy(
        update={
            "status": "completed",
            "metrics": metrics,
            "metrics_with_metadata": metadata,
            "score": 0.0
            if sterile
            else symbolic_score(metrics["nrmse"], size, metrics.get(TRAJECTORY_ERROR)),
            "has_real_data": not sterile,
            "sterile": sterile,
            "eval_summary": f"{target} = {render(expression, digits=6)}: nrmse {metrics['nrmse']:.3g} "
            f"on {int(measured['n'] or 0)} validation values, {_trajectory_words(metrics)}complexity {size}",
            "concerns": concerns,
            "what_was_done": submission.note,
        }
    )


def _trajectory_words(metrics: Mapping[str, float | None]) -> str:
    value = metrics.get(TRAJECTORY_ERROR)
    return "" if value is None else f"trajectory error {value:.3g}, "


def _metadata(name: str, value: float | None, measured: Mapping[str, float | None]) -> dict[str, Any]:
    return {
        "value": value,
        "confidence": 1.0,
        "extractor": f"{extractor(name)} on the validation rows",
        "n": int(measured.get("n") or 0),
    }


def _is_sterile(task: NodeTask, formula: str) -> bool:
    """A node that hands in its parent's formula measures nothing new, unless repeating is its purpose."""
    parent = task.parent
    return parent is not None and task.label != "validation" and parent.submission.get("formula") == formula


def _add_interval(
    metadata: dict[str, Any], text: str, context: AgentContext, target: str, *, seed: int
) -> None:
    """Add a 95 % bootstrap interval of nrmse over the rows of the first axis (percentile method)."""
    axis = context.variable_axes[target][0]
    length = len(context.data[axis])
    names = [name for name in context.data if name != target]
    truth = np.asarray(context.data[target], dtype=np.float64)
    predicted = evaluate(parse(text, names=names), context.data, structure=Structure.from_context(context))
    squared = (np.broadcast_to(predicted, truth.shape) - truth) ** 2
    scale = float(np.std(truth))
    per_row = squared.reshape(length, -1).mean(axis=1)
    draws = np.random.default_rng(seed).integers(0, length, size=(RESAMPLES, length))
    values = np.sqrt(per_row[draws].mean(axis=1)) / scale if scale > 0 else np.full(RESAMPLES, math.nan)
    low, high = np.percentile(values, [2.5, 97.5])
    if math.isfinite(low) and math.isfinite(high):
        metadata |= {"ci95_low": float(low), "ci95_high": float(high), "resamples": RESAMPLES}
