r"""Figures: which the manifest registers, and which the paper refers to or shows.

A figure is referred to by `\ref` (and its kin) of its label, or shown by `\includegraphics`. Labels and
files are tied to the ids of the manifest by its LaTeX snippets, its paths, and the figure environments of
the paper.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from ari.pipeline.claim_gate.tex import PaperText

_LABEL = re.compile(r"\\label\s*\{([^{}]+)\}")
_GRAPHICS = re.compile(r"\\includegraphics\*?\s*(?:\[[^\]]*\])?\s*\{([^{}]+)\}")
_REFERENCE = re.compile(r"\\(?:auto|c|C|v|page|name|sub)?ref\*?\s*\{([^{}]+)\}")
_ENVIRONMENT = re.compile(r"\\begin\{((?:wrap|sub)?figure\*?)\}.*?\\end\{\1\}", re.DOTALL)


class FigureRef(NamedTuple):
    """A place of the paper that refers to a figure.

    Attributes:
        position: Offset.
        figure: Id of the figure; the label or file name when it is not registered.
        registered: Whether the manifest knows it.
    """

    position: int
    figure: str
    registered: bool


class FigureIndex:
    """The figures of a manifest, found by label or by file."""

    def __init__(self, manifest: Mapping[str, Any] | None, paper: PaperText) -> None:
        document = manifest if isinstance(manifest, Mapping) else {}
        figures = document.get("figures")
        figures = figures if isinstance(figures, Mapping) else {}
        self.paths = {str(name): path for name, path in figures.items() if isinstance(path, str)}
        self._labels: dict[str, str] = {}
        self._files = {_stem(path): name for name, path in self.paths.items()}
        snippets = document.get("latex_snippets")
        for name, snippet in snippets.items() if isinstance(snippets, Mapping) else ():
            if name in self.paths and isinstance(snippet, str):
                self._learn(snippet, name)
        for match in _ENVIRONMENT.finditer(paper.uncommented):
            self._learn(match.group(), None)

    def _learn(self, snippet: str, figure: str | None) -> None:
        """Tie the labels of a figure environment to the figure it shows."""
        if figure is None:
            shown = {self._files.get(_stem(file)) for file in _GRAPHICS.findall(snippet)} - {None}
            figure = shown.pop() if len(shown) == 1 else None
        if figure is not None:
            for label in _LABEL.findall(snippet):
                self._labels.setdefault(label.strip(), figure)

    def by_label(self, label: str) -> FigureRef | None:
        """Find the figure of a label; None when the label is not that of a figure."""
        figure = self._labels.get(label) or next(
            (
                name
                for name in (label, label.replace(":", "_"), label.removeprefix("fig:"))
                if name in self.paths
            ),
            None,
        )
        if figure is not None:
            return FigureRef(0, figure, registered=True)
        return (
            FigureRef(0, label, registered=False) if label.startswith(("fig:", "fig_", "figure:")) else None
        )

    def by_file(self, file: str) -> FigureRef:
        """Find the figure that a file shows."""
        figure = self._files.get(_stem(file))
        return FigureRef(0, figure or _stem(file), registered=figure is not None)


def _stem(path: str) -> str:
    name = PurePosixPath(path.strip()).name
    return name.rsplit(".", 1)[0] if "." in name else name


def find_figure_refs(paper: PaperText, index: FigureIndex) -> list[FigureRef]:
    """Find every place of the body that refers to a figure or shows one.

    Args:
        paper: The paper.
        index: The registered figures.

    Returns:
        The places in order.
    """
    found = []
    start, end = paper.body
    for match in _REFERENCE.finditer(paper.uncommented, start, end):
        for label in match.group(1).split(","):
            ref = index.by_label(label.strip())
            if ref is not None:
                found.append(ref._replace(position=match.start()))
    for match in _GRAPHICS.finditer(paper.uncommented, start, end):
        found.append(index.by_file(match.group(1))._replace(position=match.start()))
    return sorted(found)
