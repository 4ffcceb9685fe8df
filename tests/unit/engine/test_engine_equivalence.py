"""Equivalence: the same function, a witness of the difference, or an honest unknown, within the time."""

from __future__ import annotations

import time

import numpy as np
import pytest

from sr_harness.engine import Expression, build, equivalent, evaluate, parse
from sr_harness.engine.algebra_worker import is_zero
from sr_harness.errors import ExpressionError

# (one formula, the other, ranges, the same function?): elementary identities and close imitations
PAIRS = [
    ("x*x + 2*x*y + y*y", "(x + y)**2", {"x": (-2, 2), "y": (-2, 2)}, True),
    ("exp(2*log(x))", "x**2", {"x": (1, 5)}, True),
    ("sqrt(x**2)*y", "x*y", {"x": (1, 5), "y": (-1, 1)}, True),
    ("sin(x)*cos(y)*2", "sin(x + y) + sin(x - y)", {"x": (0, 3), "y": (0, 3)}, True),
    ("0.0795774715459477*q/(eps*r)", "q/(4*pi*eps*r)", {"q": (1, 5), "eps": (1, 5), "r": (1, 5)}, True),
    ("m/sqrt(1 - (v/c)**2)", "m*c/sqrt(c**2 - v**2)", {"m": (1, 5), "v": (1, 2), "c": (3, 10)}, True),
    ("(1 - exp(-2*x))/(1 + exp(-2*x))", "tanh(x)", {"x": (-2, 2)}, True),
    ("1/(1/a + 1/b)", "a*b/(a + b)", {"a": (1, 5), "b": (1, 5)}, True),
    ("x + 0.0000000001*sin(7*x)", "x", {"x": (1, 5)}, True),
    ("1 - 2*sin(0.5*x)**2", "cos(x)", {"x": (0, 6)}, True),
    ("log(abs(x)) - log(abs(y))", "log(x/y)", {"x": (1, 5), "y": (1, 5)}, True),
    ("x - x**3/6 + x**5/120", "sin(x)", {"x": (0, 1)}, False),
    ("x**1.01", "x", {"x": (1, 5)}, False),
    ("0.08*q/(eps*r) + 0.0001*q", "q/(4*pi*eps*r)", {"q": (1, 5), "eps": (1, 5), "r": (1, 5)}, False),
    ("(x + y)**2", "x**2 + y**2", {"x": (1, 5), "y": (1, 5)}, False),
    ("sqrt(1 - x**2/c**2)", "1 - x**2/(2*c**2)", {"x": (1, 2), "c": (10, 30)}, False),
    ("exp(x) - 1", "x + x**2/2 + x**3/6 + x**4/24 + x**5/120 + x**6/720", {"x": (0, 0.1)}, False),
    ("(a*x + 1)/(x + 1)", "x", {"x": (0, 1)}, False),
    ("abs(x)", "x", {"x": (-1, 1)}, False),
    ("1.57079 - x - x**3/6 - 0.075*x**5", "arccos(x)", {"x": (-0.3, 0.3)}, False),
    ("tanh(3*x)", "x/abs(x)", {"x": (2, 9)}, False),
    ("3*x*y", "x*y", {}, False),
    ("sqrt(x**2)", "x", {}, False),
    ("exp(2*log(x))", "x**2", {}, False),
    ("x/x", "1", {}, True),
    ("exp(-0.5*t*t)*0.3989422804014327", "exp(-t**2/2)/sqrt(2*pi)", {"t": (1, 3)}, True),
    ("exp(-0.5*t*t - 0.9189385332046727)", "exp(-t**2/2)/sqrt(2*pi)", {"t": (1, 3)}, True),
    ("x/sqrt(1 + y**2)", "x*(y**2 + 1)**-0.5", {"x": (1, 5), "y": (1, 5)}, True),
    ("1.7320508075688772*1.1547005383792517*x", "2*x", {"x": (1, 5)}, True),
    ("0.5*m*(v*v + u*u + w*w)", "m*(v**2 + u**2 + w**2)/2", dict.fromkeys("mvuw", (1, 5)), True),
    ("x**0.3333333333333333", "x**(1/3)", {"x": (0, 4)}, True),
    ("arctan(x) + arctan(1/x)", "pi/2", {"x": (0.5, 4)}, True),
    ("sigmoid(x)", "(1 + tanh(x/2))/2", {"x": (-3, 3)}, True),
    ("max(x, y)", "(x + y + abs(x - y))/2", {}, True),
    ("x*y + 3", "x*y", {}, False),
    # imitations that float64 cannot tell apart
    ("tanh(20*x)", "sign(x)", {"x": (2, 9)}, False),
    ("1/(1 + exp(-40*x))", "1", {"x": (1, 2)}, False),
    ("sinh(x)", "exp(x)/2", {"x": (20, 30)}, False),
    ("log(1 + exp(x))", "x", {"x": (40, 50)}, False),
    ("sin(1e300*x)", "sin(1e300*x + pi)", {"x": (1, 2)}, False),
]


