from __future__ import annotations

import numpy as np
import pytest
from search_problems import oscillators

from sr_harness.core import AgentContext
from sr_harness.errors import ProblemError
from sr_harness.search import Problem
from sr_harness.search.problem import normalised_error


def context(**extra: np.ndarray) -> AgentContext:
    rows = 6
    data = {"x": np.arange(rows), "y": np.linspace(0.0, 1.0, rows), **extra}
    axes = dict.fromkeys(data, ("row",))
    return AgentContext(
        data={**data, "row": np.arange(rows)},
        variable_axes=axes,
        axis_metadata={"row": {"source": "size", "size": rows}},
    )


def test_bad_rows_are_named() -> None:
    x = np.array([1.0, np.nan, 3.0, np.inf])
    with pytest.raises(ProblemError, match=r"'x' in 2 rows \(1, 3\).*drop"):
        Problem.from_arrays({"x": x}, np.arange(4.0))


def test_bad_rows_can_be_dropped_with_a_note() -> None:
    problem = Problem.from_arrays({"x": [1.0, np.nan, 3.0]}, [1.0, 2.0, 3.0], missing="drop")
    assert problem.target.tolist() == [1.0, 3.0]
    assert "1 rows with NaN or infinite values in 'x' were dropped" in problem.notes


def test_nothing_left_after_dropping_is_an_error() -> None:
    with pytest.raises(ProblemError, match="no row is left"):
        Problem.from_arrays({"x": [np.nan]}, [1.0], missing="drop")


@pytest.mark.parametrize(
    ("data", "target", "message"),
    [
        ({}, [], "has no rows"),
        ({}, ["a", "b"], "does not hold numbers"),
        ({"x": [1.0, 2.0]}, [1.0, 2.0, 3.0], r"'x' has shape \(2,\) but the target has 3 rows"),
    ],
)
def test_data_that_make_no_problem_are_refused(data: dict, target: list, message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        Problem.from_arrays(data, target)


def test_integers_and_booleans_are_computed_as_floats() -> None:
    problem = Problem.from_arrays({"n": np.array([1, 2], dtype=np.int8), "b": [True, False]}, [1, 2])
    assert {column.dtype for column in problem.data.values()} == {np.dtype(np.float64)}


def test_text_columns_are_left_out_with_a_note() -> None:
    problem = Problem.from_context(context(name=np.array(list("abcdef"))), "y")
    assert problem.names == ("x",)
    assert any("'name' does not hold numbers" in note for note in problem.notes)


def test_a_plain_row_number_is_no_input() -> None:
    assert Problem.from_context(context(), "y").names == ("x",)


def test_an_unknown_target_gets_a_suggestion() -> None:
    with pytest.raises(ProblemError, match=r"no variable 'yy'\. Did you mean 'y'"):
        Problem.from_context(context(), "yy")


def test_the_target_cannot_be_an_input() -> None:
    with pytest.raises(ProblemError, match="cannot explain itself"):
        Problem.from_context(context(), "y", ["x", "y"])


def test_an_input_on_other_axes_is_refused_by_name() -> None:
    data = context()
    other = AgentContext(
        data={**data.data, "z": np.zeros(3), "col": np.arange(3)},
        variable_axes={**data.variable_axes, "z": ("col",)},
        axis_metadata={**data.axis_metadata, "col": {"source": "size", "size": 3}},
    )
    with pytest.raises(ProblemError, match=r"'z' lies on axes \['col'\]"):
        Problem.from_context(other, "y", ["z"])
    assert any("'z' does not lie on the axes" in note for note in Problem.from_context(other, "y").notes)


def test_fields_of_nodes_are_repeated_along_time() -> None:
    problem = Problem.from_context(oscillators(1), "velocity")
    assert problem.graph is not None
    assert problem.graph.relations == ("A",)
    assert problem.data["omega"].shape == problem.target.shape == (320,)
    assert np.array_equal(problem.data["omega"][:8], problem.data["omega"][8:16])


def test_error_does_not_depend_on_the_unit() -> None:
    y, guess = np.array([1.0, 2.0, 4.0]), np.array([1.1, 2.0, 4.0])
    expected = normalised_error(y, guess)
    for scale in (1e-200, 1e200):
        assert normalised_error(scale * y, scale * guess) == pytest.approx(expected, rel=1e-9)


def test_error_of_a_prediction_that_is_not_finite_is_infinite() -> None:
    assert normalised_error(np.array([1.0, 2.0]), np.array([1.0, np.nan])) == np.inf
