"""Measured and predicted values along an axis such as time, for a few series."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ari.figures.drawing.house_style import (
    BLACK,
    BLUE,
    GREEN,
    LIGHT,
    ORANGE,
    PINK,
    WIDE,
    main,
    new_figure,
    show,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = (BLUE, ORANGE, GREEN, PINK)


def draw(data: Mapping[str, Any]) -> Figure:
    """Open marks for the measurements, lines for the formula, a band where the sealed rows lie.

    Args:
        data: `axis`, `target` (names), `sealed` (pairs of ends) and `series`: `name`, `x`, `measured`,
            `predicted`; at most four.
    """
    figure, (axes,) = new_figure(WIDE, 2.3)
    for index, (low, high) in enumerate(data["sealed"]):
        axes.axvspan(low, high, color=LIGHT, alpha=0.5, linewidth=0, label=None if index else "sealed rows")
    for series, colour in zip(data["series"], COLOURS, strict=False):
        axes.plot(series["x"], series["predicted"], color=colour, linewidth=1.0, zorder=3)
        every = max(1, len(series["x"]) // 60)
        axes.plot(
            series["x"][::every], series["measured"][::every], linestyle="none", marker="o", markersize=2.8,
            markerfacecolor="none", markeredgecolor=colour, markeredgewidth=0.7,
            label=show(series["name"], 16), zorder=2,
        )  # fmt: skip
    axes.plot([], [], color=BLACK, linewidth=1.0, label="formula")
    axes.set(xlabel=show(data["axis"]), ylabel=show(data["target"]))
    axes.margins(x=0.01)
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


if __name__ == "__main__":
    main(draw)
