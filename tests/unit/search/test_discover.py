from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
import pytest
from search_problems import oscillators, problem, table

from sr_harness.engine import Expression, equivalent, parse
from sr_harness.errors import ProblemError
from sr_harness.search import STRATEGIES, Budget, Discovery, Problem, Strategy, discover

QUICK = ["constant", "linear", "power_law", "polynomial", "rational", "exponential", "sinusoid"]


def search(
    given: Problem, work: int = 20_000, strategies: list[str] | None = None, **more: object
) -> Discovery:
    return discover(given, budget=Budget(work), strategies=strategies or QUICK, **more)


def assert_found(result: Discovery, truth: str, **ranges: tuple[float, float]) -> None:
    assert result.best is not None
    verdict = equivalent(result.best.expression, parse(truth), ranges=ranges)
    assert verdict.verdict == "equivalent", (result.best.formula(), truth, verdict)


def test_a_power_law_is_found_in_ten_rows_with_measurement_error() -> None:
    rng = np.random.default_rng(5)
    a = np.geomspace(0.4, 40.0, 10)
    period = a**1.5 * (1 + 1e-4 * rng.normal(size=10))
    result = search(problem({"a": a, "e": rng.uniform(0.0, 0.2, 10)}, period), 5_000)
    assert result.best is not None
    assert result.best.formula() == "a**1.5"


@pytest.mark.parametrize("family", ["power", "growth", "wave"])
def test_a_law_drawn_now_is_found(family: str) -> None:
    draw = np.random.default_rng(20 if os.environ.get("CI") else None)
    a, b, c = (round(float(draw.uniform(0.5, 3.0)), 2) for _ in range(3))
    p, q = draw.choice([-2.0, -1.0, -0.5, 0.5, 1.0, 1.5, 2.0, 3.0], 2)
    text = {
        "power": f"{a} * x**({p}) * z**({q})",
        "growth": f"{a} + {b} * exp(-{c} * x)",
        "wave": f"{a} + {b} * sin({2 * c} * x + {round(c / 3, 2)})",
    }[family]
    data = table(int(draw.integers(2**31)), 80, x=(0.5, 4.0), z=(1.0, 3.0))
    from sr_harness.engine import evaluate

    result = search(problem(data, evaluate(parse(text), data)))
    assert result.stop_reason == "exact", text
    assert_found(result, text, x=(0.5, 4.0), z=(1.0, 3.0))


@pytest.mark.parametrize(
    "truth",
    [
        "3*x - 2*z + 0.5",
        "x*z**2 + 0.25*x**3 - z",
        "x*z/(x + 2*z)",
        "sqrt(x**2 + z**2)",
        "x*exp(-z/x)",
        "w*x/sqrt(1 - z**2/25)",
        "w*x*cos(z)",
        "1/(exp(x*z/w) - 1)",
        "w**2*(1 + 0.5*cos(x - z))",
    ],
)
def test_usual_laws_are_found_exactly(truth: str) -> None:
    from sr_harness.engine import evaluate, variables

    ranges = {"x": (1.0, 3.0), "z": (1.0, 4.0), "w": (1.0, 2.0)}
    data = table(3, 200, **{name: ranges[name] for name in sorted(variables(parse(truth)))})
    result = search(problem(data, evaluate(parse(truth), data)), 40_000, [*QUICK, "composite"])
    assert_found(result, truth, **ranges)


def test_noise_does_not_hide_a_simple_law() -> None:
    data = table(7, 300, x=(1.0, 5.0), z=(1.0, 5.0))
    clean = 2.0 * data["x"] / data["z"] ** 2
    noisy = clean + 0.01 * np.std(clean) * np.random.default_rng(1).normal(size=300)
    result = search(problem(data, noisy), 20_000, ["constant", "linear", "power_law", "polynomial"])
    assert result.best is not None
    assert_found(result, "2*x/z**2", x=(1.0, 5.0), z=(1.0, 5.0))


