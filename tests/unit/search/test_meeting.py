"""Meeting in the middle: joins, tables, hits, and the strategies themselves."""

from __future__ import annotations

import numpy as np
import pytest
from search_problems import problem, table

from sr_harness.engine import Expression, evaluate, parse, render
from sr_harness.search import Budget, Discovery, discover
from sr_harness.search.hits import linear, power_product
from sr_harness.search.joins import cross_join, distinct, outside, self_join, span
from sr_harness.search.stones import Stones
from sr_harness.search.subexpressions import Table, apply, products, shortest_pairs, sums
from sr_harness.search.view import whole

RNG_ROWS = 40


def vectors(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, RNG_ROWS))


def none() -> np.ndarray:
    return np.empty((RNG_ROWS, 0))


def test_a_join_finds_parallel_vectors_whatever_their_factor() -> None:
    a, b = vectors(200, 1), vectors(300, 2)
    b[17], b[250] = -3e20 * a[5], 1e-20 * a[99]
    pairs = cross_join(outside(a, none()), outside(b, none()))
    assert list(zip(pairs.first, pairs.second, strict=True)) == [(5, 17), (99, 250)]


def test_a_join_looks_beside_the_known_span_only() -> None:
    known = vectors(3, 3).T
    a, b = vectors(50, 4), vectors(50, 5)
    b[7] = 2 * a[11] + known @ [1.0, -2.0, 5.0]
    basis = span(known)
    pairs = cross_join(outside(a, basis), outside(b, basis))
    assert list(zip(pairs.first, pairs.second, strict=True)) == [(11, 7)]


def test_near_is_not_parallel() -> None:
    a = vectors(20, 6)
    b = a + 1e-6 * vectors(20, 7)
    assert cross_join(outside(a, none()), outside(b, none())).first.size == 0


def test_a_vector_of_one_row_matches_nothing() -> None:
    a = np.zeros((1, RNG_ROWS))
    a[0, 3] = 1.0
    assert cross_join(outside(a, none()), outside(2 * a, none())).first.size == 0


def test_vectors_inside_the_span_are_told() -> None:
    known = vectors(3, 3).T
    tested = np.concatenate([vectors(4, 8), (known @ [[1.0], [2.0], [3.0]]).T])
    parts = outside(tested, span(known))
    assert list(parts.inside) == [4]
    assert 4 not in parts.clear


def test_of_parallel_vectors_the_first_is_kept() -> None:
    a = vectors(5, 9)
    a[3] = -2 * a[1]
    assert list(self_join(outside(a, none())).second) == [3]
    assert list(distinct(outside(a, none()))) == [0, 1, 2, 4]


def test_dependent_columns_span_no_more() -> None:
    known = vectors(2, 3).T
    assert span(np.column_stack([known, known @ [1.0, 1.0]])).shape == (RNG_ROWS, 2)


def small_table(limit: int = 1000) -> tuple[Table, dict[str, np.ndarray]]:
    data = table(3, RNG_ROWS, x=(1.0, 2.0), z=(1.0, 3.0))
    found = Table(RNG_ROWS, limit)
    names = list(data)
    found.add(np.array(list(data.values())), lambda row: parse(names[row]), 1.0)
    return found, data


def test_a_table_takes_each_direction_once_and_remembers_what_it_was() -> None:
    found, data = small_table()
    entries = np.array([0, 1])
    assert list(products(found, (found, found), (entries, entries))) == [2, 3]
    assert list(products(found, (found, found), (entries, entries))) == []
    assert list(sums(found, found, entries[:1], entries[1:], -1.0)) == [4]
    assert list(apply(found, "sin", found, np.array([4]), 0.5)) == [5]
    assert render(found.expression(5)) == "sin((x - z)/2)"
    for entry in range(len(found)):
        assert evaluate(found.expression(entry), data) == pytest.approx(found.values[entry], rel=1e-14)


def test_a_table_refuses_what_is_constant_or_no_number_and_never_grows_too_long() -> None:
    found, _ = small_table(limit=4)
    offered = np.vstack([np.ones(RNG_ROWS), np.full(RNG_ROWS, np.nan), np.eye(RNG_ROWS)[0], vectors(5)])
    assert list(found.add(offered, lambda row: parse("x"), 1.0)) == [2, 3]
    assert len(found) == 4


def test_the_shortest_pairs_come_first() -> None:
    found, _ = small_table()
    longer = Table(RNG_ROWS, 10)
    longer.add(vectors(3), lambda row: parse("x"), np.array([5.0, 1.0, 2.0]))
    first, second = shortest_pairs((found, longer), 4)
    assert list(zip(first, second, strict=True)) == [(0, 1), (1, 1), (0, 2), (1, 2)]


