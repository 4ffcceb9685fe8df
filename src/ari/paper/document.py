r"""What a paper consists of before it is LaTeX: sections of paragraphs, equations, tables, figures and lists.

Sentences are plain text with marks for what is not text: a number with its claim, a name, mathematics, a
reference, a citation. `Marks` makes a mark from a thing and keeps it; a mark is one private character pair
around an index, so that sentences are written as ordinary f-strings and everything else in them is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ari.paper.evidence import Number

_OPEN, _CLOSE = "\ue000", "\ue001"
MARK = re.compile(f"{_OPEN}(\\d+){_CLOSE}")


@dataclass(frozen=True)
class Name:
    """An identifier: a column, a parameter, a node, a file."""

    text: str


@dataclass(frozen=True)
class Math:
    """Inline mathematics, already LaTeX, without dollar signs."""

    latex: str


@dataclass(frozen=True)
class Reference:
    r"""A reference to a label: `Figure~\ref{…}`."""

    kind: str
    label: str


@dataclass(frozen=True)
class Citation:
    """Keys of `refs.bib`."""

    keys: tuple[str, ...]


@dataclass(frozen=True)
class Emphasis:
    """Emphasised text."""

    text: str


@dataclass(frozen=True)
class Raw:
    """Machine text in a sentence: a formula, an error message. Its digits are no statements of the paper."""

    text: str


@dataclass(frozen=True)
class EvidenceTarget:
    """The place that the links of a number lead to: its id, its claim and its value as recorded."""

    number: Number


Thing = Number | Name | Math | Reference | Citation | Emphasis | Raw | EvidenceTarget


class Marks:
    """The things that stand in the text of one paper."""

    def __init__(self) -> None:
        self.things: list[Thing] = []

    def add(self, thing: Thing) -> str:
        """Return the mark that stands for a thing."""
        self.things.append(thing)
        return f"{_OPEN}{len(self.things) - 1}{_CLOSE}"

    def name(self, text: object) -> str:
        """Mark an identifier."""
        return self.add(Name(str(text)))

    def math(self, latex: str) -> str:
        """Mark inline mathematics."""
        return self.add(Math(latex))

    def raw(self, text: str) -> str:
        """Mark machine text."""
        return self.add(Raw(text))

    def figure(self, name: str) -> str:
        """Mark a reference to the figure `fig:name`."""
        return self.add(Reference("Figure", f"fig:{name}"))

    def table(self, name: str) -> str:
        """Mark a reference to the table `tab:name`."""
        return self.add(Reference("Table", f"tab:{name}"))

    def section(self, name: str) -> str:
        """Mark a reference to the section `sec:name`."""
        return self.add(Reference("Section", f"sec:{name}"))

    def equation(self, name: str) -> str:
        """Mark a reference to the equation `eq:name`."""
        return self.add(Reference("Equation", f"eq:{name}"))

    def cite(self, *keys: str) -> str:
        """Mark a citation."""
        return self.add(Citation(keys))

    def in_text(self, text: str) -> Iterator[Thing]:
        """The things whose marks stand in a text, in order."""
        for match in MARK.finditer(text):
            yield self.things[int(match.group(1))]


@dataclass(frozen=True)
class Paragraph:
    """Sentences; each becomes one line of the source."""

    sentences: Sequence[str]


@dataclass(frozen=True)
class Items:
    """A list; each item is one or more sentences.

    Attributes:
        items: The items.
        small: Whether it is set small and tight, as entries of an appendix are.
    """

    items: Sequence[str]
    small: bool = False


@dataclass(frozen=True)
class Equation:
    """A displayed formula that carries its machine-readable form.

    Attributes:
        label: Its label without `eq:`.
        latex: The formula.
        node_id: The node whose formula it is.
        digits: Significant digits to which its constants were rounded; None for none.
        numbers: Numbers asserted of it.
    """

    label: str
    latex: str
    node_id: str
    digits: int | None
    numbers: Sequence[Number] = ()


@dataclass(frozen=True)
class PlainFormula:
    """A formula in the expression language, exact, to be read by people and programs."""

    text: str
    target: str
    node_id: str


@dataclass(frozen=True)
class Code:
    """Text that is printed as it is: a command."""

    text: str


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes:
        label: Its label without `tab:`.
        caption: Its caption.
        head: Titles of the columns.
        rows: Cells as text with marks.
        columns: Column specification of LaTeX (`l`, `r`, `Y` for text that wraps).
        wide: Whether it spans both columns.
    """

    label: str
    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    columns: str
    wide: bool = False


@dataclass(frozen=True)
class FigureBlock:
    """A figure of the manifest.

    Attributes:
        id: Its id there.
        path: Its file, relative to the checkpoint.
        caption: Its caption.
        wide: Whether it spans both columns.
    """

    id: str
    path: str
    caption: str
    wide: bool


Block = Paragraph | Items | Equation | PlainFormula | Code | Table | FigureBlock


@dataclass
class Section:
    """A section with its blocks."""

    title: str
    label: str
    blocks: list[Block] = field(default_factory=list)

    def say(self, *sentences: str) -> None:
        """Add a paragraph of those sentences that are not empty."""
        kept = [sentence for sentence in sentences if sentence]
        if kept:
            self.blocks.append(Paragraph(kept))


@dataclass
class Document:
    """A whole paper.

    Attributes:
        title: Its title.
        byline: Who made it.
        abstract: Sentences of the abstract.
        sections: The sections.
        marks: The things in its texts.
        appendix: Sections behind the references.
    """

    title: str
    byline: str
    abstract: Sequence[str]
    sections: Sequence[Section]
    marks: Marks
    appendix: Sequence[Section] = ()


def listed(parts: Sequence[str], *, last: str = "and") -> str:
    """Join parts as prose does: `a, b and c`."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} {last} {parts[-1]}"


_SMALL = (
    "no",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)


def count(number: int, noun: str, plural: str = "") -> str:
    """A small count in words: `no formula`, `one formula`, `two formulas`; digits above twelve."""
    shown = _SMALL[number] if 0 <= number < len(_SMALL) else str(number)
    return f"{shown} {noun if number == 1 else plural or noun + 's'}"


def sentence(text: str) -> str:
    """A text as a sentence: first letter in upper case (unless a mark stands there), a full stop behind."""
    text = " ".join(text.split())
    if text and text[0].islower():
        text = text[0].upper() + text[1:]
    return text if text.endswith((".", "!", "?", ":")) else f"{text}."
