"""Which formulas count as found."""

from __future__ import annotations

import pytest
from bench_tables import problem

from sr_harness.bench.sampling import fresh_points
from sr_harness.bench.verdict import judge
from sr_harness.engine import parse


def verdict(found: str, truth: str, variables: str, noise: float = 0.0):
    made = problem(truth, variables)
    return judge(parse(found, names=made.names), made.truth, fresh_points(made), noise=noise)


@pytest.mark.parametrize(
    ("found", "truth", "variables"),
    [
        ("u*u + 2*u*w + w*w", "(u + w)**2", "u:-2:2;w:-2:2"),
        ("0.3183098861837907*u", "u/pi", "u:1:5"),
        ("0.31830989*u", "u/pi", "u:1:5"),
        ("log(u) - log(w)", "log(u/w)", "u:1:5;w:1:5"),
        ("u + 1e-13*sin(7*u)", "u", "u:1:5"),
        ("1/(1/I + 1/N)", "I*N/(I + N)", "I:1:5;N:1:5"),
    ],
)
def test_the_same_function_is_strict(found, truth, variables):
    result = verdict(found, truth, variables)
    assert result.strict and result.recovered, result


@pytest.mark.parametrize(
    ("found", "truth", "variables"),
    [
        ("w - w**3/6 + w**5/120", "sin(w)", "w:0:1"),
        ("u**1.001", "u", "u:1:5"),
        ("u + 0.001*w", "u", "u:1:5;w:1:5"),
        ("abs(u)", "u", "u:-1:1"),
        ("2.5", "u", "u:1:5"),
        ("0", "u", "u:1:5"),
        ("sqrt(u - 3)", "u", "u:1:5"),
        ("tanh(4*u)", "u/abs(u)", "u:3:9"),
    ],
)
def test_imitations_are_not(found, truth, variables):
    result = verdict(found, truth, variables)
    assert not result.recovered and not result.strict, result
    assert result.how == "no"


@pytest.mark.parametrize(("found", "how"), [("u*w + 7", "offset"), ("4.2*u*w", "factor"), ("-u*w", "factor")])
def test_a_constant_offset_or_factor_is_recovered_but_not_strict(found, how):
    result = verdict(found, "u*w", "u:1:5;w:1:5")
    assert (result.recovered, result.strict, result.how) == (True, False, how)


def test_with_noise_constants_may_be_off_by_what_the_noise_hides():
    found, truth, variables = "2.004*u*(1.002 - cos(w))", "2*u*(1 - cos(w))", "u:1:5;w:1:5"
    assert verdict(found, truth, variables, noise=0.01).how == "numbers agree after refit"
    assert not verdict(found, truth, variables).recovered


def test_errors_in_and_out_of_range_are_given():
    result = verdict("w - w**3/6", "sin(w)", "w:0:1")
    assert 1e-4 < result.error_inside < result.error_outside
    assert verdict("sqrt(u - 3)", "u", "u:1:5").error_inside is None
