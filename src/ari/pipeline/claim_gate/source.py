r"""The source of a paper, put together from its files: where each place of the text really stands."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

FaultKind = Literal["include_missing", "include_escapes", "include_cycle", "paper_incomplete"]


class Place(NamedTuple):
    """A place in a file: its name relative to the checkpoint, line and column from 1."""

    file: str
    line: int
    column: int


class Piece(NamedTuple):
    """A stretch of the text that comes from one file.

    Attributes:
        start: Where it begins in the text.
        file: The file.
        offset: Where it begins in the file.
    """

    start: int
    file: str
    offset: int


class IncludeFault(NamedTuple):
    """A file that should have been drawn in and was not.

    Attributes:
        kind: Kind of the finding.
        place: Where the paper asks for it.
        message: What is wrong.
        fix: What would mend it.
        blocking: Whether text of the paper may be missing; false in a preamble, which sets none.
    """

    kind: FaultKind
    place: Place
    message: str
    fix: str
    blocking: bool


@dataclass(frozen=True)
class PaperSource:
    """The text of a paper with the files it draws in at their places.

    Attributes:
        text: The whole text.
        file: Name of the paper.
        files: The files that are drawn in, each once, in order of first appearance.
        faults: What could not be drawn in.
        pieces: Where the stretches of the text come from, in order.
        contents: The text of each file.
    """

    text: str
    file: str = ""
    files: tuple[str, ...] = ()
    faults: tuple[IncludeFault, ...] = ()
    pieces: Sequence[Piece] = ()
    contents: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of_text(cls, text: str, file: str = "") -> PaperSource:
        """The source of a paper that is one text."""
        return cls(text, file, pieces=(Piece(0, file, 0),), contents={file: text})

    def place(self, position: int) -> Place:
        """Where a place of the text stands."""
        piece = self.pieces[max(0, bisect_right(self._starts, position) - 1)]
        return self.place_in(piece.file, piece.offset + position - piece.start)

    def place_in(self, file: str, offset: int) -> Place:
        """Line and column of a place of a file."""
        starts = self._line_starts[file]
        line = bisect_right(starts, offset)
        return Place(file, line, offset - starts[line - 1] + 1)

    @cached_property
    def _starts(self) -> list[int]:
        return [piece.start for piece in self.pieces]

    @cached_property
    def _line_starts(self) -> dict[str, list[int]]:
        return {file: line_starts(text) for file, text in self.contents.items()}


def line_starts(text: str) -> list[int]:
    """Offsets at which the lines of a text begin."""
    starts = [0]
    end = text.find("\n")
    while end >= 0:
        starts.append(end + 1)
        end = text.find("\n", end + 1)
    return starts
