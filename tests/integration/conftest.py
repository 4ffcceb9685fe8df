"""Small studies that the integration tests run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ari.orchestrator.study import RunOptions, StudyResult, start


@pytest.fixture
def run_study(tmp_path: Path) -> Callable[..., StudyResult]:
    """Write an experiment and run it; files given by name are laid beside it."""

    def run(
        text: str, *, files: dict[str, str] | None = None, name: str = "out", **options: object
    ) -> StudyResult:
        folder = tmp_path / "experiment"
        folder.mkdir(exist_ok=True)
        (folder / "experiment.md").write_text(text, encoding="utf-8")
        for relative, content in (files or {}).items():
            (folder / relative).write_text(content, encoding="utf-8")
        return start(RunOptions(folder / "experiment.md", output=tmp_path / name, **options))  # type: ignore[arg-type]

    return run
