"""The stagnation rule."""

from __future__ import annotations

from dataclasses import replace

from ari.orchestrator.bfts import SearchNode, SearchView
from ari.orchestrator.lineage_decision import StagnationRule, decide

RULE = StagnationRule(window=5, threshold=0.05, min_nodes=3, max_switches=5)


def tree(*scores: float) -> SearchView:
    nodes = {}
    for order, score in enumerate(scores):
        name = f"n{order}"
        nodes[name] = SearchNode(
            name, None if order == 0 else "n0", min(order, 1), "improve", order, True, score=score
        )
    return SearchView(nodes)


def test_nothing_is_decided_before_three_nodes():
    assert decide(tree(0.5, 0.5), RULE, ideas=3, used_ideas=[0], switched_at=[]) is None


def test_movement_is_not_stagnation():
    assert decide(tree(0.1, 0.2, 0.3), RULE, ideas=3, used_ideas=[0], switched_at=[]) is None


def test_stagnation_turns_to_the_strongest_unused_idea():
    decision = decide(tree(0.5, 0.51, 0.52), RULE, ideas=4, used_ideas=[0, 1], switched_at=[])
    assert decision is not None
    assert (decision.decision, decision.idea_index, decision.node_id) == ("switch_to_idea", 2, "n2")
    assert "moved the best score by 0.02, less than 0.05" in decision.rationale


def test_worse_attempts_are_no_movement():
    decision = decide(tree(0.5, 0.1, 0.3), RULE, ideas=2, used_ideas=[0], switched_at=[])
    assert decision is not None
    assert decision.decision == "switch_to_idea"


def test_tests_of_a_result_are_no_attempts():
    nodes = dict(tree(0.5, 0.5, 0.5).nodes)
    nodes["n2"] = replace(nodes["n2"], label="ablation")
    assert decide(SearchView(nodes), RULE, ideas=2, used_ideas=[0], switched_at=[]) is None


def test_only_the_last_five_scores_count():
    moved_early = tree(0.1, 0.5, 0.5, 0.5, 0.5, 0.5)
    assert decide(moved_early, RULE, ideas=1, used_ideas=[0], switched_at=[]).decision == "terminate"


def test_after_a_switch_the_rule_waits_for_fresh_results():
    scores = tree(0.5, 0.5, 0.5, 0.5, 0.5)
    assert decide(scores, RULE, ideas=4, used_ideas=[0, 1], switched_at=[3]) is None


def test_the_search_ends_when_no_idea_is_left():
    decision = decide(tree(*[0.5] * 5), RULE, ideas=2, used_ideas=[0, 1], switched_at=[])
    assert decision is not None
    assert decision.decision == "terminate"
    assert "no idea is left untried" in decision.rationale


def test_the_search_turns_at_most_five_times():
    scores = tree(*[0.5] * 12)
    decision = decide(scores, RULE, ideas=9, used_ideas=[0], switched_at=[1, 2, 3, 4, 5])
    assert decision is not None
    assert decision.decision == "terminate"
    assert "already turned 5 times" in decision.rationale


def test_with_no_idea_left_a_short_flat_stretch_is_not_the_end():
    assert decide(tree(0.5, 0.5, 0.5), RULE, ideas=1, used_ideas=[0], switched_at=[]) is None
