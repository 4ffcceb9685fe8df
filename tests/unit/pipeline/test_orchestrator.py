"""The driver of the stages: order, what is not run again, failures, time limits, kills, and going back."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from ari.checkpoint import Checkpoint
from ari.errors import WorkflowError
from ari.pipeline import freshness
from ari.pipeline.orchestrator import Selection, StagesResult, checked_workflow, plan, run_stages
from ari.pipeline.stages import STAGE_TOOLS
from ari.pipeline.workflow import Workflow
from ari.pipeline.yaml_loader import parse_workflow

TOOLS = ("join", "gate", "refuse", "crash", "die", "nothing", "hang", "flaky", "later")

DIAMOND = """
stages:
  - {name: first, skill: played, tool: join, inputs: [start.txt], outputs: [a.txt], parameters: {tag: a}}
  - {name: left, skill: played, tool: join, inputs: [a.txt], outputs: [b.txt], parameters: {tag: b}}
  - {name: right, skill: played, tool: join, inputs: [a.txt], outputs: [c.txt], parameters: {tag: c}}
  - {name: last, skill: played, tool: join, inputs: [b.txt, c.txt], outputs: [d.txt], parameters: {tag: d}}
"""


@pytest.fixture(autouse=True)
def played_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STAGE_TOOLS, "played", {tool: f"played_stage_tools:{tool}" for tool in TOOLS})


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "study"
    with Checkpoint.create(path, run_id="r", primary_metric="r2", higher_is_better=True):
        (path / "start.txt").write_text("0")
    return path


def read(text: str) -> Workflow:
    workflow, faults = parse_workflow(text.encode())
    assert workflow is not None and faults == []
    return workflow


def run(path: Path, text: str, **options: Any) -> StagesResult:
    with Checkpoint.open(path, read_only=False) as checkpoint:
        return run_stages(checkpoint, checked_workflow(path, workflow=read(text)), **options)


def how(result: StagesResult) -> dict[str, str]:
    return {stage.name: stage.status for stage in result.stages}


def calls(path: Path) -> list[str]:
    log = path / "calls.log"
    return log.read_text().split() if log.exists() else []


def test_stages_are_run_in_order_once_and_then_not_again(study: Path) -> None:
    first = run(study, DIAMOND)
    assert how(first) == dict.fromkeys(["first", "left", "right", "last"], "done")
    assert (study / "d.txt").read_text() == "(((0a)b)((0a)c)d)"
    assert calls(study)[0] == "a" and calls(study)[-1] == "d"
    again = run(study, DIAMOND)
    assert how(again) == dict.fromkeys(["first", "left", "right", "last"], "unchanged")
    assert len(calls(study)) == 4
    assert again.stages[0].reason.startswith("unchanged: inputs, parameters and program")


def test_a_changed_input_parameter_or_program_runs_what_depends_on_it(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(study, DIAMOND)
    (study / "start.txt").write_text("1")
    assert set(how(run(study, DIAMOND)).values()) == {"done"}
    other = DIAMOND.replace("{tag: c}", "{tag: C}")
    result = run(study, other)
    assert how(result) == {"first": "unchanged", "left": "unchanged", "right": "done", "last": "done"}
    monkeypatch.setattr(freshness, "code_version", lambda: "0" * 64)
    with Checkpoint.open(study) as checkpoint:
        assert [s.why for s in plan(checkpoint, read(other))] == ["the program has changed since"] * 4


def test_the_same_product_from_a_changed_input_stops_there(study: Path) -> None:
    text = DIAMOND.replace("inputs: [start.txt]", "inputs: [start.txt, 'note.txt?']")
    run(study, text)
    (study / "note.txt").write_text("")
    result = run(study, text)
    assert how(result) == {"first": "done", "left": "unchanged", "right": "unchanged", "last": "unchanged"}


def test_a_file_that_a_paper_draws_in_counts_as_input(study: Path) -> None:
    text = DIAMOND.replace("start.txt", "start.tex")
    (study / "start.tex").write_text("\\input{part}\n\\input{../r/gone}\n")
    (study / "part.tex").write_text("one")
    run(study, text)
    assert set(how(run(study, text)).values()) == {"unchanged"}
    (study / "part.tex").write_text("two")
    with Checkpoint.open(study) as checkpoint:
        assert plan(checkpoint, read(text))[0].why == "part.tex has changed"
    run(study, text)
    (study / "part.tex").unlink()
    with Checkpoint.open(study) as checkpoint:
        assert plan(checkpoint, read(text))[0].why == "part.tex has changed"


def test_a_product_that_is_gone_is_made_again_and_one_changed_by_hand_is_kept(study: Path) -> None:
    run(study, DIAMOND)
    (study / "d.txt").unlink()
    assert how(run(study, DIAMOND))["last"] == "done"
    (study / "b.txt").write_text("my own words")
    result = run(study, DIAMOND)
    assert how(result) == {"first": "unchanged", "left": "unchanged", "right": "unchanged", "last": "done"}
    assert "b.txt was changed by hand and is kept" in result.stages[1].reason
    assert (study / "b.txt").read_text() == "my own words"
    assert "my own words" in (study / "d.txt").read_text()
    forced = run(study, DIAMOND, selection=Selection(start="left"))
    assert (study / "b.edited-1.txt").read_text() == "my own words"
    assert (study / "b.txt").read_text() == "((0a)b)"
    assert forced.stages[1].warnings == ("a product that was changed by hand is kept as b.edited-1.txt",)


@pytest.mark.parametrize(
    ("tool", "reason"),
    [
        ("refuse", "nothing to work on (Give it something.)"),
        ("crash", "RuntimeError: unforeseen in study (details in records/stages/left/crash.txt)"),
        ("die", "its process was ended by SIGKILL; the system may have run out of memory"),
        ("nothing", "its tool ended well but has not written b.txt"),
    ],
)
def test_a_failure_stops_what_depends_on_it_and_nothing_else(study: Path, tool: str, reason: str) -> None:
    text = DIAMOND.replace(
        "{name: left, skill: played, tool: join, inputs: [a.txt], outputs: [b.txt], parameters: {tag: b}}",
        f"{{name: left, skill: played, tool: {tool}, inputs: [a.txt], outputs: [b.txt]}}",
    )
    result = run(study, text)
    assert how(result) == {"first": "done", "left": "failed", "right": "done", "last": "skipped"}
    assert result.stages[1].reason == reason
    assert result.stages[3].reason == f"left failed: {reason}"
    mended = run(study, DIAMOND)
    assert how(mended) == {"first": "unchanged", "left": "done", "right": "unchanged", "last": "done"}


def test_a_blocked_stage_skips_what_follows_and_is_asked_again(study: Path) -> None:
    text = """
