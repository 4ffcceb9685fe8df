"""Skills that another distribution brings by the entry point group `ari.skills`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_checkpoints import Answer

from ari.pipeline.outside import installed_skill

Ari = Callable[..., Answer]

MODULE = """
from mcp.server import MCPServer

def build(options):
    server = MCPServer("ari-skill-tides", log_level="ERROR")

    @server.tool()
    def height(hours: float) -> dict:
        return {"height": 2 * hours, "place": options.get("place")}

    return server

def broken(options):
    raise ValueError("no moon")

def other(options):
    return 3
"""


@pytest.fixture
def tides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a distribution with three skills, one of which has a name that is taken."""
    site = tmp_path / "site"
    info = site / "tides-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "tides_skill.py").write_text(MODULE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tides\nVersion: 1.0\n")
    points = [f"{name} = tides_skill:{function}" for name, function in SKILLS.items()]
    (info / "entry_points.txt").write_text("[ari.skills]\n" + "\n".join(points) + "\n")
    monkeypatch.syspath_prepend(str(site))


SKILLS = {"tides": "build", "nomoon": "broken", "odd": "other", "paper": "build"}


@pytest.mark.usefixtures("tides")
def test_an_installed_skill_is_listed_and_called(ari: Ari) -> None:
    assert "tides  brought by another distribution" in ari("skills", "list").out
    call = ("skills", "call", "tides", "height", "--params", json.dumps({"hours": 3}))
    assert json.loads(ari(*call, "--option", "place=Brest").out) == {"height": 6.0, "place": "Brest"}


@pytest.mark.usefixtures("tides")
def test_what_is_wrong_with_it_is_told(ari: Ari, tmp_path: Path) -> None:
    broken = ari("skills", "call", "nomoon", "height")
    assert (broken.status, "cannot be built: ValueError: no moon" in broken.err) == (1, True)
    odd = ari("skills", "call", "odd", "height")
    assert (odd.status, "gives no MCPServer but a int" in odd.err) == (1, True)
    assert ari("skills", "call", "tides", "height", "--option", "place").status == 2
    assert ari("skills", "call", "tides", "height", "--checkpoint", tmp_path).status == 2
    assert ari("skills", "call", "benchmark", "analyse_results", "--option", "a=b").status == 2


@pytest.mark.usefixtures("tides")
def test_a_name_of_ours_stays_ours_and_a_workflow_finds_the_others(ari: Ari) -> None:
    assert "--checkpoint is missing" in ari("skills", "serve", "paper").err
    found = installed_skill("tides")
    assert found is not None and found.command[-3:] == ("tides", "--option", "checkpoint={{checkpoint}}")
    assert installed_skill("nobody") is None
