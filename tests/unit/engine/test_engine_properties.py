"""Random expressions: every way of writing and computing a formula gives the same thing."""

from __future__ import annotations

import warnings

import numpy as np
from engine_strategies import AWKWARD_NAMES, PLAIN_NAMES, SMOOTH, expressions, small_numbers
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sr_harness.engine import (
    Expression,
    Structure,
    bind,
    build,
    compile_,
    evaluate,
    jacobian,
    kernels,
    latex,
    parameters,
    parse,
    relations,
    render,
    simplify,
    substitute,
    to_callable,
    to_sympy,
    variables,
)
from sr_harness.engine.expression import fold, postorder
from sr_harness.engine.precision import is_tame, precise
from sr_harness.errors import ExpressionError

RNG = np.random.default_rng(11)
POINTS = {name: RNG.uniform(-2.0, 3.0, 24) for name in PLAIN_NAMES}


@settings(deadline=None, max_examples=120)
@given(expressions(AWKWARD_NAMES))
def test_text_reads_back_to_the_same_tree(formula: Expression) -> None:
    assert parse(render(formula)) == formula
    assert parse(render(formula), names=(*variables(formula), "other")) is not None
    assert render(parse(render(formula))) == render(formula)


@settings(deadline=None, max_examples=100)
@given(expressions(AWKWARD_NAMES))
def test_latex_is_balanced(formula: Expression) -> None:
    text = latex(formula)
    plain = text.replace(r"\{", "").replace(r"\}", "")
    depth = 0
    for char in plain:
        depth += (char == "{") - (char == "}")
        assert depth >= 0
    assert depth == 0
    assert text.count(r"\left") == text.count(r"\right")
    assert "__" not in text.replace(r"\_", "")


