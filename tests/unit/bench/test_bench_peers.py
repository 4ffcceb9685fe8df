"""The peers: their formulas in our language, and their place on the clock."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest

from sr_harness.bench.methods import Clock, Task, method
from sr_harness.bench.peers import PEERS, gp_learn
from sr_harness.bench.sampling import Rows
from sr_harness.engine import evaluate, render
from sr_harness.errors import BenchmarkError


def task(seconds: float, threads: int = 1) -> Task:
    rng = np.random.default_rng(1)
    columns = {"N": rng.uniform(1, 3, 80), "lambda": rng.uniform(1, 3, 80)}
    target = columns["N"] / columns["lambda"]
    return Task(Rows(columns, target), "y", 0, 1_000, Clock(seconds, threads))


def test_pyoperon_finds_a_quotient_and_stops():
    pytest.importorskip("pyoperon")
    pytest.importorskip("sklearn")
    seen = []
    given = task(6.0)
    answer = method("pyoperon")(given, seen.append)
    assert answer.best is not None and answer.best is seen[-1]
    assert answer.best.nmse < 1e-6
    values = evaluate(answer.best.expression, given.train.columns)
    assert values == pytest.approx(given.train.target, rel=1e-2)
    assert answer.work_used > 0
    assert answer.stop_reason in {"exact", "time"}


class _Function:
    def __init__(self, name: str, arity: int) -> None:
        self.name, self.arity = name, arity


def test_gplearn_programs_are_read():
    program = [_Function("sub", 2), _Function("div", 2), 0, 1, _Function("log", 1), -0.5]
    assert render(gp_learn.expression_of(program, ["N", "lambda"])) == "N/lambda - log(abs(-0.5))"
    with pytest.raises(ValueError, match="the function 'spline', which it was not given"):
        gp_learn.expression_of([_Function("spline", 1), 0], ["N"])


def test_gplearn_goes_on_from_generation_to_generation(monkeypatch):
    programs = [[0], [_Function("mul", 2), 0, 1], [_Function("div", 2), 0, 1]]

    class Regressor:
        def __init__(self, **settings: object) -> None:
            assert settings["warm_start"] is True
            self.generations = 0

        def set_params(self, *, generations: int) -> None:
            assert generations == self.generations + 1
            self.generations = generations

        def fit(self, inputs: np.ndarray, target: np.ndarray) -> None:
            assert inputs.shape == (64, 2) and target.shape == (64,)
            self._program = types.SimpleNamespace(program=programs[self.generations - 1])

    module = types.ModuleType("gplearn.genetic")
    module.SymbolicRegressor = Regressor
    monkeypatch.setitem(sys.modules, "gplearn", types.ModuleType("gplearn"))
    monkeypatch.setitem(sys.modules, "gplearn.genetic", module)
    answer = gp_learn.solve(task(60.0), lambda _best: None)
    assert (answer.stop_reason, answer.work_used) == ("exact", 3_000)
    assert render(answer.best.expression) == "N/lambda"


def test_what_is_not_installed_is_named_with_the_cure(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    assert PEERS["gplearn"].obstacle == "gplearn not installed (pip install gplearn)"
    assert PEERS["pyoperon"].obstacle.startswith("pyoperon and sklearn not installed (pip install 'ari-")
    with pytest.raises(BenchmarkError, match="choose from sr_harness, pyoperon, gplearn"):
        method("eureqa")


def test_the_clock_has_two_ceilings():
    clock = Clock(100.0, threads=2)
    assert 0 <= clock.processor <= 2 * clock.wall + 1
    assert 90 < clock.left <= 100
    assert not clock.is_up
    assert Clock(1e-9).is_up
    busy = Clock(100.0)
    busy._processor -= 100.0  # as if the processor had been busy that long
    assert busy.is_up
