"""A small sound checkpoint to read, go on with, or damage."""

from __future__ import annotations

from pathlib import Path

import pytest
from checkpoint_builders import add_node, create


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    """A closed checkpoint of three finished nodes and one pending one."""
    path = tmp_path / "checkpoint"
    with create(path) as store:
        add_node(store, "n0", metrics={"r2": 0.5}, score=0.5, has_real_data=True)
        add_node(store, "n1", "n0", metrics={"r2": 0.9}, score=0.9, has_real_data=True)
        add_node(store, "n2", "n0", status="errored", error="exit 1")
        add_node(store, "n3", "n1")
    return path
