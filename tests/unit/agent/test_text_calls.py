"""Reading tool calls from text: every usual form, and nothing that is not there."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ari.agent.models.text_calls import Tool, call_text, explain, json_values, lenient_loads, read_calls

SUBMIT = Tool(
    "submit_formula",
    "Hand in a formula.",
    {"properties": {"formula": {"type": "string"}, "note": {"type": "string"}}, "required": ["formula"]},
)
FIT = Tool("fit_family", "Fit.", {"properties": {"family": {"type": "string"}, "work": {"type": "integer"}}})
RESULT = Tool("final_result", "", {"properties": {"label": {}, "plan": {}}, "required": ["label"]})
TOOLS = [SUBMIT, FIT]


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "fit_family", "arguments": {"family": "linear", "work": 7}}',
        '{"name": "fit_family", "input": {"family": "linear", "work": 7,},}',
        '{"function": "fit_family", "args": "{\\"family\\": \\"linear\\", \\"work\\": 7}"}',
        '{"tool": "fit_family", "family": "linear", "work": 7}',
        '{"fit_family": {"family": "linear", "work": 7}}',
        '{"tool_calls": [{"name": "fit_family", "arguments": {"family": "linear", "work": 7}}]}',
        '[TOOL_CALLS] [{"name": "fit_family", "arguments": {"family": "linear", "work": 7}}]',
        '<|python_tag|>{"name": "fit_family", "parameters": {"family": "linear", "work": 7}}',
        '{"name": "functions.fit_family", "arguments": {"family": "linear", "work": 7}}',
        "<fit_family><family>linear</family><work>7</work></fit_family>",
        '<fit_family>{"family": "linear", "work": 7}</fit_family>',
        '<tool_use><name>fit_family</name><arguments>{"family": "linear", "work": 7}</arguments></tool_use>',
        "<tool_call><function=fit_family><parameter=family>linear</parameter><parameter=work>7</parameter>"
        "</function></tool_call>",
        'On [0, 1) with {x : x > 0}: {"name": "fit_family", "arguments": {"family": "linear", "work": 7}}',
    ],
)
def test_one_call_in_many_forms(text: str) -> None:
    assert read_calls(text, TOOLS) == [("fit_family", {"family": "linear", "work": 7})]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The interval is [0, 1) and {x : x > 0} holds.",
        '{"name": "Earth", "mass": 5.97}',
        '{"name": "fit_family", "arguments": {"family": "lin',
        '{"name": "submit_formula", "arguments": {"formula": "a*b"}',
        '<tool_call>{"name": "fit_family", "arguments": {"family": "lin</tool_call>',
        '<think>{"name": "fit_family", "arguments": {}}</think> No, rather not.',
        '<think>{"name": "fit_family", "arguments": {}}',
        '{"name": "fit_family", "arguments": {"work": NaN}}',
        "[" * 5000,
        '{"a": ' * 3000 + "1" + "}" * 3000,
        "submit_formula(formula='a*b')",
    ],
)
def test_what_is_no_whole_call_is_none(text: str) -> None:
    assert read_calls(text, TOOLS) == []


def test_several_calls_keep_their_order_and_unknown_tools_are_not_hidden() -> None:
    text = '```json\n{"name": "launch", "arguments": {"x": 1}}\n```\nthen ' + call_text(
        "fit_family", {"work": 1}
    )
    assert read_calls(text, TOOLS) == [("launch", {"x": 1}), ("fit_family", {"work": 1})]


def test_strings_stay_strings_and_marks_are_unescaped() -> None:
    text = '<invoke name="submit_formula"><parameter name="formula">12</parameter></invoke>'
    assert read_calls(text, TOOLS) == [("submit_formula", {"formula": "12"})]
    text = "<function=submit_formula><parameter=formula>where(a &lt; 1, 2, 3)</parameter></function>"
    assert read_calls(text, TOOLS) == [("submit_formula", {"formula": "where(a < 1, 2, 3)"})]


def test_a_bare_object_is_the_answer_where_one_is_wanted() -> None:
    text = 'First {"plan": {}} then {"label": "improve", "plan": {}, "mood": 1}'
    expected = [("final_result", {"label": "improve", "plan": {}, "mood": 1})]
    assert read_calls(text, [RESULT], answer=RESULT) == expected
    assert read_calls(text, [RESULT]) == []


def test_the_explanation_names_every_tool_with_its_schema() -> None:
    text = explain(TOOLS, may_finish=True)
    assert "`submit_formula`: Hand in a formula." in text
    assert '"required":["formula"]' in text
    assert "reply in plain words" in text
    assert "Every reply has to be" in explain(TOOLS, may_finish=False)


patiently = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""The first text that is drawn loads tables, which takes seconds on a busy machine."""

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@patiently
@given(
    arguments=st.dictionaries(st.text(min_size=1), JSON, max_size=4), before=st.text(alphabet="ab c.,()\n")
)
def test_what_is_written_as_a_call_is_read_as_that_call(arguments: dict, before: str) -> None:
    text = before + call_text("launch", arguments) + before
    assert read_calls(text, TOOLS) == [("launch", arguments)]


@patiently
@given(value=st.dictionaries(st.text(), JSON, min_size=1, max_size=3))
def test_lenient_reading_changes_no_proper_json(value: dict) -> None:
    text = json.dumps(value)
    assert lenient_loads(text) == value
    assert lenient_loads(text[:-1] + ",}") == value


@patiently
@given(st.text())
def test_no_text_is_too_odd_to_be_looked_at(text: str) -> None:
    for value in json_values(text):
        assert isinstance(value, (dict, list))
    assert all(isinstance(call.arguments, dict) for call in read_calls(text, TOOLS))
