"""Drawing code: one module a kind of figure, each able to run alone.

A module has one function, `draw(data)`, from the contents of a figure's data file to a matplotlib figure.
It imports nothing but matplotlib, NumPy and `house_style`, so a copy of it beside the figure draws the same
figure again without this project.
"""

from __future__ import annotations

KINDS = ("parity", "law", "pareto", "tree", "progress", "effects", "network", "trajectory")
"""The kinds of figure; each is a module of this package."""