@settings(deadline=None, max_examples=100)
@given(expressions(values=small_numbers))
def test_the_callable_gives_the_same_values(formula: Expression) -> None:
    names = variables(formula)
    expected = evaluate(formula, POINTS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = to_callable(formula)(*(POINTS[name] for name in names))
    np.testing.assert_array_equal(np.broadcast_to(got, expected.shape), expected)


@settings(deadline=None, max_examples=100)
@given(expressions(values=small_numbers))
def test_values_agree_with_many_digits(formula: Expression) -> None:
    import mpmath

    values = evaluate(formula, POINTS)
    for k in range(6):
        point = {name: float(column[k]) for name, column in POINTS.items()}
        if not (np.isfinite(values[k]) and is_tame(formula, point)):
            continue
        with mpmath.workdps(60):
            exact = precise(formula, point)
            nearby = [precise(formula, {n: v * (1 + s * 1e-13) for n, v in point.items()}) for s in (1, -1)]
        assume(all(mpmath.isfinite(v) for v in [exact, *nearby]))
        slack = 1e-10 * (1 + abs(exact)) + 100 * max(abs(v - exact) for v in nearby)
        assert abs(mpmath.mpf(values[k]) - exact) <= slack or _cancels(formula, point)


def _cancels(formula: Expression, point: dict[str, float]) -> bool:
    """Whether an intermediate result is so large or small that rounding it hides the final value."""
    sizes: list[float] = []

    def compute(node: Expression, args: list[float]) -> float:
        value = float(evaluate(node, point)) if not args else _step(node, args)
        sizes.append(abs(value))
        return value

    fold(formula, compute)
    finite = [size for size in sizes if np.isfinite(size)]
    return max(finite) > 1e5 or min((size for size in finite if size > 0), default=1.0) < 1e-5


def _step(node: Expression, args: list[float]) -> float:
    values = [np.float64(arg) for arg in args]
    with np.errstate(all="ignore"):
        return float(
            kernels.UNARY[node.op](*values) if len(values) == 1 else kernels.BINARY[node.op](*values)
        )


@settings(deadline=None, max_examples=40)
@given(expressions(values=small_numbers, max_leaves=7))
def test_sympy_gives_the_same_values(formula: Expression) -> None:
    import sympy as sp

    try:
        translated = to_sympy(formula, real=True)
    except ExpressionError as error:
        assert "SymPy cannot hold" in str(error)
        return
    values = evaluate(formula, POINTS)
    for k in range(4):
        point = {name: float(column[k]) for name, column in POINTS.items()}
        if not np.isfinite(values[k]) or not is_tame(formula, point) or _cancels(formula, point):
            continue
        symbols = {s: sp.Float(point[s.name], 40) for s in translated.free_symbols}
        exact = translated.xreplace(symbols).evalf(30)
        # SymPy may have removed a singularity or chosen a complex branch; then there is nothing to compare
        if not (exact.is_real and exact.is_finite):
            continue
        assert abs(float(exact) - values[k]) <= 1e-6 * (1 + abs(values[k]))


@settings(deadline=None, max_examples=100)
@given(expressions(values=small_numbers))
def test_simplify_keeps_values_and_never_lengthens(formula: Expression) -> None:
    shorter = simplify(formula)
    assert shorter.size <= formula.size
    before, after = evaluate(formula, POINTS), evaluate(shorter, POINTS)
    with np.errstate(all="ignore"):
        before, after = np.broadcast_to(before, (24,)), np.broadcast_to(after, (24,))
    for k in range(24):
        point = {name: float(column[k]) for name, column in POINTS.items()}
        if not (is_tame(formula, point) and is_tame(shorter, point)) or _cancels(formula, point):
            continue
        assert np.isnan(before[k]) == np.isnan(after[k])
        np.testing.assert_allclose(after[k], before[k], rtol=1e-7, atol=1e-7)
    assert simplify(shorter).size <= shorter.size


@settings(deadline=None, max_examples=100)
@given(expressions(values=small_numbers, functions=SMOOTH, parameters=("a", "b")), st.data())
def test_derivatives_are_those_of_finite_differences(formula: Expression, data: st.DataObject) -> None:
    names = parameters(formula)
    assume(names)
    start = np.array(
        [data.draw(st.sampled_from([0.37, 0.81]), label=name) + 0.1 * k for k, name in enumerate(names)]
    )
    values, slopes = jacobian(formula, POINTS, dict(zip(names, start, strict=True)))
    bound = bind(formula, dict(zip(names, start.tolist(), strict=True)))
    tame = np.array([is_tame(bound, {n: float(c[k]) for n, c in POINTS.items()}) for k in range(24)])
    run = compile_(formula, names)
    for k, unit in enumerate(np.eye(len(names))):
        with np.errstate(all="ignore"):
            coarse, fine = (
                (run(POINTS, start + h * unit) - run(POINTS, start - h * unit)) / (2 * h)
                for h in (1e-4, 1e-5)
            )
            # only where the two step sizes agree is the finite difference itself to be trusted
            good = np.isfinite(coarse) & np.isfinite(fine) & (np.abs(values) < 1e4) & (np.abs(fine) < 1e4)
            good &= np.abs(coarse - fine) <= 1e-6 * (1 + np.abs(fine))
        good &= tame
        if any(node.op == "pow" and parameters(node.args[1]) for node in postorder(formula)):
            good &= np.isfinite(slopes[..., k])  # no derivative by the exponent where the base is negative
        np.testing.assert_allclose(slopes[..., k][good], fine[good], rtol=1e-4, atol=1e-4)


EDGES = RNG.integers(0, 6, (14, 2))
GRAPH = {
    "x": RNG.uniform(-2.0, 3.0, (4, 6)),
    "y": RNG.uniform(-2.0, 3.0, 6),
    "w": RNG.uniform(0.0, 2.0, 14),
    "A": EDGES,
}
STRUCTURE = Structure(
    {"x": ("time", "node"), "y": ("node",), "w": ("edge",)}, {"w": "A"}, ("A",), 6, "node", "time"
)
LETTERS = ("i", "j")
END_POINTS = {"xi": build.var("x", ("i",)), "xj": build.var("x", ("j",)), "yj": build.var("y", ("j",))}


@settings(deadline=None, max_examples=40)
@given(
    expressions(("xi", "xj", "yj", "w"), values=small_numbers, functions=SMOOTH, max_leaves=6),
    expressions(("x", "y", "s"), values=small_numbers, functions=SMOOTH, max_leaves=5),
)
def test_graph_formulas_have_the_values_of_plain_loops(body: Expression, outer: Expression) -> None:
    total = build.graph_sum("A", LETTERS, substitute(body, END_POINTS))
    formula = substitute(outer, {"s": total})
    target, source = EDGES.T
    ends = {"xi": GRAPH["x"][:, target], "xj": GRAPH["x"][:, source], "yj": GRAPH["y"][source]}
    rows = {name: np.broadcast_to(value, (4, 14)) for name, value in {**ends, "w": GRAPH["w"]}.items()}
    per_row = np.broadcast_to(evaluate(body, rows), (4, 14))
    summed = np.zeros((4, 6))
    with np.errstate(all="ignore"):
        np.add.at(summed, (slice(None), target), per_row)
    table = {"x": GRAPH["x"], "y": np.broadcast_to(GRAPH["y"], (4, 6)), "s": summed}
    expected = evaluate(outer, table)
    names = (*variables(formula), *relations(formula))
    for again in (formula, parse(render(formula)), parse(render(formula), names=GRAPH)):
        assert again == formula
        got = to_callable(again, structure=STRUCTURE)(*(GRAPH[name] for name in names))
        whole = np.broadcast_to(got, expected.shape)
        settled = np.isfinite(expected) & (np.abs(expected) < 1e6) & (np.abs(summed) < 1e6)
        np.testing.assert_allclose(whole[settled], expected[settled], rtol=1e-6, atol=1e-6)
    text = latex(formula)
    assert text.count(r"\left") == text.count(r"\right")
