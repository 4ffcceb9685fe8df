"""Whole studies that a language model drives over the wire, bad habits included, up to a gated paper."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ari.agent.briefing import read_facts
from ari.checkpoint import Checkpoint, NodeState, validate
from ari.cli import main
from ari.orchestrator.study import resume
from ari.pipeline.claim_gate.gate import run_hard_gate
from ari.testing import Call, LoopbackServer, Received, Reply
from ari.testing.replies import Scripted

PROSE = """# How fast can Python add squares?

Write a program that adds the squares of the first 600,000 numbers, and find out how to do it fastest.
The program prints the speed and by how much its result deviates from the closed form.

Metrics: MOPS (higher is better)

## Correctness
- check: deviation < 0.5

## Repeats
- repeats: 2
"""

PROGRAM = """import time

N = 600_000


def add():
    {body}


start = time.process_time()
total = add()
seconds = time.process_time() - start
print(f"MOPS: {{N / seconds / 1e6}}")
print(f"deviation: {{abs(total - (N - 1) * N * (2 * N - 1) // 6)}}")
"""
POWERS = PROGRAM.format(
    body="total = 0\n    for i in range(N):\n        total += pow(i, 2, 10**30)\n    return total"
)
GENERATOR = PROGRAM.format(body="return sum(i * i for i in range(N))")
WRONG = PROGRAM.format(body="sum(range(3_000_000))\n    return N")
RUN = Reply.tool("run", command="python3 squares.py", label="measure")


def write(text: str) -> Reply:
    return Reply.tool("write_file", path="squares.py", content=text)


def emit(method: str) -> Reply:
    return Reply.tool("emit_results", params={"method": method, "n": 600_000})


def propose(label: str, summary: str, **plan: Any) -> Reply:
    return Reply.tool("final_result", label=label, summary=summary, plan=plan)


class Researcher:
    """A scripted model: replies by the summary of the node's plan, and proposals one after another.

    Args:
        nodes: A part of a node's summary to its replies; the last one is repeated for ever.
        proposals: What it answers when asked for the next experiment.
    """

    def __init__(self, nodes: dict[str, Sequence[Scripted]], proposals: Sequence[Scripted]) -> None:
        self.nodes = nodes
        self.proposals = iter(proposals)
        self.lock = threading.Lock()
        self.told: dict[str, dict[str, Any]] = {}

    def __call__(self, received: Received) -> Scripted:
        with self.lock:
            if "Propose the next experiment" in received.text:
                return next(self.proposals)
            if "This node: " not in received.text:
                return "I have nothing to add."  # to the panel that looks for ideas, and at a standstill
            messages = received.body["messages"]
            facts = read_facts(next(m["content"] for m in messages if m["role"] == "user"))
            key = next(key for key in self.nodes if key in facts["plan"]["summary"])
            instructions = [m["content"] for m in messages if m["role"] == "system"]
            self.told[key] = facts | {"instructions": "\n".join(instructions)}
            said = sum(message["role"] == "assistant" for message in messages)
            return self.nodes[key][min(said, len(self.nodes[key]) - 1)]


Drive = Callable[..., Path]


@pytest.fixture
def drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Drive:
    """Run a study with a model on loopback; files given by name are laid beside it."""

    def run(
        text: str, researcher: Researcher, *options: str, status: int = 0, files: dict[str, str] | None = None
    ) -> Path:
        folder = tmp_path / "experiment"
        folder.mkdir(exist_ok=True)
        for name, content in {"experiment.md": text, **(files or {})}.items():
            (folder / name).write_text(content, encoding="utf-8")
        with LoopbackServer(researcher) as server:
            for name, value in server.environment().items():
                monkeypatch.setenv(name, value)
            arguments = [
                str(folder),
                "--output",
                str(tmp_path / "out"),
                "--model",
                "openai/scripted",
                "--quiet",
            ]
            assert main(["run", *arguments, *options]) == status
        return tmp_path / "out"

    return run


def trace(checkpoint: Path, node: NodeState) -> str:
    return (checkpoint / "records" / node.id / "trace.jsonl").read_text(encoding="utf-8")


def report(checkpoint: Path, node: NodeState) -> dict[str, Any]:
    return json.loads((checkpoint / "experiments" / node.id / "node_report.json").read_bytes())


def nodes_of(checkpoint: Path) -> list[NodeState]:
    with Checkpoint.open(checkpoint) as study:
        return sorted(study.nodes.values(), key=lambda node: node.order)


def assert_ends_in_a_sound_paper(checkpoint: Path) -> str:
    assert validate(checkpoint) == []
    gate = run_hard_gate(checkpoint, phase="final", policy="strict")
    assert not gate.should_block, gate
    assert gate.errors == [], gate.errors
    return (checkpoint / "full_paper.tex").read_text(encoding="utf-8")


def test_a_question_in_prose_ends_in_a_paper_whatever_the_model_does_on_the_way(drive: Drive):
    researcher = Researcher(
        nodes={
            "the first hypothesis": [
                "I would start with powers in a plain loop and measure that.",
                write(POWERS),
                RUN,
                Reply(calls=(Call("run", {"command": "python3 squares.py"}), Call("list_files", {}))),
                emit("powers"),
                "A plain loop over powers, measured twice.",
            ],
            "a generator": [
                Reply.tool("shell", cmd="ls"),
                Reply(calls=(Call("write_file", '{"path": "squares.py",}'),)),
                write(GENERATOR),
                RUN,
                RUN,
                emit("generator"),
                "Adding up a generator is faster.",
            ],
            "a constant": [write(WRONG), RUN, emit("constant"), "It returns at once."],
            "find the cause": ["", write(GENERATOR + "# mended\n"), RUN, RUN, emit("generator"), "Mended."],
            "without the generator": [write(POWERS), RUN, RUN, emit("powers"), "Back to powers."],
            "once again": [RUN, RUN, RUN, emit("generator"), "It repeats."],
            "a claim": [
                Reply.tool("run", command="echo 'MOPS: 98765.4'"),
                Reply.tool("write_file", path="results.json", content='{"measurements": {"MOPS": 98765.4}}'),
                "The closed form is faster than anything.",
            ],
            "a refusal": [Reply(refusal="I can't help with that.")],
        },
        proposals=[
            'Good so far.\n```json\n{"label": "Improve", "summary": "Add up a generator.", "plan": {"a": '
            "1,},}\n```",
            propose("ablation", "What is it worth: without the generator.", part="the generator"),
            propose("improve", "Try a constant instead of 600,000 steps."),
            propose("validation", "Run it once again, more often.", seed=2),
            '{"label": "improve", "summary": "There is a claim to be made.", "confidence": 1}',
            propose("improve", "There is a refusal to come."),
            *itertools.repeat("I would not know.", 8),
        ],
    )
    checkpoint = drive(PROSE, researcher, "--nodes", "7", "--node-time", "60")
    root, generator, ablation, wrong, again, claim, refusal = nodes_of(checkpoint)
    assert [node.status for node in (root, generator, ablation, again)] == ["completed"] * 4
    assert generator.label == "improve"
    assert generator.metrics["MOPS"] > 1.2 * root.metrics["MOPS"]
    assert root.metrics_with_metadata["MOPS"]["n"] == 2
    assert (wrong.status, claim.status, refusal.status) == ("errored",) * 3
    assert "the result is not correct: deviation" in wrong.error
    assert "too little to have measured anything" in claim.error
    assert report(checkpoint, claim)["submission"]["declared"] == {"MOPS": 98765.4}
    assert "I can't help with that." in refusal.error
    assert "There is no results.json yet" in trace(checkpoint, root)
    assert "shell" in trace(checkpoint, generator)

    asked = researcher.told["without the generator"]
    assert (asked["plan"]["part"], asked["files"]) == ("the generator", ["squares.py"])
    assert "take out exactly the part" in asked["instructions"]
    tex = assert_ends_in_a_sound_paper(checkpoint)
    assert "programs that a language model wrote" in tex
    assert "98765" not in tex


def test_a_failed_root_is_mended_from_its_error_and_prompts_of_ones_own_are_kept(
    drive: Drive, tmp_path: Path
):
    researcher = Researcher(
        nodes={
            "the first hypothesis": [
                write(POWERS.replace("range", "rage")),
                RUN,
                "It does not run; I leave it at that.",
            ],
            "The parent failed": [write(POWERS), RUN, RUN, emit("powers"), "The name was misspelt."],
        },
        proposals=itertools.repeat("Mend it."),  # type: ignore[arg-type]
    )
    (tmp_path / "experiment" / "prompts").mkdir(parents=True)
    own = "---\nversion: 7\n---\nThis node is a repair. Look at the traceback first.\n"
    (tmp_path / "experiment" / "prompts" / "label_debug.md").write_text(own, encoding="utf-8")
    checkpoint = drive(PROSE, researcher, "--nodes", "2", "--node-time", "60", "--no-paper")
    root, mended = nodes_of(checkpoint)
    assert "NameError: name 'rage' is not defined" in root.error
    assert (mended.label, mended.status) == ("debug", "completed")
    told = researcher.told["The parent failed"]
    assert told["parent_failure"]["command"] == "python3 squares.py"
    assert "name 'rage' is not defined" in told["parent_failure"]["stderr_tail"]
    assert "Look at the traceback first." in told["instructions"]
    assert (checkpoint / "prompts" / "label_debug.md").read_text(encoding="utf-8") == own
    assert validate(checkpoint) == []
    (checkpoint / "prompts" / "label_debug.md").write_text(own + "And hurry.\n", encoding="utf-8")
    (finding,) = validate(checkpoint)
    assert (finding.file, finding.code) == ("meta.json", "artifact.sha256")
    with pytest.raises(Exception, match=r"prompts/label_debug\.md has sha256"):
        resume(checkpoint, nodes=3)


def test_without_a_model_a_question_in_prose_is_refused_before_anything_is_created(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "experiment.md").write_text(PROSE, encoding="utf-8")
    assert main(["run", str(tmp_path), "--output", str(tmp_path / "out"), "--model", "offline"]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "has neither '## Command' nor '## Data'" in told
    assert "Name a language model (--model openai/<model>" in told
    assert not (tmp_path / "out").exists()


SYMBOLIC = """# What does the area depend on?

