"""The network that the data lie on, its nodes coloured by the error of the formula there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ari.figures.drawing.house_style import COLUMN, GREY, main, new_figure, show

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMED = 40


def draw(data: Mapping[str, Any]) -> Figure:
    """Nodes on a circle in their order, an arrow from source to target for every edge.

    Args:
        data: `nodes` (names), `edges` (pairs target, source), `values` (one a node), `value_name`.
    """
    figure, (axes,) = new_figure(COLUMN, 2.9)
    count = len(data["nodes"])
    angle = np.pi / 2 - 2 * np.pi * np.arange(count) / max(count, 1)
    x, y = np.cos(angle), np.sin(angle)
    dense = len(data["edges"]) > 300
    for target, source in data["edges"]:
        if target == source:
            continue
        axes.annotate(
            "", (x[target], y[target]), (x[source], y[source]),
            arrowprops={
                "arrowstyle": "-" if dense else "-|>", "color": GREY, "linewidth": 0.3 if dense else 0.6,
                "alpha": 0.4 if dense else 0.8, "shrinkA": 6, "shrinkB": 6, "mutation_scale": 6,
                "connectionstyle": "arc3,rad=0.12",
            }, zorder=1,
        )  # fmt: skip
    marks = axes.scatter(
        x, y, c=data["values"], cmap="cividis", s=90 if count <= NAMED else 14, edgecolor="white",
        linewidth=0.6, zorder=3,
    )  # fmt: skip
    if count <= NAMED:
        for name, at, up in zip(data["nodes"], x, y, strict=True):
            axes.annotate(show(name, 10), (1.17 * at, 1.17 * up), ha="center", va="center", fontsize=7.5)
    bar = figure.colorbar(marks, ax=axes, fraction=0.045, pad=0.02)
    bar.set_label(show(data["value_name"]))
    bar.outline.set_linewidth(0.5)
    axes.set_aspect("equal")
    axes.set(xlim=(-1.35, 1.35), ylim=(-1.35, 1.35))
    axes.set_axis_off()
    return figure


if __name__ == "__main__":
    main(draw)
