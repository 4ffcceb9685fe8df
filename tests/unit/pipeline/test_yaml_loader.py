"""workflow.yaml: what is read, and what is refused with its line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ari.checkpoint import validate
from ari.errors import WorkflowError
from ari.pipeline.stages import STAGE_TOOLS
from ari.pipeline.workflow import FileRef, Workflow
from ari.pipeline.yaml_loader import (
    DEFAULT_WORKFLOW,
    load_workflow,
    missing_inputs,
    parse_workflow,
    preflight,
    substitute,
    tool_faults,
)

VECTORS = Path(__file__).resolve().parents[2] / "conformance" / "vectors" / "checkpoints"


def read(text: str) -> Workflow:
    workflow, faults = parse_workflow(text.encode())
    assert faults == []
    assert workflow is not None
    return workflow


def faults(text: str) -> list[tuple[int, str]]:
    workflow, found = parse_workflow(text.encode())
    return [(fault.line, fault.message) for fault in [*found, *(tool_faults(workflow) if workflow else [])]]


def stage(name: str, more: str = "") -> str:
    return (
        f"  - {{name: {name}, skill: transform, tool: nodes_to_science_data{', ' if more else ''}{more}}}\n"
    )


def test_the_default_workflow_is_sound_and_in_order() -> None:
    workflow = load_workflow(DEFAULT_WORKFLOW)
    names = [stage.name for stage in workflow.stages]
    assert names[:3] == ["idea_generation", "bfts", "science_data"]
    assert missing_inputs(workflow, None) == []
    assert workflow["figures"].name in workflow.after("science_data")


def test_every_key_is_read() -> None:
    workflow = read(
        """
name: mine
stages:
  - name: a
    skill: ari-skill-transform
    tool: nodes_to_science_data
    inputs: ["{{checkpoint}}/x.json", "y.json?"]
    outputs: out.json
    enabled: true
    phase: publish
    skip_if_exists: true
    retries: 2
    timeout: 1.5m
    parameters: {place: "{{ checkpoint }}/z", n: [1, {m: 2.5}]}
  - {name: b, skill: transform, tool: nodes_to_science_data, depends_on: a, loop_back_to: a, max_loops: 3}
