"""The YAML of `workflow.yaml` as stages: each key read in its type, every fault kept with its line."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast, get_args

from ari.paths import escape_reason
from ari.pipeline.outside import OutsideSkill, installed_skill
from ari.pipeline.stages import SEARCH_TOOLS, STAGE_TOOLS
from ari.pipeline.workflow import DEFAULT_TIMEOUT_S, Fault, FileRef, Phase, Stage
from ari.pipeline.yaml_values import Value, plain

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
TOP_KEYS = ("stages", "skills", "name", "description")
SKILL_KEYS = ("command", "environment")
LEGACY_LISTS = ("bfts_pipeline", "pipeline")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h)?")
TEMPLATE = re.compile(r"\{\{\s*([^{}]*?)\s*\}\}")
_VARIABLES = ("checkpoint", "checkpoint_dir")
_PHASES: dict[str, Phase] = {"bfts": "search", **{phase: phase for phase in get_args(Phase)}}


class StageReader:
    """Turns the values into stages and collects what is wrong.

    Args:
        legacy: Whether the file is in the older shape.
    """

    def __init__(self, legacy: bool) -> None:
        self.legacy = legacy
        self.faults: list[Fault] = []

    def read(self, top: Value) -> list[Stage]:
        """The stages that can be read."""
        if not self.legacy:
            for key, value in top.data.items():
                if key not in TOP_KEYS:
                    self._add(
                        value.line, "schema.type", f"/{key}", f"unknown key {key!r}{nearest(key, TOP_KEYS)}"
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
        outside = {} if self.legacy else self._outside(top.data.get("skills"))
        return [replace(stage, outside=self._started(stage, outside)) for stage in stages.values()]

    @staticmethod
    def _started(stage: Stage, outside: Mapping[str, OutsideSkill]) -> OutsideSkill | None:
        if stage.skill in outside or stage.skill in {*STAGE_TOOLS, *SEARCH_TOOLS}:
            return outside.get(stage.skill)
        return installed_skill(stage.skill)

    def _outside(self, value: Value | None) -> dict[str, OutsideSkill]:
        """The skills that are programs of somebody else."""
        if value is None or value.data is None:
            return {}
        if not isinstance(value.data, dict):
            self._add(value.line, "schema.type", "/skills", "skills is a mapping of names to commands")
            return {}
        found = {}
        for name, item in value.data.items():
            where = f"/skills/{name}"
            if name in {*STAGE_TOOLS, *SEARCH_TOOLS} or not _NAME.fullmatch(name):
                text = f"{name!r} is a skill of this program, or no name; give another"
                self._add(item.line, "schema.enum", where, text)
            elif not isinstance(item.data, dict):
                self._add(item.line, "schema.type", where, "a skill is a mapping with a command")
            else:
                found[name] = self._outside_skill(item, where)
        return found

    def _outside_skill(self, item: Value, where: str) -> OutsideSkill:
        for key, value in item.data.items():
            if key not in SKILL_KEYS:
                text = f"unknown key {key!r}{nearest(key, SKILL_KEYS)}"
                self._add(value.line, "schema.type", f"{where}/{key}", text)
        take = _Fields(item.data, item.line, where, self._add)
        command = take.names("command")
        if not command:
            text = "a skill needs a command: a list of the program and its arguments"
            self._add(item.line, "schema.required", f"{where}/command", text)
        return OutsideSkill(command=command, environment=take.names("environment"))

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
                    text = f"unknown key {key!r}{nearest(key, KEYS)}"
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
    return isinstance(value, str) and bool(TEMPLATE.match(value))


def _skill(text: str) -> str:
    return text.removeprefix("ari-skill-").removesuffix("-skill")


def nearest(word: str, known: Sequence[str]) -> str:
    """The end of a message about an unknown word: the nearest known one, or all of them."""
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
        path = TEMPLATE.sub("", text)
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
        yield from (name for name in TEMPLATE.findall(value) if name not in _VARIABLES)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _variables(item)
    elif isinstance(value, list):
        for item in value:
            yield from _variables(item)
