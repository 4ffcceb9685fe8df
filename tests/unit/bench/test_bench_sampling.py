"""From problems to arrays."""

from __future__ import annotations

import numpy as np
import pytest
from bench_tables import problem

from sr_harness.bench.problems import problem_from_row
from sr_harness.bench.sampling import fresh_points, make_data
from sr_harness.errors import BenchmarkError

PRODUCT = problem("a*b", "a:1:3;b:-2:2")


def test_the_same_id_and_seed_give_the_same_arrays():
    one = make_data(PRODUCT, rows=50, noise=0.1, seed=4)
    make_data(problem("a+b", "a:0:1;b:0:1"), rows=9)
    again = make_data(PRODUCT, rows=50, noise=0.1, seed=4)
    assert np.array_equal(one.train.target, again.train.target)
    assert np.array_equal(one.outside.columns["a"], again.outside.columns["a"])
    other = make_data(PRODUCT, rows=50, noise=0.1, seed=5)
    assert not np.array_equal(one.train.columns["a"], other.train.columns["a"])
    renamed = make_data(problem("a*b", "a:1:3;b:-2:2", name="q"), rows=50, seed=4)
    assert not np.array_equal(one.train.columns["a"], renamed.train.columns["a"])


def test_rows_lie_in_the_ranges_and_the_outside_leaves_them():
    data = make_data(PRODUCT, rows=300, test_rows=200)
    a, b = data.test.columns["a"], data.test.columns["b"]
    assert a.min() >= 1 and a.max() <= 3 and b.min() >= -2 and b.max() <= 2
    a, b = data.outside.columns["a"], data.outside.columns["b"]
    assert a.size == 200
    assert ((a < 1) | (a > 3) | (b < -2) | (b > 2)).all()
    assert a.min() >= 0.5  # a range of positive numbers stays positive
    assert data.outside.target == pytest.approx(a * b)


def test_rows_that_are_not_real_are_drawn_again():
    data = make_data(problem("sqrt(a - b)", "a:0:1;b:0:1"), rows=400)
    assert data.train.target.size == 400
    assert np.isfinite(data.train.target).all()
    assert (data.train.columns["a"] >= data.train.columns["b"]).all()


def test_a_formula_that_is_nowhere_real_is_an_error():
    with pytest.raises(BenchmarkError, match=r"problem p: the formula is real on 0 of \d+ points"):
        make_data(problem("log(-a)", "a:1:2"), rows=5)


def test_noise_is_relative_to_the_root_mean_square_and_on_training_rows_only():
    data = make_data(PRODUCT, rows=20_000, noise=0.1)
    error = data.train.target - data.clean
    assert np.std(error) == pytest.approx(0.1 * np.sqrt(np.mean(data.clean**2)), rel=0.03)
    assert data.test.target == pytest.approx(data.test.columns["a"] * data.test.columns["b"])
    assert np.array_equal(make_data(PRODUCT, rows=50).clean, make_data(PRODUCT, rows=50).train.target)


def test_fresh_points_were_seen_by_no_method():
    fresh = fresh_points(PRODUCT, count=100)
    seen = make_data(PRODUCT, rows=100)
    assert not set(fresh.inside.columns["a"]) & set(seen.train.columns["a"])
    assert fresh.outside.columns["b"].min() < -3
    assert fresh.ranges == {"a": (1.0, 3.0), "b": (-2.0, 2.0)}


ROTATION = problem_from_row(
    {
        "id": "rotation",
        "target": "du",
        "formula": "-2*v",
        "states": "u;v",
        "rhs": "-2*v;2*u",
        "ics": "1,0|0,3|2,0",
        "t_end": "1",
        "dt": "0.1",
        "substeps": "20",
    }
)


def test_a_dynamical_system_gives_its_trajectories():
    data = make_data(ROTATION)
    time = 0.1 * np.arange(11)
    assert data.train.columns["u"][:11] == pytest.approx(np.cos(2 * time), abs=1e-6)
    assert data.train.columns["u"][11:] == pytest.approx(-3 * np.sin(2 * time), abs=1e-6)
    assert data.test.columns["v"] == pytest.approx(2 * np.sin(2 * time), abs=1e-6)
    assert data.train.target == pytest.approx(-2 * data.train.columns["v"])
    low, high = fresh_points(ROTATION).ranges["u"]
    assert (low, high) == pytest.approx((-3.0, 1.0), abs=0.1)


def test_a_trajectory_ends_where_it_blows_up():
    row = {"id": "b", "target": "du", "formula": "u**2", "states": "u", "rhs": "u**2", "ics": "1|0.1"}
    data = make_data(problem_from_row({**row, "t_end": "3", "dt": "0.1"}))
    assert 5 < data.train.target.size < 31
    assert data.test.target.size == 31
