"""Fitting: full precision, default starts, honest convergence, named rows, determinism."""

from __future__ import annotations

import numpy as np
import pytest

from sr_harness.engine import evaluate, fit, free_numbers, jacobian, parse, render, snap, without_rounding
from sr_harness.errors import AlignmentError, FitError

X = np.linspace(0.1, 10.0, 200)


@pytest.mark.parametrize("factor", [3e8, 6.6e-34, -1.0, 1e-200, 1e200])
def test_a_factor_of_any_size_has_full_precision(factor: float) -> None:
    result = fit(parse("param('a')*x"), {"x": X}, factor * X)
    assert result.parameters["a"] == pytest.approx(factor, rel=4e-16)
    assert result.converged
    assert result.r2 == pytest.approx(1.0)


CASES = {
    "param('a')*exp(param('b')*x)": "100*exp(-0.3*x)",
    "param('a')*sin(param('b')*x)": "sin(7*x)",
    "sin(param('b')*x)": "sin(7*x)",
    "param('a')*sin(param('b')*x + param('c')) + param('d')": "2*sin(7*x + 0.4) - 3",
    "param('a')*sin(param('b')*x) + param('c')*sin(param('d')*x)": "2*sin(3*x) + sin(5.5*x)",
    "param('a')*x**param('b')": "3e-5*x**1.7",
    "param('a')/(x + param('b'))": "3/(x + 0.77)",
    "param('a')*exp(-(x - param('m'))**2/param('s'))": "3*exp(-(x - 4)**2/0.5)",
    "param('a')*exp(param('b')*x) + param('c')*exp(param('d')*x)": "3*exp(-0.5*x) + 2*exp(-2.1*x)",
    "param('a')*tanh(param('b')*x + param('c'))": "3*tanh(0.5*x - 2)",
    "log(param('a')*x + param('b'))": "log(3*x + 2)",
    "1/(param('a') + param('b')*x + param('c')*x**2)": "1/(2 + 3*x + 0.1*x**2)",
    "(param('a') + param('b')*x)/(1 + param('c')*x + param('d')*x**2)": "(1 + 2*x)/(1 + 0.3*x + 0.2*x**2)",
    "param('a')*(x + param('b'))": "3*x + 6",
}


@pytest.mark.parametrize("form", CASES)
def test_families_are_fitted_from_default_starts(form: str) -> None:
    target = evaluate(parse(CASES[form]), {"x": X})
    result = fit(parse(form), {"x": X}, target)
    assert result.converged, result.reason
    assert 1.0 - result.r2 < 1e-20
    np.testing.assert_allclose(evaluate(result.expression, {"x": X}), target, rtol=1e-9)


def test_scaled_data_give_the_scaled_answer() -> None:
    small = 1e-9 * X
    result = fit(parse("param('a')*exp(param('b')*x)"), {"x": small}, 1e12 * np.exp(-2e8 * small))
    assert result.parameters["b"] == pytest.approx(-2e8, rel=1e-12)
    assert result.parameters["a"] == pytest.approx(1e12, rel=1e-12)


def test_noise_is_averaged_and_the_seed_decides() -> None:
    noise = 0.1 * np.random.default_rng(5).standard_normal(200)
    formula = parse("param('a')*exp(param('b')*x) + param('c')")
    results = [fit(formula, {"x": X}, 3 * np.exp(-0.7 * X) + 1 + noise, seed=s) for s in (0, 0, 1)]
    assert results[0] == results[1]
    assert results[0].loss == pytest.approx(results[2].loss, rel=1e-9)
    assert results[0].converged
    assert results[0].parameters["b"] == pytest.approx(-0.7, rel=0.2)
    assert results[0].loss == pytest.approx(0.01, rel=0.3)


def test_many_rows_are_worked_through_in_blocks() -> None:
    x = np.random.default_rng(2).uniform(0, 3, 120_000)
    result = fit(parse("param('a')*sin(param('b')*x) + param('c')"), {"x": x}, 2 * np.sin(5 * x) + 1)
    assert result.parameters == pytest.approx({"a": 2.0, "b": 5.0, "c": 1.0}, rel=1e-12) or (
        result.parameters == pytest.approx({"a": -2.0, "b": -5.0, "c": 1.0}, rel=1e-12)
    )
    assert result.rows == 120_000


def test_weights_decide_between_rows() -> None:
    x = np.ones(4)
    y = np.array([1.0, 1.0, 5.0, 5.0])
    formula = parse("param('a')*x")
    assert fit(formula, {"x": x}, y).parameters["a"] == pytest.approx(3.0)
    weighted = fit(formula, {"x": x}, y, weights=[3.0, 3.0, 1.0, 1.0])
    assert weighted.parameters["a"] == pytest.approx(2.0)
    assert weighted.loss == pytest.approx((3 * 1 + 1 * 9) / 4)
    assert fit(formula, {"x": x}, y, weights=[1, 1, 0, 0]).loss == pytest.approx(0.0, abs=1e-30)


