"""Evaluation: float64 values, alignment, blocks of rows, and nothing on standard error."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from engine_strategies import AWKWARD_NAMES

from sr_harness.engine import build, compile_, evaluate, parse, render, to_callable
from sr_harness.engine.binding import BLOCK
from sr_harness.errors import AlignmentError, ExpressionError, UnknownNameError

X = np.array([-2.0, -0.5, 0.0, 0.25, 1.0, 3.0])
DATA = {"x": X, "y": X + 0.125, "z": np.abs(X) + 1.0}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-x**2", lambda x, y, z: -(x**2)),
        ("x**3 - 2*x/z", lambda x, y, z: x**3 - 2 * x / z),
        ("(x**2)**0.5", lambda x, y, z: np.abs(x)),
        ("z**-2 + z**1.5", lambda x, y, z: z**-2.0 + z**1.5),
        ("exp(-x)*log(z)", lambda x, y, z: np.exp(-x) * np.log(z)),
        ("log10(z) + log2(z)", lambda x, y, z: np.log10(z) + np.log2(z)),
        ("sigmoid(x)", lambda x, y, z: 1 / (1 + np.exp(-x))),
        ("sec(x) + csc(y)", lambda x, y, z: 1 / np.cos(x) + 1 / np.sin(y)),
        ("cot(y) + sech(x)", lambda x, y, z: 1 / np.tan(y) + 1 / np.cosh(x)),
        ("inv(z) + abs(x) + sign(x)", lambda x, y, z: 1 / z + np.abs(x) + np.sign(x)),
        ("min(x, y, 0) + max(x, 1)", lambda x, y, z: np.minimum(np.minimum(x, y), 0) + np.maximum(x, 1)),
        ("arctan(x)*arcsin(0.25*x)", lambda x, y, z: np.arctan(x) * np.arcsin(0.25 * x)),
        ("sinh(x) + cosh(x)", lambda x, y, z: np.sinh(x) + np.cosh(x)),
        ("tan(x) - tanh(x)", lambda x, y, z: np.tan(x) - np.tanh(x)),
        ("pi*x + e", lambda x, y, z: np.pi * x + np.e),
    ],
)  # fmt: skip
def test_values_are_those_of_numpy(text: str, expected) -> None:
    np.testing.assert_allclose(evaluate(parse(text), DATA), expected(**DATA), rtol=1e-14)


@pytest.mark.parametrize("name", AWKWARD_NAMES)
def test_every_column_name_has_its_values(name: str) -> None:
    formula = parse(render(build.mul(build.call("cos", build.var(name)), 2)), names=[name])
    np.testing.assert_array_equal(evaluate(formula, {name: X}), 2 * np.cos(X))
    np.testing.assert_array_equal(to_callable(formula)(X), 2 * np.cos(X))


def test_nan_and_infinity_are_values_and_nobody_is_warned() -> None:
    values = evaluate(parse("log(x) + 1/x"), {"x": [-1.0, 0.0, np.inf, np.nan]})
    assert np.isnan(values[0]) and np.isnan(values[1]) and values[2] == np.inf and np.isnan(values[3])
    assert evaluate(parse("1/0"), {}) == np.inf
    assert np.isnan(evaluate(parse("(-8)**(1/3)"), {}))
    assert evaluate(parse("exp(1000)*x"), {"x": 2.0}) == np.inf


def test_integers_are_computed_as_floats() -> None:
    values = evaluate(parse("n**-1 + n**20"), {"n": np.array([2, 10, 100])})
    np.testing.assert_allclose(values, np.array([2.0, 10.0, 100.0]) ** 20, rtol=1e-6)
    assert values.dtype == np.float64
    assert evaluate(parse("b + 1"), {"b": np.array([True, False])}).tolist() == [2.0, 1.0]


def test_the_result_never_aliases_the_data() -> None:
    x = X.copy()
    result = evaluate(parse("x"), {"x": x})
    result[0] = 99.0
    assert x[0] == -2.0


def test_shapes_that_differ_are_refused_by_name() -> None:
    with pytest.raises(AlignmentError, match=r"'x' has shape \(6,\) but 'y' has shape \(1,\)"):
        evaluate(parse("x + y"), {"x": X, "y": [1.0]})
    with pytest.raises(AlignmentError, match="nothing is broadcast silently"):
        evaluate(parse("x*y"), {"x": np.ones((3, 2)), "y": np.ones(2)})


def test_scalars_stand_for_themselves_and_constants_take_the_common_shape() -> None:
    np.testing.assert_array_equal(evaluate(parse("x + c"), {"x": X, "c": 2}), X + 2)
    assert evaluate(parse("c"), {"x": X, "c": 2}).shape == ()
    assert evaluate(parse("3"), {"x": X}).tolist() == [3.0] * 6
    assert evaluate(parse("3"), {}).shape == ()
    assert evaluate(parse("x"), {"x": np.ones((2, 3))}).shape == (2, 3)


def test_missing_and_unusable_columns_are_named() -> None:
    with pytest.raises(UnknownNameError, match="no column 'speed'; did you mean 'sped'"):
        evaluate(parse("speed"), {"sped": X})
    with pytest.raises(ExpressionError, match="'label' holds values of type <U1"):
        evaluate(parse("label + 1"), {"label": np.array(["a", "b"])})
    with pytest.raises(ExpressionError, match="complex"):
        evaluate(parse("x"), {"x": np.array([1j])})
    with pytest.raises(UnknownNameError, match="parameter 'a' has no value"):
        evaluate(parse("param('a')*x"), DATA)


def test_parameters_come_from_the_call_or_from_the_text() -> None:
    formula = parse("param('a', value=2)*x + param('b', value=1)")
    np.testing.assert_array_equal(evaluate(formula, DATA), 2 * X + 1)
    np.testing.assert_array_equal(evaluate(formula, DATA, {"a": 3.0}), 3 * X + 1)
    run = compile_(formula, ["b", "a"])
    np.testing.assert_array_equal(run(DATA, [5.0, 4.0]), 4 * X + 5)
    np.testing.assert_array_equal(to_callable(formula)(X, a=0.0), np.ones(6))


def test_labels_choose_the_value_of_a_grouped_parameter() -> None:
    formula = parse("grouped_param(site, name='k', value={'n': 2, '3': 5}, default=-1)*x")
    data = {"site": np.array(["n", "s", "n"]), "x": np.array([1.0, 2.0, 3.0])}
    assert evaluate(formula, data).tolist() == [2.0, -2.0, 6.0]
    assert evaluate(formula, {"site": np.array([3, 3, 4]), "x": data["x"]}).tolist() == [5.0, 10.0, -3.0]
    with pytest.raises(UnknownNameError, match="no value for the label 's'"):
        evaluate(parse("grouped_param(site, name='k', value={'n': 2})"), data)


@pytest.mark.parametrize("rows", [1, 2 * BLOCK, 2 * BLOCK + 1, 300_007])
def test_blocks_of_rows_give_the_same_values(rows: int) -> None:
    rng = np.random.default_rng(1)
    data = {"x": rng.uniform(1, 2, rows), "n": rng.integers(1, 9, rows), "c": 3.0}
    expected = np.sin(data["x"]) ** 2 + data["n"] / (data["x"] + 3.0) - np.sin(data["x"])
    np.testing.assert_allclose(evaluate(parse("sin(x)**2 + n/(x + c) - sin(x)"), data), expected, rtol=1e-13)
    for text, column in (("x", data["x"]), ("2*3", np.full(rows, 6.0)), ("c + x*0", np.full(rows, 3.0))):
        np.testing.assert_array_equal(evaluate(parse(text), data if text != "2*3" else {"x": column}), column)


def test_memory_is_handed_on_between_steps_and_never_to_the_data() -> None:
    rows = 3 * BLOCK + 5
    x = np.linspace(0.5, 2.0, rows)
    kept = x.copy()
    formula = parse("((x + 1)**3*(x - 2)**1.5 + max(x, 1, x**2) - sin(x)*cos(x) + sigmoid(x - 1))/(x + 3)")
    whole = evaluate(formula, {"x": x})
    pieces = [evaluate(formula, {"x": x[k : k + 1000]}) for k in range(0, rows, 1000)]
    np.testing.assert_array_equal(whole, np.concatenate(pieces))
    np.testing.assert_array_equal(x, kept)


def test_the_result_of_a_long_table_may_have_any_memory_layout() -> None:
    table = np.arange(200_000.0).reshape(2, 100_000)[:, ::2]
    np.testing.assert_array_equal(evaluate(parse("2*x + 1"), {"x": table}), 2 * table + 1)


def test_memory_beyond_the_result_does_not_grow_with_the_formula() -> None:
    rows = 1_000_000
    x = np.linspace(0.0, 1.0, rows)
    formula = parse("+".join(f"sin({k}*x)*exp(-{k}*x)" for k in range(1, 9)))
    tracemalloc.start()
    evaluate(formula, {"x": x})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.3 * x.nbytes
