"""Synthetic systems: valid data, no leak, and a law that reproduces them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sr_harness.bench.synthetic import SYSTEMS, write_synthetic
from sr_harness.core import AgentContext, inspect_context_data
from sr_harness.engine import Structure, evaluate, parse
from sr_harness.errors import BenchmarkError


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_law_reproduces_the_data_and_is_not_among_them(name, tmp_path):
    written = write_synthetic(name, tmp_path / "data", rows=40)
    report = inspect_context_data(written.directory)
    assert not report.get("errors") and not report.get("warnings"), report
    truth = json.loads(written.truth.read_text(encoding="utf-8"))
    assert written.truth.parent == written.directory.parent
    assert truth["target"] == written.target
    for file in written.directory.iterdir():
        assert truth["formula"].encode() not in file.read_bytes()
    context = AgentContext.from_directory(written.directory)
    formula = parse(truth["formula"], names=list(context.data))
    structure = Structure.from_context(context)
    values = evaluate(formula, context.data, structure=structure)
    target = context.data[written.target]
    assert np.max(np.abs(values - target)) <= 1e-9 * np.max(np.abs(target))
    assert np.std(target) > 0


def test_the_seed_and_the_noise_decide(tmp_path):
    def target(place, **options):
        written = write_synthetic("reaction", tmp_path / place, rows=5000, **options)
        return np.array(AgentContext.from_directory(written.directory).data["rate"])

    clean = target("a")
    assert np.array_equal(clean, target("b"))
    assert not np.array_equal(clean, target("c", seed=1))
    error = target("d", noise=0.2) - clean
    assert np.std(error) == pytest.approx(0.2 * np.sqrt(np.mean(clean**2)), rel=0.05)


def test_an_unknown_system_is_named(tmp_path):
    with pytest.raises(BenchmarkError, match="there is no system 'perpetuum'; choose from pendulum"):
        write_synthetic("perpetuum", tmp_path / "x")
