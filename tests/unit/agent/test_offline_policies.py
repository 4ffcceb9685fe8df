"""The offline researcher reacts to what its tools answer."""

from __future__ import annotations

from typing import Any

from ari.agent.models.offline.command import command_policy
from ari.agent.models.offline.expansion import propose
from ari.agent.models.offline.policy import Call, Finish, next_action
from ari.agent.models.offline.symbolic import symbolic_policy
from ari.pipeline.experiment_spec import Experiment, Parameter

SYMBOLIC = Experiment(title="t", question="", kind="symbolic", primary_metric="nrmse", target="y").model_dump(
    mode="json"
)
COMMAND = Experiment(
    title="t",
    question="",
    kind="command",
    primary_metric="speed",
    command="./run {tile}",
    parameters=(
        Parameter(name="tile", levels=(8, 16, 32, 64), ordered=True),
        Parameter(name="flags", levels=("", "-O3"), ordered=False),
    ),
    repeats=1,
).model_dump(mode="json")


def draft(**plan: Any) -> dict[str, Any]:
    return {"experiment": SYMBOLIC, "label": "draft", "plan": plan, "search_work": 100, "ancestors": []}


def candidate(formula: str, nrmse: float, length: float = 0.0) -> dict[str, Any]:
    found = {"formula": formula, "nrmse": nrmse, "complexity": 3, "description_length": length}
    return {"candidates": [found]}


def test_a_good_fit_is_handed_in_at_once_and_a_bad_one_is_followed_by_the_next_family():
    facts = draft(strategies=["power_law", "rational"])
    seen = [{"rows": 10}]
    good = next_action(symbolic_policy, facts, [*seen, candidate("a**1.5", 1e-12)])
    bad = next_action(symbolic_policy, facts, [*seen, candidate("a**1.4", 0.3)])
    assert good == Call("snap_formula", {"formula": "a**1.5"})
    assert isinstance(bad, Call)
    assert (bad.tool, bad.arguments["family"]) == ("fit_family", "rational")


def test_snapped_constants_are_used_only_when_they_do_not_cost():
    facts = draft(strategies=["power_law"])
    seen = [{"rows": 10}, candidate("a**1.4998", 1e-6)]
    kept = next_action(symbolic_policy, facts, [*seen, candidate("a**2", 0.5, length=9.0)])
    taken = next_action(symbolic_policy, facts, [*seen, candidate("a**1.5", 1e-6, length=-9.0)])
    assert kept.arguments["formula"] == "a**1.4998"
    assert taken.arguments["formula"] == "a**1.5"


def test_a_family_that_does_not_fit_leads_to_the_simplest_one():
    action = next_action(
        symbolic_policy, draft(strategies=["power_law"]), [{"rows": 10}, {"error": "negative values"}]
    )
    assert action == Call("fit_family", {"family": "linear", "work": 100})


def test_a_command_that_fails_is_not_repeated():
    facts = {"experiment": COMMAND, "label": "draft", "plan": {}}
    written = [{"path": "params.json"}, {"path": "run.sh"}]
    failed = {"outcome": "failed", "exit_status": 1, "metrics": {}}
    worked = {"outcome": "ok", "exit_status": 0, "metrics": {"speed": 2.0}}
    assert isinstance(next_action(command_policy, facts, [*written, failed]), Finish)
    after = next_action(command_policy, facts, [*written, worked])
    assert isinstance(after, Call)
    assert after.tool == "emit_results"


def expansion(status: str = "completed", **changes: Any) -> dict[str, Any]:
    node = {
        "node_id": "n0", "label": "draft", "status": status, "score": 0.5, "metrics": {"nrmse": 0.1},
        "plan": {"params": {"tile": 8, "flags": ""}}, "submission": {"formula": "a*b"}, "error": None,
    }  # fmt: skip
    base = {
        "experiment": COMMAND,
        "node": node,
        "ancestors": [],
        "children": [],
        "tried": [{"label": "draft", "plan": node["plan"]}],
        "seed": 0,
    }
    return base | changes


def test_a_failed_parent_gets_a_repair_and_a_sound_one_an_improvement():
    assert propose(expansion("errored")).label == "debug"
    assert propose(expansion()).label == "improve"


def test_no_configuration_is_proposed_twice():
    tried = [{"label": "draft", "plan": {"params": {"tile": 8, "flags": ""}}}]
    for _ in range(7):
        proposal = propose(expansion(tried=tried))
        assert proposal.plan["params"] not in [entry["plan"]["params"] for entry in tried]
        tried.append({"label": proposal.label, "plan": proposal.plan})
    assert propose(expansion(tried=tried)).label == "validation"


def test_an_exact_formula_is_tested_and_not_improved():
    facts = expansion(experiment=SYMBOLIC, next_idea=None)
    exact = facts | {"node": facts["node"] | {"metrics": {"nrmse": 1e-13}}}
    rough = facts | {"node": facts["node"] | {"metrics": {"nrmse": 0.2}}}
    assert propose(exact).label == "ablation"
    assert propose(rough).label == "improve"


def test_an_idea_that_the_search_turned_to_becomes_a_draft():
    idea = {"title": "Periodic", "strategies": ["sinusoid"]}
    proposal = propose(expansion(idea=idea, idea_index=4))
    assert (proposal.label, proposal.plan["strategies"], proposal.plan["idea_index"]) == (
        "draft",
        ["sinusoid"],
        4,
    )
