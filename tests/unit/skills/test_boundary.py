"""The boundary of tools: what their schemas say, how refusals read, how numbers cross."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import Client

from ari.errors import ExperimentError
from ari.formats.jsonio import decode_document, strict_loads
from ari.skills import SKILLS, build_server
from ari.skills.boundary import SkillServer, read_docstring, tool

UNIT = re.compile(
    r"\b(seconds?|number|numbers|bytes|characters|rows|evaluations|seed|entries|share|probability|position|"
    r"resamples|results|nodes|papers|percent|deviations|at most|units? of)\b",
    re.IGNORECASE,
)


def repeat(context: str, values: list[float | None], scale: float = 1.0, *, note: str = "") -> dict[str, Any]:
    """Hand back what came.

    It is scaled first.

    Args:
        context: Not the caller's business.
        values: Numbers, in seconds;
            null where there is none.
        scale: A factor, a bare number.
        note: Words: with a colon.

    Returns:
        `values`.

    Raises:
        ExperimentError: Never.
    """
    return {"values": [None if v is None else v * scale for v in values], "note": note, "context": context}


def odd(kind: str) -> dict[str, Any]:
    """Answer oddly.

    Args:
        kind: How.
    """
    print("a stray word")
    values: dict[str, Any] = {
        "nan": float("nan"),
        "inf": float("inf"),
        "minus": float("-inf"),
        "zero": -0.0,
        "huge": float("1e400"),
        "single": np.float32("nan"),
        "mean": np.array([np.nan, 1.0]).mean(),
        "nested": [[1.0, float("nan")], {"deep": np.inf}],
    }
    if kind == "refuse":
        raise ExperimentError("the file is empty", cure="Write something.")
    if kind == "missing":
        raise FileNotFoundError(2, "No such file or directory", "a.txt")
    if kind == "model":
        server().settings.model_validate({"debug": "x"})
    if kind == "crash":
        raise RuntimeError("a secret detail")
    return values


def server() -> SkillServer:
    return SkillServer("played", [tool(repeat, given={"context": "given"}, read_only=True), tool(odd)])


def ask(name: str, arguments: dict[str, Any]) -> Any:
    async def talk() -> Any:
        async with Client(server()) as client:
            return await client.call_tool(name, arguments)

    return asyncio.run(talk())


def refusal(name: str, arguments: dict[str, Any]) -> str:
    answer = ask(name, arguments)
    assert answer.is_error
    return str(answer.content[0].text)


@pytest.mark.parametrize("skill", SKILLS)
def test_every_tool_and_every_argument_is_described_with_units(skill: str) -> None:
    tools = asyncio.run(build_server(skill, None).list_tools())
    assert tools
    for item in tools:
        assert item.description and len(item.description) > 20, f"{skill}.{item.name}"
        assert "Args:" not in item.description
        assert item.input_schema["additionalProperties"] is False
        for name, field in item.input_schema.get("properties", {}).items():
            where = f"{skill}.{item.name}: {name}"
            assert len(field.get("description", "")) > 4, where
            kinds = {field.get("type"), *(option.get("type") for option in field.get("anyOf", ()))}
            if kinds & {"number", "integer"}:
                assert UNIT.search(field["description"]), f"{where} has no unit"


def test_a_docstring_is_taken_apart() -> None:
    doc = read_docstring(repeat)
    assert doc.text == "Hand back what came.\n\nIt is scaled first.\n\nReturns: `values`."
    assert doc.arguments["values"] == "Numbers, in seconds; null where there is none."
    assert doc.arguments["note"] == "Words: with a colon."


def test_what_the_caller_does_not_choose_is_hidden_and_filled_in() -> None:
    [item, _] = asyncio.run(server().list_tools())
    assert set(item.input_schema["properties"]) == {"values", "scale", "note"}
    assert item.annotations is not None and item.annotations.read_only_hint is True
    assert ask("repeat", {"values": [1, None]}).structured_content["context"] == "given"
    assert "no argument 'context'" in refusal("repeat", {"values": [], "context": "mine"})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "repeat: it needs the argument 'values'. It takes: values, scale (optional), note (optional)."),
        ({"values": [], "scal": 2}, "it takes no argument 'scal'; did you mean 'scale'?"),
        ({"values": [1, "x"]}, "values.1 is 'x': input should be a valid number"),
        ({"values": 3}, "values is 3: input should be a valid list"),
        ({"values": [], "scale": "inf"}, "scale is 'inf': input should be a finite number"),
        ({"values": [], "_non_finite": {"/scale": "nan"}, "scale": None}, "scale is nan: input should be a"),
    ],
)
def test_an_argument_that_cannot_be_used_is_named(arguments: dict[str, Any], message: str) -> None:
    assert message in refusal("repeat", arguments)


def test_an_unknown_tool_is_named_with_the_nearest() -> None:
    assert "there is no tool 'repaet'; did you mean 'repeat'?" in refusal("repaet", {})


def test_errors_of_ours_come_through_and_others_do_not() -> None:
    assert "the file is empty\n  Write something." in refusal("odd", {"kind": "refuse"})
    assert "a.txt: No such file or directory" in refusal("odd", {"kind": "missing"})
    assert "secret" not in refusal("odd", {"kind": "crash"})
    assert refusal("odd", {"kind": "model"}) == "Error executing tool odd"


def test_numbers_that_are_not_finite_cross_as_null_and_a_word() -> None:
    answer = ask("odd", {"kind": "values"})
    document = answer.structured_content
    assert strict_loads(answer.content[0].text.encode()) == document
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert document["_non_finite"] == {
        "/nan": "nan",
        "/inf": "+inf",
        "/minus": "-inf",
        "/huge": "+inf",
        "/single": "nan",
        "/mean": "nan",
        "/nested/0/1": "nan",
        "/nested/1/deep": "+inf",
    }
    assert str(document["zero"]) == "-0.0"
    back = decode_document(document)
    assert back["inf"] == float("inf") and back["minus"] == float("-inf")
    assert np.isnan(back["nan"]) and np.isnan(back["nested"][0][1])


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.none(), max_size=8))
def test_finite_numbers_cross_unchanged(values: list[float | None]) -> None:
    assert decode_document(ask("repeat", {"values": values}).structured_content)["values"] == values
