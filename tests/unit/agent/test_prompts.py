"""Prompts are files with a version; a study keeps the ones it began with."""

from __future__ import annotations

from pathlib import Path

import pytest

from ari.agent import prompts
from ari.agent.prompts import Prompts, node_prompts, packaged_names
from ari.errors import CheckpointError, ConfigError
from ari.pipeline.experiment_spec import KINDS


@pytest.mark.parametrize("name", packaged_names())
def test_every_packaged_prompt_has_a_version_and_a_text(name: str):
    prompt = Prompts().get(name)
    assert prompt.version >= 1
    assert len(prompt.text) > 100
    assert "version:" not in prompt.text


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("label", ["draft", "improve", "debug", "ablation", "validation", "other"])
def test_every_kind_and_label_has_its_instructions(kind: str, label: str):
    names = node_prompts(kind, label)
    assert names == ("node", f"node_{kind}", f"label_{label}")
    assert all(part in Prompts().text(*names) for part in (Prompts().get(name).text for name in names))


def test_a_label_of_ones_own_is_instructed_as_other():
    assert node_prompts("command", "port to CUDA")[2] == "label_other"


def test_a_study_keeps_its_prompts_and_says_which(tmp_path: Path):
    recorded = prompts.install(tmp_path / "study", tmp_path)
    assert set(recorded) == {f"prompts/{name}.md" for name in packaged_names()}
    assert prompts.check(tmp_path / "study", recorded) == []
    (tmp_path / "study" / "prompts" / "node.md").write_text("---\nversion: 9\n---\nOther words.\n")
    assert Prompts.of(tmp_path / "study").get("node").text == "Other words."
    (fault,) = prompts.check(tmp_path / "study", recorded)
    assert fault.startswith("prompts/node.md has sha256")
    with pytest.raises(CheckpointError, match=r"are not those this study began with: prompts/node\.md"):
        prompts.verify(tmp_path / "study", recorded)


def test_a_recorded_path_that_leaves_the_study_is_a_fault(tmp_path: Path):
    (fault,) = prompts.check(tmp_path, {"../node.md": "0" * 64})
    assert "../node.md" in fault


def test_an_experiment_may_bring_prompts_of_its_own(tmp_path: Path):
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "label_draft.md").write_text("---\nversion: 3\n---\nBe bold.\n")
    recorded = prompts.install(tmp_path / "study", tmp_path)
    own = Prompts.of(tmp_path / "study").get("label_draft")
    assert (own.version, own.text) == (3, "Be bold.")
    assert recorded["prompts/label_draft.md"] == own.sha256


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("label_drfat.md", b"---\nversion: 1\n---\nx\n", "there is no prompt of this name to be replaced"),
        ("node.md", b"Just words.\n", "its first lines do not give its version"),
        ("node.md", b"---\nversion: 1\n---\n\n", "it holds no text"),
        ("node.md", b"---\nversion: 1\n---\n\xff\n", "is not UTF-8"),
    ],
)
def test_a_file_that_is_no_prompt_is_refused(tmp_path: Path, name: str, content: bytes, message: str):
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / name).write_bytes(content)
    with pytest.raises(ConfigError, match=message):
        prompts.install(tmp_path / "study", tmp_path)


def test_a_prompt_that_does_not_exist_is_named_with_those_that_do():
    with pytest.raises(ConfigError) as raised:
        Prompts().get("nonsense")
    assert "nonsense.md: the prompt cannot be read" in str(raised.value)
    assert "node_symbolic" in str(raised.value)
