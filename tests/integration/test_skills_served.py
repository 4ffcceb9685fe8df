"""Skills served to the official client by real processes, over standard input and output and over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mcp import Client, MCPError, StdioServerParameters

from ari.literature.fetching import Answer, Cache
from ari.literature.services import SEARCHES, reference_question
from ari.skills import SKILLS
from sr_harness.core import write_context_data
from support.background import end_background
from support.studies import written_study

ARI = "from ari.cli import main; raise SystemExit(main())"
PATIENCE_S = 60
NODE = "node_0000"
AT_NODE = " of a node"
RUN_FOR_EVER = "exec 3>pipe; echo started >&3; sleep 1000"

STRAY = textwrap.dedent("""
    import ctypes, os, subprocess, sys
    from ari.skills.boundary import SkillServer, tool
    from ari.skills.serving import serve_stdio

    libc = ctypes.CDLL(None)

    def noise(where):
        print(where, "python")
        sys.__stdout__.write(where + " low\\n")
        os.write(1, b"descriptor\\n")
        libc.puts(b"c library")
        subprocess.run(["echo", "child"], check=True)

    def shout(loud: bool = True) -> dict:
        \"\"\"Print where nobody should.

        Args:
            loud: Whether.
        \"\"\"
        noise("tool")
        return {"loud": loud, "rate": float("inf")}

    def build():
        noise("start")
        return SkillServer("stray", [tool(shout)])

    serve_stdio(build)
    noise("end")
