"""The skills as MCP servers, called through the official client in this process."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mcp import Client

from ari.agent.ideas import DataProfile
from ari.agent.task import NodeTask
from ari.errors import SkillError
from ari.execution.limits import Limits
from ari.execution.runner import Runner
from ari.pipeline.experiment_spec import Experiment, Parameter
from ari.pipeline.stages import STAGE_TOOLS
from ari.skills import SKILLS, build_server, call_tool
from ari.skills.idea.server import IdeaSession
from ari.skills.session import NodeSession
from ari.skills.stage import StageSession
from sr_harness.core import AgentContext, load_context_data, write_context_data
from sr_harness.tools import CATALOGUE, ToolContext

SYMBOLIC = Experiment(title="t", question="", kind="symbolic", primary_metric="nrmse", target="T")
COMMAND = Experiment(
    title="t",
    question="",
    kind="command",
    primary_metric="speed",
    command="./run {a}",
    parameters=(Parameter(name="a", levels=(1, 2, 4), ordered=True),),
)


@pytest.fixture
def session(tmp_path: Path) -> NodeSession:
    (tmp_path / "work").mkdir()
    task = NodeTask(
        checkpoint=str(tmp_path),
        node_id="n0",
        parent_id=None,
        label="draft",
        depth=0,
        order=0,
        plan={},
        experiment=SYMBOLIC,
        higher_is_better=False,
    )
    runner = Runner(tmp_path / "records", tmp_path / "work", limits=Limits(wall_s=10), node_id="n0")
    a = np.array([0.4, 0.7, 1.0, 1.5, 5.2, 9.5])
    variables = {
        "a": {"values": a, "description": "Size of the orbit.", "axes": ["body"]},
        "T": {"values": a**1.5, "description": "Time of one turn.", "axes": ["body"]},
    }
    axes = {"body": {"size": 6, "description": "Position of the body."}}
    write_context_data(tmp_path / "context.data", variables=variables, axes=axes)
    context = AgentContext.from_loaded(load_context_data(tmp_path / "context.data"))
    symbolic = ToolContext(context=context, target="T", inputs=("a",), seed=0, work_dir=tmp_path / "work")
    return NodeSession(task=task, work_dir=tmp_path / "work", runner=runner, symbolic=symbolic)


def list_tools(name: str, session: object) -> dict[str, Any]:
    async def ask() -> dict[str, Any]:
        async with Client(build_server(name, session)) as client:
            return {tool.name: tool for tool in (await client.list_tools()).tools}

    return asyncio.run(ask())


def test_every_symbolic_tool_is_offered_with_its_own_arguments_and_words(session: NodeSession):
    tools = list_tools("symbolic", session)
    assert set(tools) == set(CATALOGUE)
    assert all(tool.description for tool in tools.values())
    properties = tools["fit_family"].input_schema["properties"]
    assert "ctx" not in properties
    assert properties["family"]["type"] == "string"


def test_a_symbolic_tool_answers_and_its_refusal_can_be_read(session: NodeSession):
    found = call_tool("symbolic", session, "fit_family", {"family": "power_law", "work": 500})
    assert found["candidates"][0]["formula"] == "a**1.5"
    with pytest.raises(SkillError, match=r"there is no (family|strategy) 'magic'"):
        call_tool("symbolic", session, "fit_family", {"family": "magic"})


def test_files_are_written_and_read_inside_the_folder_only(session: NodeSession):
    call_tool("coding", session, "write_file", {"path": "src/a b.txt", "content": "é\n"})
    assert call_tool("coding", session, "read_file", {"path": "src/a b.txt"})["content"] == "é\n"
    assert call_tool("coding", session, "list_files")["files"] == [{"path": "src/a b.txt", "size": 3}]
    for path in ("../x", "/etc/passwd", "src/../../x"):
        with pytest.raises(SkillError):
            call_tool("coding", session, "write_file", {"path": path, "content": ""})
        with pytest.raises(SkillError):
            call_tool("coding", session, "read_file", {"path": path})


def test_only_what_can_be_read_at_once_is_read_and_only_its_beginning(session: NodeSession):
    os.mkfifo(session.work_dir / "pipe")
    for tool, more in (
        ("read_file", {}),
        ("write_file", {"content": ""}),
        ("edit_file", {"old": "a", "new": ""}),
    ):
        with pytest.raises(SkillError, match="pipe is no regular file"):
            call_tool("coding", session, tool, {"path": "pipe", **more})
    with pytest.raises(SkillError, match=r"\. is a folder"):
        call_tool("coding", session, "read_file", {"path": "."})
    with pytest.raises(SkillError, match=r"nothing\.txt: No such file"):
        call_tool("coding", session, "read_file", {"path": "nothing.txt"})
    (session.work_dir / "long.txt").write_text("é" * 200_000)
    found = call_tool("coding", session, "read_file", {"path": "long.txt"})
    assert (len(found["content"]), found["truncated"]) == (20_000, True)


def test_a_file_is_edited_where_the_place_is_plain(session: NodeSession):
    path = session.work_dir / "a.py"
    path.write_text("x = 1\ny = 1\n")
    edit = {"path": "a.py", "old": "x = 1", "new": "x = 2"}
    assert call_tool("coding", session, "edit_file", edit)["replaced"] == 1
    assert path.read_text() == "x = 2\ny = 1\n"
    with pytest.raises(SkillError, match="does not hold 'x = 1'"):
        call_tool("coding", session, "edit_file", edit)
    path.write_text("a\nb\na\n")
    with pytest.raises(SkillError, match=r"holds 'a' 2 times, on lines 1, 3"):
        call_tool("coding", session, "edit_file", {"path": "a.py", "old": "a", "new": "c"})
    everywhere = {"path": "a.py", "old": "a", "new": "c", "everywhere": True}
    assert call_tool("coding", session, "edit_file", everywhere)["replaced"] == 2
    path.write_bytes(b"\xff")
    with pytest.raises(SkillError, match="no UTF-8 text: byte 0"):
        call_tool("coding", session, "edit_file", edit)


@pytest.mark.parametrize(
    ("command", "counts"),
    [
        ("", (1, 1, 0, 1)),
        ("python -m unittest", (1, 1, 0, 1)),
        ("echo nothing to see", (None, None, None, None)),
    ],
)
def test_tests_are_run_and_counted(session: NodeSession, command: str, counts: tuple[int | None, ...]):
    (session.work_dir / "test_it.py").write_text(
        "import unittest\n\nclass It(unittest.TestCase):\n    def test_a(self): pass\n"
        "    def test_b(self): self.fail()\n    @unittest.skip('')\n    def test_c(self): pass\n"
    )
    found = call_tool("coding", session, "run_tests", {"command": command})
    assert tuple(found[name] for name in ("passed", "failed", "errors", "skipped")) == counts, found
    assert found["success"] is (counts[0] is None)


def test_a_run_is_recorded_and_its_metrics_are_read(session: NodeSession):
    ran = call_tool("coding", session, "run", {"command": "echo 'speed: 2.5'; echo 'bad: nan'"})
    assert (ran["outcome"], ran["metrics"]) == ("ok", {"speed": 2.5, "bad": None})
    results = call_tool("coding", session, "emit_results", {"params": {"a": 1}})
    assert results["measurements"] == {"speed": 2.5, "bad": None}
    assert "_provenance" not in results


def test_ideas_put_the_network_first_and_power_laws_before_the_rest():
    profile = DataProfile(rows=9, positive=True, network=True, inputs=1)
    ideas = call_tool("idea", IdeaSession(SYMBOLIC, profile), "generate_ideas")["ideas"]
    assert [idea["title"] for idea in ideas[:2]] == ["Interaction on the network", "Power law"]
    assert all({"title", "experiment_plan", "primary_metric", "_pinned"} <= set(idea) for idea in ideas)


def test_ideas_for_a_command_start_at_the_baseline():
    ideas = call_tool("idea", IdeaSession(COMMAND, None, seed=1), "generate_ideas")["ideas"]
    assert ideas[0]["params"] == {"a": 1}
    assert len({tuple(idea["params"].values()) for idea in ideas}) == len(ideas)


def test_an_unknown_skill_and_an_unknown_tool_are_named(session: NodeSession):
    with pytest.raises(SkillError, match="there is no skill 'magic'"):
        build_server("magic", session)
    with pytest.raises(SkillError, match="magic"):
        call_tool("coding", session, "magic")


def test_server_names_follow_the_convention(session: NodeSession):
    sessions = {"idea": IdeaSession(SYMBOLIC, None)}
    for name in SKILLS:
        bound = sessions.get(name, StageSession(session.work_dir) if name in STAGE_TOOLS else session)
        assert build_server(name, bound).name == f"ari-skill-{name}"
