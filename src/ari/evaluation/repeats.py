"""Repeating a symbolic measurement: other splits, and a range that was not fitted.

A formula's *form* is what a law claims; its numbers are fitted again here on rows drawn anew from the
training and validation rows together, and judged on the rows left out. The sealed rows play no part.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from sr_harness.core import AgentContext
from sr_harness.engine import evaluate, fit, free_numbers, parse, relations
from sr_harness.errors import FitError
from sr_harness.search import Problem

SPLITS = 5
HELD_OUT = 0.25
"""Share of the rows that each split leaves out; at the range's end the same share of the largest targets."""


class Repeats(NamedTuple):
    """Metrics of the repeats and what is known of each."""

    metrics: dict[str, float | None]
    metadata: dict[str, dict[str, Any]]


def repeat_measurement(
    formula: str,
    train: AgentContext,
    validation: AgentContext,
    target: str,
    *,
    seed: int,
    stretches: bool = False,
) -> Repeats:
    """Fit a formula's form on other splits and on a narrower range, and judge it on the rows left out.

    With `stretches` a split leaves out a run of neighbouring rows: along time single ones are no test.

    Returns:
        `nrmse_resplit`: median over the splits, with its range; `nrmse_extrapolation`: fitted on the rows
        with the smaller target values and judged on the rest. Empty for network formulas, whose rows are not
        independent.
    """
    expression = parse(formula, names=[name for name in train.data if name != target])
    if relations(expression):
        return Repeats({}, {})
    columns, truth = _joined(train, validation, target)
    values = [
        _judge(expression, columns, truth, kept) for kept in _splits(len(truth), seed, stretches=stretches)
    ]
    finite = [value for value in values if value is not None]
    order = np.argsort(truth, kind="stable")
    inner = order[: len(order) - max(1, int(len(order) * HELD_OUT))]
    outer = _judge(expression, columns, truth, inner)
    metrics: dict[str, float | None] = {
        "nrmse_resplit": statistics.median(finite) if finite else None,
        "nrmse_extrapolation": outer,
    }
    resplit: dict[str, Any] = {"extractor": "form fitted again on other splits", "n": len(finite)}
    if finite:
        resplit |= {"min": min(finite), "max": max(finite)}
    beyond = {
        "extractor": "form fitted on the smaller targets, judged on the rest",
        "n": len(order) - len(inner),
    }
    notes = {"nrmse_resplit": resplit, "nrmse_extrapolation": beyond}
    return Repeats(
        metrics, {name: {"value": metrics[name], "confidence": 1.0} | note for name, note in notes.items()}
    )


def _joined(train: AgentContext, validation: AgentContext, target: str) -> tuple[dict[str, Any], Any]:
    parts = [Problem.from_context(context, target) for context in (train, validation)]
    columns = {name: np.concatenate([part.data[name] for part in parts]) for name in parts[0].data}
    return columns, np.concatenate([part.target for part in parts])


def _splits(rows: int, seed: int, *, stretches: bool) -> Iterator[np.ndarray[Any, Any]]:
    if stretches:
        for left_out in np.array_split(np.arange(rows), SPLITS):
            yield np.setdiff1d(np.arange(rows), left_out)
        return
    rng = np.random.default_rng(seed)
    for _ in range(SPLITS):
        yield rng.permutation(rows)[max(1, int(rows * HELD_OUT)) :]


def _judge(expression: Any, columns: dict[str, Any], truth: Any, kept: Any) -> float | None:  # noqa: ANN401 - arrays
    """Error on the rows that are not kept, in units of the standard deviation of all targets."""
    left_out = np.setdiff1d(np.arange(len(truth)), kept)
    template, values = free_numbers(expression)
    try:
        if values:
            inner = {name: column[kept] for name, column in columns.items()}
            expression = fit(template, inner, truth[kept], local=True).expression
        predicted = evaluate(expression, {name: column[left_out] for name, column in columns.items()})
    except FitError:
        return None
    error = float(np.sqrt(np.mean((np.broadcast_to(predicted, left_out.shape) - truth[left_out]) ** 2)))
    scale = float(np.std(truth))
    return error / scale if scale > 0 and math.isfinite(error) else None
