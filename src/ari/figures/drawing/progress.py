"""The metric of every experiment in the order they were planned, the best so far, and a measured ceiling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ari.figures.drawing.house_style import (
    BLUE,
    COLUMN,
    GREEN,
    GREY,
    ORANGE,
    RED,
    floor_of,
    legend_above,
    log_scale,
    main,
    new_figure,
    show,
    spans_decades,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(data: Mapping[str, Any]) -> Figure:
    """One mark a node, whiskers where it was repeated, crosses for nodes without a result.

    Args:
        data: `metric` (axis label), `higher_is_better`, and `nodes` in order: `order`, `value` (null: no
            result), `low`, `high`, `ceiling` (each null where unknown), `counts` (whether it may be best).
    """
    figure, (axes,) = new_figure(COLUMN, 2.6)
    nodes = data["nodes"]
    values = [node["value"] for node in nodes if node["value"] is not None]
    ceilings = [node for node in nodes if node["ceiling"] is not None]
    logarithmic = (
        bool(values)
        and min(values) >= 0
        and not ceilings
        and (spans_decades([v for v in values if v > 0]) or (0 in values and max(values) > 0))
    )
    floor = floor_of(values)
    _points(axes, nodes, floor if logarithmic else None)
    _best_so_far(axes, data, floor if logarithmic else None)
    if ceilings:
        axes.plot(
            [n["order"] for n in ceilings], [n["ceiling"] for n in ceilings], color=ORANGE, marker="_",
            markersize=7, linestyle=":", linewidth=0.8, label="measured ceiling",
        )  # fmt: skip
        axes.set_ylim(bottom=0)
    if logarithmic:
        log_scale(axes, "y")
        if 0 in values:
            axes.axhline(floor, color=GREEN, linewidth=0.8, linestyle=":", label="no error at all", zorder=1)
    failed = [node["order"] for node in nodes if node["value"] is None]
    if failed:
        axes.plot(
            failed, [0.02] * len(failed), marker="x", color=RED, linestyle="none", label="no result",
            transform=axes.get_xaxis_transform(), clip_on=False,
        )  # fmt: skip
    axes.locator_params(axis="x", integer=True)
    axes.set(xlabel="experiment, in the order planned", ylabel=show(data["metric"]))
    legend_above(axes, columns=3)
    return figure


def _points(axes: Axes, nodes: list[Mapping[str, Any]], floor: float | None) -> None:
    measured = [node for node in nodes if node["value"] is not None]
    for node in measured:
        if node["low"] is not None and node["high"] is not None:
            axes.plot([node["order"]] * 2, [node["low"], node["high"]], color=BLUE, linewidth=0.9, zorder=2)
    for counts, face in ((True, BLUE), (False, "white")):
        chosen = [node for node in measured if node["counts"] is counts]
        if chosen:
            heights = [node["value"] if floor is None else max(node["value"], floor) for node in chosen]
            axes.scatter(
                [node["order"] for node in chosen], heights, s=16, facecolor=face, edgecolor=BLUE,
                linewidth=0.8, zorder=3, label="measured" if counts else "nothing changed",
            )  # fmt: skip


def _best_so_far(axes: Axes, data: Mapping[str, Any], floor: float | None) -> None:
    better = max if data["higher_is_better"] else min
    orders, heights = [], []
    best: float | None = None
    for node in data["nodes"]:
        if node["value"] is not None and node["counts"]:
            best = node["value"] if best is None else better(best, node["value"])
        if best is not None:
            orders.append(node["order"])
            heights.append(best if floor is None else max(best, floor))
    axes.plot(
        orders, heights, color=GREY, drawstyle="steps-post", linewidth=0.9, label="best so far", zorder=1
    )


if __name__ == "__main__":
    main(draw)
