"""Noise: when a search may end, and which constants the data permit to be plain."""

from __future__ import annotations

import numpy as np
import pytest
from search_problems import problem, table

from sr_harness import engine
from sr_harness.engine import Expression, parse
from sr_harness.search import Budget, Candidate, ParetoFront, discover
from sr_harness.search.candidate import measured
from sr_harness.search.constants import plain_constants
from sr_harness.search.noise import is_noise
from sr_harness.search.plain import tidied
from sr_harness.search.problem import Arrays
from sr_harness.search.selection import judged_error, weigh

CHEAP = ["constant", "linear", "power_law", "polynomial", "rational", "exponential", "sinusoid", "composite"]


def noise(rows: int, seed: int = 11) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=rows)


@pytest.mark.parametrize("seed", range(5))
def test_noise_is_taken_for_noise(seed: int) -> None:
    data = table(seed, 300, a=(1.0, 2.0), b=(-1.0, 1.0))
    assert is_noise(noise(300, seed), list(data.values()), data["a"] * data["b"])


def test_structure_is_not() -> None:
    data = table(1, 300, a=(1.0, 2.0), b=(-1.0, 1.0))
    columns = list(data.values())
    for structure in (data["a"] * data["b"], np.sin(20 * data["a"]), np.square(data["b"])):
        assert not is_noise(noise(300) + structure, columns, data["a"])


def test_an_outlier_neither_hides_nor_feigns_structure() -> None:
    data = table(1, 300, a=(1.0, 2.0))
    hit = noise(300)
    hit[17] = 1e6
    assert is_noise(hit, [data["a"]], data["a"])
    assert not is_noise(hit + 3 * data["a"] ** 2, [data["a"]], data["a"])


def test_few_rows_say_nothing() -> None:
    assert not is_noise(noise(10), [np.arange(10.0)], np.arange(10.0))


def made_plain(template: str, level: float, rows: int, truth: str) -> list[str]:
    """Plain forms of a template fitted to a law with noise."""
    data = table(3, rows, q=(1.0, 5.0), r=(1.0, 5.0))
    clean = engine.evaluate(parse(truth), data)
    target = clean + level * np.sqrt(np.mean(clean**2)) * noise(rows)
    arrays = Arrays(data, target, None)

    def fit(formula: Expression) -> engine.FitResult:
        return engine.fit(formula, data, target, local=True)

    return [engine.render(found) for found in plain_constants(fit(parse(template)), arrays, fit)]


def test_a_constant_becomes_plain_where_the_data_permit() -> None:
    template = "param('a', value=0.08)*q/r**param('p', value=1.9)"
    assert "q/(4*pi*r**2)" in made_plain(template, 1e-3, 400, "q/(4*pi*r**2)")


def test_a_constant_stays_arbitrary_where_they_do_not() -> None:
    template = "param('a', value=0.08)*q/r**2"
    assert not any("pi" in found for found in made_plain(template, 0.1, 40, "q/(4*pi*r**2)"))
    assert made_plain(template, 1e-4, 400, "0.0797431*q/r**2") == []


def test_a_constant_that_the_data_leave_open_becomes_one() -> None:
    template = "param('a', value=2.2)*q/(param('b', value=4.1) + param('c', value=2.2)*r)"
    assert "q/(r + 2)" in made_plain(template, 1e-3, 400, "q/(2 + r)")


@pytest.mark.parametrize(
    ("fitted", "plain"),
    [
        ("2.9999999999999996*x", "3*x"),
        ("0.07957747154594767*x", "x/(4*pi)"),
        ("x**1.9999999999999998", "x**2"),
        ("-1.5707963267948966 + x", "-(pi/2) + x"),
        ("3.0001*x", "3.0001*x"),
    ],
)
def test_numbers_are_written_as_a_person_would(fitted: str, plain: str) -> None:
    assert engine.render(tidied(parse(fitted))) == plain


def test_pi_is_not_written_where_a_column_bears_its_name() -> None:
    assert "pi" not in engine.render(tidied(parse("6.283185307179586*x"), ["x", "pi"]))


def test_a_part_without_inputs_counts_as_one_constant() -> None:
    assert weigh(parse("q/(4*pi*r**2)")).size == weigh(parse("q/(7*r**2)")).size
    assert weigh(parse("0.0795*q/sqrt(2*pi) + 0.123456")).free == (0.123456,)


def test_validation_rows_count_by_their_number_and_more_where_they_contradict() -> None:
    assert judged_error(1.0, 1.1, 400, 100) == pytest.approx(1.02)
    assert judged_error(1.0, 10.0, 400, 100) > 5.0


def test_an_exact_formula_keeps_no_rounding() -> None:
    data = table(2, 60, x=(1.0, 4.0), z=(1.0, 4.0))
    result = discover(problem(data, 3 * data["x"] * np.sqrt(data["z"])), budget=Budget(5_000))
    assert result.best is not None
    assert weigh(result.best.expression).free == ()
    assert "3" in result.best.formula()
    assert "2.99" not in result.best.formula()


@pytest.mark.parametrize("level", [0.001, 0.01, 0.1])
@pytest.mark.parametrize("truth", ["2*x*z**2", "x*exp(-z/2)", "x**2 + 3*z"])
def test_a_noisy_search_ends_when_only_noise_is_left(truth: str, level: float) -> None:
    data = table(5, 400, x=(1.0, 3.0), z=(1.0, 4.0))
    clean = engine.evaluate(parse(truth), data)
    target = clean + level * np.sqrt(np.mean(clean**2)) * noise(400)
    result = discover(problem(data, target), budget=Budget(60_000), strategies=CHEAP)
    assert result.stop_reason in ("explained", "finished")
    assert result.best is not None
    ranges = {"x": (1.0, 3.0), "z": (1.0, 4.0)}
    assert engine.equivalent(result.best.expression, parse(truth), ranges=ranges).verdict == "equivalent"


def test_pure_noise_is_not_explained() -> None:
    data = table(5, 100, x=(1.0, 3.0))
    result = discover(problem(data, noise(100)), budget=Budget(4_000), strategies=CHEAP)
    assert result.stop_reason != "explained"
    assert result.best is not None
    assert result.best.complexity == 1


def test_a_written_constant_is_preferred_to_its_digits() -> None:
    def candidate(text: str, nmse: float) -> Candidate:
        return measured(parse(text), nmse, variance=1.0, origin="test", rows=400)

    front = ParetoFront([candidate("0.0795766*q/r**2", 1e-6), candidate("q/(4*pi*r**2)", 1.001e-6)])
    assert front.best().formula() == "q/(4*pi*r**2)"