stages:
  - {name: final_gate, skill: played, tool: gate, inputs: [start.txt], outputs: [gate.json],
     parameters: {passes_at: 9}}
  - {name: publish, skill: played, tool: join, depends_on: [final_gate], outputs: [p.txt], phase: publish}
  - {name: aside, skill: played, tool: join, outputs: [q.txt]}
"""
    for _ in range(2):
        result = run(study, text)
        assert how(result)["final_gate"] == "blocked"
        assert how(result)["publish"] == "skipped"
        assert result.stages[1].reason == "final_gate is blocked: turn 0 is too early"
        assert not (study / "p.txt").exists()
    assert how(result)["aside"] == "unchanged"
    assert calls(study).count("gate0") == 2


def test_going_back_is_bounded_and_ends_when_the_gate_opens(study: Path) -> None:
    text = """
stages:
  - {name: write, skill: played, tool: join, inputs: [start.txt], outputs: [t.txt], parameters: {tag: t}}
  - {name: gate, skill: played, tool: gate, inputs: [t.txt], outputs: [g.json], loop_back_to: write,
     max_loops: 3, parameters: {passes_at: PASS}}
"""
    result = run(study, text.replace("PASS", "2"))
    assert how(result) == {"write": "done", "gate": "done"}
    assert calls(study) == ["t", "gate0", "t", "gate1", "t", "gate2"]
    result = run(study, text.replace("PASS", "7"))
    assert how(result)["gate"] == "blocked"
    assert calls(study)[-1] == "gate3"


def test_a_file_refined_in_place_gives_the_same_however_often(study: Path) -> None:
    text = """
