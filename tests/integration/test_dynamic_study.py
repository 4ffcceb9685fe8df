"""A study of a time derivative: the law is found, stretches of time are sealed, the paper passes its gate."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import numpy as np
import pytest

from ari.checkpoint import Checkpoint, validate
from ari.orchestrator.study import RunOptions, start
from ari.pipeline.claim_gate.gate import run_hard_gate
from sr_harness.engine import evaluate, parse

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "predation"


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from ari.figures import make_figures
    from ari.paper.stage import write_paper
    from ari.transform import nodes_to_science_data

    output = tmp_path_factory.mktemp("study") / "run"
    start(RunOptions(EXAMPLE / "experiment.md", output=output, nodes=3, seed=3))
    nodes_to_science_data(checkpoint=output)
    make_figures(output)
    write_paper(checkpoint=output)
    return output


def formula_of(checkpoint: Path) -> str:
    with Checkpoint.open(checkpoint) as opened:
        best = opened.nodes[opened.best_node_id]
    return json.loads((checkpoint / best.work_dir / "node_report.json").read_bytes())["submission"]["formula"]


def test_the_example_data_are_what_the_script_makes(tmp_path: Path) -> None:
    made = runpy.run_path(str(EXAMPLE / "generate.py"))["generate"](tmp_path / "counts.csv")
    columns = [np.loadtxt(path, delimiter=",", skiprows=1) for path in (made, EXAMPLE / "counts.csv")]
    np.testing.assert_allclose(columns[0], columns[1], atol=2e-6)


def test_the_law_is_found_with_its_constants(checkpoint: Path) -> None:
    rng = np.random.default_rng(0)
    prey, predators = rng.uniform(1, 6, 60), rng.uniform(1, 5, 60)
    rates = evaluate(parse(formula_of(checkpoint)), {"prey": prey, "predators": predators})
    terms = np.column_stack([prey, prey * predators])
    coefficients = np.linalg.lstsq(terms, rates, rcond=None)[0]
    np.testing.assert_allclose(terms @ coefficients, rates, atol=1e-9)
    assert coefficients == pytest.approx([0.9, -0.4], rel=0.01)


def test_the_sealed_part_is_the_last_stretch_of_time(checkpoint: Path) -> None:
    from sr_harness.core import AgentContext

    times = {
        name: np.asarray(AgentContext.from_directory(checkpoint / name).data["t"])
        for name in ("data/train", "sealed/validation", "sealed/holdout")
    }
    train, validation, sealed = times.values()
    assert train.max() < validation.min() and validation.max() < sealed.min()
    assert len(sealed) == len(validation) == 60
    assert "dprey_dt" not in AgentContext.from_directory(checkpoint / "data/train").variables


def test_slopes_and_trajectories_are_measured_on_both_parts(checkpoint: Path) -> None:
    with Checkpoint.open(checkpoint) as opened:
        best = opened.nodes[opened.best_node_id]
    assert best.metrics["trajectory_error"] < 0.02
    assert best.metrics["sealed_trajectory_error"] < 0.02
    assert best.metrics["sealed_nrmse"] < 0.05
    extractor = best.metrics_with_metadata["sealed_trajectory_error"]["extractor"]
    assert extractor == "sr_harness.evaluator.dynamics.trajectory_error on the sealed rows"


def test_the_paper_says_what_was_measured_and_passes_the_strict_gate(checkpoint: Path) -> None:
    papers = list(checkpoint.glob("*.tex"))
    assert len(papers) == 1
    tex = " ".join(papers[0].read_text(encoding="utf-8").split())
    assert "was not measured but estimated as the slope of" in tex
    assert "stretches of time, the sealed one last" in tex
    assert "error of the integrated trajectories" in tex
    report = run_hard_gate(checkpoint, policy="strict", paper=papers[0])
    assert report.status == "passed" and report.errors == []
    assert validate(checkpoint) == []
