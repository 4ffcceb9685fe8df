"""The tree of experiments: who came from whom, what each was for, and how it scored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ari.figures.drawing.house_style import BLACK, GREY, LIGHT, RED, WIDE, main, new_figure, show

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHAPES = {"draft": "o", "improve": "^", "debug": "D", "ablation": "v", "validation": "s", "other": "h"}
NAMED = 40
"""Up to so many nodes carry their number."""


def draw(data: Mapping[str, Any]) -> Figure:
    """Depth downwards, children side by side in the order they were planned, colour for the score.

    Args:
        data: `nodes` in order: `id`, `parent` (or null), `name`, `label`, `score` (null: none), `state`
            (`completed`, `errored`, `sterile` or `pending`) and `best`.
    """
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    nodes = data["nodes"]
    place = layout(nodes)
    depth = max((y for _, y in place.values()), default=0)
    figure, (axes,) = new_figure(WIDE, min(1.2 + 0.55 * (depth + 1), 7.0))
    scored = [node["score"] for node in nodes if node["score"] is not None]
    scale = ScalarMappable(Normalize(min([0.0, *scored]), max([1e-9, *scored])), "cividis")
    for node in nodes:
        if node["parent"] in place:
            (x, y), (up, above) = place[node["id"]], place[node["parent"]]
            axes.plot(
                [up, up, x, x], [-above, -above - 0.5, -above - 0.5, -y], color=LIGHT, linewidth=0.9, zorder=1
            )
    for node in nodes:
        _mark(axes, node, place[node["id"]], scale, named=len(nodes) <= NAMED)
    _legend(axes, nodes)
    bar = figure.colorbar(scale, ax=axes, pad=0.01, fraction=0.025, aspect=18)
    bar.set_label("score")
    bar.outline.set_linewidth(0.5)
    axes.set_axis_off()
    axes.margins(x=0.04, y=0.12)
    return figure


def layout(nodes: list[Mapping[str, Any]]) -> dict[str, tuple[float, int]]:
    """Positions (x, depth): leaves one apart from left to right, parents over the middle of their own."""
    known = {node["id"] for node in nodes}
    children: dict[str | None, list[str]] = {}
    for node in nodes:
        parent = node["parent"] if node["parent"] in known else None
        children.setdefault(parent, []).append(node["id"])
    place: dict[str, tuple[float, int]] = {}
    leaves = 0
    stack = [(identity, 0, False) for identity in reversed(children.get(None, []))]
    while stack:
        identity, depth, ready = stack.pop()
        below = children.get(identity, [])
        if ready:
            xs = [place[child][0] for child in below]
            place[identity] = ((min(xs) + max(xs)) / 2, depth)
        elif below:
            stack.append((identity, depth, True))
            stack += [(child, depth + 1, False) for child in reversed(below)]
        else:
            place[identity] = (float(leaves), depth)
            leaves += 1
    return place


def _mark(axes: Axes, node: Mapping[str, Any], at: tuple[float, int], scale: Any, *, named: bool) -> None:  # noqa: ANN401
    x, y = at[0], -at[1]
    shape = SHAPES.get(node["label"], SHAPES["other"])
    if node["state"] == "errored":
        axes.scatter([x], [y], marker="x", s=42, color=BLACK, linewidth=1.2, zorder=3)
    else:
        fill = (
            "white" if node["state"] != "completed" or node["score"] is None else scale.to_rgba(node["score"])
        )
        axes.scatter([x], [y], marker=shape, s=70, facecolor=fill, edgecolor=GREY, linewidth=0.7, zorder=3)
    if node["best"]:
        axes.scatter([x], [y], marker="o", s=210, facecolor="none", edgecolor=RED, linewidth=1.4, zorder=4)
    if named:
        axes.annotate(
            show(node["name"], 12),
            (x, y),
            textcoords="offset points",
            xytext=(8, 1),
            fontsize=6.5,
            color=BLACK,
        )


def _legend(axes: Axes, nodes: list[Mapping[str, Any]]) -> None:
    from matplotlib.lines import Line2D

    plain: dict[str, Any] = {"linestyle": "none", "markerfacecolor": "white", "markeredgecolor": GREY}
    used = [label for label in SHAPES if any(n["label"] == label and n["state"] != "errored" for n in nodes)]
    handles = [Line2D([], [], marker=SHAPES[label], label=label, markersize=6, **plain) for label in used]
    if any(node["state"] == "errored" for node in nodes):
        handles.append(
            Line2D([], [], marker="x", color=BLACK, linestyle="none", label="failed", markersize=6)
        )
    if any(node["state"] == "sterile" for node in nodes):
        handles.append(Line2D([], [], marker="o", label="nothing changed (white)", markersize=6, **plain))
    if any(node["best"] for node in nodes):
        handles.append(
            Line2D([], [], marker="o", label="reported", markersize=9, linestyle="none",
                   markerfacecolor="none", markeredgecolor=RED)
        )  # fmt: skip
    axes.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.02), ncols=min(len(handles), 8))


if __name__ == "__main__":
    main(draw)
