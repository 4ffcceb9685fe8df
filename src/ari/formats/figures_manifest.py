"""`figures_manifest.json`: the figures of a study and where they lie."""

from __future__ import annotations

from pydantic import Field

from ari.formats.base import FormatModel


class FiguresManifest(FormatModel):
    """The whole file; paths are relative to the checkpoint."""

    figures: dict[str, str]
    latex_snippets: dict[str, str] = Field(default_factory=dict)
