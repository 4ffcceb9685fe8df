"""What a skill is bound to: options that are missing, foreign or wrong, and sessions that work."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ari.errors import AriError, ConfigError
from ari.skills import SKILLS, call_tool
from ari.skills.binding import Binding, bind
from ari.skills.catalogue import CATALOGUE
from sr_harness.core import write_context_data
from support.studies import copy_study


@pytest.fixture
def data(tmp_path: Path) -> Path:
    x = np.linspace(1.0, 2.0, 12)
    axes = {"row": {"size": 12, "description": "Sample."}}
    variables = {
        "x": {"values": x, "description": "Length in metres.", "axes": ["row"]},
        "y": {"values": 3 * x**2, "description": "Area in square metres.", "axes": ["row"]},
    }
    write_context_data(tmp_path / "context.data", variables=variables, axes=axes)
    return tmp_path / "context.data"


@pytest.mark.parametrize("name", [name for name in SKILLS if CATALOGUE[name].needs])
def test_a_skill_that_is_bound_to_nothing_says_what_it_needs(name: str) -> None:
    with pytest.raises(
        ConfigError, match=rf"the skill {name} is bound to nothing: --.* is missing\n  Usage: ari"
    ):
        bind(name, Binding())


def test_foreign_options_and_unknown_skills_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"plot takes no --data\n  Usage: ari skills serve plot --checkpoint"
    ):
        bind("plot", Binding(data=tmp_path, checkpoint=tmp_path))
    with pytest.raises(ConfigError, match=r"there is no skill 'magic'\n  Available: .*coding"):
        bind("magic", Binding())


def test_what_does_not_exist_is_named(tmp_path: Path, data: Path) -> None:
    with pytest.raises(ConfigError, match="holds no checkpoint"):
        bind("paper", Binding(checkpoint=tmp_path))
    study = copy_study("kepler", tmp_path)
    with pytest.raises(ConfigError, match=r"has no node 'n99'\n  Its nodes: "):
        bind("memory", Binding(checkpoint=study, node="n99"))
    with pytest.raises(ConfigError, match=r"has no variable 'z'\n  It has: x, y\."):
        bind("symbolic", Binding(data=data, target="z"))
    with pytest.raises(ConfigError, match=r"has no variable 'w'"):
        bind("symbolic", Binding(data=data, target="y", inputs=("w",)))


def test_symbolic_tools_work_on_data_of_ones_own(data: Path, tmp_path: Path) -> None:
    session = bind("symbolic", Binding(data=data, target="y", inputs=("x",), work_dir=tmp_path / "out"))
    found = call_tool("symbolic", session, "fit_family", {"family": "power_law", "work": 400})
    assert found["best"]["formula"] == "3*x**2"
    call_tool("symbolic", session, "submit_formula", {"formula": "3*x**2"})
    assert (tmp_path / "out" / "formula.json").is_file()


def test_coding_records_lie_where_its_tools_cannot_write(tmp_path: Path) -> None:
    work, keep = tmp_path / "work", tmp_path / "keep"
    session = bind("coding", Binding(work_dir=work, checkpoint=keep, time_limit=20.0))
    ran = call_tool("coding", session, "run", {"command": "echo 'speed: 3'"})
    assert ran["metrics"] == {"speed": 3.0}
    assert (keep / "records" / "served" / "work" / "run_record.json").is_file()
    assert [p for p in work.rglob("*") if p.is_file()] == []
    bind("coding", Binding(work_dir=tmp_path / "alone"))
    with pytest.raises(AriError, match="lies inside the work folder"):
        bind("coding", Binding(work_dir=tmp_path, checkpoint=keep))


def test_coding_is_kept_out_of_studies(tmp_path: Path) -> None:
    study = copy_study("matmul", tmp_path)
    node = next((study / "experiments").iterdir())
    for folder in (study, node, study / "new"):
        with pytest.raises(ConfigError, match="whose files are evidence"):
            bind("coding", Binding(work_dir=folder))


def test_a_command_may_be_given_less_time_but_not_more(tmp_path: Path) -> None:
    session = bind("coding", Binding(work_dir=tmp_path / "work", time_limit=0.5))
    ran = call_tool("coding", session, "run", {"command": "sleep 60", "time_limit_s": 50})
    assert ran["outcome"] == "timeout"
    with pytest.raises(AriError, match="the time limit is 0 s"):
        call_tool("coding", session, "run", {"command": "true", "time_limit_s": 0})


@pytest.mark.parametrize("name", ["kepler", "matmul"])
def test_ideas_of_a_study_and_of_an_experiment(name: str, tmp_path: Path) -> None:
    study = copy_study(name, tmp_path)
    ideas = call_tool("idea", bind("idea", Binding(checkpoint=study)), "generate_ideas")["ideas"]
    root = Path(__file__).resolve().parents[3] / "examples" / name
    again = call_tool("idea", bind("idea", Binding(experiment=root)), "generate_ideas")["ideas"]
    assert [idea["title"] for idea in ideas] == [idea["title"] for idea in again]
    with pytest.raises(ConfigError, match="exclude each other"):
        bind("idea", Binding(experiment=root, checkpoint=study))


def test_a_node_of_a_study_is_measured_and_remembers(tmp_path: Path) -> None:
    study = copy_study("kepler", tmp_path)
    node = next(path.name for path in sorted((study / "experiments").iterdir()))
    bound = Binding(checkpoint=study, node=node)
    assert call_tool("evaluator", bind("evaluator", bound), "describe_criteria")["primary_metric"] == "nrmse"
    assert call_tool("evaluator", bind("evaluator", bound), "evaluate_node")["status"] == "completed"
    call_tool("memory", bind("memory", bound), "remember", {"text": "tides matter"})
    whole = bind("memory", Binding(checkpoint=study))
    assert call_tool("memory", whole, "recall", {"query": "tides"})["entries"][0]["node_id"] == node
