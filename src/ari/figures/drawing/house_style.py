"""How the figures look, and how they are saved so that the same data give the same bytes.

Colours are the eight of Okabe and Ito (2008), which people with any common colour blindness can tell apart;
marks differ in shape as well. Text is never taken for mathematics, and a character that no font of
matplotlib holds is shown as its code point. Files carry no date.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, RED, PINK = (
    "#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7",
)  # fmt: skip
GREY = "#8A8A8A"
LIGHT = "#D9D9D9"

MARKS = {"train": (BLUE, "o"), "validation": (ORANGE, "s"), "sealed": (GREEN, "^")}
"""Colour and shape of the rows of each part of the data."""

COLUMN = 3.4
"""Width of one column of a two-column page, in inches."""

WIDE = 7.0
"""Width of both columns, in inches."""

RASTER_DPI = 220

SERIF, SANS = "STIXGeneral", "DejaVu Sans"

STYLE: Mapping[Any, Any] = {
    "font.family": [SERIF, SANS],
    "mathtext.fontset": "stix",
    "font.size": 8.5,
    "axes.labelsize": 9,
    "axes.titlesize": 9,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 7.5,
    "legend.frameon": False,
    "legend.handletextpad": 0.4,
    "legend.borderaxespad": 0.3,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.unicode_minus": True,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "lines.linewidth": 1.1,
    "lines.markersize": 4,
    "pdf.fonttype": 42,
    "svg.hashsalt": "ari",
}


def show(text: object, limit: int = 60) -> str:
    """Text that matplotlib can draw as it stands: no mathematics, no missing glyph, bounded length."""
    shown = " ".join(str(text).split())
    if len(shown) > limit:
        shown = shown[: limit - 1] + "…"
    known = _glyphs()
    shown = "".join(c if ord(c) in known else f"U+{ord(c):04X}" for c in shown)
    return shown.replace("$", r"\$")


_KNOWN: set[int] = set()


def _glyphs() -> set[int]:
    if not _KNOWN:
        from matplotlib import font_manager

        for family in (SERIF, SANS):
            path = font_manager.findfont(family, fallback_to_default=False)
            _KNOWN.update(font_manager.get_font(path).get_charmap())
    return _KNOWN


def new_figure(width: float, height: float, columns: int = 1) -> tuple[Figure, list[Axes]]:
    """A figure of `width` by `height` inches with `columns` panels side by side."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = [figure.add_subplot(1, columns, index + 1) for index in range(columns)]
    return figure, axes


def spans_decades(values: Sequence[float], decades: float = 2.0) -> bool:
    """Whether all values are positive and the largest exceeds the smallest by so many powers of ten."""
    finite = [value for value in values if math.isfinite(value)]
    return bool(finite) and min(finite) > 0 and math.log10(max(finite) / min(finite)) >= decades


_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def power_of_ten(exponent: int) -> str:
    """`10³` as plain characters: the mathematics of matplotlib takes most of the time of drawing."""
    return "10" + str(exponent).translate(_RAISED)


def legend_above(axes: Axes, *, columns: int) -> None:
    """Put the legend above the axes, where it hides nothing that is drawn."""
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=columns, columnspacing=1.0)


def log_scale(axes: Axes, *names: str) -> None:
    """Make the `x` or `y` axis, or both, logarithmic with labels at powers of ten."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    def label(value: float, _position: int) -> str:
        exponent = math.log10(value) if value > 0 else 0.5
        return power_of_ten(round(exponent)) if abs(exponent - round(exponent)) < 1e-9 else ""

    for name in names:
        axes.set(**{f"{name}scale": "log"})
        axis = getattr(axes, f"{name}axis")
        low, high = axis.get_view_interval()
        few = low > 0 and high / low < 20
        axis.set_major_formatter(FuncFormatter((lambda value, _: f"{value:g}") if few else label))
        axis.set_minor_formatter(NullFormatter())


def floor_of(values: Sequence[float]) -> float:
    """Where a logarithmic axis shows a zero: a decade below the smallest positive value."""
    positive = [value for value in values if value > 0 and math.isfinite(value)]
    return min(positive) / 10 if positive else 1e-17


def save(figure: Figure, paths: Sequence[Path]) -> None:
    """Write a figure to every path, in the format of its suffix, without a date."""
    for path in paths:
        # The first drawing settles the layout; computing it again would take as long and give the same.
        if path is not paths[0]:
            figure.set_layout_engine("none")
        if path.suffix == ".pdf":
            figure.savefig(path, metadata={"CreationDate": None, "ModDate": None})
        else:
            figure.savefig(path, dpi=RASTER_DPI, metadata={"Software": None})


def render(
    draw: Callable[[Mapping[str, Any]], Figure], data: Mapping[str, Any], paths: Sequence[Path]
) -> None:
    """Draw `data` in the house style and save it."""
    import matplotlib as mpl

    with mpl.rc_context(dict(STYLE)):
        save(draw(data), paths)


def main(draw: Callable[[Mapping[str, Any]], Figure]) -> None:
    """Command line of a drawing module: `python MODULE.py DATA.json OUT.pdf [OUT.png …]`."""
    source, *targets = [Path(argument) for argument in sys.argv[1:]]
    render(draw, json.loads(source.read_text(encoding="utf-8")), targets)
