"""The models: strict types, unknown keys kept, faults with code and place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ari.errors import FormatError
from ari.formats.base import problems
from ari.formats.idea import Ideas
from ari.formats.node_report import NodeReport
from ari.formats.node_results import NodeResults, node_results, read_node_results
from ari.formats.nodes_tree import NodesTree
from ari.formats.results import Results
from ari.formats.science_data import ScienceData
from ari.formats.tree import Tree, normalise_label
from ari.schemas.generate import MODELS

VECTORS = Path(__file__).parents[2] / "conformance" / "vectors" / "checkpoints" / "gflops_run"

FILES = {
    "tree": "tree.json",
    "nodes_tree": "nodes_tree.json",
    "results": "results.json",
    "idea": "idea.json",
    "evaluation_criteria": "evaluation_criteria.json",
    "settings": "settings.json",
    "science_data": "science_data.json",
    "metric_contract": "metric_contract.json",
    "verified_context": "verified_context.json",
    "figures_manifest": "figures_manifest.json",
    "publish": "ear_published/manifest.lock",
    "node_report": "experiments/node_simd/node_report.json",
    "node_results": "experiments/node_simd/results.json",
    "claim_evidence_hard_gate": "evaluation/claim_evidence_hard_gate_final.json",
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_survives_a_round_trip_unknown_keys_included(name: str) -> None:
    document = json.loads((VECTORS / FILES[name]).read_text(encoding="utf-8"))
    document["a key of tomorrow"] = {"deep": [1, None, "ü"]}
    model = MODELS[name].from_document(document, source=name)
    assert model.to_dict() == document
    assert json.loads(model.to_bytes()) == document


@pytest.mark.parametrize("name", [*FILES, "lineage_decisions", "memory_store", "memory_access", "meta"])
@pytest.mark.parametrize("document", [None, 1, "x", [], {}, {"nodes": 1}, {"files": [1]}, {"ideas": [[]]}])
def test_no_document_makes_the_models_fail_otherwise_than_with_faults(name: str, document: object) -> None:
    assert isinstance(problems(MODELS[name], document), list)


def _tree(**node: object) -> dict:
    base = {
        "id": "n/0~",
        "parent_id": None,
        "depth": 0,
        "status": "completed",
        "label": "draft",
        "metrics": {"GB/s": 1.5},
        "score": 0.5,
        "children": [],
    }
    return {"schema_version": 1, "root_node_id": "n/0~", "nodes": {"n/0~": {**base, **node}}}


@pytest.mark.parametrize(
    ("change", "code", "where"),
    [
        ({"status": "done"}, "schema.enum", "/status"),
        ({"label": "replication"}, "schema.enum", "/label"),
        ({"depth": "0"}, "schema.type", "/depth"),
        ({"depth": True}, "schema.type", "/depth"),
        ({"depth": -1}, "schema.type", "/depth"),
        ({"score": None}, "schema.type", "/score"),
        ({"score": False}, "schema.type", "/score"),
        ({"metrics": {"GB/s": True}}, "schema.type", "/metrics/GB~1s"),
        ({"metrics": {"GB/s": "1.5"}}, "schema.type", "/metrics/GB~1s"),
        ({"metrics": {"GB/s": float("nan")}}, "schema.type", "/metrics/GB~1s"),
        ({"metrics": [1]}, "schema.type", "/metrics"),
        ({"children": [1]}, "schema.type", "/children/0"),
        ({"parent_id": 3}, "schema.type", "/parent_id"),
        ({"search_state": {"expansions": -1}}, "schema.type", "/search_state/expansions"),
    ],
)
def test_a_fault_has_a_code_and_a_place(change: dict, code: str, where: str) -> None:
    found = problems(Tree, _tree(**change))
    assert [(p.code, p.where) for p in found] == [(code, "/nodes/n~10~0" + where)]


def test_missing_and_constant_keys_have_their_own_codes() -> None:
    document = _tree()
    del document["nodes"]["n/0~"]["score"]
    document["schema_version"] = 2
    assert {(p.code, p.where) for p in problems(Tree, document)} == {
        ("schema.const", "/schema_version"),
        ("schema.required", "/nodes/n~10~0/score"),
    }
    assert problems(Tree, _tree(metrics={"GB/s": None, "n": 3})) == []


def test_the_error_of_a_file_names_every_fault(tmp_path: Path) -> None:
    path = tmp_path / "tree.json"
    path.write_text(json.dumps(_tree(status="done", depth="0")))
    with pytest.raises(FormatError) as caught:
        Tree.read(path)
    assert str(path) in str(caught.value)
    assert "/nodes/n~10~0/status" in str(caught.value)
    assert "/nodes/n~10~0/depth" in str(caught.value)
    path.write_text('{"schema_version": NaN}')
    with pytest.raises(FormatError, match="not strict JSON"):
        Tree.read(path)
    with pytest.raises(FormatError, match="cannot be read: No such file"):
        Tree.read(tmp_path / "absent.json")


def test_deleted_files_may_be_paths_or_objects() -> None:
    document = json.loads((VECTORS / FILES["node_report"]).read_text(encoding="utf-8"))
    document["files_changed"]["deleted"] = ["old.c", {"path": "older.c", "sha256": "0" * 64}]
    assert NodeReport.from_document(document, source="x").to_dict() == document
    document["files_changed"]["deleted"] = [3]
    assert [p.where for p in problems(NodeReport, document)] == ["/files_changed/deleted/0"]


def test_an_empty_provenance_is_left_out() -> None:
    results = NodeResults.model_validate({"measurements": {"a": 1}, "_provenance": {}})
    assert results.to_dict() == {"measurements": {"a": 1}}
    tagged = NodeResults.model_validate({"_provenance": {"ceiling": "microbench"}})
    assert tagged.provenance == {"ceiling": "microbench"}
    assert tagged.to_dict() == {"_provenance": {"ceiling": "microbench"}}
    found = problems(NodeResults, {"_provenance": {"ceiling": "guessed"}})
    assert [(p.code, p.where) for p in found] == [("schema.enum", "/_provenance/ceiling")]


def test_results_of_a_program_keep_what_was_not_finite(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text('{"measurements": {"a": NaN, "b": [1, -Infinity]}, "flops": 1e400}')
    results = read_node_results(path)
    assert results.measurements == {"a": None, "b": [1, None]}
    assert results.non_finite == {"/measurements/a": "nan", "/measurements/b/1": "-inf", "/flops": "+inf"}
    assert NodeResults.from_document(results.to_dict(), source="x") == results
    assert node_results({"scores": {"s": 1.0}}).non_finite == {}
    for text, message in (("[1]", "no JSON object"), ("{", "not JSON"), ('{"scores": 1}', "/scores")):
        path.write_text(text)
        with pytest.raises(FormatError, match=message):
            read_node_results(path)
    with pytest.raises(FormatError, match="cannot be read"):
        read_node_results(tmp_path / "absent.json")


@pytest.mark.parametrize(
    ("raw", "label"),
    [
        ("draft", "draft"),
        (" Improve ", "improve"),
        ("replication", "other"),
        ("", "other"),
        ("other", "other"),
    ],
)
def test_labels_are_mapped_to_the_documented_ones(raw: str, label: str) -> None:
    assert normalise_label(raw) == label


def test_typed_access() -> None:
    results = Results.read(VECTORS / "results.json")
    assert results.best_node is not None and results.best_node.id == "node_simd"
    tree = NodesTree.read(VECTORS / "nodes_tree.json")
    assert tree.nodes["node_simd"].artifacts[0].path == "results.csv"
    science = ScienceData.read(VECTORS / "science_data.json")
    assert science.claims[0].numeric_assertions[0].operands["value"].node_id == "node_simd"
    assert Ideas.read(VECTORS / "idea.json").ideas[0].pinned is False
