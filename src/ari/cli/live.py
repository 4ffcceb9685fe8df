"""What one sees while a study runs: a live tree on a terminal, a line per finished node elsewhere.

Both are written to standard error. A display must never end a study: what cannot be drawn is left out.
"""

from __future__ import annotations

import os
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from ari.cli.common import console, duration, number
from ari.cli.tree_view import describe, draw, glyphs_for, styled

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live

    from ari.checkpoint import Checkpoint
    from ari.checkpoint.state import NodeState

OnEvent = Callable[[Mapping[str, Any], "Checkpoint"], None]

_MIN_INTERVAL = 0.2
"""Seconds between two drawings; a tree of thousands of nodes takes a few hundredths to draw."""


@contextmanager
def watch(title: str, budget: int, *, silent: bool = False) -> Iterator[OnEvent]:
    """Show a study while it runs.

    Args:
        title: What is studied.
        budget: Nodes in the tree at most.
        silent: Show nothing.

    Yields:
        The function that the study calls with each event.
    """
    # The agent library greets on terminals, from every process that loads it: into the middle of a display.
    os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")
    if silent:
        yield _nothing
        return
    out = console(stderr=True)
    if not out.is_terminal:
        yield PlainProgress(budget, sys.stderr.write).on_event
        return
    from rich.console import Console
    from rich.live import Live

    screen = Console(stderr=True, highlight=False, markup=False, emoji=False)
    with Live(console=screen, auto_refresh=False, transient=True, vertical_overflow="crop") as live:
        yield LiveProgress(title, budget, live, screen).on_event


def _nothing(_event: Mapping[str, Any], _checkpoint: Checkpoint) -> None:
    """Show nothing."""


class _Display(ABC):
    """A display: takes every event, and whatever goes wrong in drawing, the study goes on."""

    _broken = False

    def on_event(self, event: Mapping[str, Any], checkpoint: Checkpoint) -> None:
        """Take an event in; a display that has failed once stays silent."""
        if self._broken:
            return
        try:
            self._show(event, checkpoint)
        # Whatever a terminal or a library does, hours of work must not end with it.
        except Exception as error:  # noqa: BLE001
            self._broken = True
            with suppress(OSError):
                sys.stderr.write(f"the display has failed ({error!r}); the study goes on without it\n")

    @abstractmethod
    def _show(self, event: Mapping[str, Any], checkpoint: Checkpoint) -> None:
        """Show what the event changed."""


def leading_node(checkpoint: Checkpoint) -> NodeState | None:
    """The node with the highest score so far; the earliest of equals; None before there is one."""
    usable = (
        node
        for node in checkpoint.nodes.values()
        if node.status == "completed" and not node.search_state.sterile
    )
    return max(usable, key=lambda node: (node.score, -node.order), default=None)


class PlainProgress(_Display):
    """One line per finished node, and one for each turn of the search.

    Args:
        budget: Nodes in the tree at most.
        write: Where the lines go.
    """

    def __init__(self, budget: int, write: Callable[[str], object]) -> None:
        self._budget = budget
        self._write = write
        self._best: str | None = None

    def _show(self, event: Mapping[str, Any], checkpoint: Checkpoint) -> None:
        name = event.get("event")
        if name == "node_finished":
            self._finished(checkpoint.nodes[event["node_id"]], checkpoint)
        elif name == "lineage_decision":
            self._write(f"  search: {event['decision']}: {event.get('rationale', '')}\n")
        elif name == "run_resumed":
            done = sum(node.finished for node in checkpoint.nodes.values())
            self._write(f"going on with {checkpoint.path}: {done} of {self._budget} nodes are finished\n")
        elif name == "run_created":
            self._write(f"checkpoint: {checkpoint.path}\n")

    def _finished(self, node: NodeState, checkpoint: Checkpoint) -> None:
        done = sum(other.finished for other in checkpoint.nodes.values())
        leader = leading_node(checkpoint)
        mark = ""
        if leader is not None and leader.id == node.id and leader.id != self._best:
            self._best, mark = leader.id, "  best so far"
        took = f"  [{duration(node.duration_s)}]" if node.duration_s is not None else ""
        line = f"{node.id}  {describe(node, checkpoint.state.primary_metric)}"
        self._write(f"[{done:>{len(str(self._budget))}}/{self._budget}] {line}{took}{mark}\n")


