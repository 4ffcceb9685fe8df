"""The pool: formulas in any notation, measured here and nowhere else."""

from __future__ import annotations

import pytest
from sr_agent_data import LAW, bench, context

from ari.agents.symbolic_regression import CandidatePool, Workbench
from sr_harness import engine


@pytest.fixture
def pool() -> CandidatePool:
    return CandidatePool(bench().problem, seed=0, hidden=context().data)


@pytest.mark.parametrize(
    "text",
    [
        LAW,
        f"y = {LAW}",
        f"f(x, v) = {LAW}.",
        f"`{LAW}`",
        "2.5*exp(-x)*v^2 + 1.7*sin(x*v)",
        "2.5 · exp(−x) · v² + 1.7 × sin(x·v)",
        "2.5*np.exp(-x)*v**2 + 1.7*math.sin(x*v)",
        "$y = 2.5 \\cdot \\exp\\left(-x\\right) \\cdot v^{2} + 1.7 \\cdot \\sin(x \\cdot v)$",
        "\\frac{5}{2}*\\exp(-x)*v^{2} + \\frac{17}{10}*\\sin(x*v)",
        "c1*exp(-x)*v**2 + c2*sin(x*v)",
        "params[0]*np.exp(-x)*v**2 + params[1]*np.sin(x*v)",
        "param('p')*exp(-x)*v**2 + param('q')*sin(x*v)",
        "a*exp(-x)*v**2 + k*sin(x*v) + offset",
    ],
)
def test_the_law_is_exact_in_every_notation(pool: CandidatePool, text: str):
    candidate = pool.offer(text, "here").candidate
    assert candidate is not None
    assert candidate.exact
    assert pool.best is candidate
    assert engine.equivalent(candidate.expression, engine.parse(LAW)).verdict == "equivalent"


def test_what_is_said_of_a_formula_counts_for_nothing(pool: CandidatePool):
    measured = pool.offer("3*x", "here")
    assert measured.row()["nrmse"] > 1
    assert measured.row()["validation_r2"] < 0


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("2*y", "'y' is no input; use v, x"),
        ("row*x", "'row' is no input; use v, x"),
        ("", "the formula is empty"),
        ("the square of x", "an operator is expected here"),
        ("2x + 1", "a number runs into a name"),
        ("log(-x)", "it is not finite on every row"),
        ("open('/etc/passwd')", "open"),
        ("x.__class__", "attributes cannot be read"),
        ("+".join(f"k{i}*x**{i}" for i in range(11)), "too many for constants"),
        ("(" * 19_000 + "x", "cannot read the formula"),
        ("x+" * 20_000 + "x", "the formula has 40001 characters; at most 20000 are read"),
        ("`wind speed`*x", "there is no column 'wind speed'"),
    ],
)
def test_what_cannot_be_measured_is_refused_with_the_reason(pool: CandidatePool, text: str, fault: str):
    measured = pool.offer(text, "here")
    assert measured.candidate is None
    assert fault in (measured.fault or "")
    assert len(pool.front) == 0


def test_a_formula_proposed_twice_is_measured_once(pool: CandidatePool):
    assert pool.offer("c*x", "first") is pool.offer("c * x", "second")
    assert pool.size == 1


def test_prose_is_told_from_formulas(pool: CandidatePool):
    assert pool.looks_like_one("y = a*x")
    assert not any(
        map(pool.looks_like_one, ("x", "a*b", "evaluate_formula", "it holds", "y = 2", "x is large"))
    )


def test_a_share_of_the_rows_is_held_out_where_there_are_enough():
    whole, few = bench(120), Workbench.of(context(30), "y")
    assert (whole.problem.rows, whole.problem.validation.rows) == (96, 24)
    assert whole.tools.problem.rows == 96
    assert (few.problem.rows, few.problem.validation) == (30, None)
