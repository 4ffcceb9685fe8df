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

import difflib
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast, get_args

from ari.errors import WorkflowError
from ari.paths import escape_reason
from ari.pipeline.stages import SEARCH_TOOLS, STAGE_TOOLS, parameter_faults, resolve
from ari.pipeline.workflow import (
    DEFAULT_TIMEOUT_S,
    RUN_FILES,
    Fault,
    FileRef,
    Phase,
    Stage,
    Workflow,
    arrange,
)
from ari.pipeline.yaml_values import UnreadableError, Value, plain, read_yaml

WORKFLOW = "workflow.yaml"
DEFAULT_WORKFLOW = Path(__file__).resolve().parent.parent / "configs" / "workflow.default.yaml"

MAX_LOOPS = 20
MAX_RETRIES = 20
KEYS = (
    "name",
    "skill",
    "tool",
    "inputs",
    "outputs",
    "depends_on",
    "enabled",
    "phase",
    "skip_if_exists",
    "retries",
    "timeout",
    "loop_back_to",
    "max_loops",
    "parameters",
    "description",
)
TOP_KEYS = ("stages", "name", "description")
LEGACY_LISTS = ("bfts_pipeline", "pipeline")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h)?")
_TEMPLATE = re.compile(r"\{\{\s*([^{}]*?)\s*\}\}")
_VARIABLES = ("checkpoint", "checkpoint_dir")
_PHASES: dict[str, Phase] = {"bfts": "search", **{phase: phase for phase in get_args(Phase)}}


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
        return _TEMPLATE.sub(lambda _: str(checkpoint), value)
    if isinstance(value, Mapping):
        return {key: substitute(item, checkpoint) for key, item in value.items()}
    return [substitute(item, checkpoint) for item in value] if isinstance(value, list) else value


# --- checks that need more than the file -----------------------------------------------------------------


def tool_faults(workflow: Workflow) -> list[Fault]:
    """Find stages whose skill, tool or parameters do not exist."""
    return [fault for stage in workflow.stages if stage.enabled for fault in _tool_faults(stage)]


def _tool_faults(stage: Stage) -> Iterator[Fault]:
    if stage.tool in SEARCH_TOOLS.get(stage.skill, ()):
        if stage.phase != "search":
            text = f"{stage.skill}.{stage.tool} is the search itself: its phase is search, not {stage.phase}"
            yield Fault(stage.line("phase"), "schema.enum", "/stages", text)
        return
    if stage.skill not in STAGE_TOOLS:
        known = sorted({*STAGE_TOOLS, *SEARCH_TOOLS})
        text = f"there is no skill {stage.skill!r} with tools for stages{_nearest(stage.skill, known)}"
        yield Fault(stage.line("skill"), "workflow.unknown_tool", "/stages", text)
        return
    tools = [*STAGE_TOOLS[stage.skill], *SEARCH_TOOLS.get(stage.skill, ())]
    if stage.tool not in tools:
        text = f"the skill {stage.skill} has no tool {stage.tool!r}{_nearest(stage.tool, tools)}"
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
    reader = _Reader(legacy)
    stages = reader.read(top)
    if not stages and reader.faults:
        return None, reader.faults
    workflow, faults = arrange(stages, legacy=legacy, source=source)
    return workflow, [*reader.faults, *faults]


