"""Where the survey of a study comes from."""

from __future__ import annotations

from pathlib import Path

import pytest

from ari.errors import ExperimentError
from ari.pipeline.survey import MOST_BYTES, survey_of

TEXT = "# T\n\nWhy?\n\n## Background\nOld.\n\n## Data\n- target: y\n\n## Survey\nKnown.\n"


def test_sections_and_files_are_put_together(tmp_path: Path):
    (tmp_path / "survey.md").write_text("From a file.")
    (tmp_path / "survey.json").write_text('[{"title": "A paper"}]')
    survey = survey_of(TEXT, tmp_path)
    assert survey.split("\n\n")[:3] == ["Known.", "Old.", "From a file."]
    assert "A paper" in survey
    assert "target" not in survey


def test_there_need_not_be_one(tmp_path: Path):
    assert survey_of("# T\n\nWhy?\n", tmp_path) == ""


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("survey.json", b"{", "cannot be read"),
        ("survey.md", b"\xff\xfe\x00", "cannot be read"),
        ("survey.md", b"x" * (MOST_BYTES + 1), f"a survey may have {MOST_BYTES}"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_by_name(
    tmp_path: Path, name: str, content: bytes, reason: str
):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ExperimentError, match=reason) as refused:
        survey_of("# T\n", tmp_path)
    assert name in refused.value.message
    assert refused.value.cure
