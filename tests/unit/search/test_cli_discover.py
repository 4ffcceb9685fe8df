from __future__ import annotations

import json
from pathlib import Path

import pytest

from sr_harness.cli import main
from sr_harness.search import discovery


@pytest.fixture
def table(tmp_path: Path) -> Path:
    lines = ["wind speed,name,drag"] + [f"{k / 7},r{k},{3 * (k / 7) ** 2}" for k in range(1, 61)]
    path = tmp_path / "table.csv"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def test_a_law_is_found_in_a_table(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["discover", str(table), "--target", "drag", "--work", "3000"]) == 0
    shown = capsys.readouterr()
    assert "best: drag = 3*wind_speed**2; 1 - R² on held-out rows: 0.00e+00" in shown.out
    assert "note: column 'wind speed' is called wind_speed here" in shown.err
    assert "note: column 'name' does not hold numbers and was left out" in shown.err


def test_the_answer_is_json_on_request(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["discover", str(table), "--target", "drag", "--strategies", "constant, power_law", "--json"]
    assert main(arguments) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["stop_reason"] == "exact"
    assert answer["best"]["formula"] == "3*wind_speed**2"
    assert answer["rows"] == 48
    assert answer["front"][0]["origin"] == "constant"


@pytest.mark.parametrize(
    ("extra", "variable", "expected"),
    [([], None, -1), ([], "1", 1), (["--jobs", "3"], "1", 3)],
    ids=["default", "environment", "option"],
)
def test_the_number_of_jobs_is_the_options_then_the_environments(
    table: Path, monkeypatch: pytest.MonkeyPatch, extra: list[str], variable: str | None, expected: int
) -> None:
    asked: list[int | None] = []
    monkeypatch.setattr(discovery, "effective_jobs", lambda jobs: asked.append(jobs) or 1)
    monkeypatch.delenv("SR_HARNESS_JOBS", raising=False)
    if variable is not None:
        monkeypatch.setenv("SR_HARNESS_JOBS", variable)
    assert main(["discover", str(table), "--target", "drag", "--work", "3000", *extra]) == 0
    assert set(asked) == {expected}


def test_nothing_better_than_a_constant_is_a_failed_goal(table: Path) -> None:
    assert main(["discover", str(table), "--target", "drag", "--strategies", "constant", "--json"]) == 1


def test_missing_values_are_named_and_can_be_dropped(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table.write_text(table.read_text("utf-8") + ",r61,5.0\n", "utf-8")
    assert main(["discover", str(table), "--target", "drag", "--work", "500"]) == 1
    assert "'wind_speed' in 1 row (60)" in capsys.readouterr().err
    arguments = ["discover", str(table), "--target", "drag", "--work", "3000", "--drop-missing"]
    assert main(arguments) == 0


@pytest.mark.parametrize(
    ("extra", "status", "message"),
    [
        (["--target", "lift"], 2, "no variable 'lift'"),
        (["--target", "drag", "--strategies", "magic"], 2, "no strategy 'magic'"),
        (["--target", "drag", "--time", "0"], 2, "not above 0"),
        (["--target", "drag", "--work", "0"], 2, "--work"),
        (["--target", "drag", "--jobs", "0"], 2, "0 cannot search; give at least 1, or -1 for all cores"),
    ],
)
def test_mistakes_are_explained(
    table: Path, extra: list[str], status: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["discover", str(table), *extra]) == status
    assert message in capsys.readouterr().err


@pytest.fixture
def spring(tmp_path: Path) -> Path:
    import math

    lines = ["time,x,v"]
    for phase in (0.0, 1.0, 2.0):
        lines += [
            f"{k / 20},{math.cos(1.5 * k / 20 + phase)},{-1.5 * math.sin(1.5 * k / 20 + phase)}"
            for k in range(80)
        ]
    path = tmp_path / "spring.csv"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def test_a_system_is_found_in_a_table(spring: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["discover", str(spring), "--system", "x,v", "--work", "5000"]) == 0
    shown = capsys.readouterr().out
    assert "dx_dt = v" in shown and "dv_dt = -2.25*x" in shown
    assert "held out: 1 of 3 runs" in shown
    assert main(["discover", str(spring), "--system", "x, v", "--work", "5000", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["system"] == {"x": "v", "v": "-2.25*x"}
    assert answer["best"]["trajectory_error"] < 1e-6


def test_a_derivative_is_a_target(spring: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["discover", str(spring), "--target", "dv_dt", "--work", "3000", "--time-axis", "time"]
    assert main([*arguments, "--strategies", "constant,linear"]) == 0
    shown = capsys.readouterr()
    assert "best: dv_dt = -2.25*x" in shown.out
    assert "ranked by integrated trajectories" in shown.out
    assert "dv_dt was estimated along 'time'" in shown.err
    assert main([*arguments, "--strategies", "constant,linear", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["best"]["formula"] == "-2.25*x"
    assert answer["inputs"] == ["v", "x"]


@pytest.mark.parametrize(
    ("extra", "status", "message"),
    [
        ([], 2, "either --target or --system"),
        (["--target", "x", "--system", "x"], 2, "either --target or --system"),
        (["--target", "dz_dt"], 2, "nor a variable 'z'"),
        (["--system", "x,w"], 2, "no variable 'w'"),
        (["--system", "x", "--time-axis", "clock"], 2, "is called 'clock'"),
    ],
)
def test_mistakes_about_dynamics_are_explained(
    spring: Path, extra: list[str], status: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["discover", str(spring), *extra]) == status
    assert message in capsys.readouterr().err


def _awkward_table(path, rows=60):
    numbers = [1 + 0.1 * k for k in range(rows)]
    lines = ["wind speed,power"] + [f"{v},{0.6 * v**3!r}" for v in numbers]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_renamed_columns_are_told_once_and_held_out_rows_are_counted(tmp_path, capsys):
    table = _awkward_table(tmp_path / "wind.csv")
    assert main(["discover", str(table), "--target", "power", "--work", "3000"]) == 0
    out, err = capsys.readouterr()
    assert err == "note: column 'wind speed' is called wind_speed here\n"
    assert "48 rows and 12 held out" in out
    assert "best: power = 0.6*wind_speed**3" in out


def test_bad_data_are_answered_with_the_options_of_the_command(tmp_path, capsys):
    table = tmp_path / "gaps.csv"
    table.write_text("x,y\n1,2\nnan,3\n3,4\n", encoding="utf-8")
    assert main(["discover", str(table), "--target", "y"]) == 1
    assert "leave them out with --drop-missing" in capsys.readouterr().err
    table.write_text("x,y\n1,2\n", encoding="utf-8")
    assert main(["discover", str(table), "--target", "y"]) == 1
    assert "1 row is too few to search for a formula; give at least 2" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            "--target wind_sped",
            "no variable 'wind_sped'. Did you mean 'wind_speed'? Known: 'drag', 'power', 'wind_speed'",
        ),
        (
            "--target power --inputs draf",
            "no input 'draf'. Did you mean 'drag'? Known: 'drag', 'power', 'row', 'wind_speed'",
        ),
        (
            "--target power --strategies linaer",
            "no strategy 'linaer'; did you mean 'linear'? Known: constant, ",
        ),
        ("--target dq_dt", "no variable 'dq_dt', nor a variable 'q' whose derivative"),
        (
            "--target dpower_dt --time-axis when",
            "'power' has no time: none of its axes, 'row', is called 'when'",
        ),
        ("--system power,q", "there is no variable 'q'. Known: 'drag', 'power', 'wind_speed'"),
        ("--target power --time-axis row", "'power' is no derivative and has no times"),
    ],
)
def test_a_name_that_does_not_exist_is_misuse_and_those_that_do_are_named(tmp_path, capsys, options, said):
    table = tmp_path / "wind.csv"
    table.write_text("wind speed,drag,power\n1,2,3\n2,3,4\n3,4,7\n", encoding="utf-8")
    assert main(["discover", str(table), *options.split()]) == 2
    shown = capsys.readouterr()
    assert said in shown.err and shown.out == ""


def test_data_that_do_not_exist_are_misuse(tmp_path, capsys):
    for arguments in (
        ["discover", "--target", "y"],
        ["validate"],
        ["tool", "list_parts", "--target", "y", "--data"],
    ):
        assert main([*arguments, str(tmp_path / "nowhere")]) == 2
        assert "nowhere' does not exist" in capsys.readouterr().err


def test_an_interrupted_search_tells_the_best_formula_so_far(tmp_path, capsys, monkeypatch):
    import sr_harness.search as search

    real = search.discover

    def interrupted(problem, *, on_event, **options):
        real(problem, on_event=on_event, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(search, "discover", interrupted)
    table = _awkward_table(tmp_path / "wind.csv")
    assert main(["discover", str(table), "--target", "power", "--work", "3000"]) == 130
    assert "best so far: power = 0.6*wind_speed**3; 1 - R²: " in capsys.readouterr().err
