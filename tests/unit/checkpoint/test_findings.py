"""Findings beyond the recorded ones, and validation that never fails on bad content."""

# ruff: noqa: E501 - the table of cases reads best with one case a line

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ari.checkpoint import Checkpoint, repair, validate
from ari.errors import AriError

GFLOPS = Path(__file__).parents[2] / "conformance" / "vectors" / "checkpoints" / "gflops_run"


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return Path(shutil.copytree(GFLOPS, tmp_path / "study"))


def _change(path: Path, edit: Callable[[Any], object]) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    edit(document)
    path.write_text(json.dumps(document), encoding="utf-8")


def _set(*keys: Any, value: Any) -> Callable[[Any], object]:
    def edit(document: Any) -> None:
        for key in keys[:-1]:
            document = document[key]
        document[keys[-1]] = value

    return edit


CASES = [
    ("tree.json", _set("nodes", "node_root", "parent_id", value="node_seeds"), "tree.cycle", "/nodes/node_root/parent_id"),
    ("tree.json", _set("nodes", "node_seeds", "children", value=["node_root"]), "tree.cycle", "/nodes/node_seeds/children/0"),
    ("tree.json", _set("nodes", "node_tile", "parent_id", value="node_tile"), "tree.cycle", "/nodes/node_tile/parent_id"),
    ("tree.json", _set("nodes", "node_tile", "parent_id", value="ghost"), "ref.unknown_node", "/nodes/node_tile/parent_id"),
    ("tree.json", _set("nodes", "node_root", "children", value=["node_tile"]), "tree.id_mismatch", "/nodes/node_noprefetch/parent_id"),
    ("tree.json", _set("root_node_id", value="ghost"), "ref.unknown_node", "/root_node_id"),
    ("nodes_tree.json", _set("nodes", "node_tile", "work_dir", value="../../elsewhere"), "path.escape", "/nodes/node_tile/work_dir"),
    ("nodes_tree.json", _set("nodes", "node_tile", "work_dir", value="/etc"), "path.escape", "/nodes/node_tile/work_dir"),
    ("nodes_tree.json", _set("nodes", "node_tile", "artifacts", 0, "path", value="../../../etc/passwd"), "path.escape", "/nodes/node_tile/artifacts/0/path"),
    ("nodes_tree.json", _set("nodes", "node_tile", "artifacts", 0, "path", value="gone.csv"), "artifact.sha256", "/nodes/node_tile/artifacts/0/sha256"),
    ("experiments/node_tile/node_report.json", _set("node_id", value="node_simd"), "tree.id_mismatch", "/node_id"),
    ("experiments/node_tile/node_report.json", _set("depth", value=4), "tree.depth", "/depth"),
    ("experiments/node_tile/node_report.json", _set("parent_id", value="node_simd"), "lineage.broken", "/parent_id"),
    ("experiments/node_simd/node_report.json", _set("ancestor_ids", value=["node_root"]), "lineage.broken", "/ancestor_ids"),
    ("experiments/node_simd/node_report.json", _set("ancestor_ids", value=["ghost"]), "ref.unknown_node", "/ancestor_ids/0"),
    ("experiments/node_simd/node_report.json", _set("artifacts", 0, "sha256", value="0" * 64), "artifact.sha256", "/artifacts/0/sha256"),
    ("experiments/node_simd/results.json", _set("_provenance", "ceiling_byK", value="guess"), "schema.enum", "/_provenance/ceiling_byK"),
    ("results.json", _set("nodes", "ghost", value={"metrics": {}, "has_real_data": False}), "ref.unknown_node", "/nodes/ghost"),
    ("science_data.json", _set("numeric_assertions", 0, "operands", "value", "node_id", value="ghost"), "ref.unknown_node", "/numeric_assertions/0/operands/value/node_id"),
    ("science_data.json", _set("claims", 1, "supported_by", "results", 0, "node_id", value="ghost"), "ref.unknown_node", "/claims/1/supported_by/results/0/node_id"),
    ("science_data.json", _set("_config_nodes", "cfg1", "node_id", value="ghost"), "ref.unknown_node", "/_config_nodes/cfg1/node_id"),
    ("science_data.json", _set("metric_contract", "formula", value="open(x)"), "expr.forbidden", "/metric_contract/formula"),
    ("metric_contract.json", _set("correctness", "expr", value="a.b"), "expr.forbidden", "/correctness/expr"),
    ("verified_context.json", _set("best_node_id", value="ghost"), "ref.unknown_node", "/best_node_id"),
    ("verified_context.json", _set("lineage", value=["node_root", "node_tile"]), "lineage.broken", "/lineage"),
    ("verified_context.json", _set("claims", 0, "artifact_refs", 0, "sha256", value="0" * 64), "artifact.sha256", "/claims/0/artifact_refs/0/sha256"),
    ("figures_manifest.json", _set("figures", "fig_1", value="../../x.pdf"), "path.escape", "/figures/fig_1"),
    ("ear_published/manifest.lock", _set("bundle_sha256", value="0" * 64), "bundle.sha256", "/bundle_sha256"),
    ("ear_published/manifest.lock", _set("files", 0, "size", value=1), "bundle.sha256", "/files/0/size"),
    ("ear_published/manifest.lock", _set("files", 0, "path", value="../../tree.json"), "path.escape", "/files/0/path"),
    ("evaluation/claim_evidence_hard_gate_final.json", _set("policy", value="lax"), "schema.enum", "/policy"),
    ("idea.json", _set("ideas", 0, "_pinned", value="no"), "schema.type", "/ideas/0/_pinned"),
    ("evaluation_criteria.json", _set("higher_is_better", value=1), "schema.type", "/higher_is_better"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("file", "edit", "code", "where"), CASES, ids=[f"{c[0]}-{c[2]}-{c[3]}" for c in CASES]
)
def test_finding(study: Path, file: str, edit: Callable[[Any], object], code: str, where: str) -> None:
    _change(study / file, edit)
    assert (file, code, where, "error") in [(f.file, f.code, f.where, f.severity) for f in validate(study)]


def _found(study: Path) -> set[tuple[str, str, str, str]]:
    return {(f.file, f.code, f.where, f.severity) for f in validate(study)}


def test_the_digest_in_the_paper(study: Path) -> None:
    paper = study / "full_paper.tex"
    text = paper.read_text()
    paper.write_text(text.replace("\\codedigest{d0", "\\codedigest{d1"))
    assert _found(study) == {("full_paper.tex", "bundle.codedigest", "\\codedigest", "error")}
    paper.write_text(text.replace("\\codedigest{d0", "%\\codedigest{d1"))
    assert _found(study) == set()
    (study / "ear_published" / "stranger.txt").write_text("x")
    assert _found(study) == {("ear_published/manifest.lock", "bundle.sha256", "/files", "error")}
    (study / "ear_published" / "stranger.txt").unlink()
    (study / "ear_published" / "reproduce.sh").unlink()
    assert ("ear_published/manifest.lock", "bundle.sha256", "/files/3/sha256", "error") in _found(study)


def test_bad_lines_and_broken_archives(study: Path) -> None:
    backup = study / "memory_backup.jsonl.gz"
    backup.write_bytes(backup.read_bytes()[:-12])
    store = study / "memory_store.jsonl"
    lines = store.read_text().splitlines()
    lines[1] = "{broken"
    lines[2] = lines[2].replace("node_scope", "gossip")
    lines[3] = lines[3].replace('["node_root", "node_tile"]', '["node_tile"]')
    store.write_text("\n".join(lines) + "\n")
    (study / "lineage_decisions.jsonl").write_text('{"node_id": "ghost", "decision": "continue"}\n')
    (study / "cost_trace.jsonl").write_text('{"timestamp": "t"}\n{"b"')
    (study / "extra.json").write_text("[NaN]")
    (study / "evaluation" / "note.json").write_bytes(b"\xff\xfe{}")
    (study / "workflow.yaml").write_text("  \n")
    (study / "experiments" / "node_tile" / "results_2.json").write_text('{"a": NaN}')
    (study / "experiments" / "node_tile" / "results_3.json").write_text("{")
    assert _found(study) == {
        ("memory_backup.jsonl.gz", "gzip.invalid", "", "error"),
        ("memory_store.jsonl", "jsonl.bad_line", "line 2", "error"),
        ("memory_store.jsonl", "schema.enum", "line 3 /kind", "error"),
        ("memory_store.jsonl", "lineage.broken", "line 4 /ancestor_ids", "error"),
        ("lineage_decisions.jsonl", "ref.unknown_node", "line 1 /node_id", "error"),
        ("lineage_decisions.jsonl", "schema.required", "line 1 /rationale", "error"),
        ("lineage_decisions.jsonl", "schema.required", "line 1 /ts", "error"),
        ("cost_trace.jsonl", "jsonl.bad_line", "line 2", "warning"),
        ("extra.json", "json.invalid", "", "error"),
        ("evaluation/note.json", "json.invalid", "", "error"),
        ("workflow.yaml", "schema.required", "/stages", "error"),
        ("experiments/node_tile/results_2.json", "json.invalid", "", "warning"),
        ("experiments/node_tile/results_3.json", "json.invalid", "", "error"),
    }


def test_reports_in_folders_that_belong_to_nobody(study: Path) -> None:
    shutil.copytree(study / "experiments" / "node_tile", study / "experiments" / "stranger")
    file = "experiments/stranger/node_report.json"
    assert _found(study) == {(file, "tree.id_mismatch", "/node_id", "error")}
    _change(study / file, _set("node_id", value="stranger"))
    assert _found(study) == {(file, "ref.unknown_node", "/node_id", "error")}


def test_an_artifact_behind_a_link_that_leads_out(study: Path) -> None:
    artifact = study / "experiments" / "node_tile" / "results.csv"
    artifact.unlink()
    artifact.symlink_to("/etc/hostname")
    assert ("nodes_tree.json", "path.escape", "/nodes/node_tile/artifacts/0/path", "error") in _found(study)


def test_secrets_in_the_journal(finished: Path) -> None:
    journal = finished / "journal.jsonl"
    journal.write_text(
        journal.read_text().replace('"settings":{}', '"settings":{"llm":{"api_key":"hidden"}}')
    )
    findings = validate(finished)
    assert [(f.file, f.code, f.where) for f in findings] == [
        ("journal.jsonl", "secret.in_settings", "line 1 /settings/llm/api_key")
    ]
    assert "hidden" not in findings[0].message


def test_a_large_deep_tree_is_checked_in_one_pass(tmp_path: Path) -> None:
    count = 5_000
    nodes = {
        f"n{i}": {
            "id": f"n{i}",
            "parent_id": f"n{i - 1}" if i else None,
            "depth": i,
            "status": "completed",
            "label": "draft",
            "metrics": {},
            "score": 0.0,
            "children": [f"n{i + 1}"] if i < count - 1 else [],
        }
        for i in range(count)
    }
    document = {"schema_version": 1, "root_node_id": "n0", "nodes": nodes}
    (tmp_path / "tree.json").write_text(json.dumps(document))
    assert validate(tmp_path) == []
    assert Checkpoint.open(tmp_path).max_depth == count - 1


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(allow_nan=False)
    | st.sampled_from(["", "node_tile", "../x", "\0"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "path", "nodes", "node_id"]), inner, max_size=3)
    ),
    max_leaves=4,
)
FUZZED = sorted(
    path.relative_to(GFLOPS).as_posix()
    for path in GFLOPS.rglob("*")
    if path.suffix in {".json", ".lock", ".jsonl", ".gz", ".tex", ".yaml"}
    and "experiments/node_async" not in str(path)
)


