"""`workflow.yaml`: reading it with line numbers, and refusing what could not be run.

    stages:
      - name: science_data              # required, unique
        skill: transform                # required
        tool: nodes_to_science_data     # required
        inputs: [nodes_tree.json, 'metric_contract.json?']    # `?`: may be absent
        outputs: [science_data.json]
        depends_on: []                  # beyond what follows from the files
        enabled: true
        phase: paper                    # search, paper or publish
        skip_if_exists: false           # true: the outputs; or a list of files
        retries: 0
        timeout: 10m                    # seconds, or a number with s, m or h
        loop_back_to: some_stage
        max_loops: 1
        parameters: {place: "{{checkpoint}}/x"}

The older shape, a list `pipeline:` with `stage:` for the name and mappings of files, is read too.
Every fault is reported with its line, all in one pass. YAML is read safely: no tags, no objects, no repeated
keys, bounded in size.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ari.errors import WorkflowError
from ari.pipeline.stage_reader import LEGACY_LISTS, TEMPLATE, StageReader, nearest
from ari.pipeline.stages import SEARCH_TOOLS, STAGE_TOOLS, parameter_faults, resolve
from ari.pipeline.workflow import RUN_FILES, Fault, Stage, Workflow, arrange
from ari.pipeline.yaml_values import UnreadableError, read_yaml

WORKFLOW = "workflow.yaml"
DEFAULT_WORKFLOW = Path(__file__).resolve().parent.parent / "configs" / "workflow.default.yaml"


def load_workflow(path: Path) -> Workflow:
    """Read a workflow that can be run.

    Args:
        path: The file.

    Returns:
        The workflow, its stages sorted.

    Raises:
        WorkflowError: If it cannot be read or anything is wrong with it; names every fault with its line.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise WorkflowError(f"{path} cannot be read: {error.strerror or error}") from error
    workflow, faults = parse_workflow(data, source=str(path))
    if workflow is not None:
        faults = [*faults, *tool_faults(workflow)]
    if faults or workflow is None:
        raise faulty(str(path), faults)
    return workflow


def workflow_file(folder: Path) -> Path:
    """The workflow that counts for an experiment or a study: its own, else the default one."""
    own = folder / WORKFLOW
    return own if own.exists() else DEFAULT_WORKFLOW


def workflow_of(checkpoint: Path) -> Workflow:
    """The workflow of a study.

    Raises:
        WorkflowError: If it cannot be used.
    """
    return load_workflow(workflow_file(checkpoint))


def preflight(workflow: Workflow) -> list[str]:
    """Ask the tools what they will not be able to do on this machine.

    A stage tool may carry a function `preflight` that answers with lines for people.

    Returns:
        What they say, with the name of the stage.
    """
    said = []
    for stage in workflow.stages:
        if not stage.enabled or stage.phase == "search":
            continue
        if stage.outside is not None:
            program = stage.outside.command[0]
            if shutil.which(program) is None:
                said.append(
                    f"{stage.name}: there is no program {program!r}, which serves the skill {stage.skill}"
                )
            continue
        ask = getattr(resolve(stage.skill, stage.tool), "preflight", None)
        said += [f"{stage.name}: {line}" for line in ask()] if ask is not None else []
    return said


def faulty(source: str, faults: Sequence[Fault]) -> WorkflowError:
    """The error that names every fault of a workflow."""
    lines = [
        f"{source}, line {fault.line}: {fault.message}" if fault.line else f"{source}: {fault.message}"
        for fault in sorted(faults)
    ]
    return WorkflowError("\n".join(lines), cure="docs/workflow.md describes the file.")


def substitute(value: Any, checkpoint: Path) -> Any:  # noqa: ANN401 - any YAML value
    """Put the checkpoint's path in place of `{{checkpoint}}`, at any depth."""
    if isinstance(value, str):
        return TEMPLATE.sub(lambda _: str(checkpoint), value)
    if isinstance(value, Mapping):
        return {key: substitute(item, checkpoint) for key, item in value.items()}
    return [substitute(item, checkpoint) for item in value] if isinstance(value, list) else value


