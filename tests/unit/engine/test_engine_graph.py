"""Graph terms: sums over edges and hyperedges against plain loops, and what does not align."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from sr_harness.engine import Structure, binding, compile_, evaluate, fit, jacobian, parse, render
from sr_harness.errors import AlignmentError

NODES, TIMES = 7, 5
RNG = np.random.default_rng(3)
EDGES = np.array([(t, s) for t in range(NODES) for s in range(NODES) if (t * 3 + s) % 4 == 1])
TRIPLES = RNG.integers(0, NODES, size=(11, 3))
DATA = {
    "theta": RNG.uniform(0, 6, (TIMES, NODES)),
    "omega": RNG.uniform(-1, 1, NODES),
    "drive": RNG.uniform(0, 1, TIMES),
    "w": RNG.uniform(0, 2, len(EDGES)),
    "v": RNG.uniform(0, 2, (TIMES, len(EDGES))),
    "A": EDGES,
    "T": TRIPLES,
    "K": np.array(1.5),
    "time": np.array([0.0, 0.5, 1.0, 2.0, 4.0]),
}
CONTEXT = SimpleNamespace(
    data=DATA,
    variable_axes={
        "theta": ("time", "node"),
        "omega": ("node",),
        "drive": ("time",),
        "w": ("edge",),
        "v": ("time", "edge"),
        "A": ("edge", "endpoint"),
        "T": ("triple", "corner"),
        "K": (),
    },
    variable_structures={"w": "A", "v": "A"},
    relation_names=("A", "T"),
    num_nodes=NODES,
)
STRUCTURE = Structure.from_context(CONTEXT)


def value(text: str) -> np.ndarray:
    formula = parse(text)
    assert parse(render(formula)) == formula
    return evaluate(formula, DATA, structure=STRUCTURE)


def by_loop(body) -> np.ndarray:
    result = np.zeros((TIMES, NODES))
    for row, (i, j) in enumerate(EDGES):
        for t in range(TIMES):
            result[t, i] += body(t, i, j, row)
    return result


def test_a_sum_over_edges_reads_sources_at_the_target() -> None:
    th = DATA["theta"]
    expected = DATA["omega"] + 1.5 * by_loop(lambda t, i, j, e: np.sin(th[t, j] - th[t, i]))
    np.testing.assert_allclose(
        value("omega + K*sum[j](A[i,j], sin(theta[j] - theta[i]))"), expected, atol=1e-13
    )


def test_edge_fields_and_shared_leading_axes() -> None:
    th = DATA["theta"]
    expected = by_loop(lambda t, i, j, e: DATA["w"][e] * DATA["v"][t, e] * th[t, j] * DATA["drive"][t])
    np.testing.assert_allclose(value("sum[j](A[i,j], w[i,j]*v*theta[j]*drive)"), expected, atol=1e-12)
    np.testing.assert_allclose(value("drive*sum[j](A[i,j], w*v[i,j]*theta[j])"), expected, atol=1e-12)


def test_the_shorthand_is_the_sum() -> None:
    np.testing.assert_array_equal(
        value("aggr(A*w*targ(theta)*sour(cos(theta)))"), value("sum[j](A[i,j], w*theta[i]*cos(theta[j]))")
    )


def test_degree_and_sums_of_constants() -> None:
    degree = np.bincount(EDGES[:, 0], minlength=NODES)
    np.testing.assert_array_equal(value("sum[j](A[i,j], 1)"), degree)
    np.testing.assert_allclose(value("sum[j](A[i,j], drive)"), DATA["drive"][:, None] * degree)


def test_hyperedges_sum_over_pairs_of_sources() -> None:
    th = DATA["theta"]
    expected = np.zeros((TIMES, NODES))
    for i, j, k in TRIPLES:
        expected[:, i] += np.sin(th[:, j] + th[:, k] - 2 * th[:, i])
    text = "sum[j,k](T[i,j,k], sin(theta[j] + theta[k] - 2*theta[i]))"
    np.testing.assert_allclose(value(text), expected, atol=1e-13)


def test_sums_nest() -> None:
    inner = by_loop(lambda t, i, j, e: DATA["theta"][t, j] ** 2)
    expected = by_loop(lambda t, i, j, e: DATA["theta"][t, i] * inner[t, j])
    text = "sum[j](A[i,j], theta[i]*sum[k](A[j,k], theta[k]**2))"
    np.testing.assert_allclose(value(text), expected, atol=1e-11)


def test_gather_gives_a_value_per_row() -> None:
    edges = value("gather(A[i,j], theta[i] - theta[j])*w")
    expected = (DATA["theta"][:, EDGES[:, 0]] - DATA["theta"][:, EDGES[:, 1]]) * DATA["w"]
    np.testing.assert_array_equal(edges, expected)


def test_axes_are_shared_by_name_in_any_order() -> None:
    assert value("omega*drive").shape == (TIMES, NODES)
    np.testing.assert_array_equal(value("omega*drive"), DATA["drive"][:, None] * DATA["omega"])
    np.testing.assert_array_equal(value("theta*time"), DATA["theta"] * DATA["time"][:, None])
    flipped = Structure({"a": ("time", "site"), "b": ("site", "time")})
    a, b = np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(evaluate(parse("a + b"), {"a": a, "b": b}, structure=flipped), a + b.T)


def test_many_rows_and_many_times_take_different_ways_to_the_same_sum() -> None:
    rng = np.random.default_rng(0)
    edges = rng.integers(0, 50, size=(6_000, 2))
    structure = Structure({"x": ("time", "node")}, {}, ("A",), 50, "node")
    x = rng.normal(size=(3, 50))
    expected = np.zeros((3, 50))
    np.add.at(expected, (slice(None), edges[:, 0]), x[:, edges[:, 1]])
    got = evaluate(parse("sum[j](A[i,j], x[j])"), {"x": x, "A": edges}, structure=structure)
    np.testing.assert_allclose(got, expected, atol=1e-11)


def test_long_series_are_cut_along_their_first_axis(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "omega + drive*sum[j](A[i,j], w*v*sin(theta[j] - theta[i]))"
    whole = value(text)
    family = parse("param('a')*omega + param('b')*sum[j](A[i,j], v*theta[j])")
    fitted = fit(family, DATA, whole, structure=STRUCTURE)
    monkeypatch.setattr(binding, "GRAPH_CELLS", 2 * len(EDGES))
    np.testing.assert_array_equal(value(text), whole)
    again = fit(family, DATA, whole, structure=STRUCTURE)
    assert again.parameters == pytest.approx(fitted.parameters, rel=1e-12)


def test_a_fit_may_look_back_in_time() -> None:
    late = {**DATA, "drive": np.array([0.3, 0.1, 0.7, 0.2, 0.9])}
    structure = Structure({"drive": ("time",), "s": ("time",)}, time_axis="time")
    target = evaluate(parse("2*drive + sin(3*delay(drive, 0))"), late, structure=structure)
    family = parse("param('a')*drive + sin(param('b')*delay(drive, 0))")
    assert fit(family, late, target, structure=structure).r2 == pytest.approx(1.0, abs=1e-12)


def test_delay_interpolates_and_is_unknown_before_the_start() -> None:
    got = value("delay(drive, 0.5)")
    times, drive = DATA["time"], DATA["drive"]
    np.testing.assert_allclose(got[1:], np.interp(times[1:] - 0.5, times, drive), atol=1e-15)
    assert np.isnan(got[0])
    np.testing.assert_array_equal(value("delay(theta, 0)"), DATA["theta"])
    assert value("delay(theta - omega, 1)").shape == (TIMES, NODES)


def test_derivatives_pass_through_graph_terms() -> None:
    formula = parse("param('a')*omega + sum[j](A[i,j], sin(param('b')*theta[j] - theta[i]))**2")
    values, slopes = jacobian(formula, DATA, {"a": 0.3, "b": 1.2}, structure=STRUCTURE)
    run = compile_(formula, ["a", "b"], structure=STRUCTURE)
    assert slopes.shape == (*values.shape, 2)
    start = np.array([0.3, 1.2])
    for k, h in enumerate(np.eye(2) * 1e-6):
        change = (run(DATA, start + h) - run(DATA, start - h)) / 2e-6
        np.testing.assert_allclose(slopes[..., k], change, atol=1e-6)


def test_a_coupling_is_fitted_on_the_graph() -> None:
    truth = value("omega + 0.7*sum[j](A[i,j], sin(theta[j] - theta[i] - 0.4))")
    formula = parse("omega + param('K')*sum[j](A[i,j], sin(theta[j] - theta[i] - param('lag')))")
    result = fit(formula, DATA, truth, structure=STRUCTURE)
    assert result.r2 == pytest.approx(1.0, abs=1e-12)
    rebuilt = evaluate(result.expression, DATA, structure=STRUCTURE)
    np.testing.assert_allclose(rebuilt, truth, atol=1e-9)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("theta + w", "one lives on nodes, the other on the rows of 'A'"),
        ("sum[j](A[i,j], theta)", r"write theta\[i\] or theta\[j\]"),
        ("sum[j](A[i,j], w[j])", r"write w\[i,j\]"),
        ("sum[j,k](T[i,j,k], w)", "belongs to the rows of 'A'"),
        ("sum[j](T[i,j], theta[j])", "has 3 columns, but is written with 2"),
        ("sum[j](omega[i,j], theta[j])", "not a relation of these data; relations: A, T"),
        ("sum[j](A[i,j], drive[j])", "has no node axis"),
        ("gather(A[i,j], theta[j]) + omega", "do not align"),
    ],
)
def test_what_does_not_align_is_refused(text: str, part: str) -> None:
    with pytest.raises(AlignmentError, match=part):
        value(text)


def test_wrong_lengths_and_missing_structure_are_refused() -> None:
    with pytest.raises(AlignmentError, match="pass structure="):
        evaluate(parse("sum[j](A[i,j], x[j])"), DATA)
    short = {**DATA, "omega": np.ones(NODES - 1)}
    with pytest.raises(AlignmentError, match="'omega'"):
        evaluate(parse("theta*omega"), short, structure=STRUCTURE)
    outside = {**DATA, "A": EDGES + 1}
    with pytest.raises(AlignmentError, match="end points outside 0 … 6"):
        evaluate(parse("sum[j](A[i,j], theta[j])"), outside, structure=STRUCTURE)
    no_time = Structure({"x": ("row",)})
    with pytest.raises(AlignmentError, match="delay"):
        evaluate(parse("delay(x, 1)"), {"x": np.ones(3)}, structure=no_time)


def test_the_node_axis_is_found_by_length_and_name() -> None:
    def context(axes: dict[str, tuple[str, ...]], shapes: dict[str, tuple[int, ...]]) -> SimpleNamespace:
        return SimpleNamespace(
            data={name: np.zeros(shape) for name, shape in shapes.items()},
            variable_axes=axes,
            variable_structures={},
            relation_names=("A",),
            num_nodes=4,
        )

    relation = {"A": ("edge", "end")}
    one = context({"x": ("time", "city"), **relation}, {"x": (4, 4), "A": (3, 2)})
    assert Structure.from_context(one).node_axis == "city"
    lead = context({"x": ("time", "city"), "u": ("time",), **relation}, {"x": (4, 4), "u": (4,), "A": (3, 2)})
    assert Structure.from_context(lead).node_axis == "city"
    two = context({"x": ("city",), "u": ("row",), **relation}, {"x": (4,), "u": (4,), "A": (3, 2)})
    with pytest.raises(AlignmentError, match="call the axis of the nodes 'node'"):
        Structure.from_context(two)


def series(axis: str, **coordinates: list[float]) -> tuple[dict[str, np.ndarray], Structure]:
    data = {"x": np.array([1.0, 4.0, 9.0, 16.0]), **{k: np.array(v) for k, v in coordinates.items()}}
    context = SimpleNamespace(
        data=data, variable_axes={"x": (axis,)}, variable_structures={}, relation_names=(), num_nodes=None
    )
    return data, Structure.from_context(context)


@pytest.mark.parametrize("axis", ["time", "t", "Time", "year", "Days", "timestep"])
def test_the_time_axis_may_bear_a_unit_of_time(axis: str) -> None:
    data, structure = series(axis, **{axis: [0.0, 1.0, 2.0, 3.0]})
    values = evaluate(parse("x - delay(x, 1)"), data, structure=structure)
    np.testing.assert_array_equal(values, [np.nan, 3.0, 5.0, 7.0])


def test_a_lag_counts_samples_where_the_axis_has_no_numbers() -> None:
    data, structure = series("time")
    np.testing.assert_array_equal(
        evaluate(parse("delay(x, 2)"), data, structure=structure), [np.nan, np.nan, 1.0, 4.0]
    )
    with pytest.raises(AlignmentError, match=r"counts samples and must be a whole number, not 0\.5"):
        evaluate(parse("delay(x, 0.5)"), data, structure=structure)


def test_a_lag_that_does_not_fit_the_series_is_refused() -> None:
    data, structure = series("time", time=[0.0, 0.5, 1.0, 4.0])
    with pytest.raises(AlignmentError, match=r"runs from 0 to 4; use a lag of at most 4"):
        evaluate(parse("delay(x, 4.5)"), data, structure=structure)
    assert np.isfinite(evaluate(parse("delay(x, 4)"), data, structure=structure)).tolist() == [
        False, False, False, True,
    ]  # fmt: skip
    for wrong in ([0.0, 2.0, 1.0, 3.0], [0.0, 1.0, np.nan, 3.0]):
        data, structure = series("time", time=wrong)
        with pytest.raises(AlignmentError, match="sort the samples"):
            evaluate(parse("delay(x, 1)"), data, structure=structure)
    data, structure = series("time", time=[0.0, 1.0])
    with pytest.raises(AlignmentError, match="4 samples lie along the axis 'time', which has 2"):
        evaluate(parse("delay(x, 1)"), data, structure=structure)
    data, structure = series("site", site=[0.0, 1.0, 2.0, 3.0])
    with pytest.raises(AlignmentError, match="an axis called 'time' or 't'"):
        evaluate(parse("delay(x, 1)"), data, structure=structure)
