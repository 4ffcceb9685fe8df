"""Figures of finished studies: which there are, that they are reproducible, and that they tell the truth."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ari.checkpoint import validate
from ari.figures import make_figures
from ari.figures.collect import plan_figures
from ari.figures.drawing import KINDS, house_style
from ari.figures.drawing.effects import draw as draw_effects
from ari.figures.drawing.tree import layout
from ari.findings.analysis import pareto_front
from ari.findings.study import FinishedStudy
from ari.skills import call_tool
from ari.skills.stage import StageSession

Copy = Callable[[str], Path]


def plans(checkpoint: Path) -> dict[str, dict[str, object]]:
    return {plan.id: dict(plan.data) for plan in plan_figures(FinishedStudy.open(checkpoint))}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("kepler", {"parity", "law", "pareto", "progress", "ablation", "tree"}),
        ("matmul", {"progress", "ablation", "tree"}),
        ("kuramoto", {"parity", "trajectory", "network", "pareto", "progress", "ablation", "tree"}),
    ],
)
def test_a_study_gives_the_figures_its_data_allow(study: Copy, name: str, expected: set[str]) -> None:
    assert set(plans(study(name))) == {f"fig_{kind}" for kind in expected}


def test_everything_behind_a_figure_is_written_and_drawing_again_gives_the_same_bytes(study: Copy) -> None:
    checkpoint = study("matmul")
    stale = checkpoint / "figures" / "fig_gone.pdf"
    stale.parent.mkdir()
    stale.write_bytes(b"")
    manifest = make_figures(checkpoint)
    first = {p.name: p.read_bytes() for p in sorted((checkpoint / "figures").rglob("*")) if p.is_file()}
    assert not stale.exists()
    for figure, path in manifest.figures.items():
        assert (checkpoint / path).read_bytes().startswith(b"%PDF")
        assert {f"{figure}.png", f"{figure}.json"} <= set(first)
    assert make_figures(checkpoint).to_bytes() == manifest.to_bytes()
    again = {p.name: p.read_bytes() for p in sorted((checkpoint / "figures").rglob("*")) if p.is_file()}
    assert again == first
    assert validate(checkpoint) == []


def test_the_code_beside_a_figure_draws_it_without_this_project(study: Copy, tmp_path: Path) -> None:
    checkpoint = study("matmul")
    make_figures(checkpoint)
    figures = checkpoint / "figures"
    target = tmp_path / "again.pdf"
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    code = "import runpy, sys; sys.modules['ari'] = None; runpy.run_path(sys.argv[0], run_name='__main__')"
    script = figures / "code" / "progress.py"
    command = [
        sys.executable,
        "-c",
        f"import sys; sys.argv.pop(0); sys.path.insert(0, {str(script.parent)!r}); {code}",
    ]
    done = subprocess.run(
        [*command, str(script), str(figures / "fig_progress.json"), str(target)],
        env=clean, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert target.read_bytes() == (figures / "fig_progress.pdf").read_bytes()


def test_the_parity_data_are_the_rows_of_each_part_and_what_the_formula_says(study: Copy) -> None:
    parts = plans(study("kepler"))["fig_parity"]["parts"]
    assert {name: len(part["measured"]) for name, part in parts.items()} == {  # type: ignore[attr-defined]
        "train": 7,
        "validation": 3,
        "sealed": 3,
    }
    for part in parts.values():  # type: ignore[attr-defined]
        assert part["predicted"] == pytest.approx(part["measured"], rel=2e-3)


def test_reading_the_sealed_rows_for_a_figure_is_logged(study: Copy) -> None:
    checkpoint = study("kepler")
    before = (checkpoint / "sealed/access.jsonl").read_text().splitlines()
    list(plan_figures(FinishedStudy.open(checkpoint)))
    added = (checkpoint / "sealed/access.jsonl").read_text().splitlines()[len(before) :]
    assert [json.loads(line)["reason"] for line in added] == ["figures: predictions of the reported formula"]


def test_a_formula_off_the_front_is_not_on_it(study: Copy) -> None:
    finished = FinishedStudy.open(study("kepler"))
    front = pareto_front([n for n in finished.nodes if n.counts], "nrmse")
    complexities = [node.metrics["complexity"] for node in front]
    errors = [node.metrics["nrmse"] for node in front]
    assert complexities == sorted(set(complexities))
    assert errors == sorted(errors, reverse=True)
    assert finished.best in front


def test_a_failed_node_has_no_value_and_a_sterile_one_never_is_best(study: Copy) -> None:
    nodes = plans(study("kuramoto"))["fig_progress"]["nodes"]
    failed = [node for node in nodes if node["value"] is None]  # type: ignore[attr-defined]
    assert len(failed) == 1
    assert not failed[0]["counts"]
    assert any(not node["counts"] and node["value"] is not None for node in nodes)  # type: ignore[attr-defined]


def test_the_skill_draws_the_figures_of_the_study_it_is_bound_to(study: Copy) -> None:
    checkpoint = study("matmul")
    answer = call_tool("plot", StageSession(checkpoint), "generate_figures")
    assert answer["summary"] == "3 figures drawn"
    assert all((checkpoint / path).is_file() for path in answer["figures"].values())


def test_the_tree_puts_parents_over_the_middle_of_their_children() -> None:
    nodes = [
        {"id": name, "parent": parent} for name, parent in [("r", None), ("a", "r"), ("b", "r"), ("c", "b")]
    ]
    assert layout(nodes) == {"a": (0.0, 1), "c": (1.0, 2), "b": (1.0, 1), "r": (0.5, 0)}


def test_names_that_are_no_text_for_matplotlib_are_drawn_as_they_are() -> None:
    name = "50 % of $a_1$ & 面"
    assert house_style.show(name) == r"50 % of \$a_1\$ & U+9762"
    bars = [{"name": name, "value": 1.0, "better": True}, {"name": "x" * 200, "value": 2.0, "better": False}]
    figure = draw_effects({"axis": "$", "ratio": True, "reference": None, "bars": bars})
    assert len(figure.axes[0].get_yticklabels()[1].get_text()) <= 34


def test_every_kind_of_figure_has_a_module_and_uses_only_safe_colours() -> None:
    folder = Path(house_style.__file__).parent
    assert {p.stem for p in folder.glob("*.py")} == {*KINDS, "house_style", "__init__"}
    for kind in KINDS:
        text = (folder / f"{kind}.py").read_text(encoding="utf-8")
        assert not re.search(r"#[0-9A-Fa-f]{6}|\"(red|green|blue|jet|rainbow|viridis)\"", text), kind
