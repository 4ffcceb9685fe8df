r"""A document as LaTeX source: the layout comes from a template, the text from here.

Each sentence is one line of the source. A number is `\hyperlink{ev:NCx}{…}` to its entry in the evidence
appendix, and its anchor `% CLAIM:Cx:NCx` stands in the comment at the end of its line; a row of a table is
such a line too. What LaTeX cannot set is named in brackets and reported with the line it stands on.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ari.errors import ConfigError
from ari.latex.escape import Lost, escape, identifier, raw
from ari.paper import formula
from ari.paper.document import (
    MARK,
    Block,
    Citation,
    Code,
    Document,
    Emphasis,
    Equation,
    EvidenceTarget,
    FigureBlock,
    Items,
    Math,
    Name,
    Paragraph,
    PlainFormula,
    Raw,
    Reference,
    Section,
    Table,
    Thing,
)
from ari.paper.evidence import Number, printed

TEMPLATES = Path(__file__).parent / "templates"
CODE_WIDTH = 54
"""Characters of a line of typewriter text that fit into one column."""


class Unset(NamedTuple):
    """A character that could not be set, with its line in the source."""

    line: int
    character: str
    name: str


class Source(NamedTuple):
    """The LaTeX source and what could not be brought into it."""

    tex: str
    unset: tuple[Unset, ...]


def template_names() -> list[str]:
    """Names of the layouts that ship."""
    return sorted(
        path.name.removesuffix(".tex.j2") for path in TEMPLATES.glob("*.tex.j2") if path.name[0] != "_"
    )


def render(document: Document, *, template: str = "article") -> Source:
    """Render a paper.

    Args:
        document: The paper.
        template: One of `template_names`.

    Raises:
        ConfigError: When there is no such template.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    if template not in template_names():
        raise ConfigError(
            f"there is no paper template {template!r}", cure=f"Templates: {', '.join(template_names())}."
        )
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        block_start_string=r"\BLOCK{", block_end_string="}",
        variable_start_string=r"\VAR{", variable_end_string="}",
        comment_start_string=r"\#{", comment_end_string="}",
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - the output is LaTeX; every value is escaped here
    )  # fmt: skip
    writer = _Writer(document)
    filled = environment.get_template(f"{template}.tex.j2").render(
        title=writer.text(document.title),
        byline=writer.text(document.byline),
        abstract=writer.sentences(document.abstract),
        sections=[writer.section(section) for section in document.sections],
        appendix=[writer.section(section) for section in document.appendix],
        declarations=writer.declarations(),
    )
    return Source(filled, _places(filled, writer.lost))


