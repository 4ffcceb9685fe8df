"""`ari repair` and `ari migrate`: what they say, and that the checkpoint can be used afterwards."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

from cli_checkpoints import Answer

Ari = Callable[..., Answer]


def damage(checkpoint: Path) -> None:
    """Spoil the event in which `node_b` finished."""
    journal = checkpoint / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    [number] = [i for i, line in enumerate(lines) if b"node_finished" in line and b'node_b"' in line]
    lines[number] = b"{spoilt\n"
    journal.write_bytes(b"".join(lines))


def test_repair_mends_and_says_what_is_lost(ari: Ari, small: Path) -> None:
    damage(small)
    assert ari("status", small).status == 1
    answer = ari("repair", small)
    assert answer.status == 0
    first, *rest = answer.out.splitlines()
    assert first == f"{small}: mended"
    assert any(line.startswith("  lost: line ") for line in rest)
    assert f"  as it was: {small / 'journal.jsonl.damaged-1'}" in rest
    assert ari("status", small).status == 0
    assert ari("repair", small).out == f"{small}: nothing had to be mended\n"


def test_repair_for_machines(ari: Ari, small: Path) -> None:
    damage(small)
    document = json.loads(ari("repair", small, "--json").out)
    assert document["checkpoint"] == str(small)
    assert document["actions"]
    assert document["backups"] == [str(small / "journal.jsonl.damaged-1")]


def test_migrate_writes_what_the_tree_files_tell(ari: Ari, small: Path, tmp_path: Path) -> None:
    earlier = tmp_path / "earlier"
    shutil.copytree(small, earlier)
    (earlier / "journal.jsonl").unlink()
    assert ari("resume", earlier).status != 0
    target = tmp_path / "migrated"
    answer = ari("migrate", earlier, target)
    assert answer.status == 0
    assert answer.out.startswith(f"wrote {target} with 5 nodes from {earlier}\n")
    assert "node_best" in ari("status", target).out
    again = ari("migrate", earlier, target)
    assert again.status == 1
    assert again.err == f"error: {target} is not empty\n  Name a directory that does not exist yet.\n"
    assert json.loads(ari("migrate", earlier, tmp_path / "m2", "--json").out)["nodes"] == 5