"""
    )
    a, b = workflow.stages
    assert a.inputs == (FileRef("x.json"), FileRef("y.json", True))
    assert a.outputs == (FileRef("out.json"),) and a.skip_if_exists == ("out.json",)
    assert (a.skill, a.phase, a.retries, a.timeout_s) == ("transform", "publish", 2, 90.0)
    assert (b.depends_on, b.loop_back_to, b.max_loops) == (("a",), "a", 3)
    assert substitute(dict(a.parameters), Path("/c")) == {"place": "/c/z", "n": [1, {"m": 2.5}]}
    assert a.line("retries") == 12


def test_stages_are_sorted_by_files_and_by_what_is_said() -> None:
    text = "stages:\n" + stage("z", "inputs: [m.json]") + stage("m", "outputs: [m.json]")
    text += stage("a", "depends_on: [z]") + stage("free")
    assert [s.name for s in read(text).stages] == ["m", "z", "a", "free"]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("stages: [", 1, "this is no YAML"),
        ("", 0, "the file is empty"),
        ("stages:\n  - name: a\n    nmae: b\n    skill: s\n", 3, "unknown key 'nmae'; did you mean 'name'?"),
        ("stages:\n" + stage("a") + "steps: 1\n", 3, "unknown key 'steps'; did you mean 'stages'?"),
        ("stages:\n  - {name: a, skill: transform}\n", 2, "a stage needs a tool"),
        ("stages:\n" + stage("a") + stage("a"), 3, "a stage called a stands on line 2 already"),
        ("stages:\n" + stage("a", "depends_on: [b]") + stage("b", "depends_on: [a]"), 2, "a → b → a"),
        ("stages:\n" + stage("a", "depends_on: [a]"), 2, "wait for each other: a → a"),
        ("stages:\n\n" + stage("a", "depends_on: [c]"), 3, "depends on c, and there is no such stage"),
        ("stages:\n" + stage("a", "loop_back_to: b") + stage("b"), 2, "loops back to b, which does not"),
        ("stages:\n" + stage("a", "inputs: [../x]"), 2, "outside the checkpoint: it climbs"),
        ("stages:\n" + stage("a", "outputs: [/etc/x]"), 2, "it is absolute"),
        ("stages:\n" + stage("a", "inputs: ['{{home}}/x']"), 2, "{{home}} is not known"),
        ("stages:\n" + stage("a", "timeout: soon"), 2, "timeout is a number of seconds"),
        ("stages:\n" + stage("a", "timeout: 0"), 2, "timeout is a number of seconds"),
        ("stages:\n" + stage("a", "retries: -1"), 2, "retries is a whole number from 0 to 20"),
        ("stages:\n" + stage("a", "enabled: 'yes'"), 2, "enabled is true or false"),
        ("stages:\n" + stage("a", "phase: later"), 2, "phase is one of"),
        ("stages:\n" + stage("a", "parameters: [1]"), 2, "parameters is a mapping"),
        ("stages:\n" + stage("a", "parameters: {colour: red}"), 2, "takes no parameter 'colour'"),
        ("stages:\n" + stage("a b"), 2, "a name has letters"),
        ("stages:\n  - {name: a, skill: transfrom, tool: x}\n", 2, "did you mean 'transform'?"),
        ("stages:\n  - {name: a, skill: transform, tool: x}\n", 2, "the skill transform has no tool 'x'"),
        ("stages:\n  - {name: a, skill: orchestrator, tool: run, phase: paper}\n", 2, "is the search itself"),
        ("stages:\n  - name: a\n    skill: s\n    skill: t\n", 4, "the key 'skill' stands here twice"),
        ("stages: &x\n  - *x\n", 0, "nested too deeply"),
        ("stages:\n  - !!python/object/apply:os.system ['true']\n", 2, ""),
        ("- 1\n", 1, "a workflow is a mapping"),
        ("stages: 3\n", 1, "stages is a list of stages"),
        ("stages: []\n", 1, "there are no stages"),
    ],
)  # fmt: skip
def test_faults_are_reported_with_their_line(text: str, line: int, message: str) -> None:
    assert any(found == line and message in said for found, said in faults(text)), faults(text)


def test_every_fault_is_told_at_once() -> None:
    text = "stages:\n" + stage("a", "retries: x, timeout: y") + "  - {name: b, skill: nobody, tool: t}\n"
    assert [line for line, _ in faults(text)] == [2, 2, 3]


def test_what_cannot_be_run_is_refused_with_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "workflow.yaml"
    file.write_text("stages:\n" + stage("a", "retries: x") + "  - {name: b, skill: nobody, tool: t}\n")
    with pytest.raises(WorkflowError) as refused:
        load_workflow(file)
    assert f"{file}, line 2: retries is a whole number" in refused.value.message
    assert f"{file}, line 3: there is no skill 'nobody'" in refused.value.message
    with pytest.raises(WorkflowError, match="cannot be read"):
        load_workflow(tmp_path / "absent.yaml")


def test_a_bomb_of_aliases_is_refused() -> None:
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    assert any("more than 20000 values" in message for _, message in faults("\n".join(lines)))


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    workflow, found = parse_workflow(data)
    assert found or workflow is not None


def test_the_older_shape_is_read() -> None:
    [file] = (VECTORS / "legacy_upstream" / "checkpoints").glob("*/workflow.yaml")
    workflow, found = parse_workflow(file.read_bytes())
    assert workflow is not None and found == [] and workflow.legacy
    assert [s.name for s in workflow.stages] == ["generate_idea", "transform_data", "write_paper"]
    assert [s.phase for s in workflow.stages] == ["search", "paper", "paper"]
    assert workflow["transform_data"].inputs == (FileRef("tree.json"),)
    assert workflow["write_paper"].outputs == (FileRef("full_paper.tex"),)
    assert workflow["write_paper"].skip_if_exists == ("full_paper.tex",)
    assert workflow.needs["write_paper"] == ("transform_data",)


def test_missing_inputs_name_the_disabled_writer(tmp_path: Path) -> None:
    text = "stages:\n" + stage("a", "outputs: [x.json], enabled: false") + stage("b", "inputs: [x.json]")
    [fault] = missing_inputs(read(text), tmp_path)
    assert (fault.line, fault.message) == (
        3,
        "stage b reads x.json: it is not there, and a, which writes it, is not enabled",
    )
    (tmp_path / "x.json").touch()
    assert missing_inputs(read(text), tmp_path) == []
    text = "stages:\n" + stage("a", "outputs: [figures/]") + stage("b", "inputs: [figures/one.pdf]")
    assert missing_inputs(read(text), tmp_path) == []
    assert read(text).needs["b"] == ("a",)


def test_tools_can_say_beforehand_what_they_will_miss(monkeypatch: pytest.MonkeyPatch) -> None:
    from ari.transform import nodes_to_science_data

    monkeypatch.setattr(nodes_to_science_data, "preflight", lambda: ["no TeX"], raising=False)
    assert preflight(read("stages:\n" + stage("a"))) == ["a: no TeX"]


def test_validation_reports_the_faults_of_a_checkpoints_workflow(tmp_path: Path) -> None:
    import shutil

    study = Path(shutil.copytree(VECTORS / "gflops_run", tmp_path / "study"))
    assert [f for f in validate(study) if f.file == "workflow.yaml"] == []
    text = (study / "workflow.yaml").read_text()
    (study / "workflow.yaml").write_text(
        text + stage("extra", "inputs: [nowhere.json]") + stage("more", "colour: red")
    )
    found = {(f.code, f.where) for f in validate(study) if f.file == "workflow.yaml"}
    lines = len(text.splitlines())
    assert found == {
        ("workflow.missing_input", f"line {lines + 1} /stages"),
        ("schema.type", f"line {lines + 2} /stages/3/colour"),
    }


def test_the_names_of_stage_tools_are_those_of_the_skills() -> None:
    from ari.skills import SKILLS

    assert set(STAGE_TOOLS) <= set(SKILLS)
