"""A formula of one input as a curve through the measured values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ari.figures.drawing.house_style import (
    BLACK,
    COLUMN,
    GREY,
    MARKS,
    log_scale,
    main,
    new_figure,
    show,
    spans_decades,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(data: Mapping[str, Any]) -> Figure:
    """The measured values over the input, and the formula between the smallest and the largest of them.

    Args:
        data: `input`, `target` (names), `curve` (`x`, `y`) and `parts`: part name to `x` and `y`.
    """
    figure, (axes,) = new_figure(COLUMN, 2.5)
    curve = data["curve"]
    axes.plot(curve["x"], curve["y"], color=BLACK, linewidth=0.9, label="formula", zorder=2)
    for name, part in data["parts"].items():
        colour, marker = MARKS.get(name, (GREY, "o"))
        axes.scatter(
            part["x"], part["y"], marker=marker, s=18, facecolor="none", edgecolor=colour, linewidth=0.9,
            label=name, zorder=3,
        )  # fmt: skip
    if spans_decades(curve["x"], 1.7):
        log_scale(axes, "x")
    if spans_decades(curve["y"], 1.7):
        log_scale(axes, "y")
    axes.set(xlabel=show(data["input"]), ylabel=show(data["target"]))
    axes.legend(loc="best")
    return figure


if __name__ == "__main__":
    main(draw)
