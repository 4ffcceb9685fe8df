"""The rules of the best-first tree search, on hand-made trees."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ari.orchestrator.bfts import SearchLimits, SearchNode, SearchView, best, exit_reason, select


def node(name: str, parent: str | None = None, **values: object) -> SearchNode:
    order = int(name[1:])
    base = SearchNode(
        name, parent, depth=0 if parent is None else 1, label="draft", order=order, finished=True
    )
    return replace(base, **values)  # type: ignore[arg-type]


def view(*nodes: SearchNode, **limits: int) -> SearchView:
    return SearchView({n.id: n for n in nodes}, SearchLimits(**limits))


def test_the_highest_score_is_expanded_first():
    tree = view(node("n0", score=0.2), node("n1", "n0", score=0.1), node("n2", "n0", score=0.15))
    assert select(tree).id == "n0"


def test_of_equal_nodes_the_earliest_is_expanded():
    tree = view(
        node("n0", score=0.9), node("n1", "n0", score=0.5), node("n2", "n0", score=0.5), max_expansions=2
    )
    assert select(tree).id == "n1"


def test_a_rare_label_can_overtake_a_slightly_better_score():
    common = [node(f"n{i}", "n0", score=0.50) for i in range(1, 4)]
    tree = view(node("n0", score=0.1), *common, node("n4", "n0", label="ablation", score=0.45))
    assert select(tree).id == "n4"


def test_a_child_that_beats_its_parent_retires_it():
    tree = view(node("n0", score=0.2), node("n1", "n0", score=0.3))
    assert exit_reason(tree.nodes["n0"], tree) == "retired: a child beats it"
    assert select(tree).id == "n1"


def test_an_equal_child_does_not_retire_its_parent():
    tree = view(node("n0", score=0.3), node("n1", "n0", score=0.3))
    assert exit_reason(tree.nodes["n0"], tree) is None


def test_a_result_that_may_not_be_seen_yet_changes_nothing():
    tree = view(node("n0", score=0.2), node("n1", "n0", score=0.9, finished=False))
    assert exit_reason(tree.nodes["n0"], tree) is None
    assert [n.id for n in tree.frontier] == ["n0"]
    assert [n.id for n in tree.pending] == ["n1"]


def test_four_expansions_retire_a_node():
    children = [node(f"n{i}", "n0", score=0.1) for i in range(1, 5)]
    tree = view(node("n0", score=0.2), *children)
    assert exit_reason(tree.nodes["n0"], tree) == "retired: expanded 4 times"


def test_depth_limit_and_sterility_prune():
    deep = node("n1", "n0", depth=3, score=0.9)
    idle = node("n2", "n0", sterile=True)
    tree = view(node("n0"), deep, idle, max_depth=3)
    assert exit_reason(deep, tree) == "pruned: depth limit 3"
    assert exit_reason(idle, tree) == "pruned: it changed nothing"


def test_a_failed_node_stays_expandable_until_a_repair_succeeds():
    failed = node("n0", failed=True)
    assert select(view(failed)).id == "n0"
    mended = view(failed, node("n1", "n0", label="debug", score=0.1))
    assert exit_reason(failed, mended) == "retired: a repair succeeded"


def test_repairs_of_repairs_end():
    chain = [node("n0", failed=True)]
    for i in range(1, 4):
        chain.append(node(f"n{i}", f"n{i - 1}", label="debug", failed=True, depth=i))
    tree = view(*chain)
    assert exit_reason(tree.nodes["n3"], tree) == "pruned: 3 repairs in a row failed"
    assert exit_reason(tree.nodes["n2"], tree) is None


def test_no_node_is_planned_beyond_the_node_limit():
    assert select(view(node("n0", score=0.5), max_nodes=1)) is None


@pytest.mark.parametrize("broken", [{"failed": True}, {"sterile": True}, {"finished": False}])
def test_only_a_measured_node_can_be_best(broken: dict[str, bool]):
    good = node("n0", score=0.1)
    assert best([good, node("n1", "n0", score=0.9, **broken)]) == good
    assert best([node("n1", "n0", **broken)]) is None


def test_of_equal_nodes_the_earliest_is_best():
    first, second = node("n1", "n0", score=0.4), node("n2", "n0", score=0.4)
    assert best([second, first]) == first
