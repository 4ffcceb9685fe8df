"""Repair keeps what can be kept and says what is lost; migration writes the present shape."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from checkpoint_builders import add_node

from ari.checkpoint import Checkpoint, migrate, repair, validate
from ari.errors import CheckpointError, LockHeldError

VECTORS = Path(__file__).parents[2] / "conformance" / "vectors" / "checkpoints"


def _lines(path: Path) -> list[bytes]:
    return (path / "journal.jsonl").read_bytes().splitlines(keepends=True)


def _damage(path: Path, line: int, new: bytes = b'{"broken\n') -> list[bytes]:
    lines = _lines(path)
    lines[line - 1] = new
    (path / "journal.jsonl").write_bytes(b"".join(lines))
    return lines


def test_a_sound_checkpoint_is_left_alone(finished: Path) -> None:
    before = {p: p.read_bytes() for p in finished.iterdir()}
    report = repair(finished)
    assert not report.changed and report.lost == [] and report.backups == []
    assert {p: p.read_bytes() for p in finished.iterdir()} == before


def test_a_lost_result_makes_the_node_run_again(finished: Path) -> None:
    original = (finished / "journal.jsonl").read_bytes()
    lines = _damage(finished, 4)  # node_finished of n0
    report = repair(finished)
    assert [backup.read_bytes() for backup in report.backups] == [b"".join(lines)] != [original]
    assert len(report.lost) == 1 and report.lost[0].startswith("line 4 of journal.jsonl")
    store = Checkpoint.open(finished)
    assert {n.id: n.status for n in store.nodes.values()} == {
        "n0": "running",
        "n1": "completed",
        "n2": "errored",
        "n3": "pending",
    }
    *_, last = store.events()
    assert (last["event"], last["dropped_lines"], last["backup"]) == (
        "journal_repaired",
        [4],
        report.backups[0].name,
    )
    assert validate(finished) == []
    with Checkpoint.open(finished, read_only=False) as writer:
        add_node(writer, "n4", "n0", metrics={"r2": 1.0}, score=1.0)


def test_a_lost_node_comes_back_from_the_tree(finished: Path) -> None:
    _damage(finished, 2)  # node_created of n0, the root
    report = repair(finished)
    assert any("brought back node n0" in action for action in report.actions)
    store = Checkpoint.open(finished)
    assert list(store.nodes) == ["n0", "n1", "n2", "n3"]
    assert store.nodes["n0"].metrics == {"r2": 0.5}
    assert validate(finished) == []


def test_tree_files_that_contradict_the_journal_bring_nothing_back(finished: Path) -> None:
    path = finished / "journal.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[1] = lines[1].replace(b'"id":"n0"', b'"id":" n0"')  # the root under another name
    path.write_bytes(b"".join(lines))
    report = repair(finished)
    assert any("node n0 of the tree files" in loss for loss in report.lost)
    Checkpoint.open(finished, read_only=False).close()
    assert [finding for finding in validate(finished) if finding.severity == "error"] == []


def test_what_rests_on_a_node_that_nobody_knows_is_dropped_and_named(finished: Path) -> None:
    _damage(finished, 5)  # node_created of n1
    (finished / "tree.json").unlink()
    report = repair(finished)
    store = Checkpoint.open(finished)
    assert list(store.nodes) == ["n0", "n2"]
    assert len(report.lost) == 4  # the line itself, n1's start and end, and n3 below it
    assert validate(finished) == []


def test_a_run_whose_beginning_is_lost_cannot_be_guessed(finished: Path) -> None:
    _damage(finished, 1)
    before = (finished / "journal.jsonl").read_bytes()
    with pytest.raises(CheckpointError, match="first event is lost"):
        repair(finished)
    assert (finished / "journal.jsonl").read_bytes() == before


def test_repair_respects_the_lock_and_frees_one_on_demand(finished: Path) -> None:
    with Checkpoint.open(finished, read_only=False):
        with pytest.raises(LockHeldError):
            repair(finished)
        with pytest.raises(LockHeldError):
            repair(finished, take_over=True)
    (finished / "lock").write_text(json.dumps({"pid": 1, "host": "elsewhere.example"}))
    with pytest.raises(LockHeldError):
        repair(finished)
    assert "took over" in repair(finished, take_over=True).actions[0]
    Checkpoint.open(finished, read_only=False).close()


def test_half_lines_of_other_logs_are_cut_and_kept_in_a_copy(finished: Path) -> None:
    log = finished / "cost_trace.jsonl"
    log.write_bytes(b'{"a": 1}\n{"b"')
    (finished / "memory_access.jsonl").write_bytes(b'{"whole": 1}')
    report = repair(finished)
    assert log.read_bytes() == b'{"a": 1}\n'
    assert [backup.name for backup in report.backups] == ["cost_trace.jsonl.damaged-1"]
    assert (finished / "memory_access.jsonl").read_bytes() == b'{"whole": 1}'
    log.write_bytes(b'{"c"')
    assert [backup.name for backup in repair(finished).backups] == ["cost_trace.jsonl.damaged-2"]


def test_without_a_journal_the_tree_comes_from_the_full_detail(tmp_path: Path) -> None:
    copy = Path(shutil.copytree(VECTORS / "gflops_run", tmp_path / "c"))
    (copy / "tree.json").write_bytes((copy / "tree.json").read_bytes()[:400])
    repair(copy)
    assert validate(copy) == []
    assert Checkpoint.open(copy).best_node_id == "node_simd"


@pytest.mark.parametrize("name", ["gflops_run", "failing_run", "legacy_upstream"])
def test_migration_writes_a_sound_checkpoint_that_can_be_gone_on_with(name: str, tmp_path: Path) -> None:
    source = Checkpoint.open(VECTORS / name)
    report = migrate(VECTORS / name, tmp_path / "out")
    assert report.nodes == len(source.nodes) and report.notes == []
    assert validate(report.target) == []
    target = Checkpoint.open(report.target)
    assert target.status_counts == source.status_counts
    assert target.best_node_id == source.best_node_id
    for node in source.nodes.values():
        copy = target.nodes[node.id]
        assert (copy.metrics, copy.score, copy.label, copy.raw_label) == (
            node.metrics,
            node.score,
            node.label,
            node.raw_label,
        )
        assert (copy.parent_id, copy.children, copy.has_real_data) == (
            node.parent_id,
            node.children,
            node.has_real_data,
        )
        assert copy.work_dir == f"experiments/{node.id}"
        assert (target.path / copy.work_dir / "node_report.json").is_file() or node.status == "pending"
    with Checkpoint.open(report.target, read_only=False) as store:
        store.append("run_resumed", pid=1)
        add_node(store, "fresh", store.root_node_id, metrics={"x": 1.0})
        store.write_nodes_tree()
    assert validate(report.target) == []
    traces = json.loads((report.target / "nodes_tree.json").read_text())["nodes"]
    assert traces[source.root_node_id]["trace_log"] != []


def test_migration_reads_a_legacy_shape_as_specified(tmp_path: Path) -> None:
    target = migrate(VECTORS / "legacy_upstream", tmp_path / "out").target
    settings = json.loads((target / "settings.json").read_text())
    assert (settings["model"], settings["provider"]) == ("m", "ollama")
    decisions = [json.loads(line) for line in (target / "lineage_decisions.jsonl").read_text().splitlines()]
    assert [record["decision"] for record in decisions] == ["continue", "switch_to_idea"]
    idea = json.loads((target / "idea.json").read_text())["ideas"][0]
    assert (idea["primary_metric"], idea["_pinned"]) == ("GFlops/s", False)
    assert (target / "full_paper.tex").is_file() and (target / "ear_published" / "manifest.lock").is_file()


def test_migration_leaves_secrets_behind_and_says_so(tmp_path: Path) -> None:
    source = Path(shutil.copytree(VECTORS / "gflops_run", tmp_path / "in"))
    settings = json.loads((source / "settings.json").read_text())
    settings["registries"][0]["token"] = "hidden-value"
    (source / "settings.json").write_text(json.dumps(settings))
    report = migrate(source, tmp_path / "out")
    assert len(report.notes) == 1 and "/registries/0/token" in report.notes[0]
    assert "hidden-value" not in (report.target / "settings.json").read_text()


def test_migration_never_writes_over_anything(finished: Path, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("x")
    with pytest.raises(CheckpointError, match="is not empty"):
        migrate(finished, tmp_path / "full")
    with pytest.raises(CheckpointError, match="lies inside"):
        migrate(finished, finished / "inner")
    with pytest.raises(CheckpointError, match=r"can only be read\n.*ari migrate"):
        Checkpoint.open(VECTORS / "gflops_run", read_only=False)


def test_a_node_id_that_is_a_path_is_refused(tmp_path: Path) -> None:
    source = Path(shutil.copytree(VECTORS / "failing_run", tmp_path / "in"))
    for name in ("tree.json", "nodes_tree.json"):
        text = (source / name).read_text()
        (source / name).write_text(text.replace('"node_d4"', '"../../evil"'))
    with pytest.raises(CheckpointError, match="cannot name a folder"):
        migrate(source, tmp_path / "out")
    assert not (tmp_path / "evil").exists()
