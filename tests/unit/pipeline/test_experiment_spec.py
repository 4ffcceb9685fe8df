"""Reading `experiment.md`: what is understood, and how a mistake is answered."""

from __future__ import annotations

from pathlib import Path

import pytest

from ari.errors import ExperimentError
from ari.pipeline.criteria import derive_criteria
from ari.pipeline.experiment_spec import parse_experiment, read_experiment_text, unused_parameters

COMMAND = """# Tune
Make it fast.

Metrics: speed (higher is better)

## Command
```bash
cc -O{opt} k.c && ./a.out {tile} ${HOME}
```

## Parameters
- opt: 0, 2
- tile: 8..64 (log2)
- flags: "", "-march=native, fast"
- frac: 0..1
- odd: 1..9 step 2

## Ceiling
- metric: peak
- for: speed
- command: `./peak`

## Correctness
- check: err < 1e-9
"""


def parse(text: str, folder: Path = Path()):
    return parse_experiment(text, folder=folder)


def test_a_command_experiment_is_read_whole():
    experiment = parse(COMMAND)
    assert (experiment.title, experiment.question, experiment.kind) == ("Tune", "Make it fast.", "command")
    assert experiment.primary_metric == "speed"
    levels = {p.name: p.levels for p in experiment.parameters}
    assert levels["opt"] == (0, 2)
    assert levels["tile"] == (8, 16, 32, 64)
    assert levels["flags"] == ("", "-march=native, fast")
    assert levels["frac"][0] == 0
    assert levels["frac"][-1] == pytest.approx(1)
    assert levels["odd"] == (1, 3, 5, 7, 9)
    assert experiment.ceiling.metric == "peak"
    assert experiment.ceiling.command == "./peak"
    assert experiment.correctness == "err < 1e-9"


def test_parameters_are_put_into_the_command_and_shell_variables_are_left_alone():
    assert parse(COMMAND).render_command({"opt": 2, "tile": 16}) == "cc -O2 k.c && ./a.out 16 ${HOME}"


def test_a_parameter_that_the_command_ignores_is_named():
    assert unused_parameters(parse(COMMAND)) == ["flags", "frac", "odd"]


def test_a_symbolic_experiment_is_read(tmp_path: Path):
    (tmp_path / "d.csv").write_text("a,T\n1,1\n")
    text = "# K\nWhy?\n\n## Data\n- source: d.csv\n- target: T\n- inputs: a\n"
    experiment = parse(text, tmp_path)
    assert (experiment.kind, experiment.target, experiment.inputs) == ("symbolic", "T", ("a",))
    assert experiment.primary_metric == "nrmse"


def test_prose_alone_asks_for_programs_to_be_written(tmp_path: Path):
    (tmp_path / "check.py").write_text("")
    text = (
        "# Fast product\nHow fast?\n\nMetrics: GFLOPS (higher is better)\n\n## Tests\n```bash\npython "
        "check.py\n```\n"
        "- check.py\n\n## Correctness\n- check: max_abs_err < 1e-9\n\n## Repeats\n- repeats: 5\n"
    )
    experiment = parse(text, tmp_path)
    assert (experiment.kind, experiment.primary_metric) == ("code", "GFLOPS")
    assert (experiment.tests, experiment.test_files, experiment.files) == (
        "python check.py",
        ("check.py",),
        ("check.py",),
    )
    assert (experiment.correctness, experiment.repeats) == ("max_abs_err < 1e-9", 5)


def test_a_title_alone_is_question_enough():
    assert parse("# Maximise GFLOPS of DGEMM\n\nMetrics: GFLOPS\n").question == "Maximise GFLOPS of DGEMM"


def test_headings_inside_a_code_block_are_no_sections():
    text = "# t\nMetrics: m\n## Command\n```bash\necho m: 1\n## Data\n```\n"
    assert parse(text).kind == "command"


