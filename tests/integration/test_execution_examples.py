"""The examples hold what their descriptions promise: real values, sound data, programs that build and run."""

from __future__ import annotations

import csv
import itertools
import math
import re
import runpy
from pathlib import Path

import numpy as np
import pytest

from ari.execution.records import RunRecord
from ari.execution.runner import Runner
from sr_harness.core import inspect_context_data, load_context_data

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
G = 6.6743e-11


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def section(experiment: str, title: str) -> str:
    text = (EXAMPLES / experiment).read_text(encoding="utf-8")
    return re.split(r"^## ", text.partition(f"## {title}\n")[2], flags=re.MULTILINE)[0]


def measured(record: RunRecord) -> dict[str, float]:
    assert record.ok, record.reason + record.stderr
    return {name: float(value) for name, value in re.findall(r"^(\S+): (\S+)$", record.stdout, re.MULTILINE)}


# -- kepler ------------------------------------------------------------------------------------------


def test_planets_follow_the_law_to_a_part_in_a_thousand():
    bodies = rows(EXAMPLES / "kepler" / "planets.csv")
    assert len(bodies) == 13
    for body in bodies:
        assert float(body["T"]) == pytest.approx(float(body["a"]) ** 1.5, rel=1e-3), body["name"]
        assert 0 <= float(body["e"]) < 1 and abs(float(body["incl"])) < 90


def test_moons_follow_the_law_with_the_planets_mass():
    bodies = rows(EXAMPLES / "kepler" / "moons.csv")
    assert len({body["planet"] for body in bodies}) == 7 and len(bodies) == 22
    for body in bodies:
        metres, kilograms = float(body["a"]) * 1e6, float(body["M"]) * 1e24
        days = 2 * math.pi * math.sqrt(metres**3 / (G * kilograms)) / 86400
        assert float(body["T"]) == pytest.approx(days, rel=1.5e-3), body["name"]


@pytest.mark.parametrize(("experiment", "target"), [("kepler/experiment.md", "T"), ("kepler/moons.md", "T")])
def test_the_columns_that_an_experiment_names_exist(experiment, target):
    data = dict(re.findall(r"^- (\w+): (.+)$", section(experiment, "Data"), re.MULTILINE))
    columns = rows(EXAMPLES / "kepler" / data["source"])[0].keys()
    assert data["target"] == target
    assert {data["target"], *data.get("inputs", target).split(", ")} <= columns


# -- matmul ------------------------------------------------------------------------------------------


@pytest.fixture
def bench(tmp_path) -> Runner:
    work = tmp_path / "node"
    work.mkdir()
    for name in ("matmul.c", "peak.c"):
        (work / name).write_bytes((EXAMPLES / "matmul" / name).read_bytes())
    return Runner(tmp_path / "records", work)


def command(**settings: object) -> str:
    found = re.search(r"```bash\n(.+?)\n```", section("matmul/experiment.md", "Command"))
    assert found is not None
    return found[1].format(**settings)


def test_the_program_computes_the_right_product_for_every_order_and_unrolling(bench):
    for order, unroll in itertools.product(("ijk", "ikj"), (1, 4)):
        settings = {"opt": 2, "flags": "-DSIZE=100", "tile": 24, "order": order, "unroll": unroll}
        figures = measured(bench.run(command(**settings)))
        assert 0 < figures["max_abs_err"] < 1e-12, settings
        assert figures["GFlops/s"] > 0 and figures["seconds"] > 0


def test_the_naive_start_leaves_room_and_the_ceiling_stands_above(bench):
    peak = re.search(r"command: `(.+)`", section("matmul/experiment.md", "Ceiling"))
    assert peak is not None
    ceiling = measured(bench.run(peak[1]))["peak_gflops"]
    naive = measured(bench.run(command(opt=0, flags="", tile=8, order="ijk", unroll=1)))["GFlops/s"]
    good = measured(bench.run(command(opt=3, flags="-march=native", tile=128, order="ikj", unroll=1)))[
        "GFlops/s"
    ]
    assert 2 * naive < good < ceiling


# -- kuramoto ----------------------------------------------------------------------------------------


def test_the_oscillators_data_are_sound_and_what_the_script_makes(tmp_path):
    committed = EXAMPLES / "kuramoto" / "context.data"
    report = inspect_context_data(committed)
    assert report["valid"] and report["warnings"] == []
    script = runpy.run_path(str(EXAMPLES / "kuramoto" / "generate.py"))
    made = load_context_data(script["generate"](tmp_path / "context.data"))["data"]
    for name, values in load_context_data(committed)["data"].items():
        if np.issubdtype(values.dtype, np.number):
            np.testing.assert_allclose(made[name], values, rtol=0, atol=1e-9)


def test_the_oscillators_obey_the_law_and_do_not_move_as_one():
    data = load_context_data(EXAMPLES / "kuramoto" / "context.data")["data"]
    target, source = np.asarray(data["A"]).T
    theta = np.asarray(data["theta"])
    pull = np.zeros_like(theta)
    np.add.at(pull.T, target, np.sin(theta[:, source] - theta[:, target]).T)
    np.testing.assert_allclose(data["dtheta"], data["omega"] + 0.45 * pull, atol=1e-12)
    assert np.abs(np.exp(1j * theta).mean(axis=1)).mean() < 0.8
