"""A model's advice when the search stands still: what may be advised, and what becomes of nonsense."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ari.agent import models
from ari.agent.asking import NoAnswerError
from ari.agent.lineage import Advice, ask_for_advice, fault_of
from ari.testing import Reply, ScriptedModel

ALL = ("continue", "switch_to_idea", "fanout", "terminate")
FACTS = {"node_id": "node_0004", "finding": "nothing moved", "ideas": [{"index": i} for i in range(4)]}


def advice(
    monkeypatch: pytest.MonkeyPatch, *replies: Any, options: Any = ALL
) -> tuple[Advice, ScriptedModel]:
    model = ScriptedModel([r if isinstance(r, str | Reply) else json.dumps(r) for r in replies])
    monkeypatch.setattr(models, "resolve_model", lambda *_args, **_options: model)
    return ask_for_advice(FACTS, "scripted", checkpoint=Path("nowhere"), options=options), model


@pytest.mark.parametrize(
    "reply",
    [
        {"decision": "continue", "rationale": "Ablations are missing."},
        {"decision": "switch_to_idea", "rationale": "It was given up early.", "idea_index": 3},
        {"decision": "fanout", "rationale": "They differ in kind.", "idea_indices": [0, 2]},
        {"decision": "terminate", "rationale": "Nothing moves."},
    ],
)
def test_every_kind_of_advice_can_be_given(monkeypatch: pytest.MonkeyPatch, reply: dict[str, Any]):
    found, model = advice(monkeypatch, reply)
    assert found.model_dump(exclude_defaults=True) == reply
    assert "nothing moved" in str(model.asked[0])
    assert '"options"' in str(model.asked[0])


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ("Let us go on!", "Answer with one JSON object with the keys decision, rationale"),
        ({"decision": "give up", "rationale": "x"}, "decision"),
        ({"decision": "continue"}, "rationale"),
        ({"decision": "continue", "rationale": "  "}, "rationale"),
        ({"decision": "switch_to_idea", "rationale": "x"}, "ideas are counted from 0 to 3"),
        ({"decision": "switch_to_idea", "rationale": "x", "idea_index": 4}, "idea_index is 4"),
        ({"decision": "fanout", "rationale": "x", "idea_indices": [1]}, "2 or 3 different ideas"),
        ({"decision": "fanout", "rationale": "x", "idea_indices": [1, 1]}, "2 or 3 different ideas"),
        ({"decision": "fanout", "rationale": "x", "idea_indices": [1, -1]}, "counted from 0 to 3"),
    ],
)
def test_advice_that_cannot_be_followed_is_sent_back(monkeypatch: pytest.MonkeyPatch, bad: Any, told: str):
    found, model = advice(monkeypatch, bad, {"decision": "terminate", "rationale": "Enough."})
    assert found.decision == "terminate"
    assert told in str(model.asked[1][-1])


def test_only_what_is_possible_may_be_advised():
    fanout = Advice(decision="fanout", rationale="x", idea_indices=[0, 1])
    assert fault_of(fanout, ideas=4, options=ALL) == ""
    assert "not possible here; choose from continue" in fault_of(fanout, ideas=4, options=("continue",))


def test_after_the_last_repair_there_is_no_advice(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(NoAnswerError):
        advice(monkeypatch, "a", "b", "c", "d")
