"""Formulas of 5,000 terms and 5,000 levels go through every part of the engine."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from sr_harness.engine import (
    bind,
    complexity,
    equivalent,
    evaluate,
    fit,
    jacobian,
    latex,
    parse,
    render,
    simplify,
    substitute,
    to_sympy,
    variables,
)
from sr_harness.errors import ExpressionError

SIZE = 5_000
X = np.array([0.5, 0.75, 1.0])
SHAPES = {
    "terms": "+".join(f"{k}*x" for k in range(1, SIZE + 1)),
    "factors": "*".join(["(x+1)/(1+x)"] * (SIZE // 2)),
    "functions": "sin(" * SIZE + "x" + ")" * SIZE,
    "powers": "**".join(["x"] * SIZE),
    "minus signs": "-" * SIZE + "x",
    "parentheses": "(" * SIZE + "x" + ")" * SIZE,
    "left nesting": "1/(1+" * SIZE + "x" + ")" * SIZE,
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_walk_is_free_of_recursion(shape: str) -> None:
    formula = parse(SHAPES[shape])
    again = parse(render(formula))
    assert again == formula
    assert hash(again) == hash(formula)
    assert pickle.loads(pickle.dumps(formula)) == formula
    assert copy.deepcopy(formula) == formula
    assert variables(formula) == ("x",)
    assert complexity(formula) >= 1
    assert latex(formula).count("{") == latex(formula).count("}")
    values = evaluate(formula, {"x": X})
    np.testing.assert_allclose(evaluate(simplify(formula), {"x": X}), values, rtol=1e-9)
    np.testing.assert_array_equal(evaluate(substitute(formula, {"x": parse("y")}), {"y": X}), values)


def test_a_sum_of_5000_parameters_has_derivatives_and_can_be_bound() -> None:
    names = [f"p{k}" for k in range(SIZE)]
    formula = parse("+".join(f"param('{n}')*x" for n in names))
    _, slopes = jacobian(formula, {"x": X}, dict.fromkeys(names, 1.0))
    np.testing.assert_array_equal(slopes, np.repeat(X[:, None], SIZE, axis=1))
    np.testing.assert_allclose(evaluate(bind(formula, dict.fromkeys(names, 2.0)), {"x": X}), 2.0 * SIZE * X)


def test_a_deep_formula_can_be_fitted_and_compared() -> None:
    chain = parse("param('a')*x + " + SHAPES["terms"])
    total = SIZE * (SIZE + 1) / 2
    result = fit(chain, {"x": X}, (total + 7.0) * X)
    assert result.parameters["a"] == pytest.approx(7.0, rel=1e-6)
    assert equivalent(parse(SHAPES["terms"]), parse(f"{total:.0f}*x")).verdict == "equivalent"


def test_sympy_recursion_is_an_error_of_ours() -> None:
    try:
        to_sympy(parse(SHAPES["functions"]))
    except ExpressionError as error:
        assert "nested too deep for SymPy" in str(error)
