"""What each change did: one bar an experiment, set against the experiment it changed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ari.figures.drawing.house_style import (
    BLACK,
    BLUE,
    COLUMN,
    ORANGE,
    floor_of,
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
    """Horizontal bars; a ratio is drawn from one, a value from the axis with a line for the reference.

    Args:
        data: `axis` (label), `ratio` (whether the values are ratios), `reference` (null for ratios), and
            `bars`: `name`, `value`, `better` (whether the change was one for the better).
    """
    bars = data["bars"]
    figure, (axes,) = new_figure(COLUMN, 0.75 + 0.235 * max(len(bars), 2))
    values = [bar["value"] for bar in bars]
    rows = list(range(len(bars)))[::-1]
    colours = [BLUE if bar["better"] else ORANGE for bar in bars]
    if data["ratio"]:
        _ratios(axes, rows, values, colours)
    else:
        _values(axes, rows, values, colours, data["reference"])
    axes.set_yticks(rows, [show(bar["name"], 34) for bar in bars])
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(show(data["axis"]))
    return figure


def _ratios(axes: Axes, rows: list[int], values: list[float], colours: list[str]) -> None:
    axes.barh(rows, [value - 1 for value in values], left=1, color=colours, height=0.62)
    axes.axvline(1, color=BLACK, linewidth=0.7)
    if min(values) > 0 and (max(values) > 3 or min(values) < 1 / 3):
        low, high = math.floor(math.log2(min([1.0, *values]))), math.ceil(math.log2(max([1.0, *values])))
        axes.set_xscale("log", base=2)
        step = max(1, (high - low) // 6)
        ticks = [2.0**k for k in range(low, high + 1, step)]
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()


def _values(
    axes: Axes, rows: list[int], values: list[float], colours: list[str], reference: float | None
) -> None:
    positive = [value for value in (*values, reference or 0.0) if value > 0]
    if reference is not None and reference > 0 and min(values) > 0 and spans_decades(positive):
        floor = floor_of(positive)
        axes.barh(rows, [value - floor for value in values], left=floor, color=colours, height=0.62)
        log_scale(axes, "x")
        axes.set_xlim(left=floor)
    else:
        axes.barh(rows, values, color=colours, height=0.62)
    if reference is not None:
        axes.axvline(reference, color=BLACK, linewidth=0.8, linestyle="--", label="with every part")
        axes.legend(loc="lower right", bbox_to_anchor=(1, 1.0))


if __name__ == "__main__":
    main(draw)
