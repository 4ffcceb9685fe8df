"""Recorded checkpoints: sound ones, one in a legacy shape, and damaged copies."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ari.checkpoint import Checkpoint

VECTORS = Path(__file__).parent / "vectors" / "checkpoints"
EXPECTED = json.loads((VECTORS / "expected.json").read_text(encoding="utf-8"))
NAMES = [name for name in EXPECTED if name != "format"]


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
