"""Error against complexity of every formula of a study, with the front and the chosen one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ari.figures.drawing.house_style import (
    BLUE,
    COLUMN,
    GREY,
    ORANGE,
    RED,
    floor_of,
    legend_above,
    log_scale,
    main,
    new_figure,
    show,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(data: Mapping[str, Any]) -> Figure:
    """Points, the front as a staircase, a ring around the chosen formula.

    Args:
        data: `error_name` and `points`: `complexity`, `error` (>= 0), `on_front`, `chosen`.
    """
    figure, (axes,) = new_figure(COLUMN, 2.7)
    points = data["points"]
    floor = floor_of([point["error"] for point in points])
    exact = [point for point in points if point["error"] <= 0]

    def height(point: Mapping[str, Any]) -> float:
        return max(float(point["error"]), floor)

    front = sorted((p for p in points if p["on_front"]), key=lambda p: p["complexity"])
    rest = [p for p in points if not p["on_front"]]
    axes.scatter(
        [p["complexity"] for p in rest], [height(p) for p in rest], s=16, color=GREY, marker="o",
        linewidth=0, alpha=0.8, label="other formulas",
    )  # fmt: skip
    axes.plot(
        [p["complexity"] for p in front], [height(p) for p in front], color=BLUE, marker="s",
        drawstyle="steps-post", label="Pareto front", zorder=3,
    )  # fmt: skip
    for point in (p for p in points if p["chosen"]):
        axes.scatter(
            [point["complexity"]], [height(point)], s=110, facecolor="none", edgecolor=RED, linewidth=1.3,
            label="reported formula", zorder=4,
        )  # fmt: skip
    log_scale(axes, "y")
    if exact:
        axes.axhline(floor, color=ORANGE, linewidth=0.8, linestyle=":", label="no error at all", zorder=1)
    axes.locator_params(axis="x", integer=True)
    axes.set(xlabel="complexity (nodes of the expression)", ylabel=show(data["error_name"]))
    legend_above(axes, columns=2)
    return figure


if __name__ == "__main__":
    main(draw)