def _places(document: Any, place: tuple = ()) -> list[tuple]:
    found = [place]
    items = (
        document.items()
        if isinstance(document, dict)
        else enumerate(document)
        if isinstance(document, list)
        else ()
    )
    for key, value in items:
        found += _places(value, (*place, key))
    return found


def _mutate(path: Path, data: st.DataObject) -> None:
    raw = path.read_bytes()
    if path.suffix in {".json", ".lock"} and data.draw(st.booleans()):
        document = json.loads(raw)
        place = data.draw(st.sampled_from(_places(document)))
        value = data.draw(VALUES)
        if place:
            _set(*place, value=value)(document)
        else:
            document = value
        path.write_text(json.dumps(document))
        return
    start = data.draw(st.integers(0, len(raw)))
    end = data.draw(st.integers(start, min(len(raw), start + 60)))
    path.write_bytes(raw[:start] + data.draw(st.binary(max_size=12)) + raw[end:])


@pytest.fixture(scope="module")
def linked_study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(GFLOPS, tmp_path_factory.mktemp("fuzz") / "study"))


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_content_makes_validation_or_reading_fail(linked_study: Path, data: st.DataObject) -> None:
    file = linked_study / data.draw(st.sampled_from(FUZZED))
    before = file.read_bytes()
    try:
        _mutate(file, data)
        assert isinstance(validate(linked_study), list)
        try:
            checkpoint = Checkpoint.open(linked_study)
        except AriError as error:
            assert str(linked_study) in str(error)
        else:
            assert checkpoint.best_node_id is None or checkpoint.best_node_id in checkpoint.nodes
            assert isinstance(checkpoint.nodes_tree(), dict)
    finally:
        file.write_bytes(before)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_journal_is_read_refused_or_repaired(finished: Path, tmp_path: Path, data: st.DataObject) -> None:
    original = (finished / "journal.jsonl").read_bytes()
    path = Path(shutil.copytree(finished, tmp_path / os.urandom(8).hex()))
    _mutate(path / "journal.jsonl", data)
    assert isinstance(validate(path), list)
    try:
        Checkpoint.open(path)
    except AriError:
        try:
            repair(path)
        except AriError as error:
            assert "first event is lost" in str(error) or "no event" in str(error)
            return
        Checkpoint.open(path, read_only=False).close()
        assert [f for f in validate(path) if f.severity == "error"] == []
    assert (finished / "journal.jsonl").read_bytes() == original


@pytest.mark.parametrize("path", [[], {}, None, 3])
def test_a_listed_path_of_another_type_is_a_finding_and_no_traceback(study: Path, path: Any) -> None:
    _change(study / "ear_published" / "manifest.lock", _set("files", 0, "path", value=path))
    assert any(f.where == "/files/0/path" and f.code == "schema.type" for f in validate(study))
