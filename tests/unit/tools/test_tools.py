from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sr_harness.core import AgentContext
from sr_harness.errors import SRError, ToolError
from sr_harness.tools import CATALOGUE, ToolContext

NAMES = [
    "describe_data",
    "relationships",
    "fit_family",
    "discover",
    "refine_formula",
    "snap_formula",
    "list_parts",
    "ablate_formula",
    "evaluate_formula",
    "compare_formulas",
    "estimate_derivative",
    "discover_system",
    "judge_trajectories",
    "submit_formula",
    "validate_context_data",
]


def context(tmp_path: Path, **columns: np.ndarray) -> ToolContext:
    rng = np.random.default_rng(2)
    data = columns or {"x": rng.uniform(1, 4, 60), "z": rng.uniform(1, 4, 60)}
    data = {**data, "y": data["x"] ** 2 + 3 * data.get("z", data["x"])} if "y" not in data else data
    rows = len(data["y"])
    return ToolContext(
        context=AgentContext(
            data={**data, "row": np.arange(rows)},
            variable_axes=dict.fromkeys(data, ("row",)),
            variable_descriptions=dict.fromkeys(data, "a column"),
            axis_metadata={"row": {"source": "size", "size": rows}},
        ),
        target="y",
        inputs=tuple(name for name in data if name != "y"),
        seed=0,
        work_dir=tmp_path,
    )


def call(name: str, ctx: ToolContext, **arguments: Any) -> dict[str, Any]:
    """The answer of a tool, after a round trip through strict JSON."""
    answer = CATALOGUE[name].function(ctx, **arguments)
    return json.loads(json.dumps(answer, allow_nan=False))


def test_the_catalogue_is_complete_and_documented() -> None:
    assert list(CATALOGUE) == NAMES
    for spec in CATALOGUE.values():
        text = inspect.getdoc(spec.function) or ""
        assert spec.summary == text.splitlines()[0]
        assert "Args:" in text or len(inspect.signature(spec.function).parameters) == 1
        assert "Returns:" in text
    assert [name for name, spec in CATALOGUE.items() if not spec.read_only] == ["submit_formula"]


def test_every_argument_has_a_json_type() -> None:
    allowed = {"str", "int", "list[str] | None"}
    for spec in CATALOGUE.values():
        parameters = list(inspect.signature(spec.function).parameters.values())
        assert parameters[0].annotation == "ToolContext"
        assert {str(parameter.annotation) for parameter in parameters[1:]} <= allowed


def test_data_are_described(tmp_path: Path) -> None:
    answer = call("describe_data", context(tmp_path))
    assert answer["rows"] == 60
    assert "x" in json.dumps(answer)


def test_a_power_law_shows_in_the_relationships(tmp_path: Path) -> None:
    x = np.geomspace(1, 10, 30)
    answer = call("relationships", context(tmp_path, x=x, flat=np.ones(30), y=2 * x**1.5))
    text = json.dumps(answer)
    assert "flat" in text
    assert "1.5" in text


def test_a_family_is_fitted(tmp_path: Path) -> None:
    answer = call("fit_family", context(tmp_path), family="polynomial")
    assert answer["candidates"][0]["nrmse"] < 1e-10
    assert answer["work_used"] > 0
    assert set(answer["candidates"][0]) >= {"formula", "complexity", "nrmse", "r2", "description_length"}


def test_a_family_can_be_fitted_to_some_inputs(tmp_path: Path) -> None:
    answer = call("fit_family", context(tmp_path), family="linear", inputs=["z"])
    assert all("x" not in row["formula"] for row in answer["candidates"])


def test_discovery_starts_from_given_formulas(tmp_path: Path) -> None:
    arguments = {"strategies": ["constant"], "start": ["x**2 + 3*z"], "work": 2000}
    answer = call("discover", context(tmp_path), **arguments)
    assert answer["candidates"][0]["formula"] == "x**2 + 3*z"
    assert answer["stop_reason"] == "exact"


def test_refining_finds_the_constants(tmp_path: Path) -> None:
    answer = call("refine_formula", context(tmp_path), formula="1.1*x**2 + 2.7*z")
    assert answer["candidates"][0]["nrmse"] < 1e-10


def test_snapping_makes_constants_plain(tmp_path: Path) -> None:
    answer = call("snap_formula", context(tmp_path), formula="1.0000001*x**2 + 2.9999998*z")
    assert answer["candidates"][0]["formula"] == "x**2 + 3*z"


def test_every_part_can_be_taken_out(tmp_path: Path) -> None:
    ctx = context(tmp_path)
    parts = call("list_parts", ctx, formula="x**2 + 3*z")["parts"]
    assert {part["kind"] for part in parts} == {"term", "input"}
    for part in parts:
        left = call("ablate_formula", ctx, formula="x**2 + 3*z", part=part["id"])["candidates"][0]
        assert left["nrmse"] > 0.01


def test_evaluation_measures(tmp_path: Path) -> None:
    assert call("evaluate_formula", context(tmp_path), formula="x**2 + 3*z")["nrmse"] == 0
    assert call("evaluate_formula", context(tmp_path), formula="x**2")["nrmse"] > 0.1


@pytest.mark.parametrize(("b", "verdict"), [("x*x + z + 2*z", "equivalent"), ("x**2 + 3.1*z", "different")])
def test_formulas_are_compared(tmp_path: Path, b: str, verdict: str) -> None:
    assert call("compare_formulas", context(tmp_path), a="x**2 + 3*z", b=b)["verdict"] == verdict


