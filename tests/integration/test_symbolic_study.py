"""Whole studies of data: the law is found, the sealed rows stay sealed, one seed gives one study."""

from __future__ import annotations

import json
import math
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from ari.checkpoint import Checkpoint, validate
from ari.checkpoint.stable import stable_document
from ari.errors import CheckpointError, ExperimentError
from ari.orchestrator.study import resume
from sr_harness.engine import equivalent, parse

HEAD = "# A law\nWhat is y?\n\n## Data\n- source: data.csv\n- target: y\n"


def table(**columns: np.ndarray) -> str:
    names = list(columns)
    rows = zip(*columns.values(), strict=True)
    return "\n".join([",".join(names), *(",".join(repr(float(v)) for v in row) for row in rows)]) + "\n"


def rows(seed: int, n: int = 40) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    rng = np.random.default_rng(seed)
    return rng.uniform(0.5, 4.0, n), rng.uniform(0.5, 4.0, n), rng


def verdict(found: str | None, law: str) -> str:
    right = (found or "").removeprefix("y = ")
    return equivalent(
        parse(right), parse(law), ranges={"a": (0.5, 4.0), "b": (0.5, 4.0)}, time_limit=60.0
    ).verdict


def test_a_power_law_is_found_and_confirmed_on_sealed_rows(run_study):
    a, b, _ = rows(1)
    result = run_study(HEAD, files={"data.csv": table(a=a, b=b, y=a**1.5)}, nodes=5, seed=3)
    assert verdict(result.formula, "a**1.5") == "equivalent"
    assert result.sealed_metrics["nrmse"] < 1e-9
    assert validate(result.checkpoint) == []


def test_three_laws_drawn_at_random_are_found(run_study):
    seed = 7 if os.environ.get("CI") else random.SystemRandom().randrange(10**6)
    rng = random.Random(seed)
    p, q = rng.choice([-2, -1.5, -1, 0.5, 1, 2, 3]), rng.choice([-2, -1, 0.5, 1.5, 2])
    laws = {
        f"{rng.randint(2, 9)}*a**{p}*b**{q}": "power",
        f"{rng.randint(2, 9)}*exp(-{rng.randint(2, 9) / 10}*a)": "exponential",
        f"{rng.randint(2, 5)}*a**2 + {rng.randint(2, 9)}*a*b - {rng.randint(1, 5)}": "polynomial",
    }
    a, b, _ = rows(seed)
    for number, law in enumerate(laws):
        y = eval(law, {"a": a, "b": b, "exp": np.exp})
        result = run_study(
            HEAD, files={"data.csv": table(a=a, b=b, y=y)}, nodes=10, seed=seed % 100, name=f"o{number}"
        )
        assert verdict(result.formula, law) == "equivalent", (
            f"seed {seed}: {law} came out as {result.formula}"
        )


def noisy_study(tmp_path: Path) -> Path:
    a, b, rng = rows(7)
    y = 2 * a / (1 + b) + 0.01 * rng.normal(size=len(a))
    folder = tmp_path / "experiment"
    folder.mkdir()
    (folder / "data.csv").write_text(table(a=a, b=b, y=y))
    (folder / "experiment.md").write_text(HEAD)
    return folder / "experiment.md"


@pytest.fixture
def noisy(tmp_path: Path) -> Path:
    return noisy_study(tmp_path)


def test_the_number_of_workers_does_not_change_the_study(noisy: Path, tmp_path: Path):
    from ari.orchestrator.study import RunOptions, start

    documents = []
    for workers in (1, 2):
        result = start(RunOptions(noisy, output=tmp_path / f"w{workers}", nodes=9, parallel=workers, seed=5))
        with Checkpoint.open(result.checkpoint) as checkpoint:
            documents.append(stable_document(checkpoint))
    assert documents[0] == documents[1]


def test_killed_at_random_moments_a_study_ends_as_the_unbroken_one(noisy: Path, tmp_path: Path):
    from ari.orchestrator.study import RunOptions, start

    kills = 0
    for seed in range(11, 21):
        whole = start(RunOptions(noisy, output=tmp_path / f"whole{seed}", nodes=10, parallel=2, seed=seed))
        broken = tmp_path / f"broken{seed}"
        kills += kill_and_resume(noisy, broken, seed=seed, at_most=24 - kills)
        with Checkpoint.open(whole.checkpoint) as a, Checkpoint.open(broken) as b:
            assert differences(stable_document(a), stable_document(b)) == []
            assert_nothing_ran_twice(b)
        assert validate(broken) == []
        if kills >= 20:
            break
    assert kills >= 20


def differences(a: object, b: object, where: str = "") -> list[str]:
    """Where two JSON values differ, a line for each place."""
    if isinstance(a, dict) and isinstance(b, dict):
        return [
            line
            for key in sorted(a.keys() | b.keys(), key=str)
            for line in differences(a.get(key, "(absent)"), b.get(key, "(absent)"), f"{where}/{key}")
        ]
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        pairs = enumerate(zip(a, b, strict=True))
        return [line for i, (left, right) in pairs for line in differences(left, right, f"{where}/{i}")]
    return [] if a == b else [f"{where}: {a!r} | {b!r}"]


