"""Ideas: pinned ones stay, later ones are appended."""

from __future__ import annotations

from ari.formats.base import problems
from ari.formats.idea import Ideas, merge_ideas, pin_ideas


def _idea(title: str, **more: object) -> dict:
    base = {"title": title, "experiment_plan": "p", "primary_metric": "r2", "alternatives_considered": []}
    return {**base, "_pinned": False, **more}


def test_the_first_round_is_taken_as_it_is() -> None:
    merged = merge_ideas(None, {"ideas": [_idea("a")], "gap_analysis": "g"})
    assert merged == {"ideas": [_idea("a")], "gap_analysis": "g"}
    assert problems(Ideas, merged) == []


def test_later_ideas_are_appended_and_earlier_ones_stay_in_place() -> None:
    existing = {"ideas": [_idea("a", _pinned=True, note="kept"), _idea("b")], "papers": 3}
    later = {"ideas": [_idea("b"), _idea("c"), _idea("a", experiment_plan="other")], "papers": 9, "fresh": 1}
    merged = merge_ideas(existing, later)
    assert [idea["title"] for idea in merged["ideas"]] == ["a", "b", "c", "a"]
    assert merged["ideas"][:2] == existing["ideas"]
    assert (merged["papers"], merged["fresh"]) == (3, 1)
    assert merge_ideas(merged, later) == merged


def test_ideas_may_come_as_a_list_without_a_pin() -> None:
    plain = {key: value for key, value in _idea("x").items() if key != "_pinned"}
    assert merge_ideas({"ideas": []}, [plain])["ideas"] == [_idea("x")]


def test_a_child_inherits_pinned_ideas() -> None:
    parent = {"ideas": [_idea("a"), _idea("b")]}
    child = pin_ideas(parent, [1])
    assert child["ideas"] == [_idea("b", _pinned=True)]
    assert merge_ideas(child, parent)["ideas"] == [_idea("b", _pinned=True), _idea("a")]
    assert parent["ideas"][1]["_pinned"] is False
