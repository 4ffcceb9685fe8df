"""A workflow: stages, the files that pass between them, and the order that follows.

Which stage depends on which is said by `depends_on` and by the files: a stage that reads what another writes
comes after it. A file that several stages write (a paper that is refined in place) is passed along in the
order of the file: each reader gets what the last writer before it left, and a later writer waits for the
readers of the earlier version.

Nothing here touches a disk.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from ari.pipeline.outside import OutsideSkill

Phase = Literal["search", "paper", "publish"]

DEFAULT_TIMEOUT_S = 600.0
RUN_FILES = frozenset(
    {
        "experiment.md",
        "idea.json",
        "evaluation_criteria.json",
        "settings.json",
        "meta.json",
        "workflow.yaml",
        "tree.json",
        "nodes_tree.json",
        "results.json",
        "lineage_decisions.jsonl",
    }
)
"""Files that the run itself writes before any stage begins."""


class FileRef(NamedTuple):
    """A file of the checkpoint that a stage reads or writes.

    Attributes:
        path: Relative to the checkpoint; a directory ends with `/`.
        optional: Whether it may be absent.
    """

    path: str
    optional: bool = False


@dataclass(frozen=True)
class Stage:
    """One stage.

    Attributes:
        name: Its name, unique.
        skill: Skill of its tool.
        tool: The tool.
        inputs: Files it reads.
        outputs: Files it writes.
        depends_on: Stages that must have ended well before it.
        enabled: Whether it is run at all.
        phase: `search` (done by the run itself), `paper` or `publish`.
        skip_if_exists: It is not run while all of these are there.
        retries: How often a failure is tried again.
        timeout_s: Seconds after which it is ended.
        loop_back_to: Stage from which everything is run again when this one is blocked or asks for it.
        max_loops: How often at most.
        parameters: Passed to the tool; text may hold `{{checkpoint}}`.
        outside: How its skill is started when that is a program of somebody else.
        lines: Line of each of its keys in the file; `""` is the stage itself.
    """

    name: str
    skill: str
    tool: str
    inputs: tuple[FileRef, ...] = ()
    outputs: tuple[FileRef, ...] = ()
    depends_on: tuple[str, ...] = ()
    enabled: bool = True
    phase: Phase = "paper"
    skip_if_exists: tuple[str, ...] = ()
    retries: int = 0
    timeout_s: float = DEFAULT_TIMEOUT_S
    loop_back_to: str | None = None
    max_loops: int = 1
    parameters: Mapping[str, Any] = field(default_factory=dict)
    outside: OutsideSkill | None = None
    lines: Mapping[str, int] = field(default_factory=dict)

    def line(self, key: str = "") -> int:
        """The line on which a key of the stage stands; that of the stage where the key does not."""
        return self.lines.get(key, self.lines.get("", 0))


class Fault(NamedTuple):
    """Something wrong with a workflow.

    Attributes:
        line: Line of the file, from 1; 0 for the file as a whole.
        code: `yaml.invalid`, `schema.required`, `schema.type`, `schema.enum`, `path.escape`,
            `workflow.unknown_stage`, `workflow.unknown_tool`, `workflow.cycle`, `workflow.missing_input`,
            `workflow.parameter`.
        where: JSON pointer.
        message: What is wrong.
    """

    line: int
    code: str
    where: str
    message: str


@dataclass(frozen=True)
class Workflow:
    """Stages in an order in which they can be run.

    Attributes:
        stages: Sorted so that each comes after those it depends on; equals in the order of the file.
        needs: Name of each stage to the stages directly before it.
        legacy: Whether it was read from the older shape.
        source: Where it was read from.
    """

    stages: tuple[Stage, ...]
    needs: Mapping[str, tuple[str, ...]]
    legacy: bool = False
    source: str = ""

    def __getitem__(self, name: str) -> Stage:
        return next(stage for stage in self.stages if stage.name == name)

    def __contains__(self, name: object) -> bool:
        return any(stage.name == name for stage in self.stages)

    def before(self, name: str) -> set[str]:
        """Every stage that a stage depends on, however far."""
        found: set[str] = set()
        waiting = list(self.needs[name])
        while waiting:
            other = waiting.pop()
            if other not in found:
                found.add(other)
                waiting += self.needs[other]
        return found

    def after(self, name: str) -> set[str]:
        """Every stage that depends on a stage, however far."""
        return {stage.name for stage in self.stages if name in self.before(stage.name)}

    def writers(self, path: str) -> list[Stage]:
        """The enabled stages that write a file, or the directory it lies in, in order."""
        return [stage for stage in self.stages if stage.enabled and writes(stage, path)]


def arrange(stages: Sequence[Stage], *, legacy: bool, source: str) -> tuple[Workflow, list[Fault]]:
    """Find out what depends on what, and sort.

    Args:
        stages: The stages in the order of the file.
        legacy: Whether they come from the older shape.
        source: Where they come from.

    Returns:
        The workflow, and what is wrong with its references: unknown stages and cycles. With a cycle the
        order of the file is kept.
    """
    names = {stage.name for stage in stages}
    faults = [fault for stage in stages for fault in _unknown_stages(stage, names)]
    needs = {stage.name: tuple(_needs(stage, index, stages)) for index, stage in enumerate(stages)}
    order, cycle = _sorted([stage.name for stage in stages], needs)
    by_name = {stage.name: stage for stage in stages}
    if cycle:
        first = min((by_name[name] for name in cycle), key=lambda stage: stage.line())
        start = cycle.index(first.name)
        cycle = [*cycle[start:], *cycle[:start]]
        path = " → ".join([*cycle, cycle[0]])
        faults.append(
            Fault(
                first.line("depends_on"),
                "workflow.cycle",
                "/stages",
                f"the stages wait for each other: {path}",
            )
        )
    arranged = tuple(by_name[name] for name in order)
    return Workflow(arranged, needs, legacy, source), [*faults, *_loop_faults(arranged, needs, names)]


def _unknown_stages(stage: Stage, names: set[str]) -> Iterator[Fault]:
    for other in stage.depends_on:
        if other not in names:
            text = f"stage {stage.name} depends on {other}, and there is no such stage"
            yield Fault(stage.line("depends_on"), "workflow.unknown_stage", "/stages", text)
    if stage.loop_back_to is not None and stage.loop_back_to not in names:
        text = f"stage {stage.name} loops back to {stage.loop_back_to}, and there is no such stage"
        yield Fault(stage.line("loop_back_to"), "workflow.unknown_stage", "/stages", text)


def _loop_faults(
    stages: Sequence[Stage], needs: Mapping[str, tuple[str, ...]], names: set[str]
) -> Iterator[Fault]:
    flow = Workflow(tuple(stages), needs)
    for stage in stages:
        target = stage.loop_back_to
        if target in names and target is not None and target not in flow.before(stage.name) | {stage.name}:
            text = f"stage {stage.name} loops back to {target}, which does not come before it"
            yield Fault(stage.line("loop_back_to"), "workflow.cycle", "/stages", text)


def _needs(stage: Stage, index: int, stages: Sequence[Stage]) -> Iterator[str]:
    """Names of the stages directly before a stage, each once."""
    names = {other.name for other in stages}
    found: dict[str, None] = {}
    for ref in stage.inputs:
        found |= dict.fromkeys(_sources(ref.path, index, stages))
    for ref in stage.outputs:
        earlier = [other for other in stages[:index] if _touches(other, ref.path)]
        if any(writes(other, ref.path) for other in earlier):
            found |= dict.fromkeys(other.name for other in earlier)
    found.pop(stage.name, None)
    yield from dict.fromkeys([*(name for name in stage.depends_on if name in names), *found])


def _sources(path: str, index: int, stages: Sequence[Stage]) -> list[str]:
    """The stage from which a reader gets a file: the last writer before it, or the only one anywhere."""
    writers = [place for place, other in enumerate(stages) if place != index and writes(other, path)]
    earlier = [place for place in writers if place < index]
    if path.endswith("/"):
        return [stages[place].name for place in writers]
    if earlier:
        return [stages[earlier[-1]].name]
    return [stages[writers[0]].name] if writers and not writes(stages[index], path) else []


def writes(stage: Stage, path: str) -> bool:
    """Whether a stage writes a file, or a file below a directory."""
    return any(
        ref.path == path
        or (path.endswith("/") and ref.path.startswith(path))
        or (ref.path.endswith("/") and path.startswith(ref.path))
        for ref in stage.outputs
    )


def _touches(stage: Stage, path: str) -> bool:
    return writes(stage, path) or any(ref.path == path for ref in stage.inputs)


def _sorted(names: Sequence[str], needs: Mapping[str, Sequence[str]]) -> tuple[list[str], list[str]]:
    """Names in topological order, equals as given; and the stages of a cycle, if there is one."""
    left = list(names)
    order: list[str] = []
    while left:
        ready = next((name for name in left if all(other in order for other in needs[name])), None)
        if ready is None:
            return [*order, *left], _cycle(left, needs)
        order.append(ready)
        left.remove(ready)
    return order, []


def _cycle(left: Sequence[str], needs: Mapping[str, Sequence[str]]) -> list[str]:
    trail: list[str] = [left[0]]
    while True:
        following = next(name for name in needs[trail[-1]] if name in left)
        if following in trail:
            return trail[trail.index(following) :][::-1]
        trail.append(following)
