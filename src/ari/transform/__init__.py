"""From an executed tree to `science_data.json`: what a paper may rest on."""

from __future__ import annotations

from ari.transform.science import build_science_data, nodes_to_science_data

__all__ = ["build_science_data", "nodes_to_science_data"]
