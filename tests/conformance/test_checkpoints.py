"""Recorded checkpoints: sound ones, one in a legacy shape, and damaged copies."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ari.checkpoint import Checkpoint, validate
from ari.formats import legacy
from ari.formats.jsonio import strict_loads
from ari.formats.memory_store import read_backup

VECTORS = Path(__file__).parent / "vectors" / "checkpoints"
EXPECTED = json.loads((VECTORS / "expected.json").read_text(encoding="utf-8"))
DAMAGED = json.loads((VECTORS / "damaged.json").read_text(encoding="utf-8"))
NAMES = [name for name in EXPECTED if name != "format"]
LEGACY = VECTORS / "legacy_upstream"


@pytest.mark.parametrize("name", NAMES)
def test_open_gives_the_recorded_counts(name: str) -> None:
    expected = EXPECTED[name]
    checkpoint = Checkpoint.open(VECTORS / name)
    assert len(checkpoint.nodes) == expected["nodes"]
    assert checkpoint.root_node_id == expected["root"]
    assert checkpoint.best_node_id == expected["best_node"]
    assert checkpoint.status_counts == expected["status_counts"]
    assert checkpoint.max_depth == expected.get("max_depth", checkpoint.max_depth)
    assert checkpoint.warnings == []


@pytest.mark.parametrize("name", ["gflops_run", "failing_run"])
def test_sound_checkpoints_have_no_findings(name: str) -> None:
    assert validate(VECTORS / name) == EXPECTED[name]["findings"]


def test_a_legacy_workspace_is_read_without_errors() -> None:
    findings = validate(LEGACY)
    assert [finding for finding in findings if finding.severity == "error"] == []
    assert {(finding.file, finding.where) for finding in findings} == {
        ("tree.json", "/nodes"),
        ("nodes_tree.json", "/nodes"),
    }


def test_legacy_nodes_are_read_in_the_present_shape() -> None:
    expected = EXPECTED["legacy_upstream"]
    checkpoint = Checkpoint.open(LEGACY / expected["checkpoint_dir"])
    for node_id, labels in expected["custom_label"].items():
        node = checkpoint.nodes[node_id]
        assert {"label": node.label, "raw_label": node.raw_label} == labels
    scores = {node.id: node.score for node in checkpoint.nodes.values()}
    assert scores == {expected["root"]: 0.41, "node_aa11bb22": 0.66, "node_cc33dd44": 0.0}
    assert all(not name.startswith("_") for node in checkpoint.nodes.values() for name in node.metrics)
    for node in checkpoint.nodes.values():
        assert (checkpoint.path / node.work_dir / "node_report.json").is_file()


def test_legacy_logs_are_read() -> None:
    expected = EXPECTED["legacy_upstream"]
    folder = LEGACY / expected["checkpoint_dir"]
    lines = (folder / "lineage_decisions.jsonl").read_bytes().splitlines()
    decisions = [legacy.convert_decision(strict_loads(line))["decision"] for line in lines]
    assert decisions == expected["lineage_decisions"]
    records = [legacy.convert_memory(record) for record in read_backup(folder / "memory_backup.jsonl.gz")]
    assert Counter(record["kind"] for record in records) == expected["memory_records"]


def _patch(document: Any, operations: list[dict[str, Any]]) -> None:
    for operation in operations:
        *parents, last = [
            part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]
        ]
        holder = document
        for part in parents:
            holder = holder[int(part)] if isinstance(holder, list) else holder[part]
        if isinstance(holder, list):
            position = len(holder) if last == "-" else int(last)
            if operation["op"] == "add":
                holder.insert(position, operation["value"])
            elif operation["op"] == "remove":
                del holder[position]
            else:
                holder[position] = operation["value"]
        elif operation["op"] == "remove":
            del holder[last]
        else:
            holder[last] = operation["value"]


def damage(path: Path, edit: dict[str, Any]) -> None:
    """Apply one recorded edit to a file."""
    data = path.read_bytes()
    if "json_patch" in edit:
        document = json.loads(data)
        _patch(document, edit["json_patch"])
        data = json.dumps(document, indent=2, ensure_ascii=False).encode("utf-8")
    elif "truncate_to_bytes" in edit:
        data = data[: edit["truncate_to_bytes"]]
    elif "drop_last_bytes" in edit:
        data = data[: -edit["drop_last_bytes"]]
    elif "append_text" in edit:
        data += edit["append_text"].encode("utf-8")
    elif "replace_text" in edit:
        old, new = edit["replace_text"]
        data = data.replace(old.encode("utf-8"), new.encode("utf-8"))
    elif "regex_replace" in edit:
        pattern, new = edit["regex_replace"]
        data = re.sub(pattern, new, data.decode("utf-8")).encode("utf-8")
    else:
        raise AssertionError(f"unknown edit {edit}")
    assert data != path.read_bytes()
    path.write_bytes(data)


@pytest.mark.parametrize("variant", DAMAGED["variants"], ids=lambda variant: variant["id"])
def test_damage_is_found(variant: dict[str, Any], tmp_path: Path) -> None:
    copy = tmp_path / "checkpoint"
    shutil.copytree(VECTORS / variant["checkpoint"], copy)
    damage(copy / variant["file"], variant["edit"])
    found = [
        {"file": f.file, "code": f.code, "where": f.where, "severity": f.severity} for f in validate(copy)
    ]
    for expected in variant["expect"]:
        assert expected in found
    assert {finding["code"] for finding in found} <= set(DAMAGED["codes"])


def test_a_secret_is_never_repeated(tmp_path: Path) -> None:
    copy = tmp_path / "checkpoint"
    shutil.copytree(VECTORS / "gflops_run", copy)
    settings = json.loads((copy / "settings.json").read_text(encoding="utf-8"))
    settings["api_key"] = "not-a-real-key-0000"
    settings["hpc"]["cpus"] = "not-a-real-key-0001"
    (copy / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    findings = validate(copy)
    assert {(f.code, f.where) for f in findings} == {
        ("secret.in_settings", "/api_key"),
        ("schema.type", "/hpc/cpus"),
    }
    assert not any("not-a-real-key" in finding.message for finding in findings)


@pytest.mark.parametrize("identity", ["x01_tree_cut", "x22_empty_tree_file"])
def test_a_damaged_tree_is_read_from_the_full_detail(identity: str, tmp_path: Path) -> None:
    variant = next(v for v in DAMAGED["variants"] if v["id"] == identity)
    copy = tmp_path / "checkpoint"
    shutil.copytree(VECTORS / variant["checkpoint"], copy)
    damage(copy / "tree.json", variant["edit"])
    before = (copy / "tree.json").read_bytes()
    checkpoint = Checkpoint.open(copy)
    assert len(checkpoint.nodes) == EXPECTED[variant["checkpoint"]]["nodes"]
    assert checkpoint.root_node_id == "node_root"
    assert len(checkpoint.warnings) == 1
    assert "tree.json is damaged" in checkpoint.warnings[0]
    assert (copy / "tree.json").read_bytes() == before
