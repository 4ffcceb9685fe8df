"""Sparse fits, exact relations, dictionaries, reductions and polish, each by itself."""

from __future__ import annotations

import numpy as np
import pytest
from search_problems import problem, table

from sr_harness.engine import evaluate, parse, render
from sr_harness.engine.build import var
from sr_harness.search import Budget
from sr_harness.search.budget import Meter
from sr_harness.search.forms import product, weighted_sum
from sr_harness.search.monomials import Atom, build_dictionary, input_atoms
from sr_harness.search.polish import loosened, nearest_plain, pruned, rounded, variants
from sr_harness.search.rationals import polynomial_dictionary, rational_forms
from sr_harness.search.reduction import reductions
from sr_harness.search.relations import first_relation
from sr_harness.search.scan import scan
from sr_harness.search.sparse import best_pairs, forward, least_squares
from sr_harness.search.transforms import TRANSFORMS
from sr_harness.search.view import whole
from sr_harness.search.workspace import Workspace


@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1.0, 1e30, 1e150])
def test_least_squares_does_not_depend_on_units(scale: float) -> None:
    units = np.array([scale, 1.0, 1e-20])
    weights, residual = least_squares(
        (matrix := np.random.default_rng(0).normal(size=(50, 3))) * units, matrix @ [2.0, -3.0, 5.0]
    )
    assert weights * units == pytest.approx([2.0, -3.0, 5.0], rel=1e-12)
    assert residual < 1e-28


def test_forward_choice_exchanges_a_column_that_only_looked_good() -> None:
    """The sum of two columns correlates best with neither of them but with a third."""
    rng = np.random.default_rng(3)
    a, b, noise = rng.normal(size=(3, 200))
    matrix = np.column_stack([a + b + 0.3 * noise, a, b])
    fits = list(forward(matrix, a + b, 2))
    assert fits[0].columns == (0,)
    assert sorted(fits[1].columns) == [1, 2]
    assert fits[1].residual < 1e-25


def test_best_pairs_looks_at_all_pairs() -> None:
    matrix = np.random.default_rng(1).normal(size=(60, 30))
    assert best_pairs(matrix, 3 * matrix[:, 7] - matrix[:, 22], 2)[0] == (7, 22)


def test_the_first_relation_is_found_and_identities_are_passed_over() -> None:
    x = np.random.default_rng(1).uniform(1, 2, 60)
    y = 1 / (1 + x)
    columns = [np.ones(60), np.sin(x) ** 2, np.cos(x) ** 2, x, y, x * y]
    relation = first_relation(np.column_stack(columns), np.array([False] * 4 + [True] * 2))
    assert relation is not None
    assert sorted(relation.columns) == [0, 4, 5]


def test_noise_has_no_exact_relation() -> None:
    matrix = np.random.default_rng(1).normal(size=(60, 10))
    assert first_relation(matrix, np.ones(10, dtype=bool)) is None


def test_a_quotient_is_read_off() -> None:
    data = table(1, 200, x=(1.0, 2.0), z=(1.0, 3.0))
    truth = parse("(x**2 - 3*z)/(1 + x*z**2)")
    view = whole(data, evaluate(truth, data))
    book = polynomial_dictionary(input_atoms(view.inputs, (1.0, 2.0, 3.0)), 60)
    found = next(rational_forms(book, view.target))
    assert evaluate(found, data) == pytest.approx(view.target, rel=1e-9)


def test_a_dictionary_has_no_proportional_and_no_constant_column() -> None:
    x = np.linspace(1.0, 2.0, 30)
    atoms = [Atom(var("x"), x, (1.0, 2.0)), Atom(var("w"), 3 * x, (1.0,)), Atom(var("v"), 1 / x, (1.0,))]
    book = build_dictionary(atoms, most_factors=2, degree=3.0, limit=20)
    assert [render(book.term(column)) for column in range(3)] == ["x", "v", "x**2"]
    unit = book.matrix / book.matrix[0]
    assert np.linalg.matrix_rank(unit, tol=1e-9) >= 4
    assert len({tuple(np.round(column, 9)) for column in unit.T}) == len(book)
    assert np.ptp(unit, axis=0).min() > 0


