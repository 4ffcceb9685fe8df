"""Ending what a test has started in the background."""

from __future__ import annotations

import os
from pathlib import Path

from ari.orchestrator.background import names, standing


def end_background(root: Path) -> None:
    """Kill the studies that were started below a folder and still run."""
    for name in names(root):
        known = standing(root, name)
        if known is not None and known.record.alive:
            os.killpg(known.record.pid, 9)
