"""What `experiment.md` asks for, as one typed object.

The file is prose with a few conventions (documented in `docs/experiment_file.md`): the first heading is
the title, a `Metrics:` line names the metric, and sections name data or a command. Anything that cannot
be used is refused here, before a run starts, with the line it stands on.

    symbolic experiment:  `## Data` (source, target, inputs), or a `context.data/` beside the file
    command experiment:   `## Command`, `## Parameters`, optional `## Ceiling`, `## Correctness`, `## Files`
    code experiment:      prose, optional `## Files`, `## Tests`, `## Ceiling`, `## Correctness`; a model
                          writes the programs
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from pydantic import BaseModel, ConfigDict

from ari.errors import ExperimentError
from ari.pipeline.experiment_md import parse_metric_from_experiment_md

Kind = Literal["symbolic", "command", "code"]
KINDS: tuple[str, ...] = get_args(Kind)
Value = int | float | str

MAX_LEVELS = 33
"""A range is searched on at most this many levels; finer steps belong into a `step`."""

UNTITLED = "Untitled experiment"

_BLOCK = re.compile(r"<!-- AUTO-APPENDED BY VirSci.*?(?:<!-- END AUTO-APPENDED -->|\Z)", re.DOTALL)
_ITEM = re.compile(r"^\s*[-*]\s+`?([\w.%/-]+)`?\s*:\s*(.*)$")
_RANGE = re.compile(r"^(\S+?)\s*\.\.\s*(\S+?)(?:\s+step\s+(\S+))?(?:\s*\(?(log2|log10)\)?)?$")


class Parameter(BaseModel):
    """One parameter of a command: its levels in order, the first being the baseline."""

    model_config = ConfigDict(frozen=True)

    name: str
    levels: tuple[Value, ...]
    ordered: bool

    @property
    def baseline(self) -> Value:
        """The level the root node starts from."""
        return self.levels[0]


class Ceiling(BaseModel):
    """A micro-benchmark that measures what the machine can reach at most."""

    model_config = ConfigDict(frozen=True)

    metric: str
    bounds: str
    command: str


class Experiment(BaseModel):
    """Everything that `experiment.md` says, checked."""

    model_config = ConfigDict(frozen=True)

    title: str
    question: str
    kind: Kind
    primary_metric: str
    data_source: str | None = None
    target: str | None = None
    inputs: tuple[str, ...] | None = None
    time: str | None = None
    command: str | None = None
    parameters: tuple[Parameter, ...] = ()
    ceiling: Ceiling | None = None
    correctness: str | None = None
    files: tuple[str, ...] = ()
    tests: str | None = None
    test_files: tuple[str, ...] = ()
    repeats: int = 3

    def render_command(self, values: dict[str, Value]) -> str:
        """The command with `{name}` replaced by each parameter's value; `${name}` is left to the shell."""
        text = self.command or ""
        for parameter in self.parameters:
            pattern = re.compile(r"(?<!\$)\{" + re.escape(parameter.name) + r"\}")
            shown = str(values.get(parameter.name, parameter.baseline))
            text = pattern.sub(lambda _, shown=shown: shown, text)  # type: ignore[misc]
        return text


class Section(NamedTuple):
    """One `## Heading` of the file with the line numbers of its text."""

    title: str
    line: int
    lines: list[tuple[int, str]]

    @property
    def text(self) -> str:
        """The section's text without its heading."""
        return "\n".join(line for _, line in self.lines).strip()


