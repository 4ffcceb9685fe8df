"""The stage tool of the `plot` skill."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ari.figures.writing import MANIFEST, make_figures


def generate_figures(*, checkpoint: Path) -> dict[str, Any]:
    """Draw every figure that the finished study gives, as PDF and PNG with its data and its code.

    Args:
        checkpoint: The study.

    Returns:
        `figures`: id to file; `manifest`: the manifest's name; `summary`.
    """
    manifest = make_figures(checkpoint)
    count = len(manifest.figures)
    return {
        "figures": dict(manifest.figures),
        "manifest": MANIFEST,
        "summary": f"{count} figure{'' if count == 1 else 's'} drawn",
    }