def test_a_formula_without_parameters_is_measured() -> None:
    result = fit(parse("2*x"), {"x": X}, 2 * X + 1)
    assert result.loss == pytest.approx(1.0)
    assert result.parameters == {}
    assert result.reason == "there is nothing to fit"
    constant = fit(parse("param('c')"), {}, [1.0, 2.0, 6.0])
    assert constant.parameters["c"] == pytest.approx(3.0)
    assert constant.r2 == pytest.approx(0.0, abs=1e-12)


def test_unidentifiable_parameters_share_what_they_explain() -> None:
    result = fit(parse("param('a') + param('b')"), {}, [4.0, 4.0])
    assert result.parameters["a"] == pytest.approx(2.0)
    assert result.parameters["b"] == pytest.approx(2.0)


def test_rows_that_cannot_be_used_are_named() -> None:
    y = X.copy()
    y[[3, 7]] = np.nan, np.inf
    with pytest.raises(FitError, match=r"the target is NaN or infinite in rows 3, 7 \(counted from 0\)"):
        fit(parse("param('a')*x"), {"x": X}, y)
    with pytest.raises(FitError, match="the column 'x' is NaN or infinite in rows 3, 7"):
        fit(parse("param('a')*x"), {"x": y}, X)
    with pytest.raises(FitError, match=r"the formula's value is NaN or infinite in row 0 "):
        fit(parse("param('a')*log(x)"), {"x": X - 0.1}, X)
    with pytest.raises(FitError, match=r"… \(200 in all\)"):
        fit(parse("param('a')*x"), {"x": X}, np.full(200, np.nan))
    unused = fit(parse("param('a')*x"), {"x": X, "z": y}, X)
    assert unused.parameters["a"] == pytest.approx(1.0)


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(AlignmentError, match=r"target has shape \(3,\), but the formula has shape \(200,\)"):
        fit(parse("param('a')*x"), {"x": X}, [1.0, 2.0, 3.0])
    with pytest.raises(FitError, match="no rows"):
        fit(parse("param('a')*x"), {"x": []}, [])
    with pytest.raises(FitError, match="weights must be finite"):
        fit(parse("param('a')*x"), {"x": X}, X, weights=-X)
    with pytest.raises(FitError, match="only real numbers"):
        fit(parse("param('a')*x"), {"x": X}, np.array(["a"] * 200))


def test_a_limit_of_work_ends_the_fit_and_is_told() -> None:
    noisy = np.sin(7 * X) + np.cos(X**2)
    form = "param('a')*sin(param('b')*x) + exp(param('c')*x)*param('d') + tanh(param('f')*x)"
    result = fit(parse(form), {"x": X}, noisy, max_evaluations=3)
    assert not result.converged
    assert "used up" in result.reason
    assert np.isfinite(result.loss)


def test_a_formula_that_is_finite_nowhere_has_infinite_loss() -> None:
    result = fit(parse("log(-exp(param('a')*x))"), {"x": X}, X)
    assert result.loss == np.inf
    assert not result.converged
    assert "not finite at any start" in result.reason


def test_a_given_start_decides_a_local_fit() -> None:
    target = np.sin(7 * X)
    near = fit(parse("sin(param('b', value=7.01)*x)"), {"x": X}, target, local=True)
    assert near.parameters["b"] == pytest.approx(7.0)
    far = fit(parse("sin(param('b', value=2.0)*x)"), {"x": X}, target, local=True)
    assert far.parameters["b"] == pytest.approx(2.0, abs=1.0)


def test_the_jacobian_has_one_column_per_parameter() -> None:
    values, slopes = jacobian(parse("param('a')*x + param('b')**2"), {"x": X}, {"a": 2.0, "b": 3.0})
    np.testing.assert_array_equal(values, 2 * X + 9)
    np.testing.assert_array_equal(slopes, np.stack([X, np.full(200, 6.0)], axis=-1))


def test_numbers_can_be_freed_for_a_fit() -> None:
    template, values = free_numbers(parse("1.5*x**2 + 1.5*sin(0.25*x)"))
    assert list(values.values()) == [1.5, 1.5, 0.25]
    result = fit(template, {"x": X}, 2.5 * X**2 - np.sin(0.3 * X), local=True)
    assert sorted(result.parameters.values()) == pytest.approx([-1.0, 0.3, 2.5])


RNG = np.random.default_rng(0)
TABLE = {"x": RNG.uniform(1, 5, 200), "y": RNG.uniform(1, 5, 200)}