def read_experiment_text(path: Path) -> str:
    """Read `experiment.md`; anything unreadable is an `ExperimentError` that says what to do."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise ExperimentError(
            f"{path}: no such file",
            cure="Give the path of an experiment.md; examples/ holds some to start from.",
        ) from None
    except OSError as error:
        raise ExperimentError(f"{path}: cannot be read: {error.strerror or error}") from error
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise ExperimentError(
            f"{path}, line {line}: byte {raw[error.start]:#04x} is not UTF-8",
            cure="Save the file as UTF-8, for example with: iconv -f latin1 -t utf-8 FILE",
        ) from error
    if not text.strip():
        raise ExperimentError(
            f"{path}: the file is empty",
            cure="Write a title, the question, a 'Metrics:' line and a '## Data' or '## Command' section.",
        )
    return text


def parse_experiment(text: str, *, folder: Path, name: str = "experiment.md") -> Experiment:
    """Read the text of an `experiment.md`.

    Args:
        text: The file's text.
        folder: Where the file lies; data and files are looked up from there.
        name: How the file is called in messages.

    Raises:
        ExperimentError: With line and cure, when the experiment cannot be run as written.
    """
    body = _BLOCK.sub("", text)
    sections = {section.title.casefold(): section for section in _sections(body)}
    title, question = _title_and_question(body)
    metric = parse_metric_from_experiment_md(body)
    common = {"title": title, "question": question}
    if "command" in sections:
        return _command_experiment(sections, common, metric, folder, name)
    if "data" in sections or (folder / "context.data").is_dir():
        return _symbolic_experiment(sections.get("data"), common, metric, folder, name)
    return _code_experiment(sections, common, metric, folder, name)


def sections_of(text: str) -> dict[str, Section]:
    """Return the sections of an `experiment.md` by their folded title; what ARI appended is left out.

    Line numbers are those of the file: a block of ideas keeps its lines, blank.
    """
    body = _BLOCK.sub(lambda match: "\n" * match.group().count("\n"), text)
    return {section.title.casefold(): section for section in _sections(body)}


def _sections(body: str) -> Iterator[Section]:
    current: Section | None = None
    fenced = False
    for number, line in enumerate(body.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        heading = re.match(r"^##\s+(.*?)\s*#*\s*$", line)
        if heading and not fenced:
            if current is not None:
                yield current
            current = Section(heading.group(1).strip(), number, [])
        elif current is not None:
            current.lines.append((number, line))
    if current is not None:
        yield current


def _title_and_question(body: str) -> tuple[str, str]:
    title, prose = "", []
    for line in body.splitlines():
        if line.startswith("## "):
            break
        heading = re.match(r"^#\s+(.*)$", line)
        if heading and not title:
            title = heading.group(1).strip()
        elif not re.match(r"^\W*(metrics?|direction)\s*\W*\s*[:：]", line, re.IGNORECASE):
            prose.append(line)
    question = re.sub(r"<!--.*?-->", "", "\n".join(prose), flags=re.DOTALL).strip()
    return title or (question.splitlines()[0][:80] if question else UNTITLED), question


def _items(section: Section | None) -> dict[str, tuple[int, str]]:
    found: dict[str, tuple[int, str]] = {}
    for number, line in section.lines if section else []:
        match = _ITEM.match(line)
        if match:
            found[match.group(1).casefold()] = (number, match.group(2).strip().strip("`").strip())
    return found


def _symbolic_experiment(
    section: Section | None, common: dict[str, str], metric: str, folder: Path, name: str
) -> Experiment:
    items = _items(section)
    where = f"{name}, section '## Data'"
    source = items.get("source", (0, "context.data"))[1]
    target = items.get("target", (0, ""))[1]
    if not target:
        raise ExperimentError(
            f"{where}: no '- target: NAME' line",
            cure="Name the variable whose law is wanted, e.g. '- target: T'.",
        )
    if "," in target or ";" in target:
        raise ExperimentError(
            f"{where}: {target!r} names several targets; a study explains one variable, or one derivative "
            "such as dx_dt with every other variable taken as measured",
            cure="Write one study for each, or find a whole system at once with "
            f"'sr-harness discover {source} --system x,y'.",
        )
    if not (folder / source).exists():
        raise ExperimentError(
            f"{where}: source {source!r} does not exist in {folder}",
            cure="Give the path of a CSV, TSV or Parquet file or of a context.data directory.",
        )
    inputs = _names(items["inputs"][1]) if "inputs" in items else None
    if inputs and target in inputs:
        raise ExperimentError(f"{where}: the target {target!r} is also listed among the inputs")
    return Experiment(
        **common,
        kind="symbolic",
        primary_metric=metric or "nrmse",
        data_source=source,
        target=target,
        inputs=inputs,
        time=items["time"][1] if "time" in items else None,
    )


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("`") for part in text.split(",") if part.strip())


def _command_experiment(
    sections: dict[str, Section], common: dict[str, str], metric: str, folder: Path, name: str
) -> Experiment:
    command = _fenced_or_text(sections["command"])
    if not command:
        raise ExperimentError(
            f"{name}, line {sections['command'].line}: the '## Command' section is empty",
            cure="Write the shell command in a ```bash block.",
        )
    if not metric:
        raise ExperimentError(
            f"{name}: no 'Metrics:' line, so it is not known what the command is to be judged by",
            cure="Add a line such as 'Metrics: GFlops/s (higher is better)'; the program prints it.",
        )
    items = _items(sections.get("repeats") or sections.get("settings"))
    return Experiment(
        **common,
        kind="command",
        primary_metric=metric,
        command=command,
        parameters=_parameters(sections.get("parameters"), name),
        ceiling=_ceiling(sections.get("ceiling"), metric, name),
        correctness=_correctness(sections.get("correctness"), name),
        files=_files(sections.get("files"), folder, name),
        repeats=_repeats(items, name),
    )


def _code_experiment(
    sections: dict[str, Section], common: dict[str, str], metric: str, folder: Path, name: str
) -> Experiment:
    if "parameters" in sections:
        raise ExperimentError(
            f"{name}, line {sections['parameters'].line}: '## Parameters' lists levels for a command, "
            "but there is "
            "no '## Command'",
            cure="Write the command in a '## Command' section, or tell in prose what may be varied.",
        )
    question = common["question"] or common["title"]
    if question == UNTITLED or not metric:
        lacking = "no 'Metrics:' line says what they are to be judged by"
        if question == UNTITLED:
            lacking = "no text before the first '##' says what is asked"
        raise ExperimentError(
            f"{name}: there is neither a '## Data' section, nor a context.data/ beside it, nor a '## "
            "Command', so "
            f"a model would have to write the programs; but {lacking}",
            cure="Write the question and a line such as 'Metrics: GFLOPS (higher is better)'; or name "
            "the data "
            "(source, target) for a formula to be found, or the command to be tuned.",
        )
    tests = sections.get("tests")
    command = _fenced_or_text(tests) if tests is not None and "```" in tests.text else ""
    if tests is not None and not command:
        raise ExperimentError(
            f"{name}, line {tests.line}: the '## Tests' section names no command",
            cure="Write the command that runs the tests in a ```bash block, and below it the test files, "
            "one '- ' "
            "line each, which nobody may change.",
        )
    test_files = _files(tests, folder, name)
    return Experiment(
        title=common["title"],
        question=question,
        kind="code",
        primary_metric=metric,
        ceiling=_ceiling(sections.get("ceiling"), metric, name),
        correctness=_correctness(sections.get("correctness"), name),
        files=tuple(dict.fromkeys((*_files(sections.get("files"), folder, name), *test_files))),
        tests=command or None,
        test_files=test_files,
        repeats=_repeats(_items(sections.get("repeats") or sections.get("settings")), name),
    )


def _fenced_or_text(section: Section) -> str:
    match = re.search(r"```[^\n]*\n(.*?)```", section.text, re.DOTALL)
    return (match.group(1) if match else section.text).strip()


def _repeats(items: dict[str, tuple[int, str]], name: str) -> int:
    number, text = items.get("repeats", (0, "3"))
    if not text.isdigit() or not 1 <= int(text) <= 100:
        raise ExperimentError(
            f"{name}, line {number}: repeats must be a whole number from 1 to 100, not {text!r}"
        )
    return int(text)


def _parameters(section: Section | None, name: str) -> tuple[Parameter, ...]:
    found: list[Parameter] = []
    for number, line in section.lines if section else []:
        match = _ITEM.match(line)
        if not match:
            continue
        key, spec = match.group(1), match.group(2).strip()
        if any(parameter.name == key for parameter in found):
            raise ExperimentError(f"{name}, line {number}: the parameter {key!r} is listed twice")
        found.append(_parameter(key, spec, f"{name}, line {number}"))
    return tuple(found)


def _parameter(key: str, spec: str, where: str) -> Parameter:
    if not re.fullmatch(r"[A-Za-z_]\w*", key):
        raise ExperimentError(
            f"{where}: {key!r} is not a usable parameter name (letters, digits, underscores)"
        )
    match = _RANGE.match(spec)
    if match and not spec.startswith('"'):
        return Parameter(name=key, levels=_range_levels(match, where), ordered=True)
    levels = tuple(_value(part) for part in _split_values(spec))
    if not levels:
        raise ExperimentError(
            f"{where}: the parameter {key!r} has no values",
            cure='Write a list (1, 2, 4), a range (8..128 (log2), 1..9 step 2) or quoted texts ("", "-O3").',
        )
    if len(set(levels)) != len(levels):
        raise ExperimentError(f"{where}: the parameter {key!r} lists a value twice")
    return Parameter(name=key, levels=levels, ordered=all(not isinstance(level, str) for level in levels))


def _split_values(spec: str) -> list[str]:
    return [
        part.strip() for part in re.findall(r'\s*("(?:[^"\\]|\\.)*"|[^,]+)\s*(?:,|$)', spec) if part.strip()
    ]


def _value(text: str) -> Value:
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    return _number(text) if re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", text) else text


def _number(text: str) -> int | float:
    return int(text) if re.fullmatch(r"[-+]?\d+", text) else float(text)


def _range_levels(match: re.Match[str], where: str) -> tuple[Value, ...]:
    try:
        low, high = _number(match.group(1)), _number(match.group(2))
        step = _number(match.group(3)) if match.group(3) else None
    except ValueError:
        raise ExperimentError(f"{where}: {match.group(0)!r} is not a range of numbers") from None
    if not low < high or (step is not None and step <= 0) or (match.group(4) and low <= 0):
        raise ExperimentError(
            f"{where}: {match.group(0)!r} is empty; ranges go up, and logarithmic ones above 0"
        )
    if match.group(4):
        return _geometric(low, high, 2 if match.group(4) == "log2" else 10)
    if step is None:
        step = _default_step(low, high)
    count = int((high - low) / step + 1e-9) + 1
    if count > 10_000:
        raise ExperimentError(f"{where}: {match.group(0)!r} has {count} levels; take a larger step")
    return tuple(_tidy(low + index * step) for index in range(count))


def _geometric(low: float, high: float, base: int) -> tuple[Value, ...]:
    levels: list[Value] = []
    value = low
    while value <= high * (1 + 1e-12):
        levels.append(_tidy(value))
        value *= base
    return tuple(levels)


def _default_step(low: float, high: float) -> float:
    if isinstance(low, int) and isinstance(high, int):
        return max(1, -(-(high - low) // (MAX_LEVELS - 1)))
    return (high - low) / 10


def _tidy(value: float) -> Value:
    rounded = float(f"{value:.12g}")
    return int(rounded) if isinstance(value, int) else rounded


def _ceiling(section: Section | None, metric: str, name: str) -> Ceiling | None:
    if section is None:
        return None
    items = _items(section)
    command = (
        items["command"][1]
        if "command" in items
        else _fenced_or_text(section)
        if "```" in section.text
        else ""
    )
    if "metric" not in items or not command:
        raise ExperimentError(
            f"{name}, line {section.line}: '## Ceiling' needs '- metric: NAME' and '- command: …'",
            cure="The command is the micro-benchmark that prints the attainable maximum under that name.",
        )
    return Ceiling(metric=items["metric"][1], bounds=items.get("for", (0, metric))[1], command=command)


def _correctness(section: Section | None, name: str) -> str | None:
    if section is None:
        return None
    items = _items(section)
    if "check" not in items or not re.match(r"^[\w.%/-]+\s*(<|<=|>|>=|==)\s*\S+$", items["check"][1]):
        raise ExperimentError(
            f"{name}, line {section.line}: '## Correctness' needs '- check: NAME < NUMBER'",
            cure="The program prints NAME, for example: '- check: max_abs_err < 1e-9'.",
        )
    return items["check"][1]


def _files(section: Section | None, folder: Path, name: str) -> tuple[str, ...]:
    found: list[str] = []
    for number, line in section.lines if section else []:
        match = re.match(r"^\s*[-*]\s+`?(.+?)`?\s*$", line)
        if match:
            found.append(_checked_file(match.group(1), folder, f"{name}, line {number}"))
    return tuple(found)


def _checked_file(relative: str, folder: Path, where: str) -> str:
    root = folder.resolve()
    target = (root / relative).resolve()
    if not target.is_relative_to(root):
        raise ExperimentError(f"{where}: the file {relative!r} lies outside {folder}")
    if not target.exists():
        raise ExperimentError(f"{where}: the file {relative!r} does not exist in {folder}")
    return relative


def unused_parameters(experiment: Experiment) -> Sequence[str]:
    """Parameters that the command never mentions; changing them would change nothing."""
    text = experiment.command or ""
    return [
        p.name
        for p in experiment.parameters
        if f"{{{p.name}}}" not in text and f"ARI_PARAM_{p.name}" not in text
    ]
