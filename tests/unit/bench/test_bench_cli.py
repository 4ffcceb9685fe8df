"""`sr-harness benchmark` and `sr-harness synthetic` on the command line."""

from __future__ import annotations

import json

import pytest
from bench_tables import table

from sr_harness import cli


@pytest.fixture
def run(capsys):
    def call(*arguments):
        status = cli.main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


def test_benchmark_then_resume(run, tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    path, out = table(tmp_path), tmp_path / "out"
    options = ("--output", out, "--rows", 60, "--work", 2000, "--ids", "plane", "--peers", "gplearn")
    status, text, errors = run("benchmark", path, *options)
    lines = text.splitlines()
    assert status == 0
    assert lines[0].startswith("[1/1] plane (sr_harness): exact, ")
    assert lines[1].startswith(
        "sr_harness, all problems, noise 0: recovered 1 of 1 (100.0%, 95 % interval 20.7%"
    )
    assert lines[2] == f"tables: {out / 'summary.md'}"
    assert errors == "note: the peer gplearn was skipped: gplearn not installed (pip install gplearn)\n"
    status, text, errors = run("benchmark", path, *options, "--resume", "--json")
    document = json.loads(text)
    assert status == 0
    assert "[1/1]" not in errors
    assert document["groups"][0]["strict"] == 1
    assert document["command"] == (
        "sr-harness benchmark problems.csv --time-limit 30 --work 2000 --threads 1 --rows 60 --seed 0 "
        "--noise 0 --ids plane --jobs 1 --output DIR"
    )
    status, _, errors = run("benchmark", path, *options)
    assert status == 1
    assert "holds a benchmark already; go on with --resume" in errors


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--noise", "0,lots"), "'lots' is not a number from 0 up"),
        (("--noise", ","), "give at least one level"),
        (("--peers", "eureqa"), "there is no peer 'eureqa'; choose from pyoperon, gplearn"),
        (("--time-limit", "0"), "0.0 is not above 0"),
    ],
)
def test_misuse_of_benchmark(run, tmp_path, options, message):
    status, _, errors = run("benchmark", table(tmp_path), "--output", tmp_path / "out", *options)
    assert status == 2
    assert message in errors
    assert not (tmp_path / "out").exists()


def test_synthetic_writes_and_lists(run, tmp_path):
    status, text, _ = run("synthetic", "--list")
    assert status == 0
    assert "pendulum         a pendulum slowed by" in text
    place = tmp_path / "swing.data"
    status, text, _ = run("synthetic", "pendulum", "--output", place, "--rows", 30)
    assert status == 0
    assert "the target is acceleration" in text
    assert (tmp_path / "swing.data.truth.json").exists()
    assert run("validate", place)[0] == 0
    status, _, errors = run("synthetic", "pendulum", "--output", place)
    assert status == 1
    assert "already holds data" in errors
    status, text, _ = run("synthetic", "pendulum", "--output", place, "--overwrite", "--json")
    assert (status, json.loads(text)["target"]) == (0, "acceleration")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "name a system, or list them with --list"),
        (("perpetuum", "--output", "x"), "there is no system 'perpetuum'"),
        (("pendulum",), "say where to write"),
    ],
)
def test_misuse_of_synthetic(run, arguments, message):
    status, _, errors = run("synthetic", *arguments)
    assert status == 2
    assert message in errors
