"""The JSON Schemas: equal to the models, and of one mind with them."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from ari import schemas
from ari.errors import FormatError
from ari.formats.base import problems
from ari.formats.jsonio import strict_loads
from ari.schemas.generate import MODELS, generate, write

VECTORS = Path(__file__).parents[2] / "conformance" / "vectors" / "checkpoints" / "gflops_run"


def test_the_files_are_those_the_models_generate(tmp_path: Path) -> None:
    generated = generate()
    assert schemas.names() == tuple(sorted(generated))
    for name, data in generated.items():
        assert schemas.load(name) == strict_loads(data), f"run `python -m ari.schemas`: {name} is stale"
    (tmp_path / "stale.schema.json").write_text("{}")
    assert {path.name for path in write(tmp_path)} == {path.name for path in tmp_path.iterdir()}


def test_the_specified_names_exist() -> None:
    assert {"node_report", "publish"} <= set(schemas.names())
    with pytest.raises(FormatError, match="no schema 'nothing'"):
        schemas.load("nothing")


@pytest.mark.parametrize("name", schemas.names())
def test_every_schema_is_sound(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schemas.load(name))


def test_required_keys_of_the_specification() -> None:
    report = schemas.load("node_report")
    assert set(report["required"]) == {
        "schema_version", "node_id", "label", "depth", "status", "files_changed", "metrics", "artifacts"
    }  # fmt: skip
    assert report["properties"]["schema_version"]["const"] == 1


DOCUMENTS = [
    ("node_report", "experiments/node_simd/node_report.json", ()),
    ("node_report", "experiments/node_simd/node_report.json", (("schema_version",), 2)),
    ("node_report", "experiments/node_simd/node_report.json", (("files_changed", "deleted"), None)),
    ("tree", "tree.json", ()),
    ("tree", "tree.json", (("nodes", "node_simd", "status"), "done")),
    ("tree", "tree.json", (("nodes", "node_simd", "metrics", "GB/s"), "1")),
    ("tree", "tree.json", (("nodes", "node_simd", "metrics", "GB/s"), None)),
    ("tree", "tree.json", (("nodes", "node_simd", "score"), None)),
    ("nodes_tree", "nodes_tree.json", ()),
    ("results", "results.json", ()),
    ("results", "results.json", (("best_node",), None)),
    ("publish", "ear_published/manifest.lock", ()),
    ("publish", "ear_published/manifest.lock", (("files", 0, "sha256"), "ABC")),
    ("science_data", "science_data.json", ()),
    ("metric_contract", "metric_contract.json", ()),
    ("verified_context", "verified_context.json", ()),
]


@pytest.mark.parametrize(("name", "file", "change"), DOCUMENTS)
def test_schema_and_model_judge_alike(name: str, file: str, change: tuple) -> None:
    document = json.loads((VECTORS / file).read_text(encoding="utf-8"))
    if change:
        (*holders, last), value = change
        holder = document
        for part in holders:
            holder = holder[part]
        holder[last] = value
    sound = jsonschema.Draft202012Validator(schemas.load(name)).is_valid(document)
    assert sound == (problems(MODELS[name], document) == [])


def test_an_event_is_told_by_its_name() -> None:
    validator = jsonschema.Draft202012Validator(schemas.load("journal"))
    event = {"seq": 1, "ts": "2026-05-08T11:00:00Z", "event": "run_resumed", "pid": 3}
    assert validator.is_valid(event)
    assert not validator.is_valid({**event, "event": "run_exploded"})
    assert not validator.is_valid({**event, "pid": "3"})