def test_stones_are_the_same_for_the_same_data() -> None:
    data = table(3, 60, x=(1.0, 2.0), z=(1.0, 3.0))
    first, second = (Stones(whole(data, data["x"])) for _ in range(2))
    assert first.numbers == second.numbers
    assert np.array_equal(first.multipliers(200).values, second.multipliers(200).values)
    terms = first.terms(200)
    assert len({render(terms.expression(entry)) for entry in range(len(terms))}) == len(terms)


def expressions(*texts: str) -> list[Expression]:
    return [parse(text) for text in texts]


def test_a_hit_is_fitted_on_all_rows_and_idle_terms_are_dropped() -> None:
    data = table(4, 100, x=(1.0, 2.0), z=(1.0, 3.0))
    target = (3 * data["x"] - 0.25) / data["z"]
    rows = problem(data, target)
    found = linear(target, [(parse("z/x"), 1.0)], expressions("1", "1/x", "z"), rows)
    assert found is not None
    assert render(found, digits=6) == "(3 - 0.25/x)*x/z"


def test_a_hit_on_a_few_rows_only_is_dropped() -> None:
    data = table(4, 100, x=(1.0, 2.0), z=(1.0, 3.0))
    target = data["x"].copy()
    rows = problem(data, target)
    target[50] += 1e-3
    assert linear(target, [], expressions("1", "x"), rows) is None
    assert power_product(target, expressions("x"), [], rows) is None


def test_exponents_become_simple_and_odd_ones_are_refused() -> None:
    data = table(4, 100, x=(1.0, 2.0), z=(1.0, 3.0))
    rows = problem(data, data["x"])
    target = -2.5 * data["x"] ** 1.5 / (1 + data["z"]) ** (1 / 3) * np.exp(-0.7 * data["z"])
    found = power_product(target, expressions("x", "z", "1 + z"), expressions("z"), rows)
    assert found is None, "exponents of a half and of a third do not go together"
    target = -2.5 * data["x"] ** 1.5 / (1 + data["z"]) * np.exp(-0.7 * data["z"])
    found = power_product(target, expressions("x", "z", "1 + z"), expressions("z"), rows)
    assert found is not None
    assert evaluate(found, data) == pytest.approx(target, rel=1e-12)


def meet(truth: str, *, noise: float = 0.0, work: int = 300_000, **ranges: tuple[float, float]) -> Discovery:
    data = table(11, 200, **ranges)
    target = np.asarray(evaluate(parse(truth), data))
    target = target + noise * np.random.default_rng(1).normal(size=target.size)
    return discover(problem(data, target), budget=Budget(work), strategies=["meeting", "meeting_far"])


UNIT, WIDE = (0.2, 0.9), (1.0, 4.0)


@pytest.mark.parametrize(
    ("truth", "ranges"),
    [
        ("3*a*tanh(b/c)**2/(1 + b*c)", {"a": WIDE, "b": WIDE, "c": WIDE}),
        ("a*exp(-0.3*b*c)*sin(b)", {"a": WIDE, "b": WIDE, "c": WIDE}),
        ("(a*b + 2*cos(c))/(1 - b**2)", {"a": WIDE, "b": UNIT, "c": WIDE}),
        ("a*cos(b/2)**2*sin(c)/cos(b*c)", {"a": WIDE, "b": UNIT, "c": UNIT}),
        ("sqrt(a**2 + 3*b**2 + a*c*sin(b - c))", {"a": WIDE, "b": WIDE, "c": UNIT}),
        ("log(a + b*c*exp(c))", {"a": WIDE, "b": WIDE, "c": UNIT}),
    ],
)
def test_formulas_of_two_or_three_parts_are_found(truth: str, ranges: dict[str, tuple[float, float]]) -> None:
    result = meet(truth, **ranges)
    assert result.stop_reason == "exact"
    data = table(12, 50, **ranges)
    assert result.best is not None
    assert evaluate(result.best.expression, data) == pytest.approx(evaluate(parse(truth), data), rel=1e-8)


def test_the_same_search_twice_is_the_same() -> None:
    first, second = (meet("a*b*sin(c) + a", a=WIDE, b=WIDE, c=WIDE) for _ in range(2))
    assert first.work_used == second.work_used
    assert [c.formula() for c in first.front.candidates] == [c.formula() for c in second.front.candidates]


def test_noise_meets_nothing() -> None:
    result = meet("a*sin(b)/(1 + c)", noise=0.01, a=WIDE, b=WIDE, c=WIDE)
    assert result.stop_reason == "finished"
    assert result.best is None or not result.best.exact


def test_few_rows_are_skipped() -> None:
    data = table(1, 20, a=WIDE)
    result = discover(problem(data, np.sin(data["a"])), budget=Budget(1000), strategies=["meeting"])
    assert result.events[0].message == "skipped: fewer than 24 rows"


def test_the_work_budget_ends_it_early() -> None:
    result = meet("a/(b + exp(c*sin(a)))", work=500, a=WIDE, b=WIDE, c=WIDE)
    assert result.work_used <= 500
