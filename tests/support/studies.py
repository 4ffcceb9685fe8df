"""Recorded studies for tests: writable copies, with their science data and figures made once a session."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

STUDIES = Path(__file__).resolve().parents[1] / "studies"
BLANK_PDF = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1"
    b">>endobj\n"
    b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 240 160]/Resources<<>>>>endobj\nxref\n0 4\n"
    b"0000000000 65535 f \n0000000009 00000 n \n0000000052 00000 n \n0000000101 00000 n \n"
    b"trailer<</Size 4/Root 1 0 R>>\nstartxref\n170\n%%EOF\n"
)
NAMES = ("kepler", "matmul", "kuramoto")


def copy_study(name: str, folder: Path) -> Path:
    """Copy a recorded study, as `ari run` left it, into a folder."""
    return Path(shutil.copytree(STUDIES / name, folder / name))


@cache
def _finished(name: str) -> Path:
    from ari.transform import nodes_to_science_data

    checkpoint = copy_study(name, Path(mkdtemp(prefix="ari-test-")))
    nodes_to_science_data(checkpoint=checkpoint)
    _place_figures(checkpoint)
    return checkpoint


def _place_figures(checkpoint: Path) -> None:
    """Write the figures' manifest with an empty page for each: drawing them is tested elsewhere and slow."""
    from unittest.mock import patch

    from ari.figures import make_figures
    from ari.figures.drawing import house_style

    def blank(_draw: object, _data: object, paths: list[Path]) -> None:
        for path in paths:
            path.write_bytes(BLANK_PDF)

    with patch.object(house_style, "render", blank):
        make_figures(checkpoint)


@cache
def _written(name: str) -> Path:
    from ari.paper.stage import write_paper

    checkpoint = Path(shutil.copytree(_finished(name), Path(mkdtemp(prefix="ari-test-")) / name))
    write_paper(checkpoint=checkpoint)
    return checkpoint


def finished_study(name: str, folder: Path) -> Path:
    """Copy a recorded study with science data and figures."""
    return Path(shutil.copytree(_finished(name), folder / name))


def written_study(name: str, folder: Path) -> Path:
    """Copy a recorded study with its paper written."""
    return Path(shutil.copytree(_written(name), folder / name))
