"""verified_context.json: what the memory supports, on the line to the best node, with files as recorded."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from ari.checkpoint import Checkpoint, validate
from ari.memory import open_memory, remember_all
from ari.pipeline.verified_context import verified_context, write_verified_context

STUDIES = Path(__file__).resolve().parents[2] / "studies"


@pytest.fixture
def kepler(tmp_path: Path) -> Path:
    """A recorded study whose best node is the root, with its memory."""
    path = Path(shutil.copytree(STUDIES / "kepler", tmp_path / "kepler"))
    remember_all(Checkpoint.open(path), open_memory(path))
    return path


def test_claims_carry_hashes_that_were_checked_and_whether_they_were_repeated(kepler: Path) -> None:
    answer = write_verified_context(checkpoint=kepler)
    document = json.loads((kepler / "verified_context.json").read_text())
    study = Checkpoint.open(kepler)
    assert document["best_node_id"] == study.best_node_id
    assert document["lineage"][0] == study.root_node_id and document["lineage"][-1] == study.best_node_id
    assert answer["usable_for_claims"] == len(document["usable_for_claims"]) >= 1
    best = document["usable_for_claims"][-1]
    assert best["repro_status"] == "rerun_passed"
    assert [ref["path"] for ref in best["artifact_refs"]] == ["formula.json"]
    assert [f for f in validate(kepler) if f.file == "verified_context.json"] == []


def test_a_changed_file_makes_its_claim_a_limitation(kepler: Path) -> None:
    lineage = json.loads(json.dumps(verified_context(kepler)))["lineage"]
    for node in lineage:
        (kepler / "experiments" / node / "formula.json").write_text('{"formula": "a**2"}')
    write_verified_context(checkpoint=kepler)
    assert not (kepler / "verified_context.json").exists()
    (kepler / "experiments" / lineage[0] / "formula.json").unlink()
    assert verified_context(kepler) is None


def test_without_a_memory_there_is_no_file_and_an_old_one_goes(kepler: Path) -> None:
    write_verified_context(checkpoint=kepler)
    (kepler / "memory_store.jsonl").unlink()
    answer = write_verified_context(checkpoint=kepler)
    assert answer["summary"] == "no supported claim: no file is written"
    assert not (kepler / "verified_context.json").exists()


def test_what_an_agent_says_supports_nothing(kepler: Path) -> None:
    lines = (kepler / "memory_store.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    for record in records:
        record["metadata"]["source"] = "agent"
    (kepler / "memory_store.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    assert verified_context(kepler) is None
