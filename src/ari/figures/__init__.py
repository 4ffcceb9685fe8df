"""Figures of a finished study: deterministic, vector and raster, each with its data and its code."""

from __future__ import annotations

from ari.figures.writing import make_figures

__all__ = ["make_figures"]
