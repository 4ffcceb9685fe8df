"""How the offline researcher works on one symbolic node, by label."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from ari.agent.models.offline.policy import Call, Result, Steps

PLENTY = 1e-9
"""Training nrmse at which the search for a better formula stops: what is left is rounding."""

MAX_PARTS_LISTED = 8


def symbolic_policy(facts: dict[str, Any]) -> Steps:
    """Work on the node as its label says; labels of one's own are treated as drafts."""
    policies: dict[str, Callable[[dict[str, Any]], Steps]] = {
        "improve": _improve,
        "ablation": _ablation,
        "validation": _validation,
    }
    return policies.get(facts["label"], _draft)(facts)


def _draft(facts: dict[str, Any]) -> Steps:
    """Look at the data, fit the hypothesis' families until one is good enough, hand in the best formula."""
    profile = yield Call("describe_data")
    wanted = facts["plan"].get("strategies") or ["constant", "linear", "power_law"]
    found: list[Result] = []
    for family in wanted:
        if family == "trajectories":
            result = yield from _follow_trajectories(facts, len(wanted))
        else:
            result = yield Call("fit_family", {"family": family, "work": _share(facts, len(wanted))})
        found += _candidates(result)
        if found and _nrmse(_best(found)) < PLENTY:
            break
    if not found:
        # The hypothesis does not fit these data at all; a node without a formula could not be learnt from.
        result = yield Call("fit_family", {"family": "linear", "work": _share(facts, 1)})
        found = _candidates(result)
    if not found:
        why = result.get("error", "none of them fits")
        return f"No family gave a formula for these data ({_rows(profile)} rows): {why}."
    return (yield from _hand_in(_best(found), f"best of {', '.join(wanted)}"))


def _follow_trajectories(facts: dict[str, Any], parts: int) -> Any:  # noqa: ANN401 - a sub-generator of Steps
    """The best right-hand side that the integral form gives, with its error on the slopes."""
    result = yield Call("discover_system", {"work": _share(facts, parts)})
    best = result.get("best")
    if not best:
        return result
    (formula,) = best["formulas"].values()
    return (yield Call("evaluate_formula", {"formula": formula}))


def _improve(facts: dict[str, Any]) -> Steps:
    """Refine the parent's formula, or search on from it with the planned strategies."""
    formula = facts["plan"].get("formula") or _parent_formula(facts)
    if not formula:
        return (yield from _draft(facts))
    found = _candidates((yield Call("evaluate_formula", {"formula": formula})))
    if facts["plan"].get("refine") or not facts["plan"].get("strategies"):
        result = yield Call("refine_formula", {"formula": formula, "work": _share(facts, 1)})
    else:
        arguments = {"strategies": facts["plan"]["strategies"], "work": _share(facts, 1), "start": [formula]}
        result = yield Call("discover", arguments)
    found += _candidates(result)
    if not found:
        return f"Nothing could be made of {formula}: {result.get('error', 'no candidate')}."
    return (yield from _hand_in(_best(found), f"refined from {formula}"))


def _ablation(facts: dict[str, Any]) -> Steps:
    """Take one part out of the formula, fit what is left, and hand that in."""
    formula = facts["plan"].get("formula") or _parent_formula(facts)
    listed = yield Call("list_parts", {"formula": formula})
    parts = listed.get("parts", [])[:MAX_PARTS_LISTED]
    if not parts:
        # Nothing can be taken out of a formula of one part; its opposite is to drop the whole idea.
        result = yield Call("fit_family", {"family": "constant", "work": _share(facts, 1)})
        candidates = _candidates(result)
        return (yield from _hand_in(candidates[0], f"{formula} has one part; without it a constant is left"))
    part = next((p for p in parts if p["id"] == facts["plan"].get("part")), parts[0])
    result = yield Call("ablate_formula", {"formula": formula, "part": part["id"]})
    candidates = _candidates(result)
    if not candidates:
        return f"{formula} cannot do without {part['text']}: {result.get('error', 'nothing is left')}."
    return (yield from _submit(candidates[0]["formula"], f"{formula} without {part['text']}"))


def _validation(facts: dict[str, Any]) -> Steps:
    """Hand the parent's formula in again; the evaluator repeats the measurement on resampled rows."""
    formula = facts["plan"].get("formula") or _parent_formula(facts)
    result = yield Call("evaluate_formula", {"formula": formula})
    if "error" in result:
        return f"{formula} could not be evaluated: {result['error']}"
    return (yield from _submit(formula, "the parent's formula, measured again on resampled rows"))


def _hand_in(candidate: Result, note: str) -> Steps:
    """Snap the constants where that costs nothing, then submit."""
    snapped = yield Call("snap_formula", {"formula": candidate["formula"]})
    options = [candidate, *_candidates(snapped)]
    return (yield from _submit(_best(options)["formula"], note))


def _submit(formula: str, note: str) -> Steps:
    answer = yield Call("submit_formula", {"formula": formula, "note": note})
    if "error" in answer:
        return f"The formula {formula} was refused: {answer['error']}"
    return f"Submitted {formula}: {note}."


def _candidates(result: Result) -> list[Result]:
    """The formulas of a tool's answer that have a training error."""
    listed: Iterable[Any] = result.get("candidates") or ([result] if "formula" in result else [])
    return [c for c in listed if isinstance(c, dict) and c.get("nrmse") is not None]


def _best(candidates: list[Result]) -> Result:
    """The candidate with the shortest description, which weighs error against size and number of rows."""
    return min(candidates, key=_length)


def _length(candidate: Result) -> tuple[float, int, int]:
    length = candidate.get("description_length")
    shown = len(candidate["formula"])
    return (math.inf if length is None else float(length), int(candidate["complexity"]), shown)


def _nrmse(candidate: Result) -> float:
    return float(candidate["nrmse"])


def _share(facts: dict[str, Any], parts: int) -> int:
    return max(50, int(facts["search_work"]) // max(1, parts))


def _rows(profile: Result) -> int | str:
    rows: int | str = profile.get("rows", "unknown")
    return rows


def _parent_formula(facts: dict[str, Any]) -> str:
    ancestors = facts.get("ancestors") or [{}]
    formula: str = ancestors[-1].get("submission", {}).get("formula", "")
    return formula
