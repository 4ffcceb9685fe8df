"""Best-first tree search: which node is expanded next, and what leaves the frontier.

Pure functions over a `SearchView`; nothing here reads a clock, a file or a random number, so the same
results in the same order always give the same tree.

Pools: `pending` nodes are planned or running; the `frontier` holds finished nodes that may still be
expanded. A node leaves the frontier when it is *retired* (a child beats it, or it has been expanded
`max_expansions` times) or *pruned* (depth limit reached, or it changed nothing and is sterile).
A failed node stays expandable: its child is a `debug` attempt.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

DIVERSITY_BONUS = 0.1
"""Added in full to the score of a node whose label is unique; shared by nodes of a common label."""

FAILED_PRIORITY = 0.05
"""Selection score of a failed node: a repair is tried when nothing promising is left."""


TESTS = frozenset({"ablation", "validation"})
"""Labels of nodes that test a result and do not try to better it."""


@dataclass(frozen=True)
class SearchNode:
    """What the search knows of a node; `finished` says whether its result may be used yet."""

    id: str
    parent_id: str | None
    depth: int
    label: str
    order: int
    finished: bool
    failed: bool = False
    score: float = 0.0
    sterile: bool = False
    idea_index: int | None = None


@dataclass(frozen=True)
class SearchLimits:
    """Where the search stops growing."""

    max_nodes: int = 12
    max_depth: int = 8
    max_expansions: int = 4
    max_debug_depth: int = 3


@dataclass(frozen=True)
class SearchView:
    """The tree as it may be seen when the next node is planned."""

    nodes: Mapping[str, SearchNode]
    limits: SearchLimits = field(default_factory=SearchLimits)

    def children(self, node_id: str) -> list[SearchNode]:
        """The node's children in the order in which they were planned."""
        return sorted((n for n in self.nodes.values() if n.parent_id == node_id), key=lambda node: node.order)

    @property
    def pending(self) -> list[SearchNode]:
        """Nodes whose results are not there yet, in order."""
        return sorted((n for n in self.nodes.values() if not n.finished), key=lambda node: node.order)

    @property
    def frontier(self) -> list[SearchNode]:
        """Finished nodes that may be expanded, in order."""
        open_nodes = (n for n in self.nodes.values() if n.finished and exit_reason(n, self) is None)
        return sorted(open_nodes, key=lambda node: node.order)

    @property
    def attempts(self) -> list[SearchNode]:
        """Finished nodes that tried to do better, in order; ablations and validations only test."""
        tried = (n for n in self.nodes.values() if n.finished and n.label not in TESTS)
        return sorted(tried, key=lambda node: node.order)


def best(nodes: Sequence[SearchNode]) -> SearchNode | None:
    """The node with the highest score; of equals the earliest. Failed and sterile nodes never qualify."""
    usable = [node for node in nodes if node.finished and not node.failed and not node.sterile]
    return max(usable, key=lambda node: (node.score, -node.order), default=None)


def exit_reason(node: SearchNode, view: SearchView) -> str | None:
    """Why a finished node can no longer be expanded: a `retired: …` or `pruned: …` text, or None."""
    children = view.children(node.id)
    if node.sterile:
        return "pruned: it changed nothing"
    if node.depth >= view.limits.max_depth:
        return f"pruned: depth limit {view.limits.max_depth}"
    if node.failed and _debug_chain(node, view) >= view.limits.max_debug_depth:
        return f"pruned: {view.limits.max_debug_depth} repairs in a row failed"
    if len(children) >= view.limits.max_expansions:
        return f"retired: expanded {view.limits.max_expansions} times"
    if node.failed:
        mended = any(child.finished and not child.failed for child in children)
        return "retired: a repair succeeded" if mended else None
    beaten = any(_beats(child, node) for child in children)
    return "retired: a child beats it" if beaten else None


def _beats(child: SearchNode, node: SearchNode) -> bool:
    return child.finished and not child.failed and not child.sterile and child.score > node.score


def _debug_chain(node: SearchNode, view: SearchView) -> int:
    length = 0
    current: SearchNode | None = node
    while current is not None and current.failed and current.label == "debug":
        length += 1
        current = view.nodes.get(current.parent_id or "")
    return length


def select(view: SearchView) -> SearchNode | None:
    """The frontier node to expand next: highest score plus diversity bonus, the earliest of equals.

    A node with an unfinished child waits behind its equals, so that parallel work spreads out.
    """
    if len(view.nodes) >= view.limits.max_nodes:
        return None
    counts = Counter(node.label for node in view.nodes.values())
    frontier = view.frontier
    return max(frontier, key=lambda node: (_priority(node, view, counts), -node.order), default=None)


def _priority(node: SearchNode, view: SearchView, counts: Mapping[str, int]) -> float:
    waiting = sum(not child.finished for child in view.children(node.id))
    base = FAILED_PRIORITY if node.failed else node.score
    return base + DIVERSITY_BONUS / counts[node.label] - 0.02 * waiting
