"""The store: what is recorded, what is derived, what is refused."""

from __future__ import annotations

import hashlib
import json
import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from checkpoint_builders import add_node, create

from ari.checkpoint import Checkpoint, validate
from ari.errors import CheckpointError, FormatError, LockHeldError, PathEscapeError
from ari.formats.node_report import NodeReport


def test_a_reader_sees_what_a_writer_recorded(finished: Path) -> None:
    store = Checkpoint.open(finished)
    assert list(store.nodes) == ["n0", "n1", "n2", "n3"]
    assert store.root_node_id == "n0"
    assert store.nodes["n0"].children == ["n1", "n2"]
    assert store.nodes["n2"].error == "exit 1"
    assert store.status_counts == {"completed": 2, "errored": 1, "pending": 1}
    assert store.max_depth == 2
    assert (store.meta.run_id, store.meta.seed) == ("run", 7)
    assert [event["seq"] for event in store.events()] == list(range(1, 12))
    assert store.best_node_id is None
    assert store.warnings == []


def test_a_fresh_run_is_a_sound_checkpoint_at_every_step(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    with create(path) as store:
        add_node(store, "n0", metrics={"r2": math.nan}, score=math.nan, has_real_data=True)
        assert validate(path) == []
        add_node(store, "n1", "n0", metrics={"r2": 0.25}, score=0.25, has_real_data=True)
        store.append(
            "lineage_decision", node_id="n1", decision="switch_to_idea", rationale="flat", idea_index=1
        )
        store.append("node_state", node_id="n0", search_state={"retired": True, "expansions": 4})
        store.write_nodes_tree()
        store.write_results("n1")
        store.append("run_finished", reason="node limit", best_node_id="n1")
        assert validate(path) == []
    assert validate(path) == []
    reader = Checkpoint.open(path)
    assert reader.best_node_id == "n1"
    assert reader.state.idea_index == 1
    assert reader.nodes["n0"].search_state.expansions == 4
    assert json.loads((path / "lineage_decisions.jsonl").read_text())["decision"] == "switch_to_idea"
    assert json.loads((path / "tree.json").read_text())["nodes"]["n0"]["search_state"]["retired"] is True


def test_non_finite_metrics_are_encoded_and_the_score_stays_finite(tmp_path: Path) -> None:
    with create(tmp_path / "c") as store:
        metrics = {
            "a": math.nan,
            "b": -math.inf,
            "c": "1e400",
            "d": -0.0,
            "e": np.float32("nan"),
            "f": np.int64(3),
        }
        add_node(store, "n0", metrics=metrics, score=math.inf)
        node = Checkpoint.open(store.path).nodes["n0"]
    assert node.metrics == {"a": None, "b": None, "c": None, "d": 0.0, "e": None, "f": 3}
    assert math.copysign(1, node.metrics["d"]) == -1
    kinds = {name: note["non_finite"] for name, note in node.metrics_with_metadata.items()}
    assert kinds == {"a": "nan", "b": "-inf", "c": "+inf", "e": "nan"}
    assert node.score == 0.0


def test_a_boolean_is_no_metric_and_nothing_is_recorded(tmp_path: Path) -> None:
    with create(tmp_path / "c") as store:
        add_node(store, "n0")
        store.append("node_started", node_id="n0")
        before = (store.path / "journal.jsonl").read_bytes()
        with pytest.raises(FormatError, match="metric 'timeout': a metric must be a number, not bool"):
            store.append("node_finished", node_id="n0", status="completed", metrics={"timeout": True})
        assert (store.path / "journal.jsonl").read_bytes() == before
        assert store.nodes["n0"].status == "running"


@pytest.mark.parametrize(
    ("event", "fields", "message"),
    [
        ("node_created", {"node": {"id": "n0"}}, "/node/parent_id: Field required"),
        ("node_exploded", {"node_id": "n0"}, "no event is called 'node_exploded'"),
        ("node_finished", {"node_id": "n0", "status": "done"}, "/status"),
    ],
)
def test_an_event_out_of_shape_is_refused(finished: Path, event: str, fields: dict, message: str) -> None:
    with Checkpoint.open(finished, read_only=False) as store:
        with pytest.raises(FormatError, match=message):
            store.append(event, **fields)
        assert len(list(store.events())) == 11


def _node(**changes: object) -> dict:
    return {"id": "n9", "parent_id": "n0", "depth": 1, "label": "improve", "order": 9, "plan": {}, **changes}


@pytest.mark.parametrize(
    ("event", "fields", "message"),
    [
        ("node_created", {"node": _node(id="n1")}, "n1 has been created already"),
        ("node_created", {"node": _node(parent_id="ghost")}, "unknown parent ghost"),
        ("node_created", {"node": _node(depth=3)}, "depth 3 instead of 1"),
        ("node_created", {"node": _node(parent_id=None, depth=0)}, "the root is n0"),
        ("node_started", {"node_id": "n1"}, "has finished .completed. and is not run twice"),
        ("node_finished", {"node_id": "n2", "status": "completed"}, "has finished already"),
        ("node_state", {"node_id": "ghost", "search_state": {}}, "unknown node ghost"),
        ("run_finished", {"reason": "end", "best_node_id": "ghost"}, "unknown node ghost"),
        ("run_created", {"run_id": "b", "primary_metric": "x", "higher_is_better": True}, "created already"),
    ],
)
def test_an_event_that_contradicts_the_state_is_refused(
    finished: Path, event: str, fields: dict, message: str
) -> None:
    with Checkpoint.open(finished, read_only=False) as store:
        with pytest.raises(CheckpointError, match=message):
            store.append(event, **fields)
        assert len(list(store.events())) == 11
    assert validate(finished) == []


def test_a_resumed_run_keeps_every_node_and_marks_new_ones_with_its_session(finished: Path) -> None:
    before = dict(Checkpoint.open(finished).nodes)
    with Checkpoint.open(finished, read_only=False) as store:
        store.append("run_resumed", pid=1)
        add_node(store, "n4", "n1", metrics={"r2": 0.1}, score=0.1)
        store.append("node_started", node_id="n3", attempt=1)
    after = Checkpoint.open(finished)
    for node_id in ("n0", "n1", "n2"):
        expected = before[node_id]
        expected.children = after.nodes[node_id].children
        assert after.nodes[node_id] == expected
    assert [node.session for node in after.nodes.values()] == [1, 1, 1, 1, 2]


def test_a_second_measurement_is_merged(finished: Path) -> None:
    with Checkpoint.open(finished, read_only=False) as store:
        store.append("node_evaluated", node_id="n1", metrics={"r2_sealed": 0.8, "mse": math.nan})
    node = Checkpoint.open(finished).nodes["n1"]
    assert node.metrics == {"r2": 0.9, "r2_sealed": 0.8, "mse": None}
    assert node.metrics_with_metadata["mse"]["non_finite"] == "nan"


def test_an_existing_checkpoint_is_never_created_over(finished: Path) -> None:
    before = (finished / "journal.jsonl").read_bytes()
    with pytest.raises(CheckpointError, match=r"holds a checkpoint already\n.*ari resume"):
        create(finished)
    assert (finished / "journal.jsonl").read_bytes() == before


def test_a_run_that_never_began_can_be_created_again(tmp_path: Path) -> None:
    path = tmp_path / "c"
    path.mkdir()
    (path / "journal.jsonl").write_bytes(b'{"seq": 1, "ts": "2026')
    (path / "experiment.md").write_text("Metrics: r2\n")
    with pytest.raises(CheckpointError, match="stopped before it began"):
        Checkpoint.open(path)
    with create(path) as store:
        add_node(store, "n0")
    assert list(Checkpoint.open(path).nodes) == ["n0"]
    assert (path / "experiment.md").read_text() == "Metrics: r2\n"


def test_opening_what_is_no_checkpoint_says_so(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="holds no checkpoint"):
        Checkpoint.open(tmp_path)
    with pytest.raises(CheckpointError, match="is no directory"):
        Checkpoint.open(tmp_path / "missing")
    for name in ("a", "b"):
        create(tmp_path / "checkpoints" / name).close()
    with pytest.raises(CheckpointError, match="several checkpoints"):
        Checkpoint.open(tmp_path)
    assert Checkpoint.open(tmp_path / "checkpoints" / "a").meta.run_id == "run"


def test_readers_write_nothing_and_need_no_lock(finished: Path) -> None:
    with Checkpoint.open(finished, read_only=False):
        before = sorted((p, p.stat().st_mtime_ns) for p in finished.rglob("*"))
        reader = Checkpoint.open(finished)
        reader.nodes_tree()
        assert sorted((p, p.stat().st_mtime_ns) for p in finished.rglob("*")) == before
        with pytest.raises(CheckpointError, match="opened for reading"):
            reader.append("run_resumed", pid=1)
        with pytest.raises(LockHeldError):
            Checkpoint.open(finished, read_only=False)


def test_products_are_written_inside_and_strictly(finished: Path) -> None:
    report = NodeReport.model_validate(
        {
            "schema_version": 1,
            "node_id": "n1",
            "label": "draft",
            "depth": 1,
            "status": "completed",
            "files_changed": {"added": [], "modified": [], "deleted": ["a"], "inherited_unchanged": []},
            "metrics": {"r2": 0.9},
            "artifacts": [],
        }
    )
    with Checkpoint.open(finished, read_only=False) as store:
        path = store.write_product("experiments/n1/node_report.json", report)
        assert NodeReport.read(path) == report
        assert store.write_product("evaluation/a.txt", "ü").read_bytes() == "ü".encode()
        for relpath in ("../outside", "/etc/x", "a/../../b", ""):
            with pytest.raises(PathEscapeError):
                store.write_product(relpath, b"")
        for relpath in ("journal.jsonl", "lock"):
            with pytest.raises(CheckpointError, match="is no product"):
                store.write_product(relpath, b"")
        with pytest.raises(FormatError, match="'/a/1' is not finite"):
            store.write_product("x.json", {"a": [1, math.nan]})
        with pytest.raises(FormatError, match="secret at /api_key"):
            store.write_product("settings.json", {"api_key": "abc"})
    assert validate(finished) == []


def test_settings_with_a_secret_never_reach_the_journal(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="secret at /openai/apiKey") as caught:
        Checkpoint.create(
            tmp_path / "c",
            run_id="r",
            primary_metric="x",
            higher_is_better=True,
            settings={"openai": {"apiKey": "hidden-value"}},
        )
    assert "hidden-value" not in str(caught.value)
    assert not (tmp_path / "c" / "journal.jsonl").exists()


def test_only_a_known_and_fertile_node_can_be_best(finished: Path) -> None:
    with Checkpoint.open(finished, read_only=False) as store:
        store.append("node_state", node_id="n0", search_state={"sterile": True})
        with pytest.raises(CheckpointError, match="sterile"):
            store.write_results("n0")
        with pytest.raises(CheckpointError, match="unknown node"):
            store.write_results("ghost")
        store.write_results(None)
    assert Checkpoint.open(finished).best_node_id is None
    assert validate(finished) == []


def test_changed_data_are_refused_by_name(tmp_path: Path) -> None:
    data = tmp_path / "table.csv"
    data.write_text("a,b\n1,2\n")
    recorded = hashlib.sha256(data.read_bytes()).hexdigest()
    store = Checkpoint.create(
        tmp_path / "c",
        run_id="r",
        primary_metric="r2",
        higher_is_better=True,
        meta={"data_hashes": {"table.csv": recorded}},
    )
    store.close()
    reader = Checkpoint.open(store.path)
    reader.verify_data_hashes(tmp_path)
    data.write_text("a,b\n1,3\n")
    changed = hashlib.sha256(data.read_bytes()).hexdigest()
    with pytest.raises(CheckpointError, match=f"table.csv has sha256 {changed} instead of {recorded}"):
        reader.verify_data_hashes(tmp_path)
    data.unlink()
    with pytest.raises(CheckpointError, match=r"table\.csv cannot be read"):
        reader.verify_data_hashes(tmp_path)


def test_full_detail_holds_traces_and_stays_valid(finished: Path) -> None:
    records = finished / "records" / "n1"
    records.mkdir(parents=True)
    (records / "trace.jsonl").write_bytes(b'{"role":"tool","content":"exit 0"}\n{"role":"assis')
    with Checkpoint.open(finished, read_only=False) as store:
        store.write_nodes_tree()
    nodes = json.loads((finished / "nodes_tree.json").read_text())["nodes"]
    assert nodes["n1"]["trace_log"] == [{"role": "tool", "content": "exit 0"}]
    assert nodes["n0"]["trace_log"] == []
    assert nodes["n1"]["work_dir"] == "experiments/n1"
    assert validate(finished) == []


def test_unknown_keys_of_events_are_kept(finished: Path) -> None:
    with Checkpoint.open(finished, read_only=False) as store:
        store.append("node_created", node=_node(origin="crossover"))
        store.append("node_finished", node_id="n9", status="completed", formula="x + 1")
    assert Checkpoint.open(finished).nodes["n9"].extra == {"origin": "crossover", "formula": "x + 1"}


def test_a_writer_removes_what_a_killed_one_left(finished: Path) -> None:
    leftover = finished / ".tree.json.99.0.ari-tmp"
    leftover.write_text("half")
    (finished / "tree.json").unlink()
    Checkpoint.open(finished, read_only=False).close()
    assert not leftover.exists()
    assert validate(finished) == []


def test_a_deleted_journal_is_noticed(finished: Path) -> None:
    store = Checkpoint.open(finished, read_only=False)
    (finished / "journal.jsonl").unlink()
    with pytest.raises(CheckpointError, match="deleted while the run went on"):
        store.append("run_resumed", pid=1)
    store.close()


def test_a_journal_changed_by_another_program_is_noticed(finished: Path) -> None:
    store = Checkpoint.open(finished, read_only=False)
    with (finished / "journal.jsonl").open("ab") as stream:
        stream.write(b"{}\n")
    with pytest.raises(CheckpointError, match="another program changed it"):
        store.append("run_resumed", pid=1)
    store.close()


def test_every_file_is_strict_json_whatever_was_measured(tmp_path: Path) -> None:
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    with create(tmp_path / "c") as store:
        metrics = {"a": math.nan, "b": math.inf, "c": np.float32("-inf"), "d": -0.0}
        nested = [{"path": "x", "sha256": None, "spread": [1.0, None]}]
        add_node(store, "n0", metrics=metrics, score=math.nan, artifacts=nested, duration_s=0.5)
        store.write_nodes_tree()
        store.write_results("n0")
    for name in ("tree.json", "nodes_tree.json", "results.json", "meta.json"):
        document = json.loads((store.path / name).read_bytes(), parse_constant=refuse)
        if name != "meta.json":
            stored = document["nodes"]["n0"]["metrics"]
            assert stored == {"a": None, "b": None, "c": None, "d": 0.0}
            assert math.copysign(1, stored["d"]) == -1
    for line in (store.path / "journal.jsonl").read_bytes().splitlines():
        json.loads(line, parse_constant=refuse)


def test_events_of_several_threads_are_recorded_one_after_the_other(tmp_path: Path) -> None:
    with create(tmp_path / "c") as store, ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda i: store.append("run_interrupted", reason=str(i)), range(40)))
    events = list(Checkpoint.open(tmp_path / "c").events())
    assert [event["seq"] for event in events] == list(range(1, 42))
    assert {event["reason"] for event in events[1:]} == {str(i) for i in range(40)}