class _Reader:
    """Turns the values into stages and collects what is wrong."""

    def __init__(self, legacy: bool) -> None:
        self.legacy = legacy
        self.faults: list[Fault] = []

    def read(self, top: Value) -> list[Stage]:
        """The stages that can be read."""
        if not self.legacy:
            for key, value in top.data.items():
                if key not in TOP_KEYS:
                    self._add(
                        value.line, "schema.type", f"/{key}", f"unknown key {key!r}{_nearest(key, TOP_KEYS)}"
                    )
        lists = LEGACY_LISTS if self.legacy else ("stages",)
        entries: list[tuple[str, int, Value]] = []
        for name in lists:
            value = top.data.get(name)
            if value is None and not self.legacy:
                self._add(top.line, "schema.required", "/stages", "there is no list of stages")
            elif value is not None and not isinstance(value.data, list):
                self._add(value.line, "schema.type", f"/{name}", f"{name} is a list of stages")
            elif value is not None:
                entries += [(name, index, item) for index, item in enumerate(value.data)]
        if not entries and not self.faults:
            self._add(top.line, "schema.required", "/stages", "there are no stages")
        stages: dict[str, Stage] = {}
        for name, index, item in entries:
            stage = self._stage(item, f"/{name}/{index}", search=name == "bfts_pipeline")
            if stage is None:
                continue
            if stage.name in stages:
                first = stages[stage.name].line()
                text = f"a stage called {stage.name} stands on line {first} already"
                self._add(stage.line("name"), "schema.enum", f"/{name}/{index}/name", text)
                continue
            stages[stage.name] = stage
        return list(stages.values())

    def _add(self, line: int, code: str, where: str, message: str) -> None:
        self.faults.append(Fault(line, code, where, message))

    def _stage(self, item: Value, where: str, *, search: bool) -> Stage | None:
        if not isinstance(item.data, dict):
            self._add(item.line, "schema.type", where, "a stage is a mapping with name, skill and tool")
            return None
        entry = self._modern(item, where) if self.legacy else dict(item.data)
        lines = {"": item.line, **{key: value.line for key, value in entry.items()}}
        if not self.legacy:
            for key, value in entry.items():
                if key not in KEYS:
                    text = f"unknown key {key!r}{_nearest(key, KEYS)}"
                    self._add(value.line, "schema.type", f"{where}/{key}", text)
        take = _Fields(entry, item.line, where, self._add)
        name, skill, tool = (take.text(key, required=True) for key in ("name", "skill", "tool"))
        if name and not _NAME.fullmatch(name):
            text = f"a name has letters, digits, `_`, `.` and `-`, at most 64: {name!r}"
            self._add(lines.get("name", item.line), "schema.type", f"{where}/name", text)
            name = None
        skill = _skill(skill or "")
        searching = search or (tool or "") in SEARCH_TOOLS.get(skill, ())
        phase = take.choice("phase", _PHASES, "search" if searching else "paper")
        outputs = take.files("outputs")
        stage = Stage(
            name=name or "",
            skill=skill,
            tool=tool or "",
            inputs=take.files("inputs"),
            outputs=outputs,
            depends_on=take.names("depends_on"),
            enabled=take.flag("enabled", True),
            phase=phase,
            skip_if_exists=take.skipping(outputs),
            retries=take.count("retries", 0, MAX_RETRIES),
            timeout_s=take.seconds("timeout", DEFAULT_TIMEOUT_S),
            loop_back_to=take.text("loop_back_to"),
            max_loops=take.count("max_loops", 1, MAX_LOOPS),
            parameters=take.parameters(),
            lines=lines,
        )
        return stage if name and skill and tool else None

    def _modern(self, item: Value, where: str) -> dict[str, Value]:
        """A stage of the older shape under the present keys; keys of other tools are passed over."""
        entry = dict(item.data)
        if "stage" in entry:
            entry["name"] = entry.pop("stage")
        if "loop_max_iterations" in entry:
            entry["max_loops"] = entry.pop("loop_max_iterations")
        for key in ("inputs", "outputs"):
            value = entry.get(key)
            if value is not None and isinstance(value.data, dict):
                parts = [part for part in value.data.values() if _is_place(part.data)]
                if key == "inputs":
                    rest = {n: part for n, part in value.data.items() if not _is_place(part.data)}
                    entry.setdefault("parameters", Value(rest, value.line))
                entry[key] = Value(parts, value.line)
        if isinstance(getattr(entry.get("skip_if_exists"), "data", None), str):
            single = entry["skip_if_exists"]
            entry["skip_if_exists"] = Value([single], single.line)
        return {key: value for key, value in entry.items() if key in KEYS}


def _is_place(value: object) -> bool:
    return isinstance(value, str) and bool(_TEMPLATE.match(value))


def _skill(text: str) -> str:
    return text.removeprefix("ari-skill-").removesuffix("-skill")


def _nearest(word: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(known)}"