@pytest.mark.parametrize("transform", TRANSFORMS, ids=lambda transform: transform.name)
def test_wrapping_undoes_peeling(transform: object) -> None:
    y = np.linspace(0.1, 1.5, 20)
    peeled = transform.target(y)
    assert peeled is not None
    assert evaluate(transform.wrap(var("t")), {"t": peeled}) == pytest.approx(y, rel=1e-12)


@pytest.mark.parametrize(
    ("truth", "inputs", "factor"),
    [
        ("w*exp(-x*z)", {"x*z"}, "w"),
        ("x*cos(z - w)", {"z - w"}, "x"),
        ("sin(x/z)/w**2", {"x/z"}, "1/w**2"),
    ],
)
def test_smaller_problems_are_seen(truth: str, inputs: set[str], factor: str) -> None:
    data = table(5, 300, x=(1.0, 3.0), z=(1.0, 3.0), w=(1.0, 3.0))
    smallest = reductions(whole(data, evaluate(parse(truth), data)), lambda _units: None)[0]
    assert smallest.factor is not None
    assert render(smallest.factor) == factor
    values = {"x*z": data["x"] * data["z"], "z - w": data["z"] - data["w"], "x/z": data["x"] / data["z"]}
    expected = values[next(iter(inputs))]
    assert np.abs(np.corrcoef(smallest.inputs[0].values, expected)[0, 1]) > 0.85


def test_the_whole_problem_is_the_last_view() -> None:
    data = table(5, 100, x=(1.0, 3.0), z=(1.0, 3.0))
    view = whole(data, data["x"] * np.cos(data["z"]))
    assert reductions(view, lambda _units: None)[-1] is view


def test_a_scan_finds_the_valley_between_grid_points() -> None:
    x = np.linspace(0.0, 3.0, 80)
    y = 2 + 3 * np.exp(-1.2345 * x)
    found = scan(lambda k: (np.exp(np.outer(x, k)),), np.ones((80, 1)), y, np.linspace(-4.0, -0.1, 9))
    assert found[0][1] == pytest.approx(-1.2345, abs=1e-3)


def test_formulas_print_as_a_person_writes_them() -> None:
    x, z = var("x"), var("z")
    assert render(product([(x, 2.0), (z, -1.0)], -1.0)) == "-x**2/z"
    assert render(weighted_sum([-1.0, 2.0, 0.0], [x, z, x], 3.0)) == "2*z - x + 3"
    assert render(product([(x, 0.5)])) == "sqrt(x)"


@pytest.mark.parametrize(
    ("value", "plain"),
    [(0.50000000001, 0.5), (1e-17, 0.0), (0.44999999999999996, 0.45), (0.123456, 0.123456)],
)
def test_rounding_makes_numbers_plain(value: float, plain: float) -> None:
    assert nearest_plain(value) == plain


def test_parts_for_polish() -> None:
    formula = parse("2*x + 0.123456*z")
    assert render(rounded(parse("0.9999999999*x"))) == "1*x"
    assert render(loosened(formula)) == "2*x + param('c1', value=0.123456)*z"
    assert "2*x" in {render(shorter) for shorter in pruned(formula)}


def test_polish_snaps_and_prunes() -> None:
    data = table(1, 80, x=(1.0, 3.0), z=(1.0, 3.0))
    space = Workspace(problem(data, 0.5 * data["x"] ** 2), Meter(Budget(5_000)), 0)
    for variant in variants(parse("0.49999999991*x**2 + 0.0000000001234567*z"), space):
        space.consider(variant, "test")
    best = space.front.best()
    assert best is not None
    assert best.exact
    assert evaluate(best.expression, {"x": 3.0}) == 4.5