class LiveProgress(_Display):
    """The tree, the best metric, time, budget and what runs, redrawn in place.

    Args:
        title: What is studied.
        budget: Nodes in the tree at most.
        live: The display.
        screen: Its console, for size and encoding.
        clock: Seconds that only grow.
    """

    def __init__(
        self,
        title: str,
        budget: int,
        live: Live,
        screen: Console,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._title = title
        self._budget = budget
        self._live = live
        self._screen = screen
        self._clock = clock
        self._started = clock()
        self._drawn = float("-inf")
        self._running: dict[str, float] = {}
        self._message = ""

    def _show(self, event: Mapping[str, Any], checkpoint: Checkpoint) -> None:
        if event.get("event") == "tick":
            self._running = {item["node_id"]: float(item["seconds"]) for item in event.get("running", ())}
        elif event.get("event") == "lineage_decision":
            self._message = f"{event['decision']}: {event.get('rationale', '')}"
        now = self._clock()
        if now - self._drawn >= _MIN_INTERVAL:
            self._drawn = now
            self._live.update(self.picture(checkpoint), refresh=True)

    def picture(self, checkpoint: Checkpoint) -> RenderableType:
        """Compose what is shown now."""
        from rich.console import Group
        from rich.text import Text

        metric = checkpoint.state.primary_metric
        leader = leading_node(checkpoint)
        glyphs = glyphs_for(self._screen.encoding)
        room = max(5, self._screen.size.height - 7)
        best = leader.id if leader else None
        lines = draw(checkpoint.nodes, best=best, limit=room, glyphs=glyphs)
        head = Text(self._title, style="bold", no_wrap=True, overflow="ellipsis")
        parts: list[Text] = [head, self._bar(checkpoint), _best_line(leader, metric)]
        parts += styled(lines, metric=metric, best=best, glyphs=glyphs, running=self._running)[:room]
        if self._message:
            parts.append(Text(self._message, style="italic dim", no_wrap=True, overflow="ellipsis"))
        parts.append(Text("Ctrl-C stops cleanly; `ari resume` goes on.", style="dim"))
        return Group(*parts)

    def _bar(self, checkpoint: Checkpoint) -> Text:
        from rich.text import Text

        done = sum(node.finished for node in checkpoint.nodes.values())
        failed = sum(node.status == "errored" for node in checkpoint.nodes.values())
        width = 24
        full = min(width, width * done // max(1, self._budget))
        filled, empty = ("█", "░") if glyphs_for(self._screen.encoding).tee == "├─ " else ("#", ".")
        text = Text(no_wrap=True, overflow="ellipsis")
        text.append(filled * full, style="green").append(empty * (width - full), style="dim")
        text.append(f"  {done} of {self._budget} nodes")
        if failed:
            text.append(f", {failed} failed", style="red")
        elapsed = duration(self._clock() - self._started)
        return text.append(f"  {len(self._running)} running  {elapsed}")


def _best_line(leader: NodeState | None, metric: str) -> Text:
    from rich.text import Text

    if leader is None:
        return Text("no result yet", style="dim")
    text = Text(no_wrap=True, overflow="ellipsis")
    text.append("best: ", style="bold").append(
        f"{metric} = {number(leader.metrics.get(metric))}", style="bold green"
    )
    return text.append(f"  score {number(float(leader.score))}  {leader.id}")


if TYPE_CHECKING:
    from rich.text import Text
