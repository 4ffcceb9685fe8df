"""Tables of problems: what is read, what is refused, what is chosen."""

from __future__ import annotations

import pytest
from bench_tables import table

from sr_harness.bench.problems import choose, problem_from_row, read_table
from sr_harness.bench.sampling import make_data
from sr_harness.errors import BenchmarkError


def test_a_row_becomes_a_problem(tmp_path):
    (plane, _), digest = read_table(table(tmp_path))
    assert (plane.id, plane.target, plane.names) == ("plane", "y", ("u", "v"))
    assert plane.ranges[1] == ("v", -2.0, 2.0)
    assert len(digest) == 64


@pytest.mark.parametrize(
    "name", ["I", "E", "N", "S", "Q", "O", "gamma", "beta", "lambda", "pi", "e", "sin", "min", "zeta"]
)
def test_any_name_can_be_a_variable(name):
    problem = problem_from_row(
        {"id": name, "target": "y", "formula": f"2*{name} + x", "variables": f"{name}:1:2;x:0:1"}
    )
    rows = make_data(problem, rows=20).train
    assert rows.target == pytest.approx(2 * rows.columns[name] + rows.columns["x"])


FUNCTIONS = ("sqrt", "exp", "log", "sin", "cos", "tan", "cot", "asin", "acos", "tanh", "sinh", "cosh", "abs")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_functions_of_the_tables_are_known(name):
    row = {"id": "f", "target": "y", "formula": f"pi*{name}(x)", "variables": "x:0.1:0.9"}
    assert make_data(problem_from_row(row), rows=10).train.target.size == 10


def test_every_fault_of_a_table_is_listed(tmp_path):
    text = (
        "id,target,formula,n_vars,variables\n"
        "a,y,x+z,1,x:0:1\n"
        "b,y,x,2,x:0:1\n"
        "c,y,x,1,x:0\n"
        "d,y,x,1,x:3:1\n"
        "e,x,x,1,x:0:1\n"
        ",y,x,1,x:0:1\n"
        "f,y,x,1,x:0:1\n"
        "f,y,2*x,1,x:0:1\n"
    )
    with pytest.raises(BenchmarkError) as caught:
        read_table(table(tmp_path, text))
    message = str(caught.value)
    assert "is not a table of problems (7 faults):" in message
    for part in (
        "row 1 (a): ",
        "row 2 (b): n_vars is 2, but the variables listed are 1",
        "row 3 (c): 'x:0' among the variables is not of the form name:low:high",
        "row 4 (d): the range of 'x' begins above its end",
        "row 5 (e): the target 'x' is also a variable",
        "row 6 (without an id): nothing stands in the column id",
        "row 8: the id 'f' stands there a second time",
    ):
        assert part in message


def test_what_is_no_table_is_refused(tmp_path):
    with pytest.raises(BenchmarkError, match="holds no problem"):
        read_table(table(tmp_path, "id,target,formula,n_vars,variables\n"))
    path = tmp_path / "binary.csv"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BenchmarkError, match="not a CSV table in UTF-8"):
        read_table(path)


def test_the_choice_depends_on_the_seed_alone(tmp_path):
    rows = "".join(f"p{place},y,{place}*x,1,x:0:1\n" for place in range(30))
    problems, _ = read_table(table(tmp_path, f"id,target,formula,n_vars,variables\n{rows}"))
    first = choose(problems, sample=7, seed=3)
    assert first == choose(problems, sample=7, seed=3)
    assert first != choose(problems, sample=7, seed=4)
    places = [problems.index(problem) for problem in first]
    assert places == sorted(places)
    assert choose(problems, sample=99) == problems
    assert [problem.id for problem in choose(problems, ids=["p4", "p2"])] == ["p2", "p4"]
    with pytest.raises(BenchmarkError, match=r"there is no problem 'p44' in the table; did you mean 'p4'\?"):
        choose(problems, ids=["p44"])


def test_a_dynamical_row_needs_a_component_for_each_state():
    row = {"id": "s", "target": "du", "formula": "-v", "states": "u;v", "t_end": "1", "dt": "0.1"}
    with pytest.raises(BenchmarkError, match="rhs and ics need 2 components each"):
        problem_from_row({**row, "rhs": "-v", "ics": "1,0"})
    with pytest.raises(BenchmarkError, match="dt must be above 0"):
        problem_from_row({**row, "rhs": "-v;u", "ics": "1,0", "dt": "2"})
