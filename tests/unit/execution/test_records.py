from __future__ import annotations

import json

import pytest

from ari.errors import ExecutionError, FormatError
from ari.execution.records import (
    FILE_NAME,
    FileRecord,
    OutputRecord,
    RunRecord,
    RunRecordFile,
    SandboxRecord,
    StreamRecord,
    load,
    save,
)


def record(**fields) -> RunRecord:
    base = {
        "index": 0,
        "command": "true",
        "argv": ["true"],
        "exit_status": 0,
        "outcome": "ok",
        "started_at": "2030-01-02T03:04:05.678Z",
        "duration_s": 0.1,
        "cpu_s": 0.05,
        "max_rss_bytes": 1,
        "stdout": "α",
        "stdout_info": StreamRecord(size=2, truncated=False),
        "stderr": "",
        "stderr_info": StreamRecord(size=0, truncated=False),
        "inputs": [FileRecord(path="a", sha256="0" * 64, size=1)],
        "outputs": [OutputRecord(path="b", sha256="1" * 64, size=1, change="added")],
        "environment": {"python": "3.11"},
        "limits": {"wall_s": 1.0},
        "sandbox": SandboxRecord(kind="plain", reason="asked for"),
    }
    return RunRecord.model_validate(base | fields)


def test_no_file_is_no_run(tmp_path):
    assert load(tmp_path / "nowhere", node_id="n").runs == []


def test_what_was_saved_is_loaded(tmp_path):
    content = RunRecordFile(node_id="n", runs=[record(), record(index=1, outcome="failed")])
    save(tmp_path / "made", content)
    assert load(tmp_path / "made") == content
    assert [path.name for path in (tmp_path / "made").iterdir()] == [FILE_NAME]


def test_the_file_names_its_version_and_node(tmp_path):
    save(tmp_path, RunRecordFile(node_id="n", runs=[record()]))
    raw = json.loads((tmp_path / FILE_NAME).read_text())
    assert (raw["schema_version"], raw["node_id"], raw["runs"][0]["stdout"]) == (1, "n", "α")


def test_unknown_keys_survive(tmp_path):
    (tmp_path / FILE_NAME).write_text(
        json.dumps({"schema_version": 1, "node_id": "n", "runs": [], "later": {"a": 1}})
    )
    save(tmp_path, load(tmp_path))
    assert json.loads((tmp_path / FILE_NAME).read_text())["later"] == {"a": 1}


@pytest.mark.parametrize(
    "text", ["", "[]", '{"schema_version": 1, "node_id": "n", "runs": [{}]}', '{"runs": "no"}']
)
def test_a_damaged_file_is_refused_by_name(tmp_path, text):
    (tmp_path / FILE_NAME).write_text(text)
    with pytest.raises(FormatError, match=r"run_record.json is not a run record.*\n.*aside"):
        load(tmp_path)


def test_a_folder_that_cannot_be_made_is_an_error_with_a_cure(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ExecutionError, match=r"(?s)cannot be written.*Free space"):
        save(tmp_path / "file" / "records", RunRecordFile(node_id="n"))


def test_output_finds_a_file_that_the_run_wrote():
    found = record().output("b")
    assert found is not None and found.change == "added"
    assert record().output("a") is None
