"""Every `context.data` vector: what inspect and load answer to sound and damaged directories."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from sr_harness.core import inspect_context_data, load_context_data

VECTORS = Path(__file__).parent / "vectors" / "context_data"


def _builder():
    spec = importlib.util.spec_from_file_location("context_data_vectors", VECTORS / "build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


build = _builder()
CASES = build.load_cases(VECTORS / "cases.json")


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_case(case, tmp_path):
    path = build.build(case, tmp_path)
    report = inspect_context_data(path)
    try:
        loaded, error = load_context_data(path), None
    except Exception as exc:  # noqa: BLE001 - the judge decides which exception is right
        loaded, error = None, exc
    assert build.judge(case, report, loaded, error) == []
    assert set(report) == {"valid", "path", "errors", "warnings", "num_nodes", "variables", "axes"}


def test_the_vectors_are_complete():
    assert len(CASES) == 60
