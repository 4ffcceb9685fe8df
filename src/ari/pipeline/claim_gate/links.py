"""`link_paper_claims`: the anchors and numbers of a paper set against the registry of claims.

A function of its arguments: it reads no file and needs no model.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ari.formats.paper_claim_links import ClaimLink, NumericMention, PaperClaimLinks
from ari.pipeline.claim_gate.anchors import Anchor, find_anchors
from ari.pipeline.claim_gate.assertions import (
    Assertion,
    Registry,
    add_writer_assertions,
    read_registry,
)
from ari.pipeline.claim_gate.binding import bind
from ari.pipeline.claim_gate.figures import FigureIndex, FigureRef, find_figure_refs
from ari.pipeline.claim_gate.mentions import Mention, read_mentions
from ari.pipeline.claim_gate.sections import Sections
from ari.pipeline.claim_gate.source import PaperSource
from ari.pipeline.claim_gate.tex import PaperText, read_paper


@dataclass(frozen=True)
class ClaimLinks:
    """What the linker read.

    Attributes:
        paper: The paper.
        registry: Claims and assertions, those the writer declared included.
        anchors: Every occurrence of an anchor, in order of place.
        mentions: Every number, in order of place.
        figures: Every place that refers to a figure.
        writer_assertions: Assertions that the writer declared behind anchors.
    """

    paper: PaperText
    registry: Registry
    anchors: Sequence[Anchor]
    mentions: Sequence[Mention]
    figures: Sequence[FigureRef]
    figure_index: FigureIndex
    writer_assertions: Sequence[Assertion]

    @cached_property
    def paper_claim_links(self) -> list[ClaimLink]:
        """One record per anchor, at its first occurrence."""
        first: dict[str, ClaimLink] = {}
        for anchor in self.anchors:
            if anchor.key not in first:
                first[anchor.key] = self._link(anchor)
        return list(first.values())

    @cached_property
    def numeric_mentions(self) -> list[NumericMention]:
        """One record per number."""
        return [self._numeric(mention) for mention in self.mentions]

    @cached_property
    def figure_refs(self) -> list[str]:
        """Ids of the figures that the paper refers to or shows, in order of first appearance."""
        return list(dict.fromkeys(ref.figure for ref in self.figures))

    @cached_property
    def unresolved_anchors(self) -> list[str]:
        """Anchors whose claim or assertion is not registered."""
        keys = (anchor.key for anchor in self.anchors if not self.registry.resolves(anchor))
        return list(dict.fromkeys(keys))

    @cached_property
    def uncovered_numeric_candidates(self) -> list[NumericMention]:
        """Result numbers that no anchor stands for; they may still repeat a value that is backed."""
        declared = {key: assertion.declared for key, assertion in self.registry.assertions.items()}
        bindings = bind(self.paper, self.anchors, self.mentions, self.registry, declared)
        bound = {
            binding.mention.start
            for binding in bindings
            if binding.mention is not None and self.registry.resolves(binding.anchor)
        }
        return [self._numeric(m) for m in self.mentions if m.requires_assertion and m.start not in bound]

    def record(self) -> PaperClaimLinks:
        """The content of `paper_claim_links.json`."""
        return PaperClaimLinks(
            paper_claim_links=self.paper_claim_links,
            numeric_mentions=self.numeric_mentions,
            figure_refs=self.figure_refs,
            unresolved_anchors=self.unresolved_anchors,
            uncovered_numeric_candidates=self.uncovered_numeric_candidates,
            writer_assertions=[_described(assertion) for assertion in self.writer_assertions],
        )

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON types."""
        return self.record().to_dict()

    def figures_in(self, start: int, end: int) -> list[str]:
        """Ids of the figures that a stretch of the text refers to."""
        refs = (ref.figure for ref in self.figures if start <= ref.position < end)
        return list(dict.fromkeys(refs))

    def _link(self, anchor: Anchor) -> ClaimLink:
        region = anchor.region
        sentence = re.sub(r"\s+", " ", self.paper.uncommented[region.start : region.end]).strip()
        end = max(region.start, region.end - 1)
        while end > region.start and self.paper.plain[end].isspace():
            end -= 1
        first, last = self.paper.place(region.start), self.paper.place(end)
        lines = [first.line, last.line if last.file == first.file else first.line]
        return ClaimLink(
            anchor=anchor.key,
            claim_id=anchor.claim_id,
            numeric_id=anchor.numeric_id,
            section=anchor.section,
            line_range=lines,
            span_hash=f"sha256-{hashlib.sha256(sentence.encode('utf-8', 'replace')).hexdigest()}",
            figures=self.figures_in(region.start, region.end),
            resolved=self.registry.resolves(anchor),
            **self._drawn_in(first.file),
        )

    def _numeric(self, mention: Mention) -> NumericMention:
        return mention.record(**self._drawn_in(mention.place.file))

    def _drawn_in(self, file: str) -> dict[str, str]:
        """The field that names a file other than the paper."""
        return {} if file == self.paper.origin.file else {"file": file}


def _described(assertion: Assertion) -> dict[str, Any]:
    return {
        "claim_id": assertion.claim_id,
        "id": assertion.numeric_id,
        "metric": assertion.metric,
        "formula": assertion.formula,
        "operands": {
            name: {"node_id": place.node_id, "metric_path": place.paths[0]}
            for name, place in assertion.operands.items()
        },
    }


def link_paper_claims(
    tex: str | PaperSource,
    science_data: Mapping[str, Any],
    figures_manifest: Mapping[str, Any] | None = None,
) -> ClaimLinks:
    """Link a paper's anchors, numbers and figures to the registry of claims.

    Args:
        tex: Text of the `.tex` file, or the source with the files that it draws in.
        science_data: The parsed `science_data.json`; it need not be sound.
        figures_manifest: The parsed `figures_manifest.json`.

    Returns:
        The links; broken LaTeX and broken records never raise.
    """
    paper = read_paper(tex)
    sections = Sections(paper)
    anchors = find_anchors(paper, sections)
    registry = read_registry(science_data if isinstance(science_data, Mapping) else {})
    writer = add_writer_assertions(registry, anchors)
    index = FigureIndex(figures_manifest, paper)
    return ClaimLinks(
        paper=paper,
        registry=registry,
        anchors=anchors,
        mentions=read_mentions(paper, sections),
        figures=find_figure_refs(paper, index),
        figure_index=index,
        writer_assertions=writer,
    )
