"""The layout of the project: what stays light, who may import whom, what lock, docs and scripts must say."""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
import shutil
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import ari

ROOT = Path(__file__).resolve().parents[2]
HEAVY = {
    "httpx",
    "matplotlib",
    "mcp",
    "pandas",
    "pyarrow",
    "pydantic_ai",
    "pyoperon",
    "rich",
    "scipy",
    "sklearn",
    "sympy",
}
SCRIPTS = ["lint", "lock", "run", "setup", "test"]


def configuration() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def direct_dependencies() -> set[str]:
    project = configuration()["project"]
    listed = [
        *project["dependencies"],
        *(item for extra in project["optional-dependencies"].values() for item in extra),
    ]
    listed += configuration()["build-system"]["requires"]
    return {re.split(r"[\[<>=!~ ;]", item, maxsplit=1)[0].lower() for item in listed}


def loaded_by(code: str) -> set[str]:
    """Top-level names of what a fresh interpreter has loaded after running `code`."""
    probe = f"{code}\nimport sys\nprint('loaded', *{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    ("code", "too_much"),
    [
        ("import ari", HEAVY | {"numpy", "pydantic", "typer", "sr_harness"}),
        ("import sr_harness", HEAVY | {"typer", "ari"}),
        ("import sr_harness.core", HEAVY | {"typer", "ari"}),
        ("from ari.cli import main; main(['--help'])", HEAVY | {"numpy", "pydantic", "sr_harness"}),
        ("from ari.cli import main; main(['run', '--help'])", HEAVY | {"numpy", "sr_harness"}),
        ("import sr_harness.cli", HEAVY),
        ("import ari.checkpoint", HEAVY),
    ],
)
def test_what_must_be_quick_loads_nothing_heavy(code: str, too_much: set[str]) -> None:
    assert loaded_by(code) & too_much == set()


def test_the_import_contract_of_the_formats_covers_every_package() -> None:
    contracts = configuration()["tool"]["importlinter"]["contracts"]
    [contract] = [item for item in contracts if item.get("source_modules") == ["ari.formats"]]
    allowed = {"ari.formats", "ari.errors", "ari.paths"}
    present = {f"ari.{module.name}" for module in pkgutil.iter_modules(ari.__path__)}
    assert set(contract["forbidden_modules"]) == present - allowed


@pytest.mark.parametrize("package", ["ari", "sr_harness"])
def test_every_module_can_be_imported(package: str) -> None:
    found = importlib.import_module(package)
    names = [
        m.name
        for m in pkgutil.walk_packages(found.__path__, f"{package}.")
        if not m.name.endswith("__main__")
    ]
    assert names
    for name in names:
        importlib.import_module(name)


def test_every_folder_with_modules_is_a_package() -> None:
    folders = {path.parent for path in (ROOT / "src").rglob("*.py")}
    assert [str(folder) for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []


def test_every_test_module_has_a_name_of_its_own() -> None:
    names = sorted(path.name for path in (ROOT / "tests").rglob("test_*.py"))
    assert [name for name, after in pairwise(names) if name == after] == []


def test_the_lock_covers_every_direct_dependency_and_names_no_place() -> None:
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    locked = set(re.findall(r"^([a-z0-9._-]+)==", text, re.MULTILINE))
    assert direct_dependencies() - locked == set()
    assert (
        re.findall(r"https?:|file:|://|^\s*--(?!hash)|/(?:usr|opt|home|root|tmp|work)\b", text, re.MULTILINE)
        == []
    )
    pinned = re.findall(r"^[a-z0-9._-]+==.*\n(?!    --hash=sha256:)", text, re.MULTILINE)
    assert pinned == []


def test_the_docs_have_a_line_for_every_direct_dependency() -> None:
    text = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    rows = set(re.findall(r"^\| `([a-z0-9._-]+)` \|", text, re.MULTILINE))
    assert direct_dependencies() - rows == set()


@pytest.mark.parametrize("name", [*(f"scripts/{script}" for script in SCRIPTS), ".ci/run"])
def test_scripts_are_sound_and_can_be_run(name: str) -> None:
    path = ROOT / name
    assert os.access(path, os.X_OK)
    assert path.read_text(encoding="utf-8").startswith("#!/usr/bin/env bash\n")
    subprocess.run(["bash", "-n", path], check=True)


@pytest.mark.parametrize("script", ["setup", "lint"])
def test_an_unknown_option_of_a_script_is_misuse(script: str) -> None:
    done = subprocess.run(
        [ROOT / "scripts" / script, "--frobnicate"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "error: unknown option --frobnicate" in done.stderr


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The parts of a fresh checkout that the set-up needs, without an environment."""
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    for name in ("requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def set_up(checkout: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [checkout / "scripts" / "setup"],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"], "HOME": str(checkout), **environment},
    )


def test_set_up_says_which_python_is_missing(checkout: Path) -> None:
    done = set_up(checkout, ARI_PYTHON="/bin/false")
    assert done.returncode == 1
    assert "error: ARI_PYTHON=/bin/false is not a Python of version 3.11 or later." in done.stderr
    tools = checkout / "tools"
    tools.mkdir()
    for tool in ("bash", "env", "dirname", "flock", "cat", "grep", "sha256sum", "cut"):
        found = shutil.which(tool)
        if found:
            (tools / tool).symlink_to(found)
    done = set_up(checkout, PATH=str(tools))
    assert done.returncode == 1
    assert "no Python of version 3.11 or later was found" in done.stderr


def test_set_up_needs_the_lock(checkout: Path) -> None:
    (checkout / "requirements.lock").unlink()
    done = set_up(checkout)
    assert done.returncode == 1
    assert f"error: requirements.lock is missing from {checkout}" in done.stderr
    assert "scripts/lock" in done.stderr