def assert_nothing_ran_twice(checkpoint: Checkpoint) -> None:
    finished: set[str] = set()
    for event in checkpoint.events():
        if event["event"] in ("node_started", "node_finished"):
            assert event["node_id"] not in finished, f"{event['node_id']} had finished already"
        if event["event"] == "node_finished":
            finished.add(event["node_id"])
    assert finished == set(checkpoint.nodes)


SERVE = """
import sys
from pathlib import Path
from ari.orchestrator.study import RunOptions, resume, start
source, output, seed = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
if (output / 'journal.jsonl').exists():
    resume(output)
else:
    import shutil
    shutil.rmtree(output, ignore_errors=True)
    start(RunOptions(source, output=output, nodes=10, parallel=2, seed=seed))
"""


def kill_and_resume(source: Path, output: Path, *, seed: int, at_most: int) -> int:
    """Run the study, ended again and again by SIGKILL while nodes are at work, until it has come to its end.

    Returns:
        How often it was killed.
    """
    rng = random.Random(seed)
    kills = 0
    while True:
        process = subprocess.Popen([sys.executable, "-c", SERVE, str(source), str(output), str(seed)])
        if kills < at_most:
            _wait_for_a_node_at_work(process, output / "journal.jsonl", rng)
            process.kill()
        status = process.wait(timeout=300)
        if status == 0:
            return kills
        assert status == -signal.SIGKILL
        kills += 1


def _wait_for_a_node_at_work(process: subprocess.Popen[bytes], journal: Path, rng: random.Random) -> None:
    """Wait until this process has started a node, then a random while, within its fits and writes."""
    before = _starts(journal)
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline and _starts(journal) == before:
        time.sleep(0.005)
    end = time.monotonic() + rng.uniform(0.0, 1.5)
    while process.poll() is None and time.monotonic() < end:
        time.sleep(0.002)


def _starts(journal: Path) -> int:
    return journal.read_bytes().count(b'"node_started"') if journal.exists() else 0


def test_the_sealed_rows_are_opened_once_and_logged(run_study):
    a, b, _ = rows(2)
    result = run_study(HEAD, files={"data.csv": table(a=a, b=b, y=a * b)}, nodes=4)
    log = (result.checkpoint / "sealed" / "access.jsonl").read_text().splitlines()
    assert len(log) == 1
    meta = json.loads((result.checkpoint / "meta.json").read_bytes())
    assert json.loads(log[0])["sha256"] == meta["sealed"]["sha256"]
    assert result.sealed_metrics["n"] == meta["data"]["rows"]["sealed"] == 8


def test_changed_data_are_refused_on_resume_with_their_hash(run_study, tmp_path: Path):
    a, b, _ = rows(2)
    result = run_study(HEAD, files={"data.csv": table(a=a, b=b, y=a * b)}, nodes=2)
    (tmp_path / "experiment" / "data.csv").write_text(table(a=a, b=b, y=a + b))
    with pytest.raises(CheckpointError, match=r"has changed since the study began: sha256 [0-9a-f]{64}"):
        resume(result.checkpoint, nodes=4)


def test_changed_sealed_rows_are_refused(run_study):
    a, b, _ = rows(2)
    result = run_study(HEAD, files={"data.csv": table(a=a, b=b, y=a * b)}, nodes=2)
    path = result.checkpoint / "sealed" / "holdout" / "y.npy"
    values = np.load(path)
    np.save(path, values + 1)
    with pytest.raises(CheckpointError, match=r"sealed/holdout/y.npy has sha256"):
        resume(result.checkpoint, nodes=4)


@pytest.mark.parametrize("name", ["N", "lambda", "pi", "S", "exp", "x10"])
def test_a_column_may_have_any_name(run_study, name: str):
    a, b, _ = rows(4)
    result = run_study(HEAD, files={"data.csv": table(**{name: a, "b": b, "y": 3 * a**2})}, nodes=2)
    predicted = result.formula or ""
    assert name in predicted
    assert result.sealed_metrics["nrmse"] < 1e-9


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("a,y\n1,2\n", "1 usable row of 'y'"),
        ("a,y\n" + "1,5\n" * 9, "the target 'y' is 5 in every row"),
        ("a,b\n1,2\n3,4\n", "the data have no variable 'y'"),
        ("", "empty"),
        ("a,y\n", "row"),
        ("a,y\n" + "".join(f"{i},text{i}\n" for i in range(9)), "holds text, not numbers"),
        ("a,y\n" + "".join(f"{i},nan\n" for i in range(9)), "0 usable rows"),
        ("a,a,y\n1,2,3\n", "a"),
    ],
)
def test_data_that_cannot_be_used_are_refused_and_nothing_is_left(
    run_study, tmp_path: Path, data: str, message: str
):
    with pytest.raises(ExperimentError) as caught:
        run_study(HEAD, files={"data.csv": data}, nodes=2)
    assert message in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_rows_that_are_missing_or_infinite_are_named_and_left_out(run_study):
    a, b, _ = rows(5)
    y = a * b
    a[3], y[7] = math.nan, math.inf
    result = run_study(HEAD, files={"data.csv": table(a=a, b=b, y=y)}, nodes=2)
    text = "\n".join(result.warnings)
    assert "a is missing or infinite in row 4" in text
    assert "y is missing or infinite in row 8" in text
    assert result.sealed_metrics["nrmse"] < 1e-9
