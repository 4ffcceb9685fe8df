"""Science data: what counts as a configuration, where values come from, and claims that can be recomputed."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest

from ari.checkpoint import Checkpoint, validate
from ari.errors import FormatError
from ari.execution.records import RunRecord, RunRecordFile, save
from ari.execution.workdir import hash_file
from ari.formats.science_data import NAMED_FORMULAS
from ari.orchestrator.facts import is_fact, mean_interval, study_facts
from ari.pipeline.claim_gate.gate import run_hard_gate
from ari.pipeline.experiment_spec import Ceiling, Experiment, Parameter
from ari.transform import build_science_data, nodes_to_science_data
from ari.transform.assertions import FORMULAS, shown

VECTORS = Path(__file__).resolve().parents[2] / "conformance" / "vectors" / "checkpoints"

COMMAND = Experiment(
    title="Faster",
    question="How fast?",
    kind="command",
    primary_metric="MB/s",
    command="./copy {block} {mode}",
    parameters=(
        Parameter(name="block", levels=(1, 2, 4), ordered=True),
        Parameter(name="mode", levels=("a", "b"), ordered=False),
    ),
    ceiling=Ceiling(metric="peak", bounds="MB/s", command="./peak"),
    correctness="err < 1e-6",
)
LAW = Experiment(
    title="Law", question="Which?", kind="symbolic", primary_metric="nrmse", target="y", inputs=("x",)
)


def create(
    path: Path, experiment: Experiment, *, higher: bool, meta: dict[str, Any] | None = None
) -> Checkpoint:
    return Checkpoint.create(
        path,
        run_id="r",
        primary_metric=experiment.primary_metric,
        higher_is_better=higher,
        seed=7,
        goal="q",
        settings={"experiment": experiment.model_dump(mode="json"), "model": "offline"},
        meta=meta,
    )


def add(store: Checkpoint, number: int, parent: int | None, label: str = "draft", **what: Any) -> str:
    """Add a node with its report; `runs` are the texts its commands printed."""
    node_id = f"n{number}"
    plan = what.pop("plan", {})
    depth = 0 if parent is None else store.nodes[f"n{parent}"].depth + 1
    parent_id = None if parent is None else f"n{parent}"
    document = {"id": node_id, "parent_id": parent_id, "depth": depth, "label": label, "order": number}
    store.append("node_created", node={**document, "plan": plan})
    store.append("node_started", node_id=node_id, attempt=1)
    folder = store.path / "experiments" / node_id
    folder.mkdir(parents=True)
    report = {"node_id": node_id, "submission": what.pop("submission", {})}
    (folder / "node_report.json").write_text(json.dumps(report))
    for name, content in what.pop("files", {}).items():
        (folder / name).write_text(json.dumps(content))
    runs = [record(index, text, folder) for index, text in enumerate(what.pop("runs", []))]
    if runs:
        save(store.path / "records" / node_id, RunRecordFile(node_id=node_id, runs=runs))
    what = {"status": "completed", "has_real_data": True, **what}
    store.append("node_finished", node_id=node_id, **what)
    return node_id


def record(index: int, stdout: str, folder: Path) -> RunRecord:
    outputs = [
        {"path": file.name, "sha256": hash_file(file).sha256, "size": 1, "change": "added"}
        for file in sorted(folder.glob("results_*.json"))
    ]
    return RunRecord.model_validate(
        {
            "index": index,
            "command": "./copy",
            "argv": ["./copy"],
            "exit_status": 0,
            "outcome": "ok",
            "started_at": "2026-01-01T00:00:00Z",
            "duration_s": 1.0,
            "cpu_s": 1.0,
            "max_rss_bytes": 1,
            "stdout": stdout,
            "stdout_info": {"size": 1, "truncated": False},
            "stderr": "",
            "stderr_info": {"size": 0, "truncated": False},
            "inputs": [],
            "outputs": outputs,
            "environment": {"cpu": "test"},
            "limits": {},
            "sandbox": {"kind": "plain", "reason": "test"},
        }
    )


def finish(store: Checkpoint, experiment: Experiment, best: str) -> Path:
    for facts in list(study_facts(store, experiment)):
        store.append(
            "node_evaluated",
            node_id=facts.node_id,
            metrics=facts.metrics,
            metrics_with_metadata=facts.metadata,
        )
    store.write_nodes_tree()
    store.write_results(best)
    store.append("run_finished", reason="done", best_node_id=best)
    store.close()
    return store.path


@pytest.fixture
def command_study(tmp_path: Path) -> Path:
    """The start, the best, one that differs in one parameter, one that changed nothing, one that failed."""
    store = create(tmp_path / "c", COMMAND, higher=True)

    def metrics(speed: float) -> dict[str, Any]:
        notes = {"peak": {"provenance": "microbench"}, "err": {"provenance": "correctness"}}
        return {"metrics": {"MB/s": speed, "peak": 200.0, "err": 1e-9}, "metrics_with_metadata": notes}

    def node(block: int, mode: str, speed: float) -> dict[str, Any]:
        params = {"block": block, "mode": mode}
        values = [speed - 1, speed, speed + 3]
        results = {
            "params": params,
            "measurements": {"MB/s": speed, "made_up": 99.5},
            "_provenance": {"peak": "microbench", "err": "correctness", "MB/s": "benchmark"},
        }
        return {
            "submission": {"params": params},
            "runs": [f"MB/s: {value}" for value in values],
            "files": {
                "results.json": results,
                "results_run.json": {"measurements": {"by_size": [10.25, 20.5]}},
            },
            **metrics(speed),
        }

    add(store, 0, None, **node(1, "a", 50.0), score=0.25)
    add(store, 1, 0, "improve", **node(4, "a", 100.0), score=0.5)
    add(store, 2, 0, "improve", **node(4, "b", 80.0), score=0.4)
    add(store, 3, 1, "improve", score=0.0, search_state={"sterile": True}, has_real_data=False)
    add(store, 4, 1, "debug", status="errored", has_real_data=False, error="exit status 1: no such file")
    return finish(store, COMMAND, "n1")


@pytest.fixture
def law_study(tmp_path: Path) -> Path:
    extractor = "sr_harness.evaluator.regression_metrics on the validation rows"
    data = {"rows": {"train": 6, "validation": 2, "sealed": 2}, "target": "y", "inputs": ["x"], "axis": "row"}
    store = create(tmp_path / "l", LAW, higher=False, meta={"data": data})

    def node(formula: str, nrmse: float, **more: float) -> dict[str, Any]:
        values = {"nrmse": nrmse, "r2": 1 - nrmse**2, "complexity": 5.0, **more}
        notes = {name: {"extractor": extractor, "n": 2} for name in values}
        return {"submission": {"formula": formula}, "metrics": values, "metrics_with_metadata": notes}

    add(store, 0, None, **node("x", 0.5), score=0.3, plan={"strategies": ["linear"]})
    sealed = {"sealed_nrmse": 0.011, "sealed_r2": 0.9998, "sealed_n": 2.0}
    best = node("2*x**1.5 + 0.25", 0.01, **sealed)
    add(store, 1, 0, **best, score=0.8, plan={"strategies": ["power_law"]})
    add(store, 2, 1, "ablation", **node("2*x**1.5", 0.2), score=0.4, plan={"part": "the term 0.25"})
    again = node("2*x**1.5 + 0.25", 0.01, nrmse_resplit=0.012)
    again["metrics_with_metadata"]["nrmse"] |= {"ci95_low": 0.005, "ci95_high": 0.02, "resamples": 200}
    again["metrics_with_metadata"]["nrmse_resplit"] |= {"n": 5, "min": 0.01, "max": 0.03}
    add(store, 3, 1, "validation", **again, score=0.8)
    return finish(store, LAW, "n1")


def claims(document: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [claim for claim in document["claims"] if claim["kind"] == kind]


def values(claim: dict[str, Any]) -> dict[str, float]:
    return {assertion["role"]: assertion["value"] for assertion in claim["numeric_assertions"]}


def test_every_successful_node_is_a_configuration_and_every_other_has_its_reason(command_study: Path) -> None:
    document = build_science_data(command_study)
    assert [c["node_id"] for c in document["configurations"]] == ["n1", "n2", "n0"]
    assert document["configurations"][0]["parameters"] == {"block": 4, "mode": "a"}
    assert {item["node_id"]: item["reason"] for item in document["left_out"]} == {
        "n3": "it changed nothing against its parent",
        "n4": "exit status 1: no such file",
    }
    assert document["summary_stats"]["primary_metric_best"] == 100.0
    assert document["summary_stats"]["direction"] == "higher_is_better"
    assert document["summary_stats"]["metrics"]["err"]["best"] == 1e-9


def test_tags_that_no_run_bears_out_become_declared(command_study: Path) -> None:
    tags = build_science_data(command_study)["configurations"][0]["_provenance"]
    assert tags["peak"] == "microbench" and tags["err"] == "correctness"
    assert tags["MB/s"] == "declared"  # the file says benchmark, the evaluator did not bear it out
    assert tags["made_up"] == "declared"  # only the file says so
    assert "by_size" not in tags  # a run wrote that file


def test_a_file_that_was_changed_after_its_run_no_longer_counts(command_study: Path) -> None:
    (command_study / "experiments/n1/results_run.json").write_text('{"measurements": {"by_size": [99.5]}}')
    [first, *_] = build_science_data(command_study)["configurations"]
    assert first["_provenance"]["by_size"] == "declared"


def test_repeats_carry_n_and_interval(command_study: Path) -> None:
    document = build_science_data(command_study)
    spread = document["configurations"][0]["statistics"]["MB/s"]
    assert (spread["n"], spread["min"], spread["max"], spread["median"]) == (3, 99.0, 103.0, 100.0)
    # mean 302/3, standard deviation sqrt(13/3), t(2) = 4.30265: half width 5.17112
    assert spread["interval"] == pytest.approx([95.4956, 105.8378], abs=1e-3)
    [headline] = claims(document, "headline")
    assert values(headline)["MB/s_n"] == 3
    assert values(headline)["MB/s_ci95_low"] == pytest.approx(95.4956, abs=1e-3)


def test_two_values_have_no_interval() -> None:
    assert mean_interval([1.0, 2.0]) is None


def test_a_command_study_claims_gain_ceiling_correctness_and_single_changes(command_study: Path) -> None:
    document = build_science_data(command_study)
    [baseline] = claims(document, "baseline")
    assert values(baseline) == {"baseline": 50.0, "proposed": 100.0, "ratio": 2.0, "percent": 100.0}
    assert values(claims(document, "ceiling")[0]) == {"share": 50.0, "peak": 200.0}
    assert values(claims(document, "correctness")[0]) == {"err": 1e-9}
    parts = {claim["part"]: values(claim) for claim in claims(document, "ablation")}
    assert parts["mode"]["percent"] == pytest.approx(20.0)
    assert parts["block"]["ratio"] == 2.0
    rows = {claim["node"]: values(claim) for claim in claims(document, "configuration")}
    assert rows["n2"] == {"MB/s": 80.0, "params.block": 4}
    assert values(claims(document, "study")[0])["study_nodes_failed"] == 1


def test_a_study_of_data_claims_sealed_results_constants_ablations_and_data(law_study: Path) -> None:
    document = build_science_data(law_study)
    [headline] = claims(document, "headline")
    assert values(headline) == {"sealed_nrmse": 0.011, "sealed_r2": 0.9998, "n": 2.0}
    assert "2 sealed values are few" in headline["risk"]
    assert list(values(claims(document, "constants")[0]).values()) == [2.0, 1.5, 0.25]
    [ablation] = claims(document, "ablation")
    assert ablation["part"] == "the term 0.25" and ablation["of_best"]
    assert values(ablation)["ratio"] == pytest.approx(20.0)
    repeats = values(claims(document, "repeats")[0])
    assert repeats["nrmse_ci95_high"] == 0.02 and repeats["nrmse_resplit_n"] == 5
    data = values(claims(document, "data")[0])
    assert data == {
        "data_rows": 10,
        "data_rows_train": 6,
        "data_rows_validation": 2,
        "data_rows_sealed": 2,
        "data_inputs": 1,
    }
    assert document["configurations"][0]["_provenance"]["sealed_nrmse"] == "reference"
    assert document["experiment_context"]["formula"]["variables"] == ["x"]


@pytest.mark.parametrize("study", ["command_study", "law_study"])
def test_every_number_can_be_computed_again_from_the_files(
    study: str, request: pytest.FixtureRequest
) -> None:
    path = request.getfixturevalue(study)
    nodes_to_science_data(checkpoint=path)
    document = json.loads((path / "science_data.json").read_text())
    tree = json.loads((path / "tree.json").read_text())["nodes"]
    assert len(document["numeric_assertions"]) > 20
    names = [assertion["id"] for assertion in document["numeric_assertions"]]
    assert len(set(names)) == len(names)
    for assertion in document["numeric_assertions"]:
        found = {}
        for name, operand in assertion["operands"].items():
            section, _, key = operand["metric_path"].partition(".")
            if section == "metrics":
                holder = tree[operand["node_id"]]["metrics"]
            else:
                file = path / "experiments" / operand["node_id"] / "results.json"
                holder = json.loads(file.read_text())[section]
            found[name] = holder[key]
        assert FORMULAS[assertion["formula"]](**found) == pytest.approx(assertion["value"], rel=1e-12)
    assert [f for f in validate(path) if f.file == "science_data.json"] == []


@pytest.mark.parametrize("study", ["command_study", "law_study"])
def test_every_number_printed_as_it_stands_passes_the_strict_gate(
    study: str, request: pytest.FixtureRequest
) -> None:
    path = request.getfixturevalue(study)
    nodes_to_science_data(checkpoint=path)
    document = json.loads((path / "science_data.json").read_text())
    lines = [r"\documentclass{article}", r"\begin{document}", r"\section{Results}"]
    for claim in document["claims"]:
        for assertion in claim["numeric_assertions"]:
            printed = assertion["text_span"].replace("%", r"\%")
            lines += [f"The recorded result is {printed}. % CLAIM:{claim['id']}:{assertion['id']}", ""]
    paper = path / "full_paper.tex"
    paper.write_text("\n".join([*lines, r"\end{document}"]))
    report = run_hard_gate(path, phase="final", policy="strict")
    assert (report.status, report.errors, report.warnings) == ("passed", [], [])
    assert report.metrics["numeric_reproducible"] == len(document["numeric_assertions"])
    paper.write_text(
        paper.read_text().replace("result is 100. ", "result is 101. ").replace("is 0.011", "is 0.012")
    )
    assert run_hard_gate(path, phase="final", policy="strict").should_block


def test_the_formulas_are_those_of_the_format() -> None:
    assert set(FORMULAS) == set(NAMED_FORMULAS)


def test_the_contract_of_the_idea_is_grafted_and_a_broken_one_is_refused(law_study: Path) -> None:
    assert "metric_contract" not in build_science_data(law_study)
    (law_study / "metric_contract.json").write_text('{"key": "nrmse", "invariants": ["value >= 0"]}')
    assert build_science_data(law_study)["metric_contract"]["key"] == "nrmse"
    (law_study / "metric_contract.json").write_text('{"invariants": 3}')
    with pytest.raises(FormatError, match=r"metric_contract\.json"):
        build_science_data(law_study)


def test_numbers_that_came_out_wrong_are_named(tmp_path: Path) -> None:
    store = create(tmp_path / "c", COMMAND, higher=True)
    notes = {"peak": {"provenance": "microbench"}}
    add(store, 0, None, metrics={"MB/s": 300.0, "peak": 200.0, "err": math.nan}, metrics_with_metadata=notes)
    document = build_science_data(finish(store, COMMAND, "n0"))
    assert document["_anomalous_metrics"] == ["MB/s", "err"]
    reasons = {odd["metric"]: odd["reason"] for odd in document["_anomalies"]}
    assert reasons == {"err": "came out as nan", "MB/s": "300 is above the measured ceiling peak = 200"}


def test_a_study_without_any_result_claims_nothing(tmp_path: Path) -> None:
    store = create(tmp_path / "c", COMMAND, higher=True)
    add(store, 0, None, status="errored", has_real_data=False, error="broken")
    store.write_nodes_tree()
    store.close()
    document = build_science_data(tmp_path / "c")
    assert document["claims"] == [] and document["configurations"] == []
    assert document["left_out"][0]["reason"] == "broken"


def test_a_study_of_another_tool_is_read_and_its_tags_are_declared(tmp_path: Path) -> None:
    copy = shutil.copytree(VECTORS / "gflops_run", tmp_path / "g")
    document = build_science_data(copy)
    first = document["configurations"][0]
    assert first["node_id"] == "node_simd"
    assert set(first["_provenance"].values()) <= {"declared"}
    assert document["metric_contract"]["key"] == "roof_share"


def test_facts_are_told_apart_from_measurements() -> None:
    metrics = {"MB/s": 1.0, "MB/s_n": 3, "MB/s_min": 1.0, "data_rate": 5.0, "t_min": 2.0, "data_rows": 3}
    assert [name for name in metrics if is_fact(name, metrics)] == ["MB/s_n", "MB/s_min", "data_rows"]


def test_numbers_near_one_keep_what_they_lack() -> None:
    assert [shown(v) for v in (1.0, 0.9999999993887888, 0.9998, 12.0, 0.000123456, 1234.5678)] == [
        "1",
        "0.99999999939",
        "0.99980",
        "12",
        "0.0001235",
        "1235",
    ]
