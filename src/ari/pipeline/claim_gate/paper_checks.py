r"""Checks of the paper that concern no number: figures, citations, parts that were not read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ari.errors import PathEscapeError
from ari.formats.gate_report import GateFinding
from ari.paths import inside
from ari.pipeline.claim_gate.citations import find_citations, read_bibliography
from ari.pipeline.claim_gate.findings import finding
from ari.pipeline.claim_gate.links import ClaimLinks
from ari.pipeline.claim_gate.source import PaperSource
from ari.pipeline.claim_gate.tex import PaperText

_MANIFEST = "figures_manifest.json"


def check_figures(links: ClaimLinks, manifest: object, directory: Path) -> list[GateFinding]:
    """Check that figures are registered, exist and are used.

    Args:
        links: The links of the paper.
        manifest: The parsed `figures_manifest.json`, None when there is none.
        directory: The checkpoint.

    Returns:
        Warnings.
    """
    found = []
    told: set[str] = set()
    for ref in links.figures:
        if not ref.registered and ref.figure not in told:
            told.add(ref.figure)
            found.append(
                finding(
                    "figure_unregistered",
                    f"the figure {ref.figure!r} is not in {_MANIFEST}",
                    **links.paper.where(ref.position),
                    fix="Register the figure with the code and data that drew it, or take it out.",
                )
            )
    used = set(links.figure_refs)
    for name, path in links.figure_index.paths.items() if isinstance(manifest, Mapping) else ():
        if not _exists(directory, path):
            found.append(
                finding(
                    "figure_source_missing",
                    f"the file {path} of the figure {name} does not exist",
                    file=_MANIFEST,
                    fix="Draw the figure again.",
                )
            )
        if name not in used:
            found.append(
                finding(
                    "figure_unreferenced",
                    f"the paper never refers to the figure {name}",
                    file=_MANIFEST,
                    fix="Refer to the figure in the text, or leave it out.",
                )
            )
    return found


def _exists(directory: Path, path: str) -> bool:
    try:
        return inside(directory, path).is_file()
    except PathEscapeError:
        return False


def check_citations(paper: PaperText, directory: Path) -> tuple[list[GateFinding], list[GateFinding]]:
    """Check that every cited key exists.

    Args:
        paper: The paper.
        directory: Where the bibliography lies.

    Returns:
        Errors (keys that no bibliography holds) and warnings (files that are missing).
    """
    bibliography = read_bibliography(paper, directory)
    if not bibliography.declared:
        return [], []
    warnings = [
        finding(
            "bibliography_missing",
            f"the bibliography {name} does not exist, so the citations cannot be checked",
            file=paper.origin.file,
            fix=f"Write {name} beside the paper.",
        )
        for name in bibliography.missing
    ]
    if bibliography.missing:
        return [], warnings
    errors = [
        finding(
            "citation_unknown",
            f"the key {citation.key!r} is in no bibliography of the paper",
            **paper.where(citation.position),
            printed=citation.key,
            fix="Cite a source that exists, or add its entry to the bibliography.",
        )
        for citation in find_citations(paper)
        if citation.key not in bibliography.keys
    ]
    return errors, warnings


def check_includes(source: PaperSource) -> tuple[list[GateFinding], list[GateFinding]]:
    r"""Report the files that `\input` and its kin should draw in and that were not read.

    Args:
        source: The source of the paper.

    Returns:
        Errors, and warnings about the preamble, where no text is set.
    """
    errors: list[GateFinding] = []
    warnings: list[GateFinding] = []
    for fault in source.faults:
        found = finding(fault.kind, fault.message, fix=fault.fix, **fault.place._asdict())
        (errors if fault.blocking else warnings).append(found)
    return errors, warnings