def test_a_submission_is_written_whole(tmp_path: Path) -> None:
    answer = call("submit_formula", context(tmp_path), formula="x**2+3 * z", note="a note")
    written = json.loads((tmp_path / "formula.json").read_text("utf-8"))
    assert written == {key: answer[key] for key in written}
    assert written["formula"] == "x**2 + 3*z"
    assert written["variables"] == ["x", "z"]
    assert [path.name for path in tmp_path.iterdir()] == ["formula.json"]


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("fit_family", {"family": "magic"}, "no family 'magic'"),
        ("fit_family", {"family": "linear", "work": 0}, "at least 1|from 1"),
        ("fit_family", {"family": "linear", "inputs": ["nope"]}, "no input 'nope'"),
        ("discover", {"strategies": ["magic"]}, "no strategy 'magic'"),
        ("evaluate_formula", {"formula": ""}, "empty"),
        ("evaluate_formula", {"formula": "x +"}, "cannot read the formula"),
        ("evaluate_formula", {"formula": "xx + 1"}, "xx"),
        ("evaluate_formula", {"formula": "y"}, "y"),
        ("ablate_formula", {"formula": "x + z", "part": "nothing"}, "no part 'nothing'"),
        ("submit_formula", {"formula": "log(0*x)"}, "finite"),
        ("validate_context_data", {"directory": "../elsewhere"}, "outside|leads out"),
    ],
)
def test_bad_arguments_are_explained(
    tmp_path: Path, name: str, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(SRError, match=message):
        call(name, context(tmp_path), **arguments)


def test_a_refused_submission_leaves_the_earlier_one(tmp_path: Path) -> None:
    call("submit_formula", context(tmp_path), formula="x")
    with pytest.raises(ToolError):
        call("submit_formula", context(tmp_path), formula="1/(x - x)")
    assert json.loads((tmp_path / "formula.json").read_text("utf-8"))["formula"] == "x"


def test_bad_rows_are_named_by_every_search(tmp_path: Path) -> None:
    x = np.array([1.0, np.nan, 3.0])
    with pytest.raises(ToolError, match="'x' in 1 row"):
        call("describe_data", context(tmp_path, x=x, y=np.arange(3.0)))


def test_only_directories_of_the_work_dir_are_validated(tmp_path: Path) -> None:
    assert call("validate_context_data", context(tmp_path), directory="context.data")["valid"] is False


def moving(tmp_path: Path, target: str = "dx_dt") -> ToolContext:
    t = np.linspace(0, 6, 121)
    columns = {"x": np.cos(1.5 * t), "v": -1.5 * np.sin(1.5 * t)}
    return ToolContext(
        context=AgentContext(
            data={**columns, "time": t},
            variable_axes=dict.fromkeys(columns, ("time",)),
            variable_descriptions=dict.fromkeys(columns, "a state"),
            axis_metadata={"time": {"source": "file", "size": t.size}},
        ),
        target=target,
        inputs=(),
        seed=0,
        work_dir=tmp_path,
    )


def test_a_derivative_is_estimated(tmp_path: Path) -> None:
    answer = call("estimate_derivative", moving(tmp_path), variable="x")
    run = answer["runs"][0]
    assert run["slopes"][40] == pytest.approx(-1.5 * np.sin(1.5 * run["times"][40]), abs=1e-5)
    assert run["window"] > run["degree"]


def test_a_derivative_is_a_target_of_every_tool(tmp_path: Path) -> None:
    described = call("describe_data", moving(tmp_path))
    assert described["target"]["name"] == "dx_dt"
    assert "Derivative of x" in described["target"]["description"]
    assert [row["name"] for row in described["inputs"]] == ["x", "v"]
    assert call("evaluate_formula", moving(tmp_path), formula="v")["nrmse"] < 1e-5
    with pytest.raises(ToolError, match="nor a variable 'z'"):
        call("describe_data", moving(tmp_path, "dz_dt"))


def test_a_system_is_found_and_judged_by_its_trajectories(tmp_path: Path) -> None:
    answer = call("discover_system", moving(tmp_path, "v"), states=["x", "v"], work=4000)
    assert answer["best"]["formulas"] == {"x": "v", "v": "-2.25*x"}
    good = call("judge_trajectories", moving(tmp_path), system="dx_dt = v; dv_dt = -2.25*x")
    bad = call("judge_trajectories", moving(tmp_path), system="dx_dt = v; dv_dt = -2*x")
    assert good["trajectory_error"] < 1e-6 < 0.1 < bad["trajectory_error"]
    alone = call("judge_trajectories", moving(tmp_path), system="dv_dt = -2.25*x")
    assert alone["trajectory_error"] < 1e-3


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("discover_system", {}, "name the states"),
        ("discover_system", {"states": ["w"]}, "no variable 'w'"),
        ("judge_trajectories", {"system": "x = v"}, "is no equation"),
        ("judge_trajectories", {"system": " ; "}, "the system is empty"),
        ("estimate_derivative", {"variable": "w"}, "no variable 'w'"),
    ],
)
def test_tools_of_dynamics_explain_mistakes(tmp_path: Path, name: str, arguments: Any, message: str) -> None:
    with pytest.raises(ToolError, match=message):
        call(name, moving(tmp_path, "v"), **arguments)