# --- checks that need more than the file -----------------------------------------------------------------


def tool_faults(workflow: Workflow) -> list[Fault]:
    """Find stages whose skill, tool or parameters do not exist."""
    return [fault for stage in workflow.stages if stage.enabled for fault in _tool_faults(stage)]


def _tool_faults(stage: Stage) -> Iterator[Fault]:
    if stage.outside is not None:
        return  # its tools are known only to its server
    if stage.tool in SEARCH_TOOLS.get(stage.skill, ()):
        if stage.phase != "search":
            text = f"{stage.skill}.{stage.tool} is the search itself: its phase is search, not {stage.phase}"
            yield Fault(stage.line("phase"), "schema.enum", "/stages", text)
        return
    if stage.skill not in STAGE_TOOLS:
        known = sorted({*STAGE_TOOLS, *SEARCH_TOOLS})
        text = f"there is no skill {stage.skill!r} with tools for stages{nearest(stage.skill, known)}"
        yield Fault(stage.line("skill"), "workflow.unknown_tool", "/stages", text)
        return
    tools = [*STAGE_TOOLS[stage.skill], *SEARCH_TOOLS.get(stage.skill, ())]
    if stage.tool not in tools:
        text = f"the skill {stage.skill} has no tool {stage.tool!r}{nearest(stage.tool, tools)}"
        yield Fault(stage.line("tool"), "workflow.unknown_tool", "/stages", text)
        return
    for message in parameter_faults(resolve(stage.skill, stage.tool), stage.parameters).values():
        text = f"stage {stage.name}: {message}"
        yield Fault(stage.line("parameters"), "workflow.parameter", "/stages", text)


def missing_inputs(workflow: Workflow, checkpoint: Path | None) -> list[Fault]:
    """Find inputs that no stage writes and that are not there either.

    Args:
        workflow: The workflow.
        checkpoint: The study; None before it exists.
    """
    faults = []
    for stage in workflow.stages:
        if not stage.enabled or stage.phase == "search":
            continue
        for ref in stage.inputs:
            if ref.optional or ref.path in RUN_FILES or workflow.writers(ref.path):
                continue
            if checkpoint is not None and (checkpoint / ref.path).exists():
                continue
            off = [s.name for s in workflow.stages if not s.enabled and ref in s.outputs]
            why = f"{off[0]}, which writes it, is not enabled" if off else "no stage writes it"
            text = f"stage {stage.name} reads {ref.path}: it is not there, and {why}"
            faults.append(Fault(stage.line("inputs"), "workflow.missing_input", "/stages", text))
    return faults


# --- reading ---------------------------------------------------------------------------------------------


def parse_workflow(data: bytes, *, source: str = WORKFLOW) -> tuple[Workflow | None, list[Fault]]:
    """Read a workflow without looking at what it names.

    Args:
        data: The bytes of the file.
        source: Its name.

    Returns:
        The workflow as far as it can be read, and every fault of the file itself. None when it is no YAML or
        holds no stages.
    """
    try:
        top = read_yaml(data)
    except UnreadableError as error:
        return None, [Fault(error.fault.line, "yaml.invalid", "", error.fault.message)]
    if top is None:
        return None, [Fault(0, "schema.required", "/stages", "the file is empty")]
    if not isinstance(top.data, dict):
        return None, [Fault(top.line, "schema.type", "", "a workflow is a mapping with a list of stages")]
    legacy = "stages" not in top.data and any(key in top.data for key in LEGACY_LISTS)
    reader = StageReader(legacy)
    stages = reader.read(top)
    if not stages and reader.faults:
        return None, reader.faults
    workflow, faults = arrange(stages, legacy=legacy, source=source)
    return workflow, [*reader.faults, *faults]
