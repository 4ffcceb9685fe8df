"""The tool `describe_data`."""

from __future__ import annotations

import numpy as np

from sr_harness.tools.context import Result, ToolContext


def describe_data(ctx: ToolContext) -> Result:
    """Describe the target and the inputs: size, range, spread, sign, repeated values.

    Returns:
        `rows`: number of target values; `target` and `inputs`: per variable its description and axes and,
        over all rows, minimum, maximum, mean, standard deviation (in the variable's unit), whether all values
        are positive, and the number of distinct values; `relations`: names of the graph relations; `notes`.
    """
    problem = ctx.problem
    columns = {ctx.target: problem.target, **problem.data}
    described = {name: _column(ctx, name, values) for name, values in columns.items()}
    return {
        "rows": problem.rows,
        "target": described.pop(ctx.target),
        "inputs": list(described.values()),
        "relations": list(ctx.context.relation_names),
        "notes": list(problem.notes),
    }


def _column(ctx: ToolContext, name: str, values: np.ndarray) -> Result:
    context = ctx.context if ctx.derived is None else ctx.derived.context
    return {
        "name": name,
        "description": context.variable_descriptions.get(name, ""),
        "axes": list(context.variable_axes.get(name, ())),
        "min": float(values.min()),
        "max": float(values.max()),
        "mean": float(values.mean()),
        "std": float(values.std()),
        "positive": bool((values > 0).all()),
        "distinct": int(np.unique(values).size),
    }
