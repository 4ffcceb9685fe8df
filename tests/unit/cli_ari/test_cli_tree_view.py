"""The drawing of the tree: what is kept, what is folded, and that nothing is lost from the count."""

from __future__ import annotations

import re

import pytest

from ari.checkpoint.state import NodeState
from ari.cli.tree_view import ASCII, UNICODE, choose, describe, draw, glyphs_for, styled
from ari.formats.tree import SearchState


def tree(parents: list[int | None], scores: list[float] | None = None) -> dict[str, NodeState]:
    """A tree of completed nodes n0, n1, …, each given by the number of its parent."""
    nodes: dict[str, NodeState] = {}
    for order, parent in enumerate(parents):
        parent_id = None if parent is None else f"n{parent}"
        node = NodeState(id=f"n{order}", parent_id=parent_id, depth=0, label="improve", order=order)
        node.status = "completed"
        node.score = scores[order] if scores else 0.0
        if parent_id is not None:
            node.depth = nodes[parent_id].depth + 1
            nodes[parent_id].children.append(node.id)
        nodes[node.id] = node
    return nodes


def text(nodes: dict[str, NodeState], **options: object) -> list[str]:
    best = options.pop("best", None)
    lines = draw(nodes, best=best, **options)
    return [
        str(line) for line in styled(lines, metric="r2", best=best, glyphs=options.get("glyphs", UNICODE))
    ]


def test_a_small_tree_is_drawn_whole() -> None:
    nodes = tree([None, 0, 0, 1, 1, 2], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    assert text(nodes, best="n5") == [
        "● n0  improve  score 0.1",
        "├─ ● n1  improve  score 0.2",
        "│  ├─ ● n3  improve  score 0.4",
        "│  └─ ● n4  improve  score 0.5",
        "└─ ● n2  improve  score 0.3",
        "   └─ ● n5  improve  score 0.6  ★",
    ]


def test_plain_characters_where_the_stream_knows_no_others() -> None:
    assert glyphs_for("utf-8") is UNICODE
    assert glyphs_for("latin-1") is ASCII
    assert glyphs_for(None) is ASCII
    assert glyphs_for("no such encoding") is ASCII
    assert all(line.isascii() for line in text(tree([None, 0, 0, 1]), best="n3", glyphs=ASCII))


def test_a_wide_tree_is_folded_and_every_node_counted() -> None:
    nodes = tree([None] + [0] * 5000, [0.0, *(i / 5000 for i in range(5000))])
    nodes["n17"].status = "running"
    nodes["n40"].status = "errored"
    lines = text(nodes, best="n3", limit=20)
    assert len(lines) <= 22
    drawn = [line for line in lines if "more (" not in line]
    assert any("n3 " in line and "★" in line for line in drawn)
    assert any("n17 " in line and "running" in line for line in drawn)
    assert any("n5000 " in line for line in drawn)
    [folded] = [line for line in lines if "more (" in line]
    assert int(re.search(r"(\d+) more", folded)[1]) + len(drawn) == len(nodes)
    assert "1 errored" in folded
    assert "best score 0.9" in folded


def test_hidden_nodes_are_counted_under_their_nearest_drawn_ancestor() -> None:
    nodes = tree([None, 0, 0, 1, 3, 2], [1.0, 0.9, 0.1, 0.0, 0.0, 0.0])
    lines = text(nodes, best="n1", limit=2)
    assert lines == [
        "● n0  improve  score 1",
        "├─ … 2 more (2 completed, best score 0.1)",
        "└─ ● n1  improve  score 0.9  ★",
        "   └─ … 2 more (2 completed, best score 0)",
    ]


def test_the_path_to_the_best_node_is_kept_however_deep() -> None:
    nodes = tree([None, *range(600)])
    chosen = choose(nodes, "n600", 10)
    assert chosen == set(nodes)
    lines = text(nodes, best="n600", limit=10)
    assert len(lines) == 601
    assert max(len(line) for line in lines) < 130
    assert "[depth 600] ● n600" in lines[-1]


def test_a_circle_in_a_damaged_tree_ends() -> None:
    nodes = tree([None, 0, 1])
    nodes["n1"].parent_id = "n2"
    nodes["n2"].children.append("n1")
    assert len(text(nodes, best="n2", limit=2)) >= 1
    assert len(text(nodes, best="n2", limit=10)) == 3


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"status": "pending"}, "improve  waiting"),
        ({"status": "errored", "error": "broke\nmore"}, "improve  failed: broke"),
        ({"status": "errored"}, "improve  failed: no reason recorded"),
        ({"metrics": {"r2": None}}, "improve  r2 = null  score 0"),
        ({"metrics": {"r2": 0.99999997}}, "improve  r2 = 0.99999997  score 0"),
        ({"metrics": {"r2": 1.0}, "score": 0.5}, "improve  r2 = 1  score 0.5"),
        ({"metrics": {"r2": 0.123456789}, "raw_label": "novel"}, "novel  r2 = 0.123457  score 0"),
        ({"search_state": SearchState(sterile=True, retired=True)}, "improve  score 0  (sterile, retired)"),
    ],
)
def test_what_is_said_of_a_node(changes: dict[str, object], expected: str) -> None:
    node = tree([None])["n0"]
    for name, value in changes.items():
        setattr(node, name, value)
    assert describe(node, "r2") == expected


def test_a_running_node_says_for_how_long() -> None:
    node = tree([None])["n0"]
    node.status = "running"
    assert describe(node, "r2", seconds=12.4) == "improve  running for 12 s"
