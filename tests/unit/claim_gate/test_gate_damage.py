"""Damaged files of a study give findings, never an exception."""

from __future__ import annotations

import copy
import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ari.pipeline.claim_gate.gate import run_hard_gate

VECTORS = Path(__file__).parents[2] / "conformance" / "vectors"
CASES = [
    "claim_gate/k06_contract_satisfied",
    "claim_gate/d17_inline_declaration",
    "claim_gate/c24_figure_missing",
]
ODD: list[Any] = [
    None,
    True,
    -1,
    1e308,
    10**400,
    "x",
    "",
    [],
    {},
    [1, "a"],
    {"a": []},
    float("nan"),
    "../../etc",
]
FILES = ("science_data.json", "tree.json", "nodes_tree.json", "figures_manifest.json")


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _places(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _places(inner, (*path, index))


def _replaced(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    changed = copy.deepcopy(document)
    holder = changed
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return changed


@pytest.mark.parametrize("case", CASES)
def test_any_value_of_any_file_may_be_wrong(case: str, tmp_path: Path) -> None:
    study = tmp_path / "study"
    shutil.copytree(VECTORS / case, study)
    random_ = random.Random(case)
    for file in FILES:
        path = study / file
        if not path.exists():
            continue
        original = path.read_bytes()
        document = json.loads(original)
        places = list(_places(document))
        for place in random_.sample(places, min(40, len(places))):
            path.write_text(json.dumps(_replaced(document, place, random_.choice(ODD))), encoding="utf-8")
            report = run_hard_gate(study)
            report.to_bytes()
        path.write_bytes(original)


def test_a_legacy_study_can_be_gated() -> None:
    workspace = VECTORS / "checkpoints" / "legacy_upstream" / "checkpoints"
    (study,) = [path for path in workspace.iterdir() if path.is_dir()]
    report = run_hard_gate(study, policy="warn")
    assert report.metrics["grounded_claims"] == 2
    assert report.metrics["numeric_reproducible"] == 2
    assert [(warning.kind, warning.line) for warning in report.warnings] == [("uncovered_numeric", 6)]
    assert [error.message for error in report.errors] == []