@pytest.mark.parametrize(("first", "second", "ranges", "same"), PAIRS)
def test_the_verdict(first: str, second: str, ranges: dict[str, tuple[float, float]], same: bool) -> None:
    a, b = parse(first), parse(second)
    answer = equivalent(a, b, ranges=ranges, time_limit=20.0)
    assert answer.verdict == ("equivalent" if same else "different"), answer
    if not same:
        assert answer.witness is not None
        u, v = evaluate(a, answer.witness), evaluate(b, answer.witness)
        seen = np.isnan(u) != np.isnan(v) or abs(u - v) > 1e-10 * abs(u)
        assert seen or "with 60 digits they differ" in answer.how
        assert all(f"{name} = " in answer.how for name in answer.witness)


def test_rounding_is_no_difference() -> None:
    a, b = parse("(1 - cos(x))/x**2"), parse("2*sin(x/2)**2/x**2")
    answer = equivalent(a, b, ranges={"x": (1e-9, 1e-6)}, time_limit=120.0)
    assert answer.verdict == "equivalent"
    assert answer.largest_difference is not None
    assert answer.largest_difference > 1e-3  # float64 alone would have called them different


def test_the_tolerance_is_the_callers() -> None:
    a, b = parse("0.07957747*q/r"), parse("q/(4*pi*r)")
    ranges = {"q": (1.0, 5.0), "r": (1.0, 5.0)}
    assert equivalent(a, b, ranges=ranges, time_limit=60.0).verdict == "different"
    assert equivalent(a, b, ranges=ranges, tolerance=1e-6, time_limit=60.0).verdict == "equivalent"


@pytest.mark.parametrize(
    ("first", "second", "ranges"),
    [
        ("x**1e9", "x**(1e9 + 1)", {"x": (0.99, 1.01)}),  # underflow to zero on both sides is no agreement
        ("9**9**9**9*x", "9**9**9*x", {"x": (1, 2)}),
        ("2**2**2**2**2**2*x", "x", {"x": (1, 2)}),
        ("exp(exp(exp(exp(x))))", "exp(exp(exp(exp(x + 1))))", {"x": (1, 2)}),
        ("(x + 1)**5000", "((x + 2)**2)**2500", {"x": (3, 4)}),
        ("+".join(f"{k}*x*sin(x + {k})" for k in range(4_000)), "x", {}),
        ("sin(" * 300 + "x" + ")" * 300, "sin(" * 300 + "x*(1 + 1e-13)" + ")" * 300, {"x": (0, 1)}),
    ],
)
def test_nothing_hangs_and_nothing_is_called_equivalent_for_want_of_values(
    first: str, second: str, ranges: dict[str, tuple[float, float]]
) -> None:
    answer = equivalent(parse(first), parse(second), ranges=ranges, time_limit=0.5)
    assert answer.verdict != "equivalent" or "agree at 1024 points" in answer.how


def test_cancellation_is_no_difference_whatever_its_depth() -> None:
    a, b = parse("(1 - cos(x))/x**2"), parse("2*sin(x/2)**2/x**2")
    answer = equivalent(a, b, ranges={"x": (1e-16, 1e-14)}, time_limit=60.0)
    assert answer.verdict == "equivalent", answer


def test_a_formula_that_is_too_large_for_the_time_is_unknown() -> None:
    long = parse("+".join(f"{k}*sin(x + {k})" for k in range(2_000)))
    answer = equivalent(long, parse("x"), time_limit=0.1)
    assert answer.verdict == "unknown"
    assert "too large to compare in 0.1 s" in answer.how


