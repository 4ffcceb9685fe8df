"""`ari run` and `ari resume`: options, progress, the report at the end, and exit status.

The study itself is played: a stand-in writes a real checkpoint and calls back as the real one does.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cli_checkpoints import Answer, add, finish, writer

from ari.checkpoint import Checkpoint
from ari.cli.live import LiveProgress, PlainProgress
from ari.cli.run import next_output
from ari.errors import CheckpointError
from ari.orchestrator.study import RunOptions, StudyResult
from ari.pipeline.stage_outcome import StageOutcome, StagesResult

Ari = Callable[..., Answer]

EXPERIMENT = """# Kepler's third law

How does the period T depend on the axis a?

Metrics: r2

## Data

- source: planets.csv
- target: T
"""


class PlayedStudy:
    """Stands in for `start` and `resume`; remembers what it was asked."""

    def __init__(self) -> None:
        self.options: RunOptions | None = None
        self.resumed: dict[str, Any] = {}
        self.changes: dict[str, Any] = {}
        self.error: BaseException | None = None
        self.papers: list[Path] = []
        self.stages: tuple[StageOutcome, ...] = ()

    def start(self, options: RunOptions, *, on_event: Callable[..., None] | None = None) -> StudyResult:
        self.options = options
        if self.error is not None:
            raise self.error
        assert options.output is not None
        tell = on_event or (lambda *_: None)
        with writer(options.output) as checkpoint:
            append = checkpoint.append

            def telling(event: str, **fields: Any) -> Mapping[str, Any]:
                recorded = append(event, **fields)
                tell(recorded, checkpoint)
                return recorded

            checkpoint.append = telling  # type: ignore[method-assign]
            add(checkpoint, "node_root", None, "draft")
            finish(checkpoint, "node_root", 0.5)
            add(checkpoint, "node_a", "node_root")
            running = [{"node_id": "node_a", "label": "improve", "seconds": 3.0}]
            tell({"event": "tick", "running": running}, checkpoint)
            finish(checkpoint, "node_a", 0.999)
            telling("lineage_decision", node_id="node_a", decision="switch_to_idea", rationale="stood still")
            add(checkpoint, "node_bad", "node_root", "debug")
            finish(checkpoint, "node_bad", None, error="no numbers were printed")
            return self.result(checkpoint)

    def paper(self, path: Path, **_: Any) -> StagesResult:
        self.papers.append(path)
        return StagesResult(path, self.stages, 1.0)

    def resume(self, checkpoint: Path, **options: Any) -> StudyResult:
        self.resumed = {"checkpoint": checkpoint, **options}
        return self.result(Checkpoint.open(checkpoint, read_only=True))

    def result(self, checkpoint: Checkpoint) -> StudyResult:
        result = StudyResult(
            checkpoint=checkpoint.path,
            reason="all 3 nodes have been run",
            goal="How does T depend on a?",
            primary_metric="r2",
            higher_is_better=True,
            best=checkpoint.nodes[max(checkpoint.nodes, key=lambda name: checkpoint.nodes[name].score)],
            formula="T = a**1.5",
            latex="T = a^{1.5}",
            sealed_metrics={"r2": 0.9987654321, "mae": 1e-7},
            warnings=["two rows were left out"],
            seconds=83.0,
            interrupted=False,
        )
        return replace(result, **self.changes)


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> PlayedStudy:
    study = PlayedStudy()
    monkeypatch.setattr("ari.orchestrator.study.start", study.start)
    monkeypatch.setattr("ari.orchestrator.study.resume", study.resume)
    monkeypatch.setattr("ari.cli.paper.run_paper", study.paper)
    return study


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    path = tmp_path / "here" / "kepler" / "experiment.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(EXPERIMENT, encoding="utf-8")
    (path.parent / "planets.csv").write_text("a,T\n1,1\n4,8\n", encoding="utf-8")
    return path


def test_progress_goes_to_standard_error_and_the_result_to_standard_output(
    ari: Ari, played: PlayedStudy, experiment: Path
) -> None:
    answer = ari("run", experiment)
    assert answer.status == 0
    assert answer.err.splitlines() == [
        "[ 1/12] node_root  draft  r2 = 0.5  score 0.5  [1.5 s]  best so far",
        "[ 2/12] node_a  improve  r2 = 0.999  score 0.999  [1.5 s]  best so far",
        "  search: switch_to_idea: stood still",
        "[ 3/12] node_bad  debug  failed: no numbers were printed  [1.5 s]",
        "warning: two rows were left out",
    ]
    assert answer.out.splitlines() == [
        "",
        "Finished after 1 min 23 s: all 3 nodes have been run",
        "",
        "Found",
        "  formula     T = a**1.5",
        "  best node   node_a (improve, depth 1)",
        "  metric      r2 = 0.999  (higher is better)",
        "  on sealed data, which no experiment has seen:",
        "    r2   0.998765",
        "    mae  1e-07",
        "",
        "Checkpoint: runs/keplers-third-law-1",
        "",
        "Next",
        "  ari status runs/keplers-third-law-1            the whole tree",
        "  ari show best runs/keplers-third-law-1         everything about the best node",
        "  ari validate runs/keplers-third-law-1          check the checkpoint",
        "  ari resume runs/keplers-third-law-1 --nodes N  carry the search further",
        "",
    ]


def test_a_tuned_command_is_set_against_its_root_and_its_ceiling(
    ari: Ari, played: PlayedStudy, experiment: Path
) -> None:
    played.changes = {
        "formula": None,
        "sealed_metrics": {},
        "parameters": {"opt": 3, "flags": "-Ofast"},
        "root_value": 0.111,
        "ceiling": 1.998,
    }
    shown = ari("run", experiment).out.splitlines()
    assert "  root        0.111, that is a factor of 9" in shown
    assert "  ceiling     1.998 as measured; 50.0% of it reached" in shown
    assert "  parameters  opt = 3, flags = '-Ofast'" in shown


def test_options_reach_the_study(ari: Ari, played: PlayedStudy, experiment: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    numbers = ["--nodes", 5, "--parallel", 2, "--seed", 3, "--node-time", 9.5]
    assert ari("run", experiment.parent, *numbers, "--model", "offline", "--output", output).status == 0
    assert played.options == RunOptions(
        experiment=experiment, output=output, nodes=5, parallel=2, seed=3, model="offline", node_time=9.5
    )


def test_a_sub_experiment_names_its_parent(
    ari: Ari, played: PlayedStudy, experiment: Path, small: Path
) -> None:
    child = small.with_name("child")
    assert ari("run", experiment, "--parent", small, "--ideas", "0,2", "--output", child).status == 0
    assert played.options == RunOptions(experiment=experiment, output=child, parent=small, ideas=(0, 2))
    assert ari("run", experiment, "--ideas", "1").status == 2
    assert ari("run", experiment, "--parent", small, "--ideas", "one").status == 2
    assert ari("run", experiment, "--parent", small / "nothing").status == 2


def test_the_stages_follow_the_search_unless_told_not_to(
    ari: Ari, played: PlayedStudy, experiment: Path
) -> None:
    assert ari("run", experiment, "--no-paper").status == 0
    assert played.papers == []
    played.stages = (StageOutcome("gate", "blocked", "line 7: 312.5 is not 312.4"),)
    answer = ari("run", experiment)
    assert answer.status == 1
    assert [path.name for path in played.papers] == ["keplers-third-law-2"]
    assert "BLOCKED: gate: line 7: 312.5 is not 312.4" in answer.out
    document = json.loads(ari("resume", "runs/keplers-third-law-2", "--json").out)
    assert document["paper"]["stages"][0]["status"] == "blocked" and document["paper"]["ok"] is False


def test_without_a_result_or_when_interrupted_no_stage_follows(
    ari: Ari, played: PlayedStudy, experiment: Path
) -> None:
    played.changes = {"interrupted": True}
    assert ari("run", experiment).status == 130
    played.changes = {"best": None}
    assert ari("run", experiment).status == 1
    assert played.papers == []


def test_a_workflow_that_cannot_be_run_is_refused_before_the_search(
    ari: Ari, played: PlayedStudy, experiment: Path
) -> None:
    (experiment.parent / "workflow.yaml").write_text("stages:\n  - {name: a, skill: nobody, tool: t}\n")
    answer = ari("run", experiment)
    assert answer.status == 2
    assert "workflow.yaml, line 2: there is no skill 'nobody'" in answer.err
    assert played.options is None


def test_a_checkpoint_is_never_overwritten(ari: Ari, played: PlayedStudy, experiment: Path) -> None:
    for number in (1, 2, 3):
        assert f"Checkpoint: runs/keplers-third-law-{number}\n" in ari("run", experiment).out


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Kepler's third law", "keplers-third-law-1"),
        ("../../etc/passwd", "etc-passwd-1"),
        ("Größe Ä", "groe-a-1"),
        ("开普勒", "study-1"),
        ("", "study-1"),
        ("x" * 500, "x" * 60 + "-1"),
    ],
)
def test_any_title_gives_a_safe_directory(tmp_path: Path, title: str, name: str) -> None:
    assert next_output(title, tmp_path / "runs") == tmp_path / "runs" / name


def test_the_number_is_above_all_that_exist(tmp_path: Path) -> None:
    for name in ("a-1", "a-7", "a-x", "a-b-9"):
        (tmp_path / name).mkdir()
    assert next_output("A", tmp_path).name == "a-8"


def test_quiet_and_json(ari: Ari, played: PlayedStudy, experiment: Path) -> None:
    answer = ari("run", experiment, "--quiet")
    assert answer.out == "T = a**1.5\nruns/keplers-third-law-1\n"
    assert answer.err == "warning: two rows were left out\n"
    document = json.loads(ari("run", experiment, "--json").out)
    assert document["formula"] == "T = a**1.5"
    assert document["sealed_metrics"] == {"r2": 0.9987654321, "mae": 1e-7}
    assert document["best"]["id"] == "node_a"
    assert document["checkpoint"] == "runs/keplers-third-law-2"
    played.changes = {"formula": None}
    assert ari("run", experiment, "--quiet").out.startswith("r2 = 0.999\n")


def test_no_result_ends_with_status_1_and_says_where_to_look(
    ari: Ari, played: PlayedStudy, experiment: Path
) -> None:
    played.changes = {"best": None, "formula": None, "sealed_metrics": {}}
    answer = ari("run", experiment)
    assert answer.status == 1
    assert "No experiment gave a result that counts." in answer.out
    assert "ari show root runs/keplers-third-law-1" in answer.out


def test_interruption_ends_with_status_130_and_says_how_to_go_on(
    ari: Ari, played: PlayedStudy, experiment: Path
) -> None:
    played.changes = {"interrupted": True, "reason": "interrupted"}
    answer = ari("run", experiment)
    assert answer.status == 130
    assert "Stopped after 1 min 23 s: interrupted" in answer.out
    assert "ari resume runs/keplers-third-law-1  " in answer.out
    played.error = KeyboardInterrupt()
    answer = ari("run", experiment)
    assert (answer.status, answer.out) == (130, "")
    assert "Traceback" not in answer.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--nodes", "0"], "nodes is 0 (--nodes)"),
        (["--parallel", "-2"], "parallel is -2 (--parallel)"),
        (["--nodes", "many"], "Invalid value for '--nodes'"),
        (["--model", "gpt"], "model is 'gpt' (--model): allowed are offline, anthropic/<model>"),
        (["--node-time", "0"], "node_time is 0.0 (--node-time)"),
    ],
)
def test_an_option_that_cannot_be_used_stops_before_anything_is_made(
    ari: Ari, played: PlayedStudy, experiment: Path, options: list[str], message: str
) -> None:
    answer = ari("run", experiment, *options)
    assert answer.status == 2
    assert message in answer.err
    assert played.options is None
    assert not Path("runs").exists()


def test_a_missing_experiment_is_misuse(ari: Ari, played: PlayedStudy, tmp_path: Path) -> None:
    answer = ari("run", "nowhere.md")
    assert answer.status == 2
    assert "nowhere.md: no such file" in answer.err
    empty = tmp_path / "empty"
    empty.mkdir()
    assert f"{empty / 'experiment.md'}: no such file" in ari("run", empty).err


def test_a_failure_of_the_store_is_a_message(ari: Ari, played: PlayedStudy, experiment: Path) -> None:
    played.error = CheckpointError(
        "runs/x cannot be written: No space left on device", cure="Free some space."
    )
    answer = ari("run", experiment)
    assert answer.status == 1
    assert answer.err == "error: runs/x cannot be written: No space left on device\n  Free some space.\n"


def test_resume_passes_its_options_on(ari: Ari, played: PlayedStudy, small: Path) -> None:
    answer = ari("resume", "runs/small-1", "--nodes", 20, "-j", 1, "--quiet")
    assert answer.status == 0
    on_event = played.resumed.pop("on_event")
    assert callable(on_event)
    limits = dict.fromkeys(("max_calls", "max_tokens", "max_cost_usd", "max_wall_s"))
    assert played.resumed == {
        "checkpoint": Path("runs/small-1"), "nodes": 20, "parallel": 1, "limits": limits
    }  # fmt: skip
    assert ari("resume", "runs").status == 2
    assert ari("resume").status == 2


def live_picture(checkpoint: Checkpoint, events: list[dict[str, Any]], *, height: int = 30) -> str:
    """What the live display shows after some events, on a terminal of 100 columns without colour."""
    from rich.console import Console
    from rich.live import Live

    out = io.StringIO()
    screen = Console(file=out, width=100, height=height, force_terminal=True, color_system=None)
    seconds = iter(range(0, 1000, 30))
    with Live(console=screen, auto_refresh=False, transient=True) as live:
        progress = LiveProgress("Kepler", 12, live, screen, clock=lambda: float(next(seconds)))
        for event in events:
            progress.on_event(event, checkpoint)
        picture = progress.picture(checkpoint)
    plain = Console(file=io.StringIO(), width=100)
    with plain.capture() as capture:
        plain.print(picture)
    return capture.get()


def test_the_live_display_shows_tree_best_time_budget_and_what_runs(small: Path, tmp_path: Path) -> None:
    with writer(tmp_path / "live") as checkpoint:
        add(checkpoint, "node_root", None, "draft")
        finish(checkpoint, "node_root", 0.5)
        add(checkpoint, "node_a", "node_root")
        checkpoint.append("node_started", node_id="node_a", attempt=1)
        tick = {"event": "tick", "running": [{"node_id": "node_a", "label": "improve", "seconds": 7.2}]}
        decision = {"event": "lineage_decision", "decision": "switch_to_idea", "rationale": "stood still"}
        picture = live_picture(checkpoint, [tick, decision])
    lines = [line.rstrip() for line in picture.splitlines()]
    assert lines[0] == "Kepler"
    assert lines[1].endswith("1 of 12 nodes  1 running  2 min 30 s")
    assert lines[2] == "best: r2 = 0.5  score 0.5  node_root"
    assert lines[3] == "● node_root  draft  r2 = 0.5  score 0.5  ★"
    assert lines[4] == "└─ ◐ node_a  improve  running for 7 s"
    assert lines[5] == "switch_to_idea: stood still"
    assert "Ctrl-C" in lines[6]


def test_the_live_display_fits_the_window(tmp_path: Path) -> None:
    with writer(tmp_path / "live") as checkpoint:
        add(checkpoint, "node_root", None, "draft")
        for number in range(60):
            add(checkpoint, f"node_{number}", "node_root")
        picture = live_picture(checkpoint, [{"event": "tick", "running": []}], height=20)
    assert len(picture.splitlines()) <= 19
    assert "no result yet" in picture
    assert "more (" in picture


def test_a_display_that_fails_does_not_end_the_study(small: Path) -> None:
    checkpoint = Checkpoint.open(small, read_only=True)

    def gone(_line: str) -> None:
        raise BrokenPipeError

    progress = PlainProgress(12, gone)
    progress.on_event({"event": "run_created"}, checkpoint)
    written: list[str] = []
    PlainProgress(12, written.append).on_event({"event": "run_resumed"}, checkpoint)
    assert written == [f"going on with {small}: 5 of 12 nodes are finished\n"]
