"""`ari skills`: what it lists, what it refuses, and one call."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from cli_checkpoints import Answer

Ari = Callable[..., Answer]


def test_the_list_has_every_skill_with_its_options_and_tools(ari: Ari) -> None:
    answer = ari("skills", "list")
    assert answer.status == 0
    assert "symbolic  statistics, relationships" in answer.out
    assert "    options: --data --target [--inputs] [--time] [--seed] [--work-dir]" in answer.out
    assert "    fit_family: Fit one family of formulas to the data." in answer.out


def test_one_skill_is_listed_with_arguments(ari: Ari) -> None:
    answer = ari("skills", "list", "coding")
    assert "        command: Text for bash; a failing step ends it." in answer.out
    assert "symbolic" not in answer.out
    document = json.loads(ari("skills", "list", "coding", "--json").out)
    [skill] = document["skills"]
    assert skill["server"] == "ari-skill-coding"
    assert skill["tools"][0]["arguments"]["properties"]["path"]["type"] == "string"
    unknown = ari("skills", "list", "magic")
    assert (unknown.status, unknown.err.splitlines()[0]) == (2, "error: there is no skill 'magic'")


def test_a_call_prints_the_answer_alone(ari: Ari, tmp_path: Path) -> None:
    answer = ari(
        *("skills", "call", "coding", "run", "--work-dir", tmp_path / "work"),
        *("--params", json.dumps({"command": "echo 'rate: inf'"})),
    )
    document = json.loads(answer.out)
    assert document["metrics"] == {"rate": None}
    assert document["_non_finite"] == {"/metrics/rate": "+inf"}


def test_misuse_and_refusal_have_their_own_status(ari: Ari, tmp_path: Path) -> None:
    work = ("--work-dir", tmp_path / "work")
    assert ari("skills", "call", "coding", "read_file", *work).status == 1
    escaped = ari("skills", "call", "coding", "read_file", *work, "--params", '{"path": "../x"}')
    assert (escaped.status, "it climbs with '..'" in escaped.err) == (1, True)
    for params in ("{", "[1]", '{"a": NaN}'):
        assert ari("skills", "call", "coding", "read_file", *work, "--params", params).status == 2
    unbound = ari("skills", "serve", "coding")
    assert (unbound.status, "--work-dir is missing" in unbound.err) == (2, True)
    assert ari("skills", "serve", "coding", *work, "--transport", "pigeon").status == 2
