"""Sub-experiments: what a child takes from its parent and may not do, and that the parent stays as it was."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from ari.checkpoint import Checkpoint, validate
from ari.errors import ExperimentError
from ari.orchestrator.children import child_output, inherit
from ari.orchestrator.study import RunOptions, StudyResult, start

HEAD = """# How does y depend on a and b?

Metrics: nrmse

## Data
- source: data.csv
- target: y
"""


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("experiment")
    rows = [f"{a},{b},{3 * a / b}" for a, b in ((1 + i % 7, 1 + i % 5) for i in range(40))]
    (folder / "data.csv").write_text("a,b,y\n" + "\n".join(rows) + "\n")
    (folder / "experiment.md").write_text(HEAD)
    return folder / "experiment.md"


@pytest.fixture(scope="module")
def parent(experiment: Path, tmp_path_factory: pytest.TempPathFactory) -> StudyResult:
    path = tmp_path_factory.mktemp("runs") / "law"
    return start(RunOptions(experiment, output=path, nodes=1, parallel=1, seed=3))


def ideas_of(checkpoint: Path) -> list[dict]:
    return orjson.loads((checkpoint / "idea.json").read_bytes())["ideas"]


def test_a_child_names_its_parent_and_keeps_the_inherited_idea_first(parent: StudyResult, experiment: Path):
    before = {file: file.read_bytes() for file in parent.checkpoint.rglob("*") if file.is_file()}
    child = start(RunOptions(experiment, parent=parent.checkpoint, ideas=(2,), nodes=1))
    assert child.checkpoint.parent == parent.checkpoint.parent
    assert child.checkpoint.name == "law-child-1"
    with Checkpoint.open(child.checkpoint) as checkpoint:
        meta = checkpoint.meta
        assert (meta.parent_run_id, meta.recursion_depth, meta.max_recursion_depth) == ("law", 1, 2)
        assert checkpoint.state.settings["seed"] == 3
    first, *rest = ideas_of(child.checkpoint)
    inherited = ideas_of(parent.checkpoint)[2]
    assert first == inherited | {"_pinned": True}
    assert rest and not any(idea["_pinned"] for idea in rest)
    assert inherited["title"] not in [idea["title"] for idea in rest]
    assert validate(child.checkpoint) == []
    assert {file: file.read_bytes() for file in parent.checkpoint.rglob("*") if file.is_file()} == before


def test_by_default_a_child_takes_up_the_idea_its_parent_works_on(parent: StudyResult):
    assert [idea["title"] for idea in inherit(parent.checkpoint).ideas["ideas"]] == [
        ideas_of(parent.checkpoint)[0]["title"]
    ]


def test_a_child_asks_the_question_as_the_parent_recorded_it(parent: StudyResult, experiment: Path):
    inherited = inherit(parent.checkpoint, experiment=experiment)
    assert inherited.text is not None
    assert inherited.text.startswith(HEAD)
    other = experiment.with_name("other.md")
    assert inherit(parent.checkpoint, experiment=other).text is None


def test_a_child_may_not_seal_other_rows_of_the_same_data(parent: StudyResult, experiment: Path):
    output = child_output(parent.checkpoint)
    with pytest.raises(ExperimentError, match="would seal other rows than law") as refused:
        start(RunOptions(experiment, output=output, parent=parent.checkpoint, seed=4, nodes=1))
    assert "Leave the seed as it was" in refused.value.cure
    assert not output.exists()


def test_an_idea_that_is_not_there_is_refused_with_the_ones_that_are(parent: StudyResult):
    with pytest.raises(ExperimentError, match="has no idea 99") as refused:
        inherit(parent.checkpoint, ideas=[99])
    assert "from 0 to" in refused.value.cure


def test_children_of_children_end_at_the_limit(parent: StudyResult, experiment: Path):
    child = start(RunOptions(experiment, parent=parent.checkpoint, nodes=1))
    grandchild = start(RunOptions(experiment, parent=child.checkpoint, nodes=1))
    with pytest.raises(ExperimentError, match="deeper than 2 is not allowed"):
        inherit(grandchild.checkpoint)
