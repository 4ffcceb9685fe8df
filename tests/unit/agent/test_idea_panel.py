"""The panel of proposer, critic and synthesiser, with scripted members and all the ways they can fail."""

from __future__ import annotations

import json
from itertools import repeat
from typing import Any

import pytest

from ari.agent.panel import Brief, PanelResult, convene
from ari.agent.prompts import Prompts
from ari.pipeline.experiment_spec import Experiment, Parameter
from ari.testing import Call, Reply, ScriptedModel

FORMULA = Experiment(
    title="Fall", question="How fast?", kind="symbolic", primary_metric="nrmse", target="v", inputs=("h", "g")
)
PROGRAM = Experiment(
    title="Tiles",
    question="Which?",
    kind="command",
    primary_metric="GFlops/s",
    command="./run {tile} {opt}",
    parameters=(
        Parameter(name="tile", levels=(8, 16, 32), ordered=True),
        Parameter(name="opt", levels=("O0", "O3"), ordered=False),
    ),
)
SURVEY = "Torricelli found that the speed grows with the root of the height."

ROOT = {"title": "Root law", "hypothesis": "v grows as sqrt(h).", "strategies": ["power_law"]}
LINE = {"title": "Straight line", "hypothesis": "v grows as h.", "strategies": ["linear"]}
WAVE = {"title": "Waves", "hypothesis": "v oscillates.", "experiment_plan": "## §1\nLook."}
PROPOSALS = json.dumps({"ideas": [LINE, ROOT, WAVE]})
CRITIQUE = json.dumps({"verdicts": [{"title": "waves", "objection": "Nothing repeats.", "keep": False}]})
SYNTHESIS = json.dumps(
    {"ideas": [ROOT, LINE], "rejected": [{"title": "Waves", "reason": "The profile shows no period."}]}
)


def panel(
    *replies: Any, experiment: Experiment = FORMULA, **brief: Any
) -> tuple[PanelResult, ScriptedModel, list[str]]:
    """Let a panel of one scripted model work; the result, the model, and the names of the members asked."""
    model, asked = ScriptedModel(replies), []

    def member(name: str) -> ScriptedModel:
        asked.append(name)
        return model

    options = {"statistics": {}, "survey": SURVEY, "strategies": ("linear", "power_law")} | brief
    return convene(Brief(experiment, **options), member, Prompts().text), model, asked


def titles(result: PanelResult) -> list[str]:
    return [idea["title"] for idea in result.ideas]


def told(model: ScriptedModel, request: int) -> str:
    return "\n".join(str(part.content) for message in model.asked[request] for part in message.parts)


def test_the_synthesiser_ranks_and_every_alternative_is_kept():
    result, _, asked = panel(PROPOSALS, CRITIQUE, SYNTHESIS)
    assert asked == ["proposer", "critic", "synthesiser"]
    assert titles(result) == ["Root law", "Straight line"]
    assert result.concerns == []
    first = result.ideas[0]
    assert first["primary_metric"] == "nrmse"
    assert first["strategies"] == ["power_law"]
    assert first["_pinned"] is False
    assert "v grows as sqrt(h)." in first["experiment_plan"]
    assert first["alternatives_considered"] == [
        "Straight line",
        "Waves: rejected, The profile shows no period.",
    ]


def test_the_members_work_from_survey_profile_and_each_other():
    _, model, _ = panel(PROPOSALS, CRITIQUE, SYNTHESIS, statistics={"rows": 77}, inherited=("Old idea",))
    for request in range(3):
        for text in (SURVEY, '"rows": 77', "Old idea", "How fast?"):
            assert text in told(model, request)
    assert "Straight line" not in told(model, 0)
    assert "Straight line" in told(model, 1)
    assert "Nothing repeats." in told(model, 2)


@pytest.mark.parametrize(
    "bad",
    [
        "I think a root law would be nice.",
        "",
        '{"ideas": []}',
        '{"ideas": [{"title": ""}]}',
        '{"ideas": [{"title": "Bare"}]}',
        '{"ideas": "none"}',
        '{"ideas": [{"title": "A", "hypothesis": "x", "strategies": ["astrology"]}]}',
        '{"ideas": [{"title": "A", "hypothesis": "x"}, {"title": " a ", "hypothesis": "y"}]}',
        '{"ideas": [{"title": "A", "hypothesis": "x", "params": {"tile": 8}}]}',
        '{"ideas": [{"title": "cut off',
        Reply(calls=(Call("launch_rocket", {}),)),
    ],
)
def test_a_bad_proposal_is_sent_back_with_what_is_wrong(bad: Any):
    result, model, _ = panel(bad, PROPOSALS, CRITIQUE, SYNTHESIS)
    assert titles(result) == ["Root law", "Straight line"]
    assert len(model.asked) == 4
    assert result.concerns == []


@pytest.mark.parametrize(
    "good",
    [
        f"Here you are:\n```json\n{PROPOSALS}\n```\nGood luck!",
        PROPOSALS[:-2] + ",],}",
        PROPOSALS[:-1] + ', "confidence": 0.99}',
        Reply(calls=(Call("final_result_Proposals", PROPOSALS),)),
    ],
)
def test_habits_that_do_no_harm_cost_nothing(good: Any):
    if isinstance(good, Reply):
        good = Reply(calls=(Call("final_result", PROPOSALS),))
    result, model, _ = panel(good, CRITIQUE, SYNTHESIS)
    assert titles(result) == ["Root law", "Straight line"]
    assert len(model.asked) == 3


def test_after_the_last_repair_there_is_no_panel_but_a_concern():
    result, model, asked = panel(*repeat("no", 4))
    assert (result.ideas, asked, len(model.asked)) == ([], ["proposer"], 4)
    assert "the proposer of the panel gave no usable answer" in result.concerns[0]


def test_without_a_critic_nothing_is_objected_to():
    result, _, _ = panel(PROPOSALS, *repeat("no", 4), SYNTHESIS)
    assert titles(result) == ["Root law", "Straight line"]
    assert "the critic of the panel" in result.concerns[0]


def test_without_a_synthesiser_what_was_objected_to_comes_last():
    critique = json.dumps({"verdicts": [{"title": "Straight line", "objection": "Too easy.", "keep": False}]})
    result, _, _ = panel(PROPOSALS, critique, *repeat("no", 4))
    assert titles(result) == ["Root law", "Waves", "Straight line"]
    assert "the synthesiser of the panel" in result.concerns[0]


def test_a_model_that_is_down_is_no_reason_to_stop():
    result, _, _ = panel(Reply.error(503, "down"))
    assert result.ideas == []
    assert "503" in result.concerns[0]


def test_an_inherited_idea_is_not_proposed_again():
    result, _, _ = panel(PROPOSALS, CRITIQUE, SYNTHESIS, inherited=("root  LAW",))
    assert titles(result) == ["Straight line"]


def test_configurations_are_levels_of_the_program_and_complete():
    far = {"title": "Big tiles", "hypothesis": "Bigger is faster.", "params": {"tile": "32"}}
    wrong = {"title": "Huge tiles", "hypothesis": "Bigger is faster.", "params": {"tile": 64}}
    replies = [
        json.dumps({"ideas": [wrong]}),
        json.dumps({"ideas": [far]}),
        "{}",
        json.dumps({"ideas": [far]}),
    ]
    result, model, _ = panel(*replies, experiment=PROGRAM, strategies=())
    assert result.ideas[0]["params"] == {"tile": 32, "opt": "O0"}
    assert "its levels are [8, 16, 32]" in str(model.asked[1])
