from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sr_harness.cli import main
from sr_harness.core import AgentContext


@pytest.fixture
def data(tmp_path: Path) -> Path:
    x = np.linspace(1.0, 3.0, 20)
    context = AgentContext(
        data={"x": x, "y": 2 * x**3, "row": np.arange(20)},
        variable_axes={"x": ("row",), "y": ("row",)},
        variable_descriptions={"x": "Length in m.", "y": "Response."},
        axis_metadata={"row": {"source": "size", "size": 20, "description": "Row."}},
    )
    return context.to_directory(tmp_path / "context.data")


def test_tools_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tool", "--list"]) == 0
    assert "fit_family(family: str" in capsys.readouterr().out


def test_the_list_is_json_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tool", "--list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert {"name", "summary", "read_only", "arguments"} == set(listed[0])


def test_a_tool_is_called(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    params = json.dumps({"formula": "2*x**3"})
    arguments = ["tool", "evaluate_formula", "--data", str(data), "--target", "y", "--params", params]
    assert main(arguments) == 0
    assert json.loads(capsys.readouterr().out)["nrmse"] < 1e-15


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["nothing", "--data", "D", "--target", "y"], 2, "no tool 'nothing'"),
        (["evaluate_formula"], 2, "needs --data DIR and --target"),
        (["evaluate_formula", "--data", "D", "--target", "y", "--params", "{"], 2, "not JSON"),
        (["evaluate_formula", "--data", "D", "--target", "y", "--params", "[]"], 2, "JSON object"),
        (["evaluate_formula", "--data", "D", "--target", "y", "--params", "{}"], 2, "needs formula"),
        (["evaluate_formula", "--data", "D", "--target", "y", "--params", '{"a": 1}'], 2, "no argument 'a'"),
        (["evaluate_formula", "--data", "D", "--target", "y", "--params", '{"formula": "q"}'], 1, "q"),
        (["describe_data", "--data", "D", "--target", "nope"], 1, "no variable 'nope'"),
    ],
)
def test_mistakes_are_explained(
    data: Path, arguments: list[str], status: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [str(data) if part == "D" else part for part in arguments]
    assert main(["tool", *given]) == status
    assert message in capsys.readouterr().err
