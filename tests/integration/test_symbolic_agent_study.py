"""A study whose nodes are driven by the symbolic-regression agent, over a real client and connection."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ari.checkpoint import Checkpoint, validate
from ari.orchestrator.study import RunOptions, start
from ari.testing import LoopbackServer, Received, Reply

HEAD = """# How does y depend on x and v?

Metrics: nrmse

## Data
- source: data.csv
- target: y
"""
LAW = "2.5*exp(-x)*v**2 + 1.7*sin(x*v)"


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    rng = np.random.default_rng(2)
    x, v = rng.uniform(1, 3, 150), rng.uniform(1, 3, 150)
    y = 2.5 * np.exp(-x) * v**2 + 1.7 * np.sin(x * v)
    rows = zip(x.tolist(), v.tolist(), y.tolist(), strict=True)
    (tmp_path / "data.csv").write_text("x,v,y\n" + "".join(f"{a!r},{b!r},{c!r}\n" for a, b, c in rows))
    (tmp_path / "experiment.md").write_text(HEAD)
    return tmp_path / "experiment.md"


def is_agent(request: Received) -> bool:
    return "evaluate_formula" in request.tools and "submit_formula" not in request.tools


def run(
    experiment: Path, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch, **environment: str
) -> Path:
    for name, value in (server.environment() | environment).items():
        monkeypatch.setenv(name, value)
    output = experiment.parent / "study"
    start(RunOptions(experiment, output=output, nodes=2, parallel=1, model="openai/any"))
    return output


def test_the_agent_searches_and_hands_in(experiment: Path, monkeypatch: pytest.MonkeyPatch):
    proposal = {"label": "improve", "summary": "Add an oscillation.", "plan": {"hypothesis": "sin(x*v)"}}

    def answer(request: Received) -> Reply | str:
        if not is_agent(request):
            name = request.tools[0] if request.tools else ""
            return Reply.tool(name, **proposal) if name else json.dumps(proposal)
        return f"y = {LAW}" if "Add an oscillation." in request.text else "<formula>c*exp(-x)*v**2</formula>"

    with LoopbackServer(answer) as server:
        output = run(experiment, server, monkeypatch, ARI_SR_DEPTH="1", ARI_SR_SAMPLES="1")
        requests = [request for request in server.requests if is_agent(request)]
    with Checkpoint.open(output) as checkpoint:
        root, improved = checkpoint.nodes.values()
        assert root.status == improved.status == "completed"
        assert improved.label == "improve"
        assert improved.metrics["nrmse"] < 1e-12 < root.metrics["nrmse"]
        assert improved.has_real_data
    submitted = json.loads((output / "experiments" / improved.id / "formula.json").read_bytes())
    assert submitted["formula"] == LAW
    assert "the search ended as exact" in submitted["note"]
    assert len(requests) == 3  # two conversations of the root, one of the improvement
    trace = (output / "records" / root.id / "trace.jsonl").read_text()
    assert "exp(-x)*v**2" in trace
    assert validate(output) == []


def test_a_model_that_talks_nonsense_costs_the_nodes_nothing_but_quality(
    experiment: Path, monkeypatch: pytest.MonkeyPatch
):
    with LoopbackServer(lambda _request: "I would rather not.") as server:
        output = run(experiment, server, monkeypatch, ARI_SR_DEPTH="2", ARI_SR_SAMPLES="1")
    with Checkpoint.open(output) as checkpoint:
        assert {node.status for node in checkpoint.nodes.values()} == {"completed"}
        assert checkpoint.state.finished is not None
