"""`sr-harness validate` and `sr-harness import`: output, exit status and messages."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from sr_harness import cli
from sr_harness.core import load_context_data


@pytest.fixture
def run(capsys):
    def call(*arguments):
        status = cli.main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "weather.csv"
    path.write_text("wind speed;temp (°C)\n1;2,5\n2;\n", encoding="utf-8")
    return path


def test_import_then_validate(run, table, tmp_path):
    status, out, err = run("import", table, tmp_path / "c")
    assert (status, err) == (0, "")
    assert "2 rows on the axis 'row'" in out
    assert "'temp (°C)'   ->  temp_C  (floats, 1 missing)" in out
    status, out, err = run("validate", tmp_path / "c")
    assert (status, err) == (0, "")
    assert out == f"{tmp_path / 'c'} is valid: 2 variables on row (2).\n"


def test_json_for_machines(run, table, tmp_path):
    status, out, _ = run("import", table, tmp_path / "c", "--json", "--axis", "hour")
    report = json.loads(out)
    assert status == 0
    assert report["columns"] == {"wind speed": "wind_speed", "temp (°C)": "temp_C"}
    assert report["missing"] == {"temp_C": 1}
    assert report["axis"] == "hour"
    status, out, _ = run("validate", tmp_path / "c", "--json")
    report = json.loads(out)
    assert status == 0
    assert report["valid"] is True
    assert report["variables"]["temp_C"]["shape"] == [2]


def test_warnings_go_to_standard_error(run, tmp_path):
    (tmp_path / "t.csv").write_text("id,v\n007,1\n")
    status, out, err = run("import", tmp_path / "t.csv", tmp_path / "c")
    assert status == 0
    assert err.startswith("warning: the column 'id' is kept as text")
    assert "leading zeros" not in out


def test_every_fault_is_listed_with_status_one(run, tmp_path):
    (tmp_path / "manifest.json").write_text('{"variables": {}, "axes": {}, "target": 1}')
    status, out, err = run("validate", tmp_path)
    assert (status, err) == (1, "")
    assert "error    variables: must be a non-empty object" in out
    assert "error    manifest.json: unknown root field 'target'" in out
    assert out.endswith("is not valid: 2 faults.\n")
    status, out, _ = run("validate", tmp_path, "--json")
    assert status == 1
    assert json.loads(out)["valid"] is False


def test_a_network_is_summarised(run, tmp_path):
    from sr_harness.core import Axis, Variable, write_context_data

    write_context_data(
        tmp_path / "c",
        variables={"A": Variable([[0, 1]], "Edges.", ["e", "t"], kind="relation")},
        axes={"e": Axis("", size=1), "t": Axis("", size=2)},
        num_nodes=2,
    )
    _, out, _ = run("validate", tmp_path / "c")
    assert "1 variable on e (1), t (2); 2 nodes related by A." in out


def test_a_table_that_cannot_be_imported(run, tmp_path):
    (tmp_path / "t.csv").write_text("x,x\n1,2\n")
    status, out, err = run("import", tmp_path / "t.csv", tmp_path / "c")
    assert (status, out) == (1, "")
    assert err.startswith(
        "error: the column names cannot be used:\n  - columns 1 and 2 have the same header 'x'"
    )
    assert "Traceback" not in err
    assert not (tmp_path / "c").exists()


def test_overwriting_has_to_be_asked_for(run, table, tmp_path):
    run("import", table, tmp_path / "c")
    status, _, err = run("import", table, tmp_path / "c")
    assert status == 1
    assert "already holds data; overwrite it" in err
    assert run("import", table, tmp_path / "c", "--overwrite")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["import"], "Missing argument"),
        (["import", "nothing.csv", "c"], "does not exist"),
        (["import", "{table}", "c", "--decimal", "x"], "'x' is neither '.' nor ','"),
        (["import", "{table}", "c", "--delimiter", "::"], "cannot separate cells"),
        (["validate"], "Missing argument"),
        (["fly"], "No such command"),
        (["validate", "--fly"], "No such option"),
    ],
)
def test_misuse_is_status_two(run, table, arguments, said):
    status, out, err = run(*(argument.format(table=table) for argument in arguments))
    assert (status, out) == (2, "")
    assert said in err
    assert "--help` lists what it takes" in err


def test_a_tab_can_be_written_on_a_command_line(run, tmp_path):
    (tmp_path / "t.txt").write_text("a,b\tc\n1\t2\n")
    assert run("import", tmp_path / "t.txt", tmp_path / "c", "--delimiter", "\\t")[0] == 0
    assert set(load_context_data(tmp_path / "c")["variable_axes"]) == {"a_b", "c"}


def test_debug_shows_where_an_error_came_from(run, tmp_path):
    from sr_harness.errors import ImportDataError

    (tmp_path / "t.csv").write_text("x,x\n1,2\n")
    with pytest.raises(ImportDataError):
        run("import", tmp_path / "t.csv", tmp_path / "c", "--debug")


def test_an_interrupted_command(run, table, tmp_path, monkeypatch):
    def interrupt(*_args, **_kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("sr_harness.data.import_table", interrupt)
    assert run("import", table, tmp_path / "c") == (130, "", "error: interrupted\n")


def test_a_fault_of_the_program_is_owned_up_to(run, table, tmp_path, monkeypatch):
    def fail(*_args, **_kwargs):
        raise RuntimeError("boom")

    monkeypatch.setattr("sr_harness.data.import_table", fail)
    status, _, err = run("import", table, tmp_path / "c")
    assert status == 1
    assert "RuntimeError: boom\n  This is a fault of the program" in err


def test_help_lists_the_commands(run):
    status, out, _ = run("--help")
    assert status == 0
    assert "validate" in out
    assert "import" in out


def test_importing_core_stays_light():
    script = (
        "import sys, sr_harness.core\n"
        "heavy = ('scipy', 'sympy', 'matplotlib', 'pyarrow', 'pandas', 'typer')\n"
        "print([module for module in heavy if module in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
