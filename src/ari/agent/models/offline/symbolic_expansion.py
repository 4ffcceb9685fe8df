"""What the offline researcher tries next below a node of a symbolic study."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ari.agent.models.offline.proposals import draft, label_counts, was_tried
from ari.agent.task import Proposal
from sr_harness.engine import parse
from sr_harness.errors import ExpressionError
from sr_harness.tools.parts import parts_of

GOOD_NRMSE = 1e-2
"""Below this a formula describes the data well enough to be tested rather than replaced."""

EXACT_NRMSE = 1e-9
"""Below this nothing is left to improve in float64."""

ENOUGH_IMPROVEMENTS = 2
"""After this many attempts on one formula another idea is more promising."""

_IMPROVEMENTS: tuple[dict[str, Any], ...] = (
    {"refine": True},
    {"strategies": ["composite"]},
    {"strategies": ["rational", "polynomial"]},
    {"strategies": ["genetic"]},
)


def propose_symbolic(facts: dict[str, Any]) -> Proposal:
    """The next experiment: the first of the fitting ones that no node of the tree has made yet."""
    node = facts["node"]
    if node["status"] == "errored":
        return Proposal(
            label="debug",
            summary="The parent gave no usable formula; fall back to the simplest families.",
            plan={"strategies": ["constant", "linear", "power_law"]},
        )
    candidates = list(_in_order(facts, node["submission"].get("formula", "")))
    fresh = (proposal for proposal in candidates if not was_tried(facts, proposal))
    return next(fresh, None) or _again(facts, node["submission"].get("formula", ""))


def _in_order(facts: dict[str, Any], formula: str) -> Iterator[Proposal]:
    """Everything that could be done: a poor formula is replaced first, a good one is tested first."""
    nrmse = facts["node"]["metrics"].get("nrmse")
    counts = label_counts(facts)
    improvements, tests = list(_improvements(formula)), list(_tests(facts, formula))
    stuck = _improvements_tried(facts, formula) >= ENOUGH_IMPROVEMENTS
    may_draft = facts.get("next_idea") and (stuck or not facts["ancestors"])
    drafts = [draft(facts["next_idea"], facts["next_idea_index"])] if may_draft else []
    if nrmse is not None and nrmse < EXACT_NRMSE:
        yield from (*tests, *drafts)
    elif stuck:
        yield from (*tests, *drafts, *improvements)
    elif nrmse is not None and nrmse < GOOD_NRMSE:
        yield from (*tests, *improvements, *drafts) if counts["improve"] else (*improvements[:1], *tests)
        yield from (*improvements, *drafts)
    elif counts["draft"] > counts["improve"]:
        yield from (*improvements, *drafts, *tests)
    else:
        yield from (*drafts, *improvements, *tests)


def _improvements_tried(facts: dict[str, Any], formula: str) -> int:
    """How many nodes, anywhere in the tree, were to improve this very formula."""
    return sum(e["label"] == "improve" and e["plan"].get("formula") == formula for e in facts["tried"])


def _improvements(formula: str) -> Iterator[Proposal]:
    for step in _IMPROVEMENTS:
        what = (
            "Refine" if step.get("refine") else f"Search with {', '.join(step['strategies'])}, starting from"
        )
        yield Proposal(label="improve", summary=f"{what} {formula}.", plan={"formula": formula, **step})


def _tests(facts: dict[str, Any], formula: str) -> Iterator[Proposal]:
    """Take a part out, repeat the measurement, take the other parts out."""
    ablations = list(_ablations(formula)) if facts["node"]["label"] != "ablation" else []
    yield from ablations[:1]
    yield _validation(formula)
    yield from ablations[1:]


def _ablations(formula: str) -> Iterator[Proposal]:
    try:
        parts = parts_of(parse(formula))
    except ExpressionError:
        return  # it names columns that only the data's own context can tell from functions
    for part in parts:
        yield Proposal(
            label="ablation",
            summary=f"Take the {part.kind} {part.text} out of {formula}: what was it worth?",
            plan={"formula": formula, "part": part.id},
        )


def _validation(formula: str) -> Proposal:
    return Proposal(
        label="validation",
        summary=f"Fit the form of {formula} again on other splits, and judge it beyond the fitted range.",
        plan={"formula": formula},
    )


def _again(facts: dict[str, Any], formula: str) -> Proposal:
    """With everything tried, repeat the search with another seed and a larger part of the portfolio."""
    plan = {"formula": formula, "strategies": ["genetic"], "repeat": len(facts["tried"])}
    return Proposal(
        label="improve", summary=f"Search again from {formula} with other random numbers.", plan=plan
    )