stages:
  - {name: draft, skill: played, tool: join, inputs: [start.txt], outputs: [paper.tex], parameters: {tag: d}}
  - {name: link, skill: played, tool: join, inputs: [paper.tex], outputs: [links.json], parameters: {tag: l}}
  - {name: refine, skill: played, tool: join, inputs: [paper.tex, links.json], outputs: [paper.tex],
     parameters: {tag: r}}
  - {name: final, skill: played, tool: join, inputs: [paper.tex], outputs: [final.json], parameters: {tag: f}}
"""
    workflow = read(text)
    assert workflow.needs["refine"] == ("draft", "link") and workflow.needs["final"] == ("refine",)
    run(study, text)
    refined = "((0d)((0d)l)r)"
    assert (study / "paper.tex").read_text() == refined
    assert set(how(run(study, text)).values()) == {"unchanged"}
    again = run(study, text, selection=Selection(only="refine"))
    assert how(again)["refine"] == "done" and (study / "paper.tex").read_text() == refined
    assert run(study, text, selection=Selection(only="link")).ok
    assert set(how(run(study, text)).values()) == {"unchanged"}
    assert (study / "paper.tex").read_text() == refined
    (study / "paper.tex").write_text("by hand")
    edited = run(study, text)
    assert how(edited) == {"draft": "unchanged", "link": "done", "refine": "done", "final": "done"}
    assert "by hand" in (study / "paper.edited-1.tex").read_text()


def test_a_time_limit_ends_the_stage_and_everything_it_started(study: Path) -> None:
    text = "stages:\n  - {name: hang, skill: played, tool: hang, outputs: [h.txt], timeout: 1}\n"
    result = run(study, text)
    assert result.stages[0].reason == "it ran into its time limit of 1 s and was ended"
    assert not alive(int((study / "grandchild").read_text()))


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in {"Z", "X"}


def test_retries_and_stages_that_stay_incomplete(study: Path) -> None:
    text = """
stages:
  - {name: flaky, skill: played, tool: flaky, retries: 1}
  - {name: later, skill: played, tool: later}
"""
    result = run(study, text)
    assert how(result) == {"flaky": "done", "later": "done"}
    assert result.stages[1].reason == "a program is missing"
    run(study, text)
    assert calls(study).count("flaky") == 2 and calls(study).count("later") == 2


def test_disabled_stages_existing_products_and_missing_inputs(study: Path) -> None:
    text = """
stages:
  - {name: off, skill: played, tool: join, outputs: [o.txt], enabled: false}
  - {name: there, skill: played, tool: join, outputs: [start.txt], skip_if_exists: true, depends_on: [off]}
"""
    assert how(run(study, text)) == {"off": "disabled", "there": "exists"}
    assert (study / "start.txt").read_text() == "0"
    with pytest.raises(
        WorkflowError, match=r"line 3: stage x reads o\.txt: it is not there, and no stage writes it"
    ):
        run(study, "stages:\n\n  - {name: x, skill: played, tool: join, inputs: [o.txt], outputs: [p.txt]}\n")


def test_a_single_stage_can_be_asked_for_and_unknown_ones_are_named(study: Path) -> None:
    run(study, DIAMOND)
    result = run(study, DIAMOND, selection=Selection(only="right"))
    assert how(result) == {"first": "not_asked", "left": "not_asked", "right": "done", "last": "not_asked"}
    with pytest.raises(WorkflowError, match=r"no stage 'middle'\n  Stages: first, left, right, last"):
        run(study, DIAMOND, selection=Selection(start="middle"))


def test_the_plan_says_what_would_be_done_and_does_nothing(study: Path) -> None:
    with Checkpoint.open(study) as checkpoint:
        assert [step.action for step in plan(checkpoint, read(DIAMOND))] == ["run"] * 4
    run(study, DIAMOND)
    other = DIAMOND.replace("{tag: b}", "{tag: B}")
    with Checkpoint.open(study) as checkpoint:
        steps = plan(checkpoint, read(other))
    assert [step.action for step in steps] == ["keep", "run", "keep", "run_if_changed"]
    assert steps[3].why == "if left gives anything else than last time"
    assert len(calls(study)) == 4


def test_asked_to_stop_it_ends_what_runs_and_goes_on_later(study: Path) -> None:
    text = DIAMOND + "  - {name: hang, skill: played, tool: hang, inputs: [d.txt], outputs: [h.txt]}\n"
    stop = threading.Event()

    def listen(event: Any) -> None:
        if event["event"] == "stage_started" and event["stage"] == "hang":
            stop.set()

    result = run(study, text, stop=stop, on_event=listen)
    assert result.interrupted and how(result)["hang"] == "interrupted"
    assert how(run(study, DIAMOND)) == dict.fromkeys(["first", "left", "right", "last"], "unchanged")


KILLED = """
import sys
from pathlib import Path
from ari.checkpoint import Checkpoint
from ari.pipeline.orchestrator import run_stages
from ari.pipeline.stages import STAGE_TOOLS
from ari.pipeline.yaml_loader import parse_workflow
STAGE_TOOLS["played"] = {t: f"played_stage_tools:{t}" for t in ("join", "hang")}
path = Path(sys.argv[1])
workflow, _ = parse_workflow(Path(sys.argv[2]).read_bytes())
with Checkpoint.open(path, read_only=False) as checkpoint:
    run_stages(checkpoint, workflow)
