"""Reading formulas: precedence, names, and refusals that say where and what to do."""

from __future__ import annotations

import pytest
from engine_strategies import AWKWARD_NAMES

from sr_harness.engine import Expression, build, complexity, parameters, parse, relations, render, variables
from sr_harness.errors import ParseError, SRError, UnknownNameError

X, Y, Z = (build.var(name) for name in "xyz")
IJ = ("i", "j")
AT_I, AT_J = build.var("x", ("i",)), build.var("x", ("j",))


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("-x**2", build.neg(build.pow_(X, 2))),
        ("(-x)**2", build.pow_(build.neg(X), 2)),
        ("x**y**z", build.pow_(X, build.pow_(Y, Z))),
        ("(x**y)**z", build.pow_(build.pow_(X, Y), Z)),
        ("(-2)**x", build.pow_(-2, X)),
        ("-2**x", build.neg(build.pow_(2, X))),
        ("2**-x", build.pow_(2, build.neg(X))),
        ("2**-x**y", build.pow_(2, build.neg(build.pow_(X, Y)))),
        ("x - y - z", build.sub(build.sub(X, Y), Z)),
        ("x - (y - z)", build.sub(X, build.sub(Y, Z))),
        ("x / y * z", build.mul(build.div(X, Y), Z)),
        ("-x * y", build.mul(build.neg(X), Y)),
        ("x * -y", build.mul(X, build.neg(Y))),
        ("- -x", build.neg(build.neg(X))),
        ("+x", X),
        ("-3", build.num(-3)),
        ("x + -3", build.add(X, -3)),
        ("1_000 + .5e-3", build.add(1000, 0.0005)),
        ("3e8 * x", build.mul(3e8, X)),
        ("max(x, y, 1)", build.call("max", X, Y, 1)),
        ("asin(x) + ln(y)", build.add(build.call("arcsin", X), build.call("log", Y))),
        ("pow(x, 3)", build.pow_(X, 3)),
        ("param('a', value=-2.5)", build.param("a", -2.5)),
        ('param("a")', build.param("a")),
        ("pi*e", build.mul(build.const("pi"), build.const("e"))),
        ("`wind speed` / x", build.div(build.var("wind speed"), X)),
        ("delay(x, 0.5)", build.delay(X, 0.5)),
        ("sum[j](A[i,j], x[i]*w[i,j])", build.graph_sum("A", IJ, build.mul(AT_I, build.var("w", IJ)))),
        ("aggr(A*targ(x)*sour(sin(x)))", build.graph_sum("A", IJ, build.mul(AT_I, build.call("sin", AT_J)))),
        ("aggr(A)", build.graph_sum("A", IJ, 1)),
        ("x[i] + sum[j](A[i,j], x[j])", build.add(X, build.graph_sum("A", IJ, AT_J))),
    ],
)  # fmt: skip
def test_a_text_means_this_tree_and_prints_back_to_it(text: str, tree: Expression) -> None:
    assert parse(text) == tree
    assert parse(render(tree)) == tree


@pytest.mark.parametrize("name", AWKWARD_NAMES)
def test_any_column_name_is_a_variable(name: str) -> None:
    tree = build.add(build.pow_(build.var(name), 2), build.call("sin", build.var(name)))
    assert parse(render(tree)) == tree
    assert parse(render(tree), names=[name]) == tree
    assert parse(render(tree, names=[name]), names=[name]) == tree
    assert variables(tree) == (name,)


def test_a_column_shadows_a_constant_and_lives_beside_a_function_of_its_name() -> None:
    assert parse("pi", names=["pi"]) == build.var("pi")
    assert parse("pi", names=["x"]) == build.const("pi")
    assert parse("sin(sin)", names=["sin"]) == build.call("sin", build.var("sin"))
    both = build.add(build.var("pi"), build.const("pi"))
    assert render(both, names=["pi"]) == "pi + 3.141592653589793"