@pytest.mark.parametrize(
    ("found", "truth", "noise", "snapped"),
    [
        ("0.0795774*x/(y**1.99999)", "x/(4*pi*y**2)", 0.0, "x/(4*pi*y**2)"),
        ("2.0003*x*(1.00013 - cos(y))", "2*x*(1 - cos(y))", 1e-3, "2*x*(1 - cos(y))"),
        ("0.39894*exp(-0.50001*x**2) + 0.00001*y", "exp(-x**2/2)/sqrt(2*pi)", 0.0, "exp(-x**2/2)/sqrt(2*pi)"),
        ("1.41421*x + 3.3333*y", "sqrt(2)*x + 10*y/3", 0.0, "sqrt(2)*x + 10*y/3"),
        ("6.626e-34*x", "6.62607015e-34*x", 0.0, "6.62607015e-34*x"),
        ("0.99999*x**1.00001", "x", 0.0, "x"),
    ],
)
def test_numbers_snap_where_the_data_do_not_object(
    found: str, truth: str, noise: float, snapped: str
) -> None:
    target = evaluate(parse(truth), TABLE)
    target = target + noise * np.std(target) * np.random.default_rng(1).standard_normal(200)
    assert render(snap(parse(found), TABLE, target)) == snapped


def test_numbers_that_are_not_simple_stay_and_are_fitted_to_full_precision() -> None:
    a, b = 0.12345678912345, 0.98765432198765
    result = snap(parse("0.1234*x + 0.9876*y"), TABLE, a * TABLE["x"] + b * TABLE["y"])
    assert evaluate(result, {"x": 1.0, "y": 0.0}) == pytest.approx(a, rel=1e-13)
    assert evaluate(result, {"x": 0.0, "y": 1.0}) == pytest.approx(b, rel=1e-13)


WILD = [
    "param('a', value={0})*exp(param('b', value={0})*x)",
    "1/(param('a', value={0}) + x**param('b', value=2)) + param('c')",
    "sqrt(param('a', value={0})*x + param('b', value=1))",
    "log(param('a', value={0})*x + param('b', value={0}))*param('c')",
    "tanh(param('a', value={0})*x)*exp(param('b', value=-{0})*x**2)",
    "param('a', value={0})**2*x + param('b', value={0})**3",
]


@pytest.mark.parametrize("form", WILD)
@pytest.mark.parametrize("start", ["1e308", "1e160", "1e-27", "1e-300"])
def test_wild_constants_end_in_a_result(form: str, start: str) -> None:
    formula = parse(form.format(start))
    for scale in (1.0, 1e-300, 1e300):
        result = fit(formula, {"x": X}, scale * X, local=True)  # warnings are errors here
        assert result.converged or result.reason
        assert not (result.converged and np.isinf(result.loss) and scale <= 1.0)


def test_a_start_without_values_is_given_back() -> None:
    result = fit(parse("exp(param('a', value=1e6)*x)"), {"x": X}, X, local=True)
    assert not result.converged
    assert result.parameters == {"a": 1e6}
    assert result.loss == np.inf


def test_a_formula_whose_own_numbers_overflow_has_no_fit() -> None:
    result = fit(parse("param('a')*x*1e300*1e300"), {"x": X}, X)
    assert not result.converged
    assert result.loss == np.inf


def test_a_tiny_target_is_fitted() -> None:
    result = fit(parse("param('a')*x + param('b')"), {"x": X}, 1e-305 * X)
    assert result.parameters["a"] == pytest.approx(1e-305, rel=1e-12)


@pytest.mark.parametrize(
    ("form", "truth", "values"),
    [
        ("param('a')*x**param('b') + param('c')", "3*x**2 + 0.1", {"a": 3.0, "b": 2.0, "c": 0.1}),
        ("param('a')*sin(param('b')*x) + param('c')", "2.5*sin(0.7*x) - 1", {"a": 2.5, "b": 0.7, "c": -1.0}),
        ("param('a')*exp(param('b')*x)", "6.62607015e-34*exp(-0.3*x)", {"a": 6.62607015e-34, "b": -0.3}),
    ],
)
def test_an_exact_fit_has_no_accidental_digits(form: str, truth: str, values: dict[str, float]) -> None:
    result = fit(parse(form), {"x": X}, evaluate(parse(truth), {"x": X}))
    assert result.parameters == values


def test_noise_is_not_rounded_away() -> None:
    rng = np.random.default_rng(3)
    target = 3.0 * X + 1e-6 * rng.standard_normal(X.size)
    slope = fit(parse("param('a')*x"), {"x": X}, target).parameters["a"]
    assert slope == pytest.approx(float(X @ target / (X @ X)), rel=1e-14)
    assert slope != 3.0


def test_numbers_lose_what_arithmetic_left_behind() -> None:
    left = parse("2.9999999999999996*x + 0.30000000000000004 + 0.282094791773878 - 1.0000000000000009*x**0.5")
    assert render(without_rounding(left)) == "3*x + 0.3 + 0.282094791773878 - 1*x**0.5"
    kept = parse("0.123456789012345*x + 3.00000000001")
    assert without_rounding(kept) is kept