"""


def test_killed_it_leaves_nobody_behind_and_the_next_run_goes_on(study: Path, tmp_path: Path) -> None:
    file = tmp_path / "w.yaml"
    file.write_text(
        DIAMOND + "  - {name: hang, skill: played, tool: hang, inputs: [d.txt], outputs: [h.txt]}\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen([sys.executable, "-c", KILLED, study, file], env=environment)
    deadline = time.monotonic() + 60
    while not (study / "grandchild").exists() or not (study / "grandchild").read_text():
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait(30)
    with Checkpoint.open(study) as checkpoint:
        assert not checkpoint.state.stages["hang"].finished
    assert how(run(study, DIAMOND)) == dict.fromkeys(["first", "left", "right", "last"], "unchanged")
    with Checkpoint.open(study) as checkpoint:
        steps = plan(checkpoint, read(file.read_text()))
    assert steps[-1].why == "it was broken off"


def test_a_stage_may_call_a_skill_of_somebody_else(study: Path) -> None:
    (study / "server.py").write_text(
        "from pathlib import Path\nfrom mcp.server import MCPServer\n"
        "server = MCPServer('w', log_level='ERROR')\n"
        "@server.tool()\ndef forecast(days: int) -> dict:\n"
        "    Path('sky.txt').write_text(str(days))\n    return {'summary': f'{days} days of sun'}\n"
        "server.run('stdio')\n"
    )
    text = f"""
skills: {{weather: {{command: [{sys.executable}, "{{{{checkpoint}}}}/server.py"]}}}}
stages:
  - {{name: ask, skill: weather, tool: forecast, outputs: [sky.txt], parameters: {{days: 3}}}}
"""
    result = run(study, text)
    [stage] = result.stages
    assert (stage.status, stage.summary) == ("done", "3 days of sun"), stage
    assert (study / "sky.txt").read_text() == "3"
    assert how(run(study, text)) == {"ask": "unchanged"}
    assert how(run(study, text.replace("server.py", "absent.py"))) == {"ask": "failed"}


def test_a_skill_of_somebody_else_does_not_outlive_its_stage(study: Path) -> None:
    pipe = study / "pipe"
    os.mkfifo(pipe)
    # No MCP server at all: it never answers the handshake, ignores SIGTERM, and so does its child.
    (study / "server.sh").write_text("trap '' TERM; exec 3>pipe; (trap '' TERM; sleep 1000) & sleep 1000\n")
    text = """
skills: {weather: {command: [bash, "{{checkpoint}}/server.sh"]}}
stages:
  - {name: ask, skill: weather, tool: forecast, timeout: 4s}
"""
    closed = threading.Event()

    def wait_for_the_end() -> None:
        with pipe.open() as stream:
            stream.read()
        closed.set()

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    assert how(run(study, text)) == {"ask": "failed"}
    assert closed.wait(30), "the server or its child still holds the pipe"