class _Writer:
    def __init__(self, document: Document) -> None:
        self._marks = document.marks
        self._verbatim: set[str] = set()
        self.lost: list[Lost] = []

    # --------------------------------------------------------------------------------------------------- text

    def text(self, text: str) -> str:
        """Text with marks as LaTeX, on one line."""
        pieces: list[str] = []
        position = 0
        for match in MARK.finditer(text):
            pieces.append(self._plain(text[position : match.start()]))
            pieces.append(self._thing(self._marks.things[int(match.group(1))]))
            position = match.end()
        pieces.append(self._plain(text[position:]))
        return " ".join("".join(pieces).split())

    def _plain(self, text: str) -> str:
        lead = " " if text[:1].isspace() else ""
        tail = " " if text[-1:].isspace() and text.strip() else ""
        escaped = escape(" ".join(text.split()))
        self.lost += escaped.lost
        return f"{lead}{escaped.text}{tail}"

    def _thing(self, thing: Thing) -> str:
        if isinstance(thing, Number):
            return rf"\hyperlink{{ev:{thing.assertion.id}}}{{{number_text(thing)}}}"
        if isinstance(thing, Name):
            name = identifier(thing.text)
            self.lost += name.lost
            return name.text
        if isinstance(thing, Math):
            return f"${self.mathematics(thing.latex)}$"
        if isinstance(thing, Reference):
            return rf"{thing.kind}~\ref{{{thing.label}}}"
        if isinstance(thing, Citation):
            return rf"\cite{{{','.join(thing.keys)}}}"
        if isinstance(thing, Raw):
            machine = raw(thing.text)
            self.lost += machine.lost
            return machine.text
        if isinstance(thing, EvidenceTarget):
            return _target(thing.number)
        return self._emphasis(thing)

    def _emphasis(self, thing: Emphasis) -> str:
        return rf"\emph{{{self._plain(thing.text)}}}"

    def mathematics(self, latex: str) -> str:
        r"""Mathematics whose `\text{…}` may hold any character."""
        return "".join(c if c.isascii() else self._plain(c) for c in latex)

    def sentences(self, sentences: Sequence[str]) -> str:
        """Sentences, one a line, each with the anchors of its numbers."""
        return "\n".join(self._anchored(self.text(s), s) for s in sentences)

    def _anchored(self, line: str, text: str) -> str:
        things = [t.number if isinstance(t, EvidenceTarget) else t for t in self._marks.in_text(text)]
        numbers = [thing for thing in things if isinstance(thing, Number)]
        return line + anchors(numbers)

    # ------------------------------------------------------------------------------------------------- blocks

    def section(self, section: Section) -> str:
        head = rf"\section{{{self.text(section.title)}}}" + f"\n\\label{{sec:{section.label}}}"
        return "\n\n".join([head, *(self._block(block) for block in section.blocks)])

    def _block(self, block: Block) -> str:
        writers: dict[type, Callable[..., str]] = {
            Paragraph: lambda b: self.sentences(b.sentences),
            Items: self._items,
            Equation: self._equation,
            PlainFormula: self._plain_formula,
            Code: lambda b: self._typewriter(_wrapped(b.text)),
            Table: self._table,
            FigureBlock: self._figure,
        }
        return writers[type(block)](block)

    def _items(self, block: Items) -> str:
        lines = [self._anchored(rf"\item {self.text(item)}", item) for item in block.items]
        name = "evidencelist" if block.small else "itemize"
        return "\n".join([rf"\begin{{{name}}}", *lines, rf"\end{{{name}}}"])

    def _equation(self, block: Equation) -> str:
        shown = self.mathematics(block.latex)
        if len(shown) > formula.LONG:
            shown = "\\begin{gathered}\n" + " \\\\\n".join(formula.broken(shown)) + "\n\\end{gathered}"
        lines = [
            r"\begin{equation}",
            rf"\label{{eq:{block.label}}}",
            formula.equation_mark(block.node_id, block.digits),
            shown + anchors(block.numbers),
            r"\end{equation}",
        ]
        return "\n".join(lines)

    def _plain_formula(self, block: PlainFormula) -> str:
        lines = formula.plain_lines(block.text, block.target)
        return f"{formula.plain_mark(block.node_id)}\n{self._typewriter(lines)}"

    def _typewriter(self, lines: Sequence[str]) -> str:
        self._verbatim |= {c for line in lines for c in line if not c.isascii()}
        return "\n".join([r"{\footnotesize", r"\begin{verbatim}", *lines, r"\end{verbatim}", "}"])

    def _table(self, block: Table) -> str:
        environment, width = ("table*", r"\textwidth") if block.wide else ("table", r"\columnwidth")
        rows = [self._row(row) for row in block.rows]
        head = " & ".join(self.text(title) for title in block.head)
        stretch = "Y" in block.columns
        tabular = ("tabularx", f"{{{width}}}") if stretch else ("tabular", "")
        lines = [
            rf"\begin{{{environment}}}[tb]",
            r"\centering",
            self._anchored(rf"\caption{{{self.text(block.caption)}}}", block.caption),
            rf"\label{{tab:{block.label}}}",
            r"\footnotesize",
            rf"\begin{{{tabular[0]}}}{tabular[1]}{{{block.columns}}}",
            r"\toprule",
            rf"{head} \\",
            r"\midrule",
            *rows,
            r"\bottomrule",
            rf"\end{{{tabular[0]}}}",
            rf"\end{{{environment}}}",
        ]
        return "\n".join(lines)

    def _row(self, cells: Sequence[str]) -> str:
        line = " & ".join(self.text(cell) for cell in cells) + r" \\"
        return self._anchored(line, "".join(cells))

    def _figure(self, block: FigureBlock) -> str:
        environment, width = ("figure*", r"\textwidth") if block.wide else ("figure", r"\columnwidth")
        lines = [
            rf"\begin{{{environment}}}[tb]",
            r"\centering",
            rf"\includegraphics[width={width}]{{{block.path}}}",
            rf"\caption{{{self.text(block.caption)}}}",
            rf"\label{{{block.id.replace('fig_', 'fig:', 1)}}}",
            rf"\end{{{environment}}}",
        ]
        return "\n".join(lines)

    def declarations(self) -> str:
        """How the characters beyond ASCII in typewriter text are set."""
        lines = []
        for character in sorted(self._verbatim):
            escaped = escape(character)
            self.lost += escaped.lost
            if escaped.text != character:
                lines.append(rf"\DeclareUnicodeCharacter{{{ord(character):04X}}}{{{escaped.text}}}")
        return "\n".join(lines)


def number_text(number: Number) -> str:
    """A number with its unit as LaTeX text."""
    shown, unit = printed(number.value), number.unit
    if unit == "%":
        return rf"{shown}\,\%"
    return f"{shown}~{escape(unit).text}" if unit else shown


def _target(number: Number) -> str:
    """The head of an entry of the evidence appendix."""
    identity = number.assertion.id
    value = precise(number.value)
    unit = r"\,\%" if number.unit == "%" else f"~{escape(number.unit).text}" if number.unit else ""
    return rf"\hypertarget{{ev:{identity}}}{{\textbf{{{identity}}}}}: {value}{unit}"


def precise(value: float) -> str:
    """A number for the appendix as LaTeX text: eight significant digits; the files hold them all."""
    whole = float(value).is_integer() and abs(value) < 1e8
    text = str(int(value)) if whole else f"{value:.8g}"
    mantissa, _, exponent = text.partition("e")
    if exponent:
        return rf"${mantissa} \times 10^{{{int(exponent)}}}$"
    return f"${text}$" if text.startswith("-") else text


def anchors(numbers: Sequence[Number]) -> str:
    """The comment that ends a line on which these numbers stand."""
    unique = dict.fromkeys(number.anchor for number in numbers)
    return "".join(f" % {anchor}" for anchor in unique)


def _wrapped(text: str) -> list[str]:
    lines: list[str] = []
    for line in text.splitlines():
        lines += textwrap.wrap(line, CODE_WIDTH, subsequent_indent="    ", break_on_hyphens=False) or [""]
    return lines


def _places(tex: str, lost: Sequence[Lost]) -> tuple[Unset, ...]:
    """Where in the source the replaced characters stand, by the names that replaced them."""
    found: list[Unset] = []
    for character, name, _ in dict.fromkeys((item.character, item.name, 0) for item in lost):
        for line in _lines_with(tex, f"[{name}]"):
            found.append(Unset(line, character, name))
    return tuple(sorted(found))


def _lines_with(tex: str, text: str) -> Iterator[int]:
    for match in re.finditer(re.escape(text), tex):
        yield tex.count("\n", 0, match.start()) + 1