""")


def arguments(skill: str, folder: Path) -> list[str]:
    """The options that bind a skill to something in a folder."""
    study = folder / "kepler"
    if skill == "benchmark":
        return ["--work-dir", str(folder)]
    if skill == "orchestrator":
        return ["--root", str(folder)]
    if skill == "coding":
        return ["--work-dir", str(folder / "work"), "--time-limit", "30"]
    if skill == "symbolic":
        return ["--data", str(folder / "context.data"), "--target", "x", "--work-dir", str(folder / "work")]
    return ["--checkpoint", str(study), *(["--node", NODE] if skill.endswith(AT_NODE) else [])]


FORMULA = {"formula": "0.5*v"}
CALLS: dict[str, dict[str, dict[str, Any]]] = {
    "benchmark": {
        "analyse_results": {
            "metric": "T",
            "higher_is_better": False,
            "results": [{"measurements": {"T": 1}}],
        },
        "statistical_test": {"samples": {"a": [1, 2, 3], "b": [2, 4, None, 6]}},
    },
    "coding": {
        "write_file": {"path": "test_a.py", "content": "def test_a():\n    assert 1 == 2\n"},
        "edit_file": {"path": "test_a.py", "old": "1 == 2", "new": "2 == 2"},
        "read_file": {"path": "test_a.py"},
        "list_files": {},
        "run": {"command": "echo 'speed: 3'"},
        "run_tests": {},
        "emit_results": {"params": {"a": 1}},
    },
    "evaluator": {
        "make_metric_spec": {},
        "claim_evidence_hard_gate": {"phase": "draft"},
        "evidence_grounded_semantic_review": {},
    },
    "evaluator of a node": {"describe_criteria": {}, "evaluate_node": {}},
    "idea": {"survey": {}, "generate_ideas": {}},
    "memory": {"recall": {"query": ""}, "write_verified_context": {}},
    "memory of a node": {"recall": {"query": "law"}, "remember": {"text": "tides matter"}},
    "orchestrator": {
        "list_runs": {},
        "get_status": {"run": "kepler"},
        "list_children": {"run": "kepler"},
        "get_paper": {"run": "kepler"},
        "run": {"experiment": "new/experiment.md", "nodes": 1, "paper": False},
        "run_experiment": {"parent": "kepler", "experiment": "new", "nodes": 1, "paper": False},
    },
    "paper": {
        "link_paper_claims": {},
        "review_paper": {},
        "merge_reviews": {},
        "paper_refine": {},
        "write_paper": {},
        "inject_code_availability": {"url": "https://example.org/bundle"},
        "list_templates": {},
        "render_paper": {"time_limit_s": 60},
    },
    "plot": {"generate_figures": {}},
    "symbolic": {
        "describe_data": {},
        "relationships": {},
        "fit_family": {"family": "linear", "work": 200},
        "discover": {"strategies": ["linear"], "work": 200},
        "refine_formula": {**FORMULA, "work": 200},
        "snap_formula": FORMULA,
        "list_parts": FORMULA,
        "ablate_formula": {"formula": "v + 1", "part": "term 1"},
        "evaluate_formula": FORMULA,
        "compare_formulas": {"a": "v", "b": "v*1"},
        "estimate_derivative": {"variable": "x"},
        "discover_system": {"states": ["x", "v"], "work": 500},
        "judge_trajectories": {"system": "dx_dt = v; dv_dt = -x"},
        "submit_formula": FORMULA,
        "validate_context_data": {"directory": "."},
    },
    "transform": {"nodes_to_science_data": {}},
    "web": {
        "search_papers": {"query": "planets", "services": ["arxiv"]},
        "fetch_reference": {"identifier": "2401.01234"},
    },
}


@pytest.fixture
def bound(tmp_path: Path) -> Iterator[Path]:
    """A folder with a finished study with its paper, and data of an oscillator."""
    study = written_study("kepler", tmp_path)
    (study / "metric_contract.json").write_text('{"key": "nrmse", "formula": "nrmse"}')
    (tmp_path / "new").mkdir()
    rows = "\n".join(f"{x},{2 * x}" for x in range(1, 15))
    (tmp_path / "new" / "table.csv").write_text(f"x,y\n{rows}\n")
    (tmp_path / "new" / "experiment.md").write_text(
        "# Doubling\n\nHow does y follow x?\n\n## Data\n- source: table.csv\n- target: y\n"
    )
    keep_answers(study / "web")
    node = study / "experiments" / NODE
    assert node.is_dir()
    t = np.linspace(0, 10, 101)
    write_context_data(
        tmp_path / "context.data",
        variables={
            "x": {"values": np.cos(t), "description": "Displacement in metres.", "axes": ["time"]},
            "v": {"values": -np.sin(t), "description": "Speed in metres a second.", "axes": ["time"]},
        },
        axes={"time": {"values": t, "description": "Time in seconds."}},
    )
    yield tmp_path
    end_background(tmp_path)


def keep_answers(folder: Path) -> None:
    """Answers of a service as an earlier run has kept them: the skill gives them without a network."""
    feed = (
        '<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>http://arxiv.org/abs/2401.01234v2</id>'
        "<title>Planets</title><published>2024-01-02</published></entry></feed>"
    )
    cache = Cache(folder)
    for question in (
        SEARCHES["arxiv"].question("planets", 10, (None, None)),
        reference_question("2401.01234"),
    ):
        kept = {"fetched_at": "2026-01-01T00:00:00Z", "status": 200, "body": feed}
        cache.put(question, Answer(service="arxiv", question=question.text, **kept))


def command(*words: str) -> StdioServerParameters:
    environment = {k: v for k, v in os.environ.items() if k in ("PYTHONPATH", "HOME", "PATH", "LANG")}
    return StdioServerParameters(command=sys.executable, args=["-c", ARI, *words], env=environment)


@contextmanager
def process(*words: str, code: str = ARI) -> Iterator[subprocess.Popen[str]]:
    started = subprocess.Popen(
        [sys.executable, "-c", code, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield started
    finally:
        started.kill()
        started.communicate()


def first_line(started: subprocess.Popen[str]) -> str:
    assert started.stdout is not None
    return started.stdout.readline().strip()


async def call_all(client: Client, skill: str) -> dict[str, Any]:
    listed = {item.name for item in (await client.list_tools()).tools}
    assert listed == set(CALLS[skill])
    assert client.server_info.name == f"ari-skill-{skill.removesuffix(AT_NODE)}"
    answers = {}
    for name, given in CALLS[skill].items():
        result = await client.call_tool(name, given)
        assert not result.is_error, f"{skill}.{name}: {result.content}"
        answers[name] = result.structured_content
    wrong = await client.call_tool(next(iter(listed)), {"wrong": 1})
    assert wrong.is_error and "no argument 'wrong'" in wrong.content[0].text
    return answers


def test_the_table_has_every_skill() -> None:
    assert {name.removesuffix(AT_NODE) for name in CALLS} == set(SKILLS)


@pytest.mark.slow
@pytest.mark.parametrize("skill", CALLS)
def test_every_tool_over_stdio(skill: str, bound: Path) -> None:
    async def talk() -> None:
        async with Client(
            command("skills", "serve", skill.removesuffix(AT_NODE), *arguments(skill, bound))
        ) as client:
            await call_all(client, skill)

    asyncio.run(talk())


@pytest.mark.slow
@pytest.mark.parametrize("skill", CALLS)
def test_every_tool_over_http(skill: str, bound: Path) -> None:
    words = ("skills", "serve", skill.removesuffix(AT_NODE), "--transport", "streamable-http", "--port", "0")
    with process(*words, *arguments(skill, bound)) as server:
        address = first_line(server)

        async def talk() -> None:
            async with Client(address) as client:
                await call_all(client, skill)

        asyncio.run(talk())
        server.send_signal(signal.SIGTERM)
        assert server.wait(PATIENCE_S) in (-signal.SIGTERM, 128 + signal.SIGTERM)


def test_coding_over_stdio_runs_what_it_wrote(tmp_path: Path) -> None:
    async def talk() -> dict[str, Any]:
        bound = command("skills", "serve", "coding", *arguments("coding", tmp_path))
        async with Client(bound) as client:
            return await call_all(client, "coding")

    answers = asyncio.run(talk())
    assert answers["run_tests"]["success"] is True
    assert answers["run_tests"]["passed"] == 1
    assert answers["emit_results"]["measurements"] == {"speed": 3.0}


def test_no_stray_print_reaches_the_protocol() -> None:
    asked = (
        '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
        '"capabilities":{},"clientInfo":{"name":"t","version":"0"}}}\n'
        '{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
        '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"shout","arguments":{}}}\n'
    )
    with process(code=STRAY) as server:
        assert server.stdin is not None and server.stdout is not None
        server.stdin.write(asked)
        server.stdin.flush()
        answers = [server.stdout.readline() for _ in range(2)]
        out, err = server.communicate(timeout=PATIENCE_S)
    assert '"id":1' in answers[0] and '"serverInfo"' in answers[0]
    assert '"structuredContent":{"loud":true,"rate":null,"_non_finite":{"/rate":"+inf"}}' in answers[1]
    assert out == ""
    for when in ("start", "tool", "end"):
        assert f"{when} python" in err and f"{when} low" in err
    for word in ("descriptor", "c library", "child"):
        assert err.count(word) == 3


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_server_on_stdio(number: int, status: int, tmp_path: Path) -> None:
    with process("skills", "serve", "coding", *arguments("coding", tmp_path)) as server:
        assert server.stdin is not None and server.stdout is not None
        server.stdin.write(
            '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
            '"capabilities":{},"clientInfo":{"name":"t","version":"0"}}}\n'
        )
        server.stdin.flush()
        assert '"serverInfo"' in server.stdout.readline()
        server.send_signal(number)
        assert server.wait(PATIENCE_S) == status


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_server_on_http_and_what_its_tool_runs(number: int, tmp_path: Path) -> None:
    pipe = tmp_path / "work" / "pipe"
    words = ("skills", "serve", "coding", "--transport", "streamable-http", "--port", "0")
    with process(*words, *arguments("coding", tmp_path)) as server:
        address = first_line(server)
        assert address.startswith("http://127.0.0.1:")
        os.mkfifo(pipe)

        threading.Thread(target=call_and_lose, args=(address, RUN_FOR_EVER), daemon=True).start()
        with pipe.open() as reader:
            assert reader.readline() == "started\n"
            server.send_signal(number)
            assert reader.read() == ""  # every process that could write is gone
        assert server.wait(PATIENCE_S) in (-number, 128 + number)


def call_and_lose(address: str, command: str) -> None:
    """Call `run` and be left alone by the server."""

    async def talk() -> None:
        async with Client(address) as client:
            await client.call_tool("run", {"command": command})

    with contextlib.suppress(BaseExceptionGroup, MCPError):
        asyncio.run(talk())


def test_a_port_that_is_taken_is_told() -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        words = ("skills", "serve", "coding", "--work-dir", "w", "--transport", "streamable-http")
        with process(*words, "--port", port) as server:
            _, err = server.communicate(timeout=PATIENCE_S)
    assert server.returncode == 2
    assert f"127.0.0.1:{port} cannot be listened on: Address already in use" in err
