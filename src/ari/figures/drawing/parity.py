"""Measured against predicted values, and what is left over, for the rows of each part of the data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ari.figures.drawing.house_style import (
    GREY,
    MARKS,
    WIDE,
    log_scale,
    main,
    new_figure,
    power_of_ten,
    show,
    spans_decades,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(data: Mapping[str, Any]) -> Figure:
    """Two panels: predicted over measured with the line of equality, and residuals over measured.

    Args:
        data: `target` (name) and `parts`: part name to `measured` and `predicted` (equally long lists).
    """
    figure, (left, right) = new_figure(WIDE, 2.55, columns=2)
    parts = {
        name: (np.asarray(part["measured"]), np.asarray(part["predicted"]))
        for name, part in data["parts"].items()
    }
    everything = [value for pair in parts.values() for values in pair for value in values]
    exponent = _exponent(max(float(np.max(np.abs(m - p), initial=0.0)) for m, p in parts.values()))
    many = len(everything) > 400
    for name, (measured, predicted) in parts.items():
        colour, marker = MARKS.get(name, (GREY, "o"))
        style: dict[str, Any] = {
            "marker": marker, "s": 6 if many else 18, "facecolor": "none", "edgecolor": colour,
            "linewidth": 0.5 if many else 0.9, "rasterized": many, "zorder": 3,
        }  # fmt: skip
        left.scatter(measured, predicted, label=f"{name} (n = {len(measured)})", **style)
        right.scatter(measured, (measured - predicted) / 10.0**exponent, **style)
    low, high = min(everything), max(everything)
    left.plot([low, high], [low, high], color=GREY, linewidth=0.8, zorder=1)
    if spans_decades(everything, 1.7):
        log_scale(left, "x", "y")
        log_scale(right, "x")
    name = show(data["target"], 24)
    left.set(xlabel=f"measured {name}", ylabel=f"predicted {name}")
    unit = f"  (× {power_of_ten(exponent)})" if exponent else ""
    right.set(xlabel=f"measured {name}", ylabel=f"measured − predicted{unit}")
    right.axhline(0, color=GREY, linewidth=0.8, zorder=1)
    left.legend(loc="upper left")
    return figure


def _exponent(largest: float) -> int:
    """The power of ten taken out of the residuals; 0 where they are easily read as they are."""
    if largest <= 0 or 1e-2 <= largest < 1e4:
        return 0
    return math.floor(math.log10(largest))


if __name__ == "__main__":
    main(draw)
