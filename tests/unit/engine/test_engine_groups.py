"""Grouped parameters are fitted like any other: one value per label, printed and read back."""

from __future__ import annotations

import numpy as np
import pytest

from sr_harness.engine import Structure, bind, evaluate, fit, latex, parse, render
from sr_harness.errors import FitError

RNG = np.random.default_rng(8)
SITE = RNG.choice(["north", "south", "east"], 240)
X = RNG.uniform(0.0, 4.0, 240)
DATA = {"site": SITE, "x": X}


def per_site(north: float, south: float, east: float) -> np.ndarray:
    return np.select([SITE == "north", SITE == "south"], [north, south], east)


def test_linear_values_are_solved_for_directly() -> None:
    target = per_site(2.0, -3.5, 0.25) * X + 7
    result = fit(parse("grouped_param(site, name='k')*x + param('c')"), DATA, target)
    assert result.groups == {"k": {"north": 2.0, "south": -3.5, "east": 0.25}}
    assert result.parameters == {"c": 7.0}
    assert result.converged
    assert "solved directly" in result.reason
    text = render(result.expression)
    assert text == "grouped_param(site, name='k', value={'east': 0.25, 'north': 2, 'south': -3.5})*x + 7"
    np.testing.assert_allclose(evaluate(parse(text), DATA), target, rtol=1e-12)


@pytest.mark.parametrize(
    ("form", "target"),
    [
        ("param('a')*exp(-grouped_param(site, name='k')*x)", 100 * np.exp(-per_site(0.3, 1.5, 2.25) * X)),
        ("param('a')*sin(grouped_param(site, name='k')*x)", 2 * np.sin(per_site(7.0, 3.1, 5.0) * X)),
        (
            "grouped_param(site, name='a')*exp(-grouped_param(site, name='k')*x)",
            per_site(1.0, -2.0, 3.0) * np.exp(-per_site(0.3, 1.5, 2.25) * X),
        ),
    ],
)
def test_values_inside_functions_are_found_from_default_starts(form: str, target: np.ndarray) -> None:
    result = fit(parse(form), DATA, target)
    assert 1.0 - result.r2 < 1e-20
    np.testing.assert_allclose(evaluate(result.expression, DATA), target, rtol=1e-9, atol=1e-12)
    assert set(result.groups["k"]) == {"north", "south", "east"}


def test_labels_that_do_not_occur_keep_their_value() -> None:
    form = parse("grouped_param(site, name='k', value={'west': 9, 'east': 1}, default=1.5)*x")
    result = fit(form, DATA, per_site(2.0, 3.0, 4.0) * X)
    assert result.groups == {"k": {"north": 2.0, "south": 3.0, "east": 4.0}}
    there = {"site": np.array(["west", "east", "nowhere"]), "x": np.ones(3)}
    assert evaluate(result.expression, there).tolist() == [9.0, 4.0, 1.5]


@pytest.mark.parametrize("kind", [int, float])
def test_numeric_labels_are_written_as_their_text(kind: type) -> None:
    number = np.arange(60) % 3
    result = fit(parse("grouped_param(n, name='k')"), {"n": number.astype(kind)}, number**2 + 1.0)
    assert result.groups == {"k": {"0": 1.0, "1": 2.0, "2": 5.0}}


def test_many_labels_are_reduced_label_by_label() -> None:
    number = np.arange(3_000) % 40
    x = RNG.uniform(1.0, 2.0, number.size)
    result = fit(parse("grouped_param(n, name='k')*x + param('c')"), {"n": number, "x": x}, number * x - 2)
    assert result.parameters["c"] == pytest.approx(-2.0, rel=1e-12)
    assert [result.groups["k"][str(k)] for k in range(40)] == pytest.approx(range(40), abs=1e-10)


def test_labels_of_nodes_are_read_at_an_end_point() -> None:
    edges = RNG.integers(0, 6, (20, 2))
    data = {"kind": np.array(list("aabbcc")), "theta": RNG.uniform(0, 6, (4, 6)), "A": edges}
    structure = Structure({"theta": ("time", "node"), "kind": ("node",)}, {}, ("A",), 6, "node", "time")
    form = "sum[j](A[i,j], grouped_param(kind[j], name='K'{})*sin(theta[j] - theta[i]))"
    target = evaluate(parse(form.format(", value={'a': 1, 'b': 2, 'c': 3}")), data, structure=structure)
    result = fit(parse(form.format("")), data, target, structure=structure)
    assert result.groups == {"K": {"a": 1.0, "b": 2.0, "c": 3.0}}
    assert parse(render(result.expression)) == result.expression
    assert r"{K}_{\left[{\mathrm{kind}}_{j}\right]}" in latex(result.expression)
    np.testing.assert_allclose(evaluate(result.expression, data, structure=structure), target, atol=1e-12)


def test_values_of_labels_can_be_bound() -> None:
    formula = parse("grouped_param(site, name='k', value={'a': 1})*param('b')")
    bound = bind(formula, {"k": {"b": 2.0}, "b": 3.0})
    assert render(bound) == "grouped_param(site, name='k', value={'a': 1, 'b': 2})*3"


@pytest.mark.parametrize("labels", [np.array([1.0, np.nan]), np.array(["a", None], dtype=object)])
def test_missing_labels_are_named(labels: np.ndarray) -> None:
    with pytest.raises(FitError, match=r"labels 's' of grouped_param 'k' are missing in row 1"):
        fit(parse("grouped_param(s, name='k')"), {"s": labels}, [1.0, 2.0])


def test_too_many_labels_are_refused() -> None:
    with pytest.raises(FitError, match="has 600 labels in the column 's'"):
        fit(parse("grouped_param(s, name='k')"), {"s": np.arange(600)}, np.arange(600.0))
