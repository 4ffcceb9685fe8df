"""The text of a LaTeX paper as the gate reads it: what is prose, what is markup, and where things stand.

`read_paper` keeps every offset: comments, verbatim text and arguments that hold no prose (labels, references,
citations, file names, lengths, column specifications) are blanked out, nothing is moved. `PaperText.place`
says where a place stands: file, line and column, both from 1.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ari.pipeline.claim_gate.source import PaperSource, Place, line_starts


class Span(NamedTuple):
    """A stretch of the text: from `start` up to, not including, `end`."""

    start: int
    end: int


class Spans:
    """Stretches that do not overlap, asked whether a place lies in one."""

    def __init__(self, spans: Sequence[Span] = ()) -> None:
        self.items = sorted(spans)
        self._starts = [span.start for span in self.items]
        self._ends = [span.end for span in self.items]

    def find(self, position: int) -> Span | None:
        """Return the stretch that a place lies in."""
        index = bisect_right(self._starts, position) - 1
        if index >= 0 and position < self._ends[index]:
            return self.items[index]
        return None

    def __contains__(self, position: int) -> bool:
        index = bisect_right(self._starts, position) - 1
        return index >= 0 and position < self._ends[index]


@dataclass(frozen=True)
class PaperText:
    r"""A paper, read once.

    Attributes:
        source: The text, with the files that it draws in.
        uncommented: The same length, comments and verbatim text blanked out.
        plain: The same length; what is no prose is blanked out.
        body: From behind `\begin{document}` to `\end{document}`; the whole text of a fragment.
        verbatim: Verbatim text, addresses and texts in `\path` without blanks among it.
        comments: The comments, from `%` to the end of the line.
        formulas: Mathematics, inline and displayed.
        displays: Displayed mathematics only.
        tables: Bodies of tables.
        captions: Arguments of `\caption`.
        line_starts: Where the lines of the whole text begin.
        origin: Where the text comes from.
    """

    source: str
    uncommented: str
    plain: str
    body: Span
    verbatim: Spans
    comments: tuple[Span, ...]
    formulas: Spans
    displays: Spans
    tables: Spans
    captions: Spans
    line_starts: Sequence[int]
    origin: PaperSource

    def line(self, position: int) -> int:
        """Line of a place in the whole text, from 1; `place` says where it stands in its file."""
        return bisect_right(self.line_starts, position)

    def place(self, position: int) -> Place:
        """File, line and column of a place."""
        return self.origin.place(position)

    def where(self, position: int) -> dict[str, Any]:
        """The fields of a finding that say where a place stands."""
        return self.place(position)._asdict()

    def line_span(self, line: int) -> Span:
        """The stretch of a line, without its end."""
        start = self.line_starts[line - 1]
        end = self.line_starts[line] - 1 if line < len(self.line_starts) else len(self.source)
        return Span(start, end)


_VERBATIM = re.compile(
    r"\\(?:begin\{(verbatim\*?|Verbatim|lstlisting|minted|alltt|comment|filecontents\*?)\}.*?\\end\{\1\}"
    r"|(?:verb|lstinline)\*?([^\sA-Za-z{*])[^\n]*?\2"
    r"|(?:url|href|path)\s*\{[^{}\s]*\})",  # a percent sign of an address begins no comment
    re.DOTALL,
)
_HIDDEN_ENVIRONMENT = re.compile(
    r"\\begin\{(tikzpicture|pgfpicture|thebibliography|filecontents\*?)\}.*?\\end\{\1\}", re.DOTALL
)
BODY = re.compile(r"\\begin\s*\{document\}")
END = re.compile(r"\\end\s*\{document\}")
_LINE = r"\n(?![ \t]*\n)"
"""A line end within a paragraph; a line that holds a comment only ends none (`_without_comments`)."""
_MATH_TOKEN = re.compile(
    r"\\[\\$]|(?P<opening>\$\$?|\\[(\[]|\\begin\{(?P<env>(?:equation|align|gather|multline|eqnarray)\*?|displaymath)\})"
)
_MATH_REST = {
    "$": re.compile(rf"(?:[^$\\\n]++|\\.|\\(?=\n)|{_LINE})*+\$"),
    "$$": re.compile(rf"(?:[^$\\\n]++|\$(?!\$)|\\.|\\(?=\n)|{_LINE})*+\$\$"),
    r"\(": re.compile(rf"(?:[^\\\n]++|\\[^)\n]|\\(?=\n)|{_LINE})*+\\\)"),
    r"\[": re.compile(rf"(?:[^\\\n]++|\\[^\]\n]|\\(?=\n)|{_LINE})*+\\\]"),
}
"""What follows the opening of a formula, up to its end: TeX ends mathematics at a paragraph."""
_TABLE = re.compile(
    r"\\begin\{(tabular[xy*]?|longtable|tabulary|supertabular|tblr)\}.*?\\end\{\1\}", re.DOTALL
)
_COMMAND = re.compile(r"\\(begin|end|[A-Za-z]+)(\*?)")
# Which leading arguments of a command hold no prose: `o` an optional one, `m` one in braces.
_HIDDEN_ARGUMENTS = {
    "m": "linespread end",
    "o": "hyperref footnotemark footnotetext addlinespace linebreak pagebreak",
    "mm": "multicolumn",
    "mmm": "specialrule",
    "om": "label ref eqref autoref cref Cref pageref nameref vref input include bibliography"
    " bibliographystyle url path usepackage documentclass vspace hspace setcounter addtocounter pagestyle"
    " thispagestyle codedigest doi hypersetup sisetup graphicspath bibitem nocite pagenumbering hypertarget"
    " hyperlink href color definecolor addbibresource tag enlargethispage vphantom hphantom"
    " phantom pdfbookmark lstset cline lstinputlisting verbatiminput textcolor colorbox scalebox raisebox"
    " arabic value includegraphics cmidrule",
    "omm": "setlength addtolength resizebox rule fontsize multirow",
    "oom": "cite citep citet citealp citealt citeauthor citeyear citeyearpar parencite textcite"
    " autocite footcite Citet Citep parbox",
    "moom": "newcommand renewcommand providecommand",
}
_ARGUMENTS = {name: pattern for pattern, names in _HIDDEN_ARGUMENTS.items() for name in names.split()}
_ENVIRONMENT_ARGUMENTS = {
    "tabular": "om", "tabular*": "mom", "tabularx": "mom", "tabulary": "mom", "array": "om",
    "longtable": "om", "minipage": "ooom", "multicols": "m", "adjustbox": "m", "subfigure": "om",
    "wrapfigure": "omom", "thebibliography": "m",
}  # fmt: skip


def _closing(text: str, start: int, pair: str) -> int | None:
    """Find the end of a bracketed argument; None when it does not close within its paragraph."""
    opening, closing = pair[0], pair[1]
    depth = 0
    for match in re.compile(r"\\.|\n[ \t]*\n|[" + re.escape(pair) + "]", re.DOTALL).finditer(text, start):
        token = match.group()
        if token[0] == "\n":
            return None
        if token == opening:
            depth += 1
        elif token == closing:
            depth -= 1
            if depth == 0:
                return match.end()
    return None


def argument(text: str, position: int) -> Span | None:
    """Find the argument in braces that begins at or, after blanks, behind a place; without its braces."""
    match = re.compile(r"\s*\{").match(text, position)
    end = _closing(text, match.end() - 1, "{}") if match is not None else None
    return Span(match.end(), end - 1) if match is not None and end is not None else None


def _argument_spans(text: str, position: int, pattern: str) -> Iterator[Span]:
    for kind in pattern:
        opening = re.compile(r"\s*(\[|\()" if kind == "o" else r"\s*\{").match(text, position)
        if opening is None:
            if kind == "o":
                continue
            return
        start = opening.end() - 1
        pair = {"[": "[]", "(": "()", "{": "{}"}[text[start]]
        end = _closing(text, start, pair)
        if end is None:  # hide nothing that the reader may see
            return
        yield Span(start, end)
        position = end


def _markup(text: str) -> Iterator[Span]:
    for match in _COMMAND.finditer(text):
        name = match.group(1)
        if name == "begin":
            environment = argument(text, match.end())
            if environment is None:
                continue
            pattern = _ENVIRONMENT_ARGUMENTS.get(text[environment.start : environment.end].strip(), "o")
            yield Span(environment.start - 1, environment.end + 1)
            yield from _argument_spans(text, environment.end + 1, pattern)
        elif name in _ARGUMENTS:
            yield from _argument_spans(text, match.end(), _ARGUMENTS[name])
    for match in re.finditer(r"\\\\\*?\s*(\[[^\]\n]*\])", text):
        yield Span(match.start(1), match.end(1))
    for match in re.finditer(r"[-\d.]+\s*\\(?:text|line|column)(?:width|height)\b", text):
        yield Span(match.start(), match.end())


def _blank(text: str, spans: Sequence[Span]) -> str:
    """Replace stretches by blanks; line ends stay."""
    parts: list[str] = []
    position = 0
    for start, end in sorted(spans):
        if end <= position:
            continue
        start = max(start, position)  # noqa: PLW2901 - stretches may overlap
        hidden = text[start:end]
        parts.append(text[position:start])
        parts.append(re.sub(r"[^\n]", " ", hidden) if "\n" in hidden else " " * len(hidden))
        position = end
    parts.append(text[position:])
    return "".join(parts)


class Uncommented(NamedTuple):
    """A text without its comments and verbatim text, of the same length, and where these were."""

    text: str
    comments: tuple[Span, ...]
    verbatim: Sequence[Span]


def uncomment(source: str) -> Uncommented:
    """Blank out the comments and the verbatim text of LaTeX."""
    verbatim = [
        Span(match.start(), match.end()) for match in _VERBATIM.finditer(source) if _live(source, match)
    ]
    shown = _blank(source, verbatim) if verbatim else source
    comments = tuple(_comments(shown))
    return Uncommented(_without_comments(shown, comments), comments, verbatim)


def read_paper(source: str | PaperSource) -> PaperText:
    """Read a paper.

    Args:
        source: Its text; broken LaTeX is read as far as it goes.

    Returns:
        The paper.
    """
    origin = source if isinstance(source, PaperSource) else PaperSource.of_text(source)
    source = origin.text
    text, comments, verbatim = uncomment(source)
    begin = BODY.search(text)
    start = begin.end() if begin else 0
    end = END.search(text, start)
    body = Span(start, end.start() if end else len(text))
    hidden = [Span(match.start(), match.end()) for match in _HIDDEN_ENVIRONMENT.finditer(text)]
    hidden += _markup(text)
    plain = _blank(text, hidden)
    formulas, displays = _formulas(text)
    return PaperText(
        source=source,
        uncommented=text,
        plain=plain,
        body=body,
        verbatim=Spans(verbatim),
        comments=tuple(comment for comment in comments if body.start <= comment.start < body.end),
        formulas=formulas,
        displays=displays,
        tables=Spans([Span(match.start(), match.end()) for match in _TABLE.finditer(text)]),
        captions=Spans(_captions(text)),
        line_starts=line_starts(source),
        origin=origin,
    )


_COMMENT_LINE = "\f"


def _without_comments(text: str, comments: Sequence[Span]) -> str:
    """Blank out the comments; a line of nothing else is marked, so that it does not end a paragraph."""
    blanked = _blank(text, comments)
    alone = [start for start, _ in comments if not text[text.rfind("\n", 0, start) + 1 : start].strip()]
    parts, position = [], 0
    for start in alone:
        parts += [blanked[position:start], _COMMENT_LINE]
        position = start + 1
    return "".join([*parts, blanked[position:]])


def _live(source: str, match: re.Match[str]) -> bool:
    """Whether verbatim text begins outside a comment."""
    line = source[source.rfind("\n", 0, match.start()) + 1 : match.start()]
    return next(_comments(line), None) is None


def _comments(text: str) -> Iterator[Span]:
    """Find the comments: from a percent sign that is not escaped to the end of its line."""
    place = text.find("%")
    while place >= 0:
        before = place
        while before and text[before - 1] == "\\":
            before -= 1
        end = place + 1
        if (place - before) % 2 == 0:
            end = text.find("\n", place)
            end = len(text) if end < 0 else end
            yield Span(place, end)
        place = text.find("%", end)


def _formulas(text: str) -> tuple[Spans, Spans]:
    every: list[Span] = []
    displays: list[Span] = []
    token = _MATH_TOKEN.search(text)
    while token is not None:
        position = token.end()
        opening, environment = token.group("opening", "env")
        if opening is not None:  # else a line break or a dollar sign of the text
            rest = (
                re.compile(
                    rf"(?:[^\\\n]++|(?!\\end\{{{re.escape(environment)}\}})\\|{_LINE})*+\\end\{{[a-z*]+\}}"
                )
                if environment
                else _MATH_REST[opening]
            ).match(text, position)
            if rest is not None:  # else it is a stray sign, and hides nothing
                position = rest.end()
                every.append(Span(token.start(), position))
                if opening not in ("$", r"\("):
                    displays.append(every[-1])
        token = _MATH_TOKEN.search(text, position)
    return Spans(every), Spans(displays)


def _captions(text: str) -> list[Span]:
    found: list[Span] = []
    for match in re.finditer(r"\\caption\*?(?:\[[^\]]*\])?(?=\s*\{)", text):
        inside = argument(text, match.end())
        if inside is not None and (not found or inside.start >= found[-1].end):
            found.append(inside)
    return found
