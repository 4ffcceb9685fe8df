"""The tool `submit_formula`."""

from __future__ import annotations

import json

from sr_harness.errors import ToolError
from sr_harness.tools.context import Result, ToolContext

FILE_NAME = "formula.json"


def submit_formula(ctx: ToolContext, formula: str, note: str = "") -> Result:
    """Hand in a formula; the last one handed in counts.

    It is parsed again and must be finite on the data at hand. It is judged elsewhere, on other rows.

    Args:
        ctx: The data.
        formula: The formula.
        note: A sentence on where it comes from.

    Returns:
        What was written: the formula as it is printed, its LaTeX, complexity and variables.
    """
    from sr_harness import engine

    expression = ctx.read(formula)
    printed = engine.render(expression)
    if ctx.measure(ctx.read(printed), "submitted").nmse == float("inf"):
        raise ToolError(f"{formula} is not finite on every row; hand in a formula that is")
    document = {
        "schema_version": 1,
        "formula": printed,
        "latex": engine.latex(expression),
        "complexity": engine.complexity(expression),
        "variables": list(engine.variables(expression)),
        "note": note,
    }
    path = ctx.work_dir / FILE_NAME
    scratch = path.with_suffix(".tmp")
    try:
        scratch.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        scratch.replace(path)
    except OSError as error:
        raise ToolError(f"{path} cannot be written: {error.strerror or error}") from error
    return document
