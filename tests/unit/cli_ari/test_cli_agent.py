"""`ari agent sr`: the agent from the command line, with the offline model and with a server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ari.cli import main
from ari.testing import LoopbackServer


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rows = [(1 + i % 9, 1 + i % 7) for i in range(60)]
    path = tmp_path / "table.csv"
    path.write_text("a,b,y\n" + "".join(f"{a},{b},{a**2 / (3.0 + b)}\n" for a, b in rows))
    return path


def test_the_offline_model_is_the_portfolio(table: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["agent", "sr", str(table), "--target", "y", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["model"], document["stop_reason"], document["best"]["exact"]) == (
        "offline",
        "exact",
        True,
    )
    assert document["requests"] == 1


def test_a_model_of_a_service_is_asked_and_its_formula_measured(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    with LoopbackServer(["I am not sure.", "y = c1*a**2/(c2 + b)"]) as server:
        for name, value in server.environment().items():
            monkeypatch.setenv(name, value)
        trace = tmp_path / "trace.jsonl"
        shape = ["-R", "1", "-C", "1", "-L", "3", "-K", "1"]
        arguments = ["--target", "y", "--model", "openai/any", "--trace", str(trace), *shape]
        assert main(["agent", "sr", str(table), *arguments]) == 0
        out, err = capsys.readouterr()
        assert "stopped: exact; requests: 2, formulas proposed: 1, usable: 1, replies without one: 1" in out
        assert "best: y = a**2/(" in out
        assert err.splitlines()[-1].startswith("1.1.1.1")
        assert "describe_data" in server.requests[0].tools
    records = [json.loads(line) for line in trace.read_text().splitlines()]
    assert [record["role"] for record in records] == ["user", "assistant", "user", "assistant"]


def test_misuse_is_told_before_anything_is_asked(table: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["agent", "sr", str(table), "--target", "y", "-L", "0"]) == 2
    assert "--depth" in capsys.readouterr().err
    assert main(["agent", "sr", str(table), "--target", "q"]) == 1
    assert "there is no" in capsys.readouterr().err
    assert main(["agent", "sr", str(table.with_name("none.csv")), "--target", "y"]) == 1
    assert "none.csv" in capsys.readouterr().err