def test_the_appended_block_is_not_read_as_the_authors_text(tmp_path: Path):
    begin, end = "<!-- AUTO-APPENDED BY VirSci (idea.json) — DO NOT EDIT -->", "<!-- END AUTO-APPENDED -->"
    block = f"{begin}\n## Command\nrm\n{end}\n"
    (tmp_path / "d.csv").write_text("a,T\n1,1\n")
    assert parse("# t\n## Data\n- source: d.csv\n- target: T\n" + block, tmp_path).kind == "symbolic"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# t\njust prose\n", "neither a '## Data' section"),
        ("# t\njust prose\n", "no 'Metrics:' line says what they are to be judged by"),
        ("Metrics: speed\n", "no text before the first '##' says what is asked"),
        (
            "# t\nask\nMetrics: speed\n## Parameters\n- a: 1, 2\n",
            "line 4: '## Parameters' lists levels for a com",
        ),
        ("# t\nask\nMetrics: speed\n## Tests\n- x\n", "line 4: the '## Tests' section names no command"),
        ("# t\n## Data\n- source: nowhere.csv\n- target: T\n", "'nowhere.csv' does not exist"),
        ("# t\n## Data\n- source: x\n", "no '- target: NAME' line"),
        ("# t\n## Command\n```\nls\n```\n", "no 'Metrics:' line"),
        ("# t\nMetrics: m\n## Command\n\n", "line 3: the '## Command' section is empty"),
        ("# t\nMetrics: m\n## Command\nls\n## Parameters\n- a:\n", "line 6: the parameter 'a' has no values"),
        ("# t\nMetrics: m\n## Command\nls\n## Parameters\n- a: 9..1\n", "is empty; ranges go up"),
        ("# t\nMetrics: m\n## Command\nls\n## Parameters\n- a: 1, 1\n", "lists a value twice"),
        ("# t\nMetrics: m\n## Command\nls\n## Parameters\n- a: 1\n- a: 2\n", "'a' is listed twice"),
        (
            "# t\nMetrics: m\n## Command\nls\n## Ceiling\n- metric: p\n",
            "needs '- metric: NAME' and '- command",
        ),
        (
            "# t\nMetrics: m\n## Command\nls\n## Correctness\n- check: fine\n",
            "needs '- check: NAME < NUMBER'",
        ),
        ("# t\nMetrics: m\n## Command\nls\n## Files\n- ../secret\n", "lies outside"),
        ("# t\nMetrics: m\n## Command\nls\n## Files\n- gone.c\n", "'gone.c' does not exist"),
    ],
)
def test_a_mistake_is_named(text: str, message: str, tmp_path: Path):
    (tmp_path / "x").mkdir()
    with pytest.raises(ExperimentError, match=r".+") as caught:
        parse(text, tmp_path)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b" \n\n", "the file is empty"),
        (b"# a\nb \xe9\n", "line 2: byte 0xe9 is not UTF-8"),
    ],
)
def test_a_file_that_is_no_text_is_refused_with_its_cure(content: bytes, message: str, tmp_path: Path):
    path = tmp_path / "experiment.md"
    path.write_bytes(content)
    with pytest.raises(ExperimentError, match=r".+") as caught:
        read_experiment_text(path)
    assert message in str(caught.value)
    assert caught.value.cure


def test_a_missing_file_is_refused(tmp_path: Path):
    with pytest.raises(ExperimentError, match="no such file"):
        read_experiment_text(tmp_path / "experiment.md")


def test_the_example_in_prose_says_all_that_is_needed():
    folder = Path(__file__).parents[3] / "examples" / "dgemm"
    text = (folder / "experiment.md").read_text(encoding="utf-8")
    experiment = parse(text, folder)
    assert (experiment.kind, experiment.title) == ("code", "Maximise GFLOPS of DGEMM on this machine")
    assert derive_criteria(text, None, symbolic=False).higher_is_better is True
