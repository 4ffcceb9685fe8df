"""The appended block and the metric line beyond the recorded vectors: no byte of the author's is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ari.errors import ExperimentError
from ari.pipeline.experiment_md import (
    BEGIN_MARKER,
    END_MARKER,
    append_idea_block,
    parse_metric_from_experiment_md,
)

IDEA = {
    "ideas": [{"title": "First", "experiment_plan": "Do it.", "primary_metric": "r2"}, {"title": "Second"}]
}


def _count(path: Path, marker: str) -> int:
    return path.read_bytes().replace(b"\r\n", b"\n").split(b"\n").count(marker.encode())


def test_the_block_follows_the_selected_idea(tmp_path: Path) -> None:
    path = tmp_path / "experiment.md"
    path.write_text("Goal\n")
    assert append_idea_block(path, IDEA)
    assert append_idea_block(path, {**IDEA, "selected_index": 1})
    text = path.read_text()
    assert text.startswith("Goal\n")
    assert "## Selected research idea\nSecond\n" in text and "Not pursued:\n- First" in text
    assert not append_idea_block(path, {**IDEA, "selected_index": 1})
    assert append_idea_block(path, IDEA)
    assert (_count(path, BEGIN_MARKER), _count(path, END_MARKER)) == (1, 1)


def test_a_changed_plan_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "experiment.md"
    append_idea_block(path, IDEA)
    changed = {"ideas": [{**IDEA["ideas"][0], "experiment_plan": "Do it better."}]}
    assert append_idea_block(path, changed)
    assert "Do it better." in path.read_text() and "Do it.\n" not in path.read_text()


def test_windows_line_ends_stay_and_the_block_has_them_too(tmp_path: Path) -> None:
    path = tmp_path / "experiment.md"
    path.write_bytes(b"Goal\r\n\r\nMetrics: r2\r\n")
    assert append_idea_block(path, IDEA)
    data = path.read_bytes()
    assert data.startswith(b"Goal\r\n\r\nMetrics: r2\r\n")
    assert data.count(b"\n") == data.count(b"\r\n")
    assert not append_idea_block(path, IDEA)


def test_a_lost_end_of_our_own_block_is_found_by_its_length(tmp_path: Path) -> None:
    path = tmp_path / "experiment.md"
    path.write_text("Goal\n")
    append_idea_block(path, IDEA)
    path.write_text(path.read_text().replace(END_MARKER + "\n", "") + "A note below.\n")
    assert append_idea_block(path, IDEA)
    _, tail = path.read_text().split(END_MARKER + "\n")
    assert tail == "A note below.\n"
    assert append_idea_block(path, {"ideas": [{"title": "Third"}]})
    assert path.read_text().endswith(END_MARKER + "\nA note below.\n")
    assert "First" not in path.read_text()


def test_further_blocks_are_removed_and_the_text_between_stays(tmp_path: Path) -> None:
    path = tmp_path / "experiment.md"
    block = f"{BEGIN_MARKER}\nold\n{END_MARKER}\n"
    path.write_text(f"One\n{block}Two\n{block}Three\n")
    assert append_idea_block(path, IDEA)
    assert (_count(path, BEGIN_MARKER), _count(path, END_MARKER)) == (1, 1)
    before, after = path.read_text().split(BEGIN_MARKER)
    assert before == "One\n" and after.split(END_MARKER + "\n")[1] == "Two\nThree\n"


def test_a_marker_in_fenced_code_is_an_example(tmp_path: Path) -> None:
    path = tmp_path / "experiment.md"
    example = f"```\n{BEGIN_MARKER}\nexample\n{END_MARKER}\n```\n"
    path.write_text(example)
    assert append_idea_block(path, IDEA)
    assert path.read_text().startswith(example)
    assert not append_idea_block(path, IDEA)


def test_an_idea_cannot_forge_a_marker(tmp_path: Path) -> None:
    path = tmp_path / "experiment.md"
    plan = f"Step\n{END_MARKER}\nMetrics: forged\n{BEGIN_MARKER}\nmore"
    idea = {
        "ideas": [
            {"title": f"T {END_MARKER}", "experiment_plan": plan, "alternatives_considered": [BEGIN_MARKER]}
        ]
    }
    assert append_idea_block(path, idea)
    assert (_count(path, BEGIN_MARKER), _count(path, END_MARKER)) == (1, 1)
    assert path.read_text().endswith(END_MARKER + "\n")
    assert not append_idea_block(path, idea)
    assert parse_metric_from_experiment_md(path.read_text()) == ""


@pytest.mark.parametrize("idea", [{}, {"ideas": []}, {"ideas": ["x"]}])
def test_without_an_idea_nothing_is_written(tmp_path: Path, idea: dict) -> None:
    assert not append_idea_block(tmp_path / "experiment.md", idea)
    assert not (tmp_path / "experiment.md").exists()


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match="cannot be read: Is a directory"):
        append_idea_block(tmp_path, IDEA)


PIECES = st.lists(
    st.sampled_from(
        [b"text", b"\n", b"\r\n", b"```", b"\xe0\xff", b" ", BEGIN_MARKER.encode(), END_MARKER.encode()]
    )
)


@settings(max_examples=150, deadline=None)
@given(pieces=PIECES)
def test_any_file_gets_one_block_and_a_second_run_changes_nothing(
    pieces: list[bytes], tmp_path_factory
) -> None:
    path = tmp_path_factory.mktemp("md") / "experiment.md"
    before = b"".join(pieces)
    path.write_bytes(before)
    append_idea_block(path, IDEA)
    once = path.read_bytes()
    assert b"First" in once
    assert not append_idea_block(path, IDEA)
    assert path.read_bytes() == once
    if BEGIN_MARKER.encode() not in before:
        assert once.startswith(before)


@pytest.mark.parametrize(
    ("text", "metric"),
    [
        ("Metrics: a <!-- b --> , c\n", "a"),
        ("<!-- Metrics: a -->\nMetrics: b\n", "b"),
        ("<!-- open\nMetrics: a\n", ""),
        ("~~~\nMetrics: a\n~~~\nMetrics: b\n", "b"),
        ("````\n```\nMetrics: a\n````\nMetrics: b\n", "b"),
        ("Metrics: max(a) , b\n", "max(a)"),
        ("Metrics: 精度（高いほど良い）、損失\n", "精度"),
        ("Metrics: **GB/s**\n", "GB/s"),
        ("Metrics: x\rMetrics: y\r", "x"),
        ("Metrics: (none)\n", ""),
        (f"{BEGIN_MARKER}\nMetrics: a\n{END_MARKER}\nMetrics: b\n", "b"),
        ("Metrics:" + " " * 200_000 + "\n", ""),
        ("<!--" * 100_000, ""),
        ("Metrics: " + "(" * 100_000, ""),
    ],
)
def test_metric_lines(text: str, metric: str) -> None:
    assert parse_metric_from_experiment_md(text) == metric
