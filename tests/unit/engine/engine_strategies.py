"""Random expressions and data for the property tests."""

from __future__ import annotations

from hypothesis import strategies as st

from sr_harness.engine import Expression, build

AWKWARD_NAMES = (
    "N", "S", "E", "I", "O", "Q", "C", "pi", "e", "beta", "gamma", "zeta", "lambda", "in", "is", "exp", "sin",
    "x1", "x10", "_", "__class__", "α", "sum", "param", "wind speed", "temp (°C)", "CO2/ppm", "a`b",
    "температура",
)  # fmt: skip
PLAIN_NAMES = ("x", "y", "z")
UNARY = (
    "sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan", "exp", "log", "log10", "log2",
    "sqrt", "abs", "sigmoid", "sign", "sec", "csc", "cot", "sech", "inv",
)  # fmt: skip
SMOOTH = ("sin", "cos", "tanh", "arctan", "exp", "sigmoid", "sech")

numbers = st.one_of(
    st.integers(-12, 12).map(float),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.5, 1e-30, 6.6e-34, 3e8, -2.25, 1 / 3, -0.0]),
)
small_numbers = st.sampled_from([0.0, 1.0, 2.0, 3.0, -1.0, -2.0, 0.5, 1.5, -0.25, 4.0])


def expressions(
    names: tuple[str, ...] = PLAIN_NAMES,
    values: st.SearchStrategy[float] = numbers,
    functions: tuple[str, ...] = UNARY,
    parameters: tuple[str, ...] = (),
    max_leaves: int = 12,
) -> st.SearchStrategy[Expression]:
    """Random expression trees over the whole language of tables."""
    leaves = [st.sampled_from(names).map(build.var), values.map(build.num)]
    if parameters:
        leaves.append(st.sampled_from(parameters).map(build.param))
    else:
        leaves.append(st.sampled_from(["pi", "e"]).map(build.const))

    def extend(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
        pairs = [st.builds(f, inner, inner) for f in (build.add, build.sub, build.mul, build.div, build.pow_)]
        calls = st.builds(build.call, st.sampled_from(functions), inner)
        extremes = st.builds(build.call, st.sampled_from(["min", "max"]), inner, inner)
        return st.one_of(*pairs, calls, inner.map(build.neg), extremes)

    return st.recursive(st.one_of(*leaves), extend, max_leaves=max_leaves)
