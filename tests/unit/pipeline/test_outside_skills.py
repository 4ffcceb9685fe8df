"""Skills that are programs of somebody else: called, refused, and reported when they end."""

from __future__ import annotations

import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

from ari.errors import SkillError
from ari.pipeline.outside import OutsideSkill, call_outside
from ari.pipeline.yaml_loader import parse_workflow, preflight, tool_faults

SERVER = textwrap.dedent("""
    import os, subprocess, sys, time
    from mcp.server import MCPServer

    server = MCPServer("weather", log_level="ERROR")

    @server.tool()
    def forecast(days: int = 1) -> dict:
        print("a stray word")
        return {"days": days, "place": os.environ.get("ARI_CHECKPOINT_DIR"), "here": os.getcwd(),
                "seen": os.environ.get("WEATHER_PLACE"), "secret": os.environ.get("WEATHER_SECRET")}

    @server.tool()
    def odd() -> dict:
        return {"rate": float("inf")}

    @server.tool()
    def words() -> str:
        return "sunny"

    @server.tool()
    def die(orphan: bool = False) -> str:
        if orphan:
            subprocess.Popen(["sleep", "600"])
        print("the sky has fallen", file=sys.stderr, flush=True)
        os._exit(3)

    @server.tool()
    def killed() -> str:
        os.kill(os.getpid(), 9)

    server.run("stdio")
""")


@pytest.fixture
def weather(tmp_path: Path) -> OutsideSkill:
    (tmp_path / "weather.py").write_text(SERVER)
    return OutsideSkill(command=(sys.executable, "{{checkpoint}}/weather.py"), environment=("WEATHER_PLACE",))


def call(skill: OutsideSkill, place: Path, tool: str, **arguments: Any) -> dict[str, Any]:
    return call_outside("weather", skill, tool, arguments, checkpoint=place)


def test_a_tool_is_called_where_the_study_lies(
    weather: OutsideSkill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEATHER_PLACE", "Graz")
    monkeypatch.setenv("WEATHER_SECRET", "x")
    assert call(weather, tmp_path, "forecast", days=3) == {
        "days": 3,
        "place": str(tmp_path),
        "here": str(tmp_path),
        "seen": "Graz",
        "secret": None,
    }


def test_what_a_tool_says_and_refuses_comes_through(weather: OutsideSkill, tmp_path: Path) -> None:
    assert call(weather, tmp_path, "words")["result"] == "sunny"
    assert call(weather, tmp_path, "odd") == {"rate": None, "_non_finite": {"/rate": "+inf"}}
    with pytest.raises(SkillError, match=r"weather\.forecast refused: [^\n]*\ndays"):
        call(weather, tmp_path, "forecast", days="many")
    with pytest.raises(SkillError, match="a number at '/days' is not finite"):
        call(weather, tmp_path, "forecast", days=float("nan"))


@pytest.mark.parametrize("orphan", [False, True])
def test_a_server_that_dies_after_the_handshake_is_reported(
    weather: OutsideSkill, tmp_path: Path, orphan: bool
) -> None:
    before = time.monotonic()
    with pytest.raises(SkillError) as caught:
        call(weather, tmp_path, "die", orphan=orphan)
    assert "ended with status 3, while die was running" in caught.value.message
    assert "the sky has fallen" in caught.value.message
    assert "mend skills.weather in workflow.yaml" in caught.value.cure
    assert time.monotonic() - before < 60  # the orphan holds the pipes for ten minutes


def test_a_server_that_is_killed_is_reported(weather: OutsideSkill, tmp_path: Path) -> None:
    with pytest.raises(SkillError, match="was ended by SIGKILL, while killed was running"):
        call(weather, tmp_path, "killed")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("no-such-program",), "could not be started: No such file or directory, before it could be asked"),
        (
            ("sh", "-c", "echo broken >&2; exit 4"),
            "ended with status 4, before it could be asked; it last said: broken",
        ),
    ],
)
def test_a_server_that_does_not_begin_is_reported(
    command: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    with pytest.raises(SkillError) as caught:
        call(OutsideSkill(command=command), tmp_path, "forecast")
    assert message in caught.value.message


WORKFLOW = """
skills:
  weather:
    command: [no-such-program, --place, "{{checkpoint}}"]
    environment: [WEATHER_PLACE]
stages:
  - {name: ask, skill: weather, tool: forecast, parameters: {days: 3}}
"""


def test_a_workflow_names_them() -> None:
    workflow, faults = parse_workflow(WORKFLOW.encode())
    assert workflow is not None and faults == [] and tool_faults(workflow) == []
    assert workflow["ask"].outside == OutsideSkill(
        command=("no-such-program", "--place", "{{checkpoint}}"), environment=("WEATHER_PLACE",)
    )
    assert preflight(workflow) == [
        "ask: there is no program 'no-such-program', which serves the skill weather"
    ]


@pytest.mark.parametrize(
    ("skills", "message"),
    [
        ("[weather]", "skills is a mapping of names to commands"),
        ("{weather: sh}", "a skill is a mapping with a command"),
        ("{weather: {}}", "a skill needs a command"),
        ("{weather: {comand: sh}}", "unknown key 'comand'; did you mean 'command'?"),
        ("{paper: {command: sh}}", "'paper' is a skill of this program"),
    ],
)
def test_what_is_wrong_with_them_is_told_with_its_line(skills: str, message: str) -> None:
    text = f"skills: {skills}\nstages:\n  - {{name: ask, skill: weather, tool: forecast}}\n"
    _, faults = parse_workflow(text.encode())
    assert any(message in fault.message and fault.line == 1 for fault in faults), faults
