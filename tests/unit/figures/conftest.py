from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

STUDIES = Path(__file__).resolve().parents[2] / "studies"


@pytest.fixture
def study(tmp_path: Path) -> Callable[[str], Path]:
    """A writable copy of a recorded study."""

    def copy(name: str) -> Path:
        return Path(shutil.copytree(STUDIES / name, tmp_path / name))

    return copy
