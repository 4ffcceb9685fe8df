"""A fitted formula as HTML, for notebooks.

Promises: the output is self-contained and loads nothing; whatever columns are called, every text is escaped
and cannot become markup. The formula is LaTeX between `$$`, which notebooks typeset.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

MOST_ROWS = 30
"""Longer fronts are cut here; the data frame has all rows."""

_HEADINGS = ("", "complexity", "nrmse", "R²", "formula", "found by")


def fitted_html(
    title: str,
    equation: str,
    rows: Sequence[Mapping[str, object]],
    renamed: Mapping[str, str],
) -> str:
    """The display of a fitted regressor.

    Args:
        title: What was fitted, as plain text.
        equation: The chosen formula as LaTeX, without delimiters.
        rows: The front, with the columns of `pareto_front_`.
        renamed: Column to the variable that stands for it in the formulas, where the two differ.

    Returns:
        One `<div>`.
    """
    parts = [f"<p><code>{escape(title)}</code></p>", f"<p>$${escape(equation)}$$</p>"]
    if renamed:
        pairs = ", ".join(
            f"<code>{escape(variable)}</code> is <code>{escape(column)}</code>"
            for column, variable in renamed.items()
        )
        parts.append(f"<p>{pairs}</p>")
    parts.append(_table(rows))
    return f'<div class="sr-harness">{"".join(parts)}</div>'


def _table(rows: Sequence[Mapping[str, object]]) -> str:
    head = "".join(f"<th>{escape(heading)}</th>" for heading in _HEADINGS)
    body = "".join(_row(row) for row in rows[:MOST_ROWS])
    left_out = len(rows) - MOST_ROWS
    more = f"<p>and {left_out} more in <code>pareto_front_</code></p>" if left_out > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _row(row: Mapping[str, object]) -> str:
    cells = (
        "→" if row["selected"] else "",
        escape(str(row["complexity"])),
        _figure(row["nrmse"]),
        _figure(row["r2"]),
        f"<code>{escape(str(row['formula']))}</code>",
        escape(str(row["origin"])),
    )
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _figure(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) and math.isfinite(value) else "–"
