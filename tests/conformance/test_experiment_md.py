"""`experiment.md`: the metric line and the appended block, against the recorded vectors."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from ari.pipeline.experiment_md import append_idea_block, parse_metric_from_experiment_md

VECTORS = json.loads((Path(__file__).parent / "vectors" / "experiment_md.json").read_text(encoding="utf-8"))
BEGIN, END = VECTORS["begin_marker"], VECTORS["end_marker"]


def _text(case: dict) -> str:
    if "text" in case:
        return case["text"]
    generated = case["text_gen"]
    return generated["repeat"] * generated["times"] + generated.get("then", "")


@pytest.mark.parametrize("case", VECTORS["metrics_line"], ids=lambda case: case["id"])
def test_metric_line(case: dict) -> None:
    assert parse_metric_from_experiment_md(_text(case)) == case["expected"]


def _start(path: Path, before: object) -> None:
    if isinstance(before, dict):
        path.write_bytes(base64.b64decode(before["b64"]))
    elif before is not None:
        path.write_bytes(before.encode("utf-8"))


def _block(text: str) -> str:
    return text.split(BEGIN, 1)[1].split(END, 1)[0]


def _check(expect: dict, states: list[bytes], modified: list[bool]) -> None:
    final = states[-1]
    text = final.decode("utf-8", "replace")
    lines = text.replace("\r\n", "\n").split("\n")
    assert modified == expect.get("modified", modified)
    assert final.startswith(expect.get("prefix", "").encode("utf-8"))
    assert final.startswith(base64.b64decode(expect.get("prefix_b64", "")))
    assert text.startswith(expect.get("starts_with", ""))
    assert text.endswith(expect.get("ends_with", ""))
    assert lines.count(BEGIN) == expect.get("begin", lines.count(BEGIN))
    assert lines.count(END) == expect.get("end", lines.count(END))
    if "same_after_runs" in expect:
        first, second = expect["same_after_runs"]
        assert states[first] == states[second]
    if expect.get("unchanged"):
        assert final == states[0]
    assert all(text.count(piece) == 1 for piece in expect.get("contains_once", []))
    assert all(piece in _block(text) for piece in expect.get("block_contains", []))


@pytest.mark.parametrize("case", VECTORS["auto_append"], ids=lambda case: case["id"])
def test_appended_block(case: dict, tmp_path: Path) -> None:
    path = tmp_path / "experiment.md"
    _start(path, case["before"])
    states = [path.read_bytes() if path.exists() else b""]
    modified = []
    for idea in case["ideas"]:
        modified.append(append_idea_block(path, idea))
        states.append(path.read_bytes())
    _check(case["expect"], states, modified)
    _check(case["should"], states, modified)
