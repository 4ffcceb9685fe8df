"""The tree of a run as lines of text: pure functions from nodes to lines, folded to a bounded length.

What is always kept: the root, what runs, and the best node with its ancestors. Then the nodes with the
highest scores, each with its ancestors, while there is room. The rest is counted in one line below the
node it hangs from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from ari.cli.common import number

if TYPE_CHECKING:
    from rich.text import Text

    from ari.checkpoint.state import NodeState

MAX_INDENT = 20
"""Deeper nodes are drawn at this level, with their depth in front."""

_STYLES = {"completed": "green", "errored": "red", "running": "yellow", "pending": "dim"}


class Glyphs(NamedTuple):
    """The characters a tree is drawn with."""

    tee: str
    corner: str
    bar: str
    completed: str
    errored: str
    running: str
    pending: str
    best: str
    more: str


UNICODE = Glyphs("├─ ", "└─ ", "│  ", "●", "✗", "◐", "○", "★", "…")
ASCII = Glyphs("|- ", "`- ", "|  ", "*", "x", ">", "o", "<- best", "...")


def glyphs_for(encoding: str | None) -> Glyphs:
    """Choose characters that a stream of this encoding can show."""
    try:
        "".join(UNICODE).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return UNICODE


@dataclass(frozen=True)
class Line:
    """One line of the drawing: a node, or a count of what was folded away below `node_id`.

    Attributes:
        prefix: Lines and corners in front.
        node: The node; None for a count.
        folded: What the count says.
    """

    prefix: str
    node: NodeState | None
    folded: str = ""


def choose(nodes: Mapping[str, NodeState], best: str | None, limit: int) -> set[str]:
    """Choose the nodes to draw.

    Args:
        nodes: The tree.
        best: The best node.
        limit: About how many nodes there is room for.

    Returns:
        Ids; with every node its ancestors.
    """
    if len(nodes) <= limit:
        return set(nodes)
    chosen: set[str] = set()

    def take(node_id: str | None, room: float) -> None:
        path: dict[str, None] = {}  # a damaged tree may hold a circle
        while node_id is not None and node_id in nodes and node_id not in chosen and node_id not in path:
            path[node_id] = None
            node_id = nodes[node_id].parent_id
        if len(chosen) + len(path) <= room:
            chosen.update(path)

    for node in nodes.values():
        if node.parent_id is None:
            take(node.id, float("inf"))
    take(best, float("inf"))
    running = [node for node in nodes.values() if node.status == "running"]
    rest = sorted(nodes.values(), key=lambda node: (-node.score, node.order))
    for node in (*running, *rest):
        if len(chosen) >= limit:
            break
        take(node.id, limit)
    return chosen


def draw(
    nodes: Mapping[str, NodeState], *, best: str | None, limit: int = 40, glyphs: Glyphs = UNICODE
) -> list[Line]:
    """Draw the tree.

    Args:
        nodes: The tree.
        best: The best node.
        limit: About how many nodes to draw; the others are counted.
        glyphs: The characters to draw with.

    Returns:
        Lines from top to bottom.
    """
    chosen = choose(nodes, best, limit)
    sizes = _hidden_below(nodes, chosen)
    lines: list[Line] = []
    drawn: set[str] = set()
    stack = [(node, "", "", 0) for node in reversed(_roots(nodes)) if node.id in chosen]
    while stack:
        node, before, below, level = stack.pop()
        if node.id in drawn:
            continue
        drawn.add(node.id)
        deep = f"[depth {node.depth}] " if level > MAX_INDENT else ""
        lines.append(Line(before + deep, node))
        children = [nodes[child] for child in node.children if child in chosen]
        hidden = sizes.get(node.id)
        here = below if level >= MAX_INDENT else below + glyphs.bar
        last = below if level >= MAX_INDENT else below + "   "
        if hidden:
            corner = glyphs.tee if children else glyphs.corner
            lines.append(Line(below + corner, None, f"{glyphs.more} {_count(hidden)}"))
        for child in reversed(children):
            final = child is children[-1]
            corner = glyphs.corner if final else glyphs.tee
            stack.append((child, below + corner, last if final else here, level + 1))
    return lines


def _roots(nodes: Mapping[str, NodeState]) -> list[NodeState]:
    return [node for node in nodes.values() if node.parent_id is None or node.parent_id not in nodes]


def _hidden_below(nodes: Mapping[str, NodeState], chosen: set[str]) -> dict[str, list[NodeState]]:
    """Gather what is not drawn under the nearest drawn ancestor."""
    hidden: dict[str, list[NodeState]] = {}
    anchors: dict[str, str | None] = {node_id: node_id for node_id in chosen}
    for node in nodes.values():
        if node.id in chosen:
            continue
        path: dict[str, None] = {}
        place: str | None = node.id
        while place is not None and place in nodes and place not in anchors and place not in path:
            path[place] = None
            place = nodes[place].parent_id
        anchor = anchors.get(place) if place is not None else None
        anchors.update(dict.fromkeys(path, anchor))
        if anchor is not None:
            hidden.setdefault(anchor, []).append(node)
    return hidden


def _count(hidden: Iterable[NodeState]) -> str:
    nodes = list(hidden)
    counts = Counter(node.status for node in nodes)
    parts = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    top = max((node.score for node in nodes if node.status == "completed"), default=None)
    score = f", best score {number(top)}" if top is not None else ""
    return f"{len(nodes)} more ({parts}{score})"


def describe(node: NodeState, metric: str, *, seconds: float | None = None) -> str:
    """Describe a node in a line: label, metric, score, and what the search thinks of it."""
    parts = [node.raw_label or node.label]
    if node.status == "running":
        parts.append("running" if seconds is None else f"running for {seconds:.0f} s")
    elif node.status == "pending":
        parts.append("waiting")
    elif node.status == "errored":
        parts.append("failed: " + _first_line(node.error or node.eval_summary or "no reason recorded"))
    else:
        value = node.metrics.get(metric)
        parts += [f"{metric} = {number(value)}"] if metric in node.metrics else []
        parts.append(f"score {number(float(node.score))}")
    flags = [name for name in ("sterile", "pruned", "retired") if getattr(node.search_state, name)]
    return "  ".join(parts) + (f"  ({', '.join(flags)})" if flags else "")


def _first_line(text: str, width: int = 80) -> str:
    line = text.strip().splitlines()[0] if text.strip() else ""
    return line if len(line) <= width else line[: width - 1] + "…"


def styled(
    lines: Iterable[Line],
    *,
    metric: str,
    best: str | None,
    glyphs: Glyphs = UNICODE,
    running: Mapping[str, float] | None = None,
) -> list[Text]:
    """Turn lines into styled text.

    Args:
        lines: What `draw` returned.
        metric: The primary metric.
        best: The best node, to be marked.
        glyphs: The characters to draw with.
        running: Seconds since the start of what runs.

    Returns:
        One text a line, plain where the console has no colour.
    """
    from rich.text import Text

    texts = []
    for line in lines:
        text = Text(line.prefix, style="dim", no_wrap=True, overflow="ellipsis")
        if line.node is None:
            texts.append(text.append(line.folded, style="dim"))
            continue
        node = line.node
        mark = getattr(glyphs, node.status)
        text.append(f"{mark} {node.id}", style=_STYLES[node.status])
        text.append(f"  {describe(node, metric, seconds=(running or {}).get(node.id))}", style="default")
        if node.id == best:
            text.append(f"  {glyphs.best}", style="bold yellow")
        texts.append(text)
    return texts