How does the area follow from the two lengths?

## Data
- source: areas.csv
- target: area
"""
AREAS = "a,b,area\n" + "".join(
    f"{a / 4},{b / 4},{3 * (a / 4) ** 2 * (b / 4)}\n" for a in range(2, 12) for b in range(2, 8)
)


def test_a_formula_is_found_by_a_model_with_bad_habits_and_ends_in_a_paper(
    drive: Drive, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("ARI_SYMBOLIC_DRIVER", "loop")
    submit = Reply.tool("submit_formula", formula="3*a**2*b", note="by hand")
    researcher = Researcher(
        nodes={
            "the first hypothesis": [
                '```json\n{"tool": "describe_data"}\n```',
                Reply(calls=(Call("describe_data", {}), Call("relationships", {}))),
                Reply.tool("fit_family", family="straight", work=100),
                Reply.tool("fit_family", family="linear", work=200),
                Reply.tool("submit_formula", formula="2*a*b + a", note="a first guess"),
                "A first guess.",
            ],
            "higher powers": [
                Reply.tool("evaluate_formula", formula="3*a**2*"),
                Reply.tool("evaluate_formula", formula="3*a**2*b"),
                "The law is 3*a**2*b.",
                submit,
                "Submitted.",
            ],
            "a wish": [Reply.tool("evaluate_formula", formula="a + b"), "It is a + b, I am sure."],
            "take the constant out": [
                Reply.tool("ablate_formula", formula="3*a**2*b", part="factor 1"),
                Reply.tool("list_parts", formula="3*a**2*b"),
                Reply.tool("submit_formula", formula="a**2*b"),
                "Without the factor.",
            ],
            "measure it again": [submit, "Handed in again."],
        },
        proposals=[
            'I think:\n```json\n{"label": "improve", "summary": "Try higher powers.", "plan": {},}\n```',
            propose("ablation", "Now take the constant out.", part="3"),
            '{"label": "improve", "summary": "There is a wish."}',
            propose("validation", "Now measure it again."),
            *itertools.repeat("", 8),
        ],
    )
    options = ("--nodes", "5", "--parallel", "1", "--node-time", "60")
    checkpoint = drive(SYMBOLIC, researcher, *options, files={"areas.csv": AREAS})
    root, found, ablation, wish, again = nodes_of(checkpoint)
    assert root.metrics["nrmse"] > 0.1
    assert found.metrics["nrmse"] < 1e-12
    assert (ablation.label, again.label) == ("ablation", "validation")
    assert "nrmse_resplit" in again.metrics
    assert "submitted no formula; what was evaluated only does not count" in wish.error
    assert "It is a + b, I am sure." in wish.error
    assert "No formula has been handed in yet" in trace(checkpoint, found)
    assert "Only what was submitted counts" in researcher.told["a wish"]["instructions"]
    tex = assert_ends_in_a_sound_paper(checkpoint)
    assert r"\mathrm{area} = 3 \, {a}^{2} \, b" in tex
