"""Comparing two checkpoints: dates aside, to the byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from ari.orchestrator.replay import Difference, compare


def checkpoints(folder: Path, name: str, one: str | None, other: str | None) -> tuple[Path, Path]:
    places = (folder / "one", folder / "other")
    for place, text in zip(places, (one, other), strict=True):
        place.mkdir()
        if text is not None:
            (place / name).write_text(text, encoding="utf-8")
    return places


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        ("results.json", '{"a": 1, "ts": "x"}', '{"a": 1, "ts": "y"}'),
        ("results.json", '{"nodes": {"n": {"duration_s": 1, "b": 2}}}', '{"nodes": {"n": {"b": 2}}}'),
        ("memory_store.jsonl", '{"ts": "1", "a": 1}\n', '{"ts": "2", "a": 1}\n'),
        ("full_paper.tex", "a\nb\n", "a\nb\n"),
    ],
)
def test_volatile_fields_do_not_count(tmp_path: Path, name: str, one: str, other: str) -> None:
    assert compare(*checkpoints(tmp_path, name, one, other)) == ((name,), ())


@pytest.mark.parametrize(
    ("name", "one", "other", "where", "shown"),
    [
        ("results.json", '{"a": 1, "b": 2}', '{"b": 2, "a": 1}', "(order of keys)", '{"a":1,"b":2}'),
        ("results.json", '{"a": [1, 2]}', '{"a": [1, 3]}', "/a/1", "2"),
        ("results.json", '{"a": 1}', '{"a": 1.0}', "/a", "1"),
        ("results.json", '{"a": [1]}', '{"a": [1, 2]}', "/a", "[1]"),
        ("results.json", "{}", '{"x/y": null}', "/x~1y", "null"),
        ("memory_store.jsonl", '{"a": 1}\n', '{"a": 1}\n{"a": 2}\n', "line 2", ""),
        ("full_paper.tex", "a\nb\n", "a\nc\n", "line 2", "b"),
        ("full_paper.tex", "a\n", None, "", "there"),
    ],
)
def test_the_first_difference_is_named(
    tmp_path: Path, name: str, one: str, other: str | None, where: str, shown: str
) -> None:
    equal, (found,) = compare(*checkpoints(tmp_path, name, one, other))
    assert equal == ()
    assert isinstance(found, Difference)
    assert (found.file, found.where, found.recorded) == (name, where, shown)