@pytest.mark.parametrize("coupling", [0.7, 1.3])
def test_the_coupling_of_oscillators_is_found(coupling: float) -> None:
    given = Problem.from_context(oscillators(int(10 * coupling), coupling=coupling), "velocity")
    result = search(given, 50_000, ["constant", "linear", "network"])
    assert result.best is not None
    assert result.best.exact
    assert f"{coupling}*sum[j](A[i,j], sin(theta[j] - theta[i]))" in result.best.formula()
    assert "omega" in result.best.formula()


def test_same_seed_same_candidates() -> None:
    data = table(2, 60, x=(1.0, 3.0), z=(1.0, 3.0))
    target = np.tanh(data["x"] * data["z"]) + 0.1 * np.sin(5 * data["x"])
    first, again = (search(problem(data, target), 8_000, seed=4) for _ in range(2))
    assert first.front.to_rows() == again.front.to_rows()
    assert [event.message for event in first.events] == [event.message for event in again.events]
    assert first.work_used == again.work_used


@pytest.mark.parametrize("work", [1, 50, 700, 3_000])
def test_the_budget_is_never_exceeded(work: int) -> None:
    data = table(2, 60, x=(1.0, 3.0), z=(1.0, 3.0))
    result = search(problem(data, np.tanh(data["x"]) * np.sin(3 * data["z"])), work)
    assert result.work_used <= work
    assert result.stop_reason == "work"
    assert result.best is not None


def test_cancelling_returns_what_was_found() -> None:
    data = table(2, 60, x=(1.0, 3.0))
    asked = 0

    def enough() -> bool:
        nonlocal asked
        asked += 1
        return asked > 30

    result = search(problem(data, np.tanh(data["x"] ** 3)), should_stop=enough)
    assert result.stop_reason == "cancelled"
    assert result.best is not None


def test_an_earlier_exact_formula_is_never_lost() -> None:
    data = table(2, 60, x=(1.0, 3.0))
    truth = parse("log(x + 0.77)*sin(x**2)")
    from sr_harness.engine import evaluate

    result = search(problem(data, evaluate(truth, data)), 2_000, ["constant", "linear"], start=[truth])
    assert result.stop_reason == "exact"
    assert result.best is not None
    assert result.best.expression == truth


def test_a_start_formula_that_does_not_fit_the_data_is_reported() -> None:
    result = search(problem({"x": np.arange(5.0)}, np.arange(5.0) ** 2), start=[parse("missing + 1")])
    assert [event.kind for event in result.events].count("refused") == 1


def test_a_formula_must_hold_on_validation_rows() -> None:
    x = np.linspace(1.0, 2.0, 40)
    other = np.linspace(3.0, 4.0, 20)
    held_out = problem({"x": other}, other**2 + 1)
    given = Problem.from_arrays({"x": x}, x**2, validation=held_out)
    result = search(given, 3_000, ["constant", "power_law"])
    assert result.stop_reason == "finished"
    assert all(not candidate.exact for candidate in result.front.candidates)


def test_an_unknown_strategy_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ProblemError, match="no strategy 'magic'; choose from constant, linear"):
        search(problem({"x": np.arange(5.0)}, np.arange(5.0)), strategies=["magic"])


def test_strategies_are_named_and_described() -> None:
    assert next(iter(STRATEGIES)) == "constant"
    assert all(strategy.summary and strategy.name == name for name, strategy in STRATEGIES.items())


def test_an_overflow_in_one_strategy_does_not_end_the_search() -> None:
    class Broken(Strategy):
        name = "broken"
        summary = "fails"

        def propose(self, space: object) -> Iterator[Expression]:
            yield parse("2.5*x")
            raise OverflowError("too large")

    result = search(
        problem({"x": np.arange(9.0)}, np.arange(9.0) ** 2), 900, [Broken(), "power_law", "linear"]
    )
    assert [event.message for event in result.events if event.kind == "failed"] == [
        "stopped by OverflowError: too large"
    ]
    assert {candidate.origin for candidate in result.front.candidates} >= {"linear"}
