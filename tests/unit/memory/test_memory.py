"""The memory of a study: bounded, idempotent, limited to a node's line, and what of it is evidence."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ari.agent.task import NodeTask, Relative
from ari.checkpoint import Checkpoint, validate
from ari.errors import FormatError
from ari.execution.limits import Limits
from ari.execution.runner import Runner
from ari.formats.memory_store import memory_problems
from ari.memory import Entry, FileMemory, consolidate, remember_all
from ari.memory.base import MAX_TEXT
from ari.pipeline.experiment_spec import Experiment
from ari.skills import call_tool
from ari.skills.session import NodeSession


def entry(name: str, node: str = "n0", text: str = "something", **more: object) -> Entry:
    base = {
        "ancestor_ids": (),
        "kind": "node_scope",
        "mem_kind": "experiment_result",
        "ts": "2026-01-01T00:00:00Z",
    }
    return Entry(id=name, node_id=node, text=text, **{**base, **more})  # type: ignore[arg-type]


@pytest.fixture
def study(tmp_path: Path) -> Checkpoint:
    store = Checkpoint.create(tmp_path / "s", run_id="r", primary_metric="r2", higher_is_better=True)
    parent = None
    ends = [
        {"status": "completed", "has_real_data": True, "metrics": {"r2": 0.5}, "eval_summary": "r2 = 0.5"},
        {"status": "errored", "error": "it divided by zero"},
        {"status": "completed", "search_state": {"sterile": True}, "eval_summary": "r2 = 0.5"},
    ]
    for number, end in enumerate(ends):
        node = {
            "id": f"n{number}",
            "parent_id": parent,
            "depth": min(number, 1),
            "label": "draft",
            "order": number,
        }
        store.append("node_created", node={**node, "plan": {"summary": f"Try {number}."}})
        store.append("node_started", node_id=f"n{number}", attempt=1)
        folder = store.path / "experiments" / f"n{number}"
        folder.mkdir(parents=True)
        (folder / "node_report.json").write_text(json.dumps({"what_was_done": f"did {number}"}))
        artifacts = [{"path": "formula.json", "sha256": "0" * 64, "role": "data_output"}]
        store.append("node_finished", node_id=f"n{number}", artifacts=artifacts, **end)
        parent = "n0"
    return store


def test_what_ended_nodes_remember_is_typed_and_valid(study: Checkpoint) -> None:
    memory = FileMemory(study.path)
    assert consolidate(memory, study, study.nodes.values()) == 6
    records = [json.loads(line) for line in (study.path / "memory_store.jsonl").read_text().splitlines()]
    assert all(memory_problems(record) == [] for record in records)
    found = {
        r["node_id"]: (r["metadata"]["mem_kind"], r["text"]) for r in records if r["kind"] == "node_scope"
    }
    assert found == {
        "n0": ("experiment_result", "Try 0. r2 = 0.5"),
        "n1": ("failure_case", "Try 1. It failed: it divided by zero"),
        "n2": ("no_change", "Try 2. It changed nothing against its parent."),
    }
    assert records[2]["ancestor_ids"] == ["n0"]
    assert records[0]["metadata"]["artifact_refs"] == [{"path": "formula.json", "sha256": "0" * 64}]
    assert [e.supported for e in memory.entries(kind="node_scope")] == [True, False, False]
    study.close()
    assert [f for f in validate(study.path) if f.file.startswith("memory")] == []


def test_consolidating_again_after_a_kill_adds_only_what_is_missing(study: Checkpoint) -> None:
    memory = FileMemory(study.path)
    consolidate(memory, study, [study.nodes["n1"]])
    whole = (study.path / "memory_store.jsonl").read_bytes()
    (study.path / "memory_store.jsonl").write_bytes(whole[: len(whole) - 30])  # the last append was cut off
    fresh = FileMemory(study.path)
    assert consolidate(fresh, study, study.nodes.values()) == 5
    remember_all(study, fresh)
    again = FileMemory(study.path)
    assert [e.node_id for e in again.entries()] == ["n0", "n0", "n1", "n1", "n2", "n2"]
    before = (study.path / "memory_store.jsonl").read_bytes()
    remember_all(study, again)
    assert (study.path / "memory_store.jsonl").read_bytes() == before


def test_entries_are_bounded_and_limited_to_nodes(tmp_path: Path) -> None:
    memory = FileMemory(tmp_path)
    memory.add([entry("a", "n0", "x " * 5000), entry("b", "n1"), entry("b", "n1", "again")])
    assert [len(e.text) for e in memory.entries()] == [MAX_TEXT, 9]
    assert [e.id for e in memory.entries(node_ids={"n1"})] == ["b"]


def test_recall_ranks_by_shared_words(tmp_path: Path) -> None:
    memory = FileMemory(tmp_path)
    memory.add(
        [entry("a", text="tiles of 64 rows"), entry("b", text="prefetch off"), entry("c", "n9", "tiles")]
    )
    assert [e.id for e in memory.recall("which tiles and rows", node_ids={"n0"})] == ["a"]
    assert [e.id for e in memory.recall("", node_ids={"n0"})] == ["b", "a"]
    log = [json.loads(line) for line in (tmp_path / "memory_access.jsonl").read_text().splitlines()]
    assert [line["op"] for line in log] == ["write", "write", "write", "read", "read"]


def test_many_may_write_at_once(tmp_path: Path) -> None:
    def write(number: int) -> int:
        return FileMemory(tmp_path).add([entry(f"e{number}"), entry("shared")])

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(write, range(20))) == 21
    assert len(FileMemory(tmp_path).entries()) == 21


def test_a_damaged_store_is_refused_with_its_line(tmp_path: Path) -> None:
    memory = FileMemory(tmp_path)
    memory.add([entry("a"), entry("b")])
    lines = (tmp_path / "memory_store.jsonl").read_text().splitlines()
    (tmp_path / "memory_store.jsonl").write_text(f"{{broken\n{lines[1]}\n")
    with pytest.raises(FormatError, match=r"memory_store\.jsonl, line 1"):
        memory.entries()


def test_a_node_remembers_for_its_descendants_and_sees_no_siblings(tmp_path: Path) -> None:
    experiment = Experiment(title="t", question="q", kind="command", primary_metric="s", command="true")

    def session(node: str, *ancestors: str) -> NodeSession:
        known = {
            "label": "draft",
            "status": "completed",
            "score": 0.0,
            "metrics": {},
            "plan": {},
            "submission": {},
        }
        task = NodeTask(
            checkpoint=str(tmp_path),
            node_id=node,
            parent_id=ancestors[-1] if ancestors else None,
            label="draft",
            depth=len(ancestors),
            order=0,
            plan={},
            experiment=experiment,
            higher_is_better=True,
            ancestors=tuple(Relative(node_id=name, **known) for name in ancestors),  # type: ignore[arg-type]
        )
        folder = tmp_path / "work"
        folder.mkdir(exist_ok=True)
        runner = Runner(records_dir=tmp_path / "records", work_dir=folder, limits=Limits(), node_id=node)
        return NodeSession(task=task, work_dir=folder, runner=runner)

    assert call_tool("memory", session("n0"), "remember", {"text": "tiles help"})["added"]
    assert not call_tool("memory", session("n0"), "remember", {"text": "tiles help"})["added"]
    call_tool("memory", session("n2", "n0"), "remember", {"text": "tiles hurt"})
    seen = call_tool("memory", session("n1", "n0"), "recall", {"query": "tiles"})["entries"]
    assert [record["text"] for record in seen] == ["tiles help"]
    assert not FileMemory(tmp_path).entries()[0].supported
