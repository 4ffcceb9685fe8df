"""Stage tools: what they are called with, and what they refuse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from ari.errors import ExperimentError, SkillError
from ari.pipeline import stages
from ari.pipeline.stages import STAGE_TOOLS, StageCall, call, parameter_faults, resolve
from ari.skills.boundary import SkillServer
from ari.skills.stage import StageSession, stage_tools


def measure(*, checkpoint: Path, inputs: Sequence[str], attempt: int, digits: int = 4) -> dict[str, Any]:
    """Say what it was given.

    Args:
        checkpoint: The study.
        inputs: Its files.
        attempt: Which turn.
        digits: A parameter.
    """
    return {"place": str(checkpoint), "inputs": list(inputs), "attempt": attempt, "digits": digits}


def refuse(*, checkpoint: Path, needed: str) -> Mapping[str, Any]:
    """Refuse."""
    raise ExperimentError(f"{checkpoint.name} and {needed}", cure="Nothing helps.")


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> None:
    tools = {"measure": f"{__name__}:measure", "refuse": f"{__name__}:refuse"}
    monkeypatch.setitem(STAGE_TOOLS, "played", tools)


def test_every_tool_of_the_table_exists_and_takes_the_checkpoint() -> None:
    for skill, tools in STAGE_TOOLS.items():
        for tool in tools:
            function = resolve(skill, tool)
            assert "checkpoint" in stages.inspect.signature(function).parameters, f"{skill}.{tool}"
            assert function.__doc__, f"{skill}.{tool}"


@pytest.mark.usefixtures("played")
def test_a_tool_is_given_what_it_asks_for_and_its_parameters(tmp_path: Path) -> None:
    request = StageCall("played", "measure", tmp_path, inputs=("a.json",), parameters={"digits": 2})
    assert call(request) == {"place": str(tmp_path), "inputs": ["a.json"], "attempt": 0, "digits": 2}


@pytest.mark.usefixtures("played")
def test_parameters_are_checked_before_the_call(tmp_path: Path) -> None:
    assert parameter_faults(measure, {"digits": 3}) == {}
    assert "no parameter 'digit' (it takes: digits)" in parameter_faults(measure, {"digit": 3})["digit"]
    assert "needs the parameter 'needed'" in parameter_faults(refuse, {})["needed"]
    with pytest.raises(SkillError, match="no parameter 'inputs'"):
        call(StageCall("played", "measure", tmp_path, parameters={"inputs": 1}))


@pytest.mark.usefixtures("played")
def test_unknown_tools_are_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(SkillError, match=r"no stage tool played\.x\n.*measure, refuse"):
        call(StageCall("played", "x", tmp_path))
    with pytest.raises(SkillError, match=r"Skills with stage tools: .*played"):
        call(StageCall("nobody", "x", tmp_path))


@pytest.mark.usefixtures("played")
def test_the_same_tools_are_served_to_other_programs(tmp_path: Path) -> None:
    import asyncio

    from mcp import Client

    server = SkillServer("played", stage_tools("played", StageSession(tmp_path)))

    async def talk() -> tuple[Any, Any, Any]:
        async with Client(server) as client:
            listed = await client.list_tools()
            done = await client.call_tool("measure", {"digits": 7})
            refused = await client.call_tool("refuse", {"needed": "x"})
            return listed, done, refused

    listed, done, refused = asyncio.run(talk())
    schemas = {tool.name: tool.input_schema["properties"] for tool in listed.tools}
    assert set(schemas["measure"]) == {"digits"}
    assert done.structured_content["digits"] == 7
    assert refused.is_error and "Nothing helps." in refused.content[0].text