def test_delays_and_groups_count_as_unknown_values() -> None:
    a = parse("2*delay(x, 1) + delay(x, 1)*y")
    b = parse("(y + 2)*delay(x, 1)")
    assert equivalent(a, b, time_limit=60.0).verdict == "equivalent"
    group = "grouped_param(s, name='k', value={'a': 1})"
    assert equivalent(parse(f"({group})**2"), parse(f"{group}*{group}")).verdict == "equivalent"
    assert equivalent(parse("delay(x, 1)"), parse("delay(x, 2)")).verdict == "unknown"


def test_a_formula_without_values_is_unknown() -> None:
    answer = equivalent(parse("log(-1 - x**2)"), parse("sqrt(-3 - x**2)"), time_limit=1.0)
    assert answer.verdict == "unknown"
    assert "too few points" in answer.how


def test_the_answer_comes_within_the_time() -> None:
    hard = "+".join(f"sin(x**{k}*y)*exp(cos({k}*x + y))" for k in range(2, 40))
    beyond = "1/exp(2000*x)"  # overflows inside, so that many digits are not tried
    a, b = parse(f"{hard} + {beyond}"), parse(f"({hard})*(1 + 1e-11*x) + {beyond}")
    start = time.monotonic()
    answer = equivalent(a, b, ranges={"x": (1, 2), "y": (1, 2)}, time_limit=1.0)
    assert time.monotonic() - start < 30.0
    assert answer.verdict == "equivalent"
    assert "time limit" in answer.how


def test_overflowing_towers_do_not_hang() -> None:
    tower = parse("1/exp(exp(exp(exp(x))))")
    answer = equivalent(tower, parse("1/exp(exp(exp(exp(x + 1))))"), ranges={"x": (2, 3)}, time_limit=5.0)
    assert answer.verdict in ("unknown", "equivalent")


def test_names_that_sympy_knows_are_plain_symbols() -> None:
    names = ["N", "S", "E", "I", "beta", "lambda", "pi", "wind speed"]
    total: Expression = build.num(0)
    swapped: Expression = build.num(0)
    for name in names:
        total = build.add(total, build.mul(build.var(name), build.var(name)))
        swapped = build.add(build.pow_(build.var(name), 2), swapped)
    assert equivalent(total, swapped, time_limit=60.0).verdict == "equivalent"
    assert is_zero(total, swapped, [])


def test_open_parameters_and_bad_ranges_are_refused() -> None:
    with pytest.raises(ExpressionError, match="free parameters"):
        equivalent(parse("param('a')*x"), parse("x"))
    with pytest.raises(ExpressionError, match="low first"):
        equivalent(parse("x + 1"), parse("x"), ranges={"x": (2, 1)})


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        ("sum[j](A[i,j], 2*x[j])", "2*sum[j](A[i,j], x[j])", "equivalent"),
        ("sum[j](A[i,j], x[j] - x[i])", "sum[j](A[i,j], x[j]) - x*sum[j](A[i,j], 1)", "equivalent"),
        ("sum[j](A[i,j], w*sin(x[j] - x[i]))", "-sum[k](A[i,k], w[i,k]*sin(x[i] - x[k]))", "equivalent"),
        ("sum[j](A[i,j], sin(x[j]))", "sin(sum[j](A[i,j], x[j]))", "different"),
        ("sum[j](A[i,j], x[j])", "sum[j](A[i,j], x[i])", "different"),
        ("sum[j,k](T[i,j,k], x[j]*x[k])", "sum[j,k](T[i,j,k], x[k]*x[j])", "equivalent"),
        ("sum[j](A[i,j], x[j])", "gather(A[i,j], x[j])", "unknown"),
        ("sum[j](A[i,j], x)", "sum[j](A[i,j], x[j])", "unknown"),
        ("delay(x, 1)", "delay(x, 2)", "unknown"),
    ],
)
def test_graph_terms_are_compared_on_random_graphs(first: str, second: str, verdict: str) -> None:
    answer = equivalent(parse(first), parse(second), time_limit=60.0)
    assert answer.verdict == verdict, answer
    assert (answer.witness is not None) == (verdict == "different")


def test_constants_are_compared_as_such() -> None:
    assert equivalent(parse("sqrt(2)*sqrt(3)"), parse("sqrt(6)"), time_limit=60.0).verdict == "equivalent"
    assert equivalent(parse("pi"), parse("22/7"), time_limit=60.0).verdict == "different"
