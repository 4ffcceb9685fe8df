"""What is found in a model's reply, in every shape that models are known to use."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelResponse, TextPart, ThinkingPart, ToolCallPart

from ari.agents.symbolic_regression.replies import Reply, read_reply
from ari.agents.written_json import documents

TOOLS = {"evaluate_formula", "fit_family", "discover"}
EVALUATE = ("evaluate_formula", {"formula": "x**2"})


def read(text: str) -> Reply:
    return read_reply(ModelResponse(parts=[TextPart(text)]), TOOLS)


def calls(reply: Reply) -> list[tuple[str, dict]]:
    return [(call.tool, call.arguments) for call in reply.calls]


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"name": "evaluate_formula", "arguments": {"formula": "x**2"}}\n```',
        '{"name": "evaluate_formula", "arguments": {"formula": "x**2"}}',
        'I try this: {"tool": "evaluate_formula", "args": {"formula": "x**2"}} and then see.',
        '```json\n{"name": "evaluate_formula", "arguments": {"formula": "x**2",},}\n```',
        '```\n{"name": "evaluate_formula", "arguments": "{\\"formula\\": \\"x**2\\"}"}\n```',
        '{"function": {"name": "evaluate_formula", "arguments": "{\\"formula\\": \\"x**2\\"}"}}',
        '{"tool_calls": [{"type": "function", "function": {"name": "evaluate_formula", '
        '"arguments": {"formula": "x**2"}}}]}',
        '[{"name": "evaluate_formula", "parameters": {"formula": "x**2"}}]',
        '{"evaluate_formula": {"formula": "x**2"}}',
        '{"action": "evaluate_formula", "action_input": {"formula": "x**2"}}',
        "{'name': 'evaluate_formula', 'arguments': {'formula': 'x**2'}}",
        '{"name": "evaluate_formula", "arguments": {"formula": "x**2"',
        '<tool_call>\n{"name": "evaluate_formula", "arguments": {"formula": "x**2"}}\n</tool_call>',
        '<tool_call>{"name": "evaluate_formula", "arguments": {"formula": "x**2"}}',
        "<tool_call><function=evaluate_formula><parameter=formula>\nx**2\n</parameter></function></tool_call>",
        "<function=evaluate_formula><parameter=formula>x**2</parameter></function>",
        '<function=evaluate_formula>{"formula": "x**2"}</function>',
        '<invoke name="evaluate_formula"><parameter name="formula">x**2</parameter></invoke>',
        "```tool_code\nevaluate_formula(formula='x**2')\n```",
        "```python\nprint(evaluate_formula('x**2'))\n```",
        '<think>maybe {"name": "discover", "arguments": {}}</think>'
        '{"name": "evaluate_formula", "arguments": {"formula": "x**2"}}',
    ],
)
def test_a_tool_call_is_found_however_it_is_written(text: str):
    assert calls(read(text)) == [EVALUATE]


def test_native_calls_keep_their_ids_and_order_and_mend_their_arguments():
    reply = read_reply(
        ModelResponse(
            parts=[
                ToolCallPart("fit_family", '{"family": "linear",}', tool_call_id="a"),
                ToolCallPart("discover", None, tool_call_id="b"),
                ToolCallPart("nonsense", "not JSON", tool_call_id="c"),
            ]
        ),
        TOOLS,
    )
    assert [(c.tool, c.arguments, c.id) for c in reply.calls] == [
        ("fit_family", {"family": "linear"}, "a"),
        ("discover", {}, "b"),
        ("nonsense", {}, "c"),
    ]
    assert reply.calls[2].fault == "the arguments are not a JSON object"


def test_parameters_of_elements_are_numbers_where_they_look_like_them():
    text = '<function=discover><parameter=work>500</parameter><parameter=start>["x"]</parameter></function>'
    assert calls(read(text)) == [("discover", {"work": 500, "start": ["x"]})]


@pytest.mark.parametrize(
    "text",
    [
        "<formula>a*x + b</formula>",
        '{"formula": "a*x + b"}',
        '{"formula": "a*x + b", "confidence": 0.99, "nrmse": 0.0}',
        '```json\n{"thought": "linear", "expressions": ["a*x + b"]}\n```',
        '{"candidates": [{"formula": "a*x + b"}]}',
        '{"result": {"equation": "a*x + b"}}',
    ],
)
def test_a_formula_that_is_marked_as_one_is_a_proposal(text: str):
    assert read(text).formulas == ("a*x + b",)


@pytest.mark.parametrize(
    ("text", "mention"),
    [
        ("I believe that\ny = a*x + b\nholds.", "y = a*x + b"),
        ("- **Formula:** a*x + b", "a*x + b"),
        ("It may be `a*x + b` or so.", "a*x + b"),
        ("Then $$y = a x$$ follows.", "y = a x"),
        ("Clearly \\(a*x + b\\).", "a*x + b"),
        ("```\ny = a*x + b\n```", "a * x + b"),
        (
            "```python\ndef f(x, params):\n    k = params[0]*x\n    return k + np.sin(x)\n```",
            "c0 * x + sin(x)",
        ),
    ],
)
def test_a_formula_in_prose_or_code_is_at_least_a_mention(text: str, mention: str):
    assert mention in read(text).mentions


@pytest.mark.parametrize(
    "text", ["", "   \n", "I'm sorry, but I can't help with that.", "{", "[[[[", "```", "<tool_call>"]
)
def test_nothing_is_found_in_nothing(text: str):
    reply = read(text)
    assert (reply.calls, reply.formulas) == ((), ())


def test_what_a_model_only_thinks_is_no_proposal():
    parts = [ThinkingPart("<formula>x</formula>"), TextPart("<thinking><formula>x</formula></thinking> Hm.")]
    assert read_reply(ModelResponse(parts=parts), TOOLS).formulas == ()


@given(st.text(alphabet="{}[]\"'\\:,`<>=()/abx* \n$", max_size=200))
def test_no_text_is_an_error(text: str):
    read(text)


@pytest.mark.parametrize("text", ["{" * 100_000, "[x]" * 60_000, "<think>" * 20_000, '{"a": [' * 20_000])
def test_a_long_reply_of_brackets_is_read_to_its_end(text: str):
    reply = read(text)
    assert (reply.calls, reply.formulas) == ((), ())


def test_indices_are_not_taken_for_lists():
    assert list(documents("c[0]*x + sum[j](A[i,j], x[j])")) == []