class _Fields:
    """The keys of one stage, read one by one; a fault gives the default."""

    def __init__(
        self,
        entry: Mapping[str, Value],
        line: int,
        where: str,
        add: Callable[[int, str, str, str], None],
    ) -> None:
        self._entry = entry
        self._line = line
        self._where = where
        self._add = add

    def _fault(self, key: str, message: str, code: str = "schema.type") -> None:
        line = self._entry[key].line if key in self._entry else self._line
        self._add(line, code, f"{self._where}/{key}", message)

    def _get(self, key: str) -> Value | None:
        value = self._entry.get(key)
        return None if value is None or value.data is None else value

    def text(self, key: str, *, required: bool = False) -> str | None:
        """A text that is not empty."""
        value = self._get(key)
        if value is None:
            if required:
                self._fault(key, f"a stage needs a {key}", "schema.required")
            return None
        if not isinstance(value.data, str) or not value.data.strip():
            self._fault(key, f"{key} is a text that is not empty")
            return None
        return value.data.strip()

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self._get(key)
        if value is None:
            return default
        if not isinstance(value.data, bool):
            self._fault(key, f"{key} is true or false")
            return default
        return value.data

    def choice(self, key: str, known: Mapping[str, Phase], default: Phase) -> Phase:
        """One of the known words."""
        text = self.text(key)
        if text is None:
            return default
        if text not in known:
            self._fault(key, f"{key} is one of {', '.join(known)}, not {text!r}", "schema.enum")
            return default
        return known[text]

    def count(self, key: str, default: int, most: int) -> int:
        """A whole number from 0."""
        value = self._get(key)
        if value is None:
            return default
        if isinstance(value.data, bool) or not isinstance(value.data, int) or not 0 <= value.data <= most:
            self._fault(key, f"{key} is a whole number from 0 to {most}")
            return default
        return value.data

    def seconds(self, key: str, default: float) -> float:
        """A duration."""
        value = self._get(key)
        if value is None:
            return default
        data = value.data
        match = _DURATION.fullmatch(data.strip()) if isinstance(data, str) else None
        if match is not None:
            data = float(match.group(1)) * {"m": 60, "h": 3600}.get(match.group(2), 1)
        if isinstance(data, bool) or not isinstance(data, (int, float)) or not 0 < data < math.inf:
            self._fault(key, f"{key} is a number of seconds greater than 0, or a text such as 90s, 10m, 2h")
            return default
        return float(data)

    def names(self, key: str) -> tuple[str, ...]:
        """A list of texts; a single text is a list of one."""
        return tuple(text for text, _ in self._texts(key))

    def files(self, key: str) -> tuple[FileRef, ...]:
        """A list of files of the checkpoint."""
        found = []
        for text, line in self._texts(key):
            ref = self._file(key, text, line)
            if ref is not None and ref not in found:
                found.append(ref)
        return tuple(found)

    def skipping(self, outputs: tuple[FileRef, ...]) -> tuple[str, ...]:
        """Files whose presence makes the stage unnecessary."""
        value = self._get("skip_if_exists")
        if value is None or value.data is False:
            return ()
        if value.data is True:
            return tuple(ref.path for ref in outputs if not ref.optional)
        return tuple(ref.path for ref in self.files("skip_if_exists"))

    def parameters(self) -> dict[str, Any]:
        """The stage's own parameters."""
        value = self._get("parameters")
        if value is None:
            return {}
        if not isinstance(value.data, dict):
            self._fault("parameters", "parameters is a mapping of names to values")
            return {}
        found = cast(dict[str, Any], plain(value))
        for name, item in value.data.items():
            for variable in _variables(plain(item)):
                text = f"{{{{{variable}}}}} is not known; there is {{{{checkpoint}}}}"
                self._add(item.line, "schema.enum", f"{self._where}/parameters/{name}", text)
        return found

    def _texts(self, key: str) -> Iterator[tuple[str, int]]:
        value = self._get(key)
        if value is None:
            return
        items = value.data if isinstance(value.data, list) else [value]
        for item in items:
            if isinstance(item.data, str) and item.data.strip():
                yield item.data.strip(), item.line
            else:
                self._add(item.line, "schema.type", f"{self._where}/{key}", f"{key} is a list of texts")

    def _file(self, key: str, text: str, line: int) -> FileRef | None:
        where = f"{self._where}/{key}"
        for variable in _variables(text):
            self._add(
                line, "schema.enum", where, f"{{{{{variable}}}}} is not known; there is {{{{checkpoint}}}}"
            )
            return None
        path = _TEMPLATE.sub("", text)
        path = path.lstrip("/") if path != text else path
        optional = path.endswith("?")
        path = path.removesuffix("?")
        reason = escape_reason(path)
        if reason:
            self._add(line, "path.escape", where, f"{text!r} lies outside the checkpoint: {reason}")
            return None
        return FileRef(path.removeprefix("./"), optional)


def _variables(value: Any) -> Iterator[str]:  # noqa: ANN401 - any YAML value
    """Template variables that are not known, at any depth."""
    if isinstance(value, str):
        yield from (name for name in _TEMPLATE.findall(value) if name not in _VARIABLES)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _variables(item)
    elif isinstance(value, list):
        for item in value:
            yield from _variables(item)
