"""How the offline researcher answers the symbolic-regression agent: the portfolio, then a refinement."""

from __future__ import annotations

from typing import Any

from ari.agent.models.offline.policy import Call, Steps


def symbolic_regression_policy(facts: dict[str, Any]) -> Steps:
    """Search with all strategies, starting from what is known; then refine what was found.

    Args:
        facts: `known` formulas as measured, and the `work` that a tool call may spend.
    """
    known = [row["fitted"] for row in facts["known"] if row.get("fitted")]
    found = yield Call("discover", {"work": facts["work"], "start": known})
    best = found.get("best")
    if not best:
        return f"The portfolio found nothing: {found.get('error', 'no candidate')}."
    yield Call("refine_formula", {"formula": best["formula"], "work": facts["work"]})
    return "The portfolio and a refinement of its best formula are done."