@pytest.mark.parametrize(
    ("text", "position", "part"),
    [
        ("", 0, "empty"),
        ("   ", 0, "empty"),
        ("x +", 3, "ends where a value is expected"),
        ("x ^ 2", 2, "write ** for a power"),
        ("(x + 1", 0, "never closed"),
        ("x + 1)", 5, "never opened"),
        ("x y", 2, "an operator is expected"),
        ("2x", 1, "put an operator"),
        ("x(2)", 1, "there is no function"),
        ("2(x)", 1, "put * between"),
        ("x.real", 1, "attributes cannot be read"),
        ("'text'", 0, "only allowed as the name"),
        ("x, y", 1, "comma"),
        ("y = 2*x", 2, "only its right side"),
        ("sin()", 4, "a value is expected"),
        ("sin(x, y)", 0, "takes 1 argument"),
        ("max(x)", 0, "at least 2"),
        ("param(a)", 6, "a name in quotes"),
        ("param('a'", 9, "the formula ends"),
        ("1e400", 0, "too large"),
        ("x == y", 2, "comparisons"),
        ("x; y", 1, "one formula only"),
        ("x < y", 2, "comparisons"),
        ("`x", 0, "not closed"),
        ("sum(x)", 0, "sum needs its index"),
        ("sum[j](A[i,k], x[k])", 0, "sum[k]"),
        ("sum[j](A[i,j], x[k])", 17, "not bound"),
        ("sum[j](A[i,j], w[j,i])", 15, "indexed as it is"),
        ("x[k] + 1", 2, "not bound"),
        ("targ(x)", 0, "only inside aggr"),
        ("aggr(targ(x))", 0, "starts with the relation"),
        ("delay(x)", 0, "needs a lag"),
        ("delay(x, -1)", 7, "at least zero"),
        ("lambda: x", 6, "an operator is expected"),
        ("x − y", 2, "typographic minus"),
    ],
)  # fmt: skip
def test_a_refusal_says_where_and_why(text: str, position: int, part: str) -> None:
    with pytest.raises(SRError) as caught:
        parse(text)
    assert part in str(caught.value)
    if isinstance(caught.value, ParseError):
        assert caught.value.position == position


def test_an_unknown_name_comes_with_a_suggestion() -> None:
    with pytest.raises(UnknownNameError, match=r"no column 'velocty' .*did you mean 'velocity'") as caught:
        parse("2*velocty", names=["mass", "velocity"])
    assert caught.value.suggestion == "velocity"
    with pytest.raises(UnknownNameError, match=r"there is no function 'sqr' .*did you mean 'sqrt'"):
        parse("sqr(x)")
    with pytest.raises(UnknownNameError, match="there are: a, b"):
        parse("zzz", names=["a", "b"])


def test_limits_are_errors_with_a_position() -> None:
    with pytest.raises(ParseError, match="limit") as caught:
        parse("x+" * 600_000 + "x")
    assert caught.value.position == 1_000_000
    with pytest.raises(ParseError, match="nested more than 20000 levels") as caught:
        parse("(" * 30_000 + "x" + ")" * 30_000)
    assert caught.value.position == 20_000


def test_what_a_formula_contains() -> None:
    formula = parse("param('b')*sin(x)**2 + param('a') + sum[j](A[i,j], w*y[j])")
    assert parameters(formula) == ("b", "a")
    assert variables(formula) == ("x", "w", "y")
    assert relations(formula) == ("A",)
    assert complexity(parse("2*x + sin(y)")) == 6


def test_an_expression_is_an_immutable_value() -> None:
    formula = parse("x + 1")
    with pytest.raises(AttributeError, match="cannot be changed"):
        formula.op = "sub"  # type: ignore[misc]
    assert len({formula, parse("x+1"), parse("1+x")}) == 2
    assert build.num(0.0) != build.num(-0.0)
    assert repr(formula) == "Expression('x + 1')"


def test_grouped_parameters_keep_their_labels() -> None:
    text = "grouped_param(site, name='k', value={'north': 1.5, 'it''s': -2}, default=0.5)*x"
    formula = parse(text)
    assert formula.args[0].table == (("north", 1.5), ("it's", -2.0))
    assert parse(render(formula)) == formula
