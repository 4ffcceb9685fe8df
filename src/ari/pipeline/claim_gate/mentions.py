"""Every number of a paper with its kind: result, setting, year, reference, or ambiguous.

A number claims a result when it carries `%` or a unit of rate, ratio or size, or is written as a × 10^n;
a bare number is ambiguous. Years, references to parts of the paper and settings of the experiment claim
nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ari.formats.paper_claim_links import MentionType, NumericMention
from ari.pipeline.claim_gate.numbers import Number, find_numbers
from ari.pipeline.claim_gate.sections import Sections
from ari.pipeline.claim_gate.source import Place
from ari.pipeline.claim_gate.tex import PaperText, Span
from ari.pipeline.claim_gate.units import Unit


@dataclass(frozen=True, slots=True)
class Mention:
    """A number of the paper.

    Attributes:
        number: What was read.
        type: Its kind.
        section: Canonical name of its section.
        line: Line of the whole text, from 1.
        place: Where it stands: file, line and column.
        text: The number as it stands, its unit included.
        in_table: Whether it stands in the body of a table.
        in_caption: Whether it stands in a caption.
        label_cell: Whether it stands in the first cell of a row.
    """

    number: Number
    type: MentionType
    section: str
    line: int
    place: Place
    text: str
    in_table: bool = False
    in_caption: bool = False
    label_cell: bool = False

    @property
    def start(self) -> int:
        """Offset of the number."""
        return self.number.span.start

    @property
    def requires_assertion(self) -> bool:
        """Whether the number has to be backed."""
        return self.type == "result_claim"

    @property
    def unit(self) -> Unit | None:
        """The unit that goes with the number, its own or that of its range."""
        return self.number.unit or self.number.inherited

    def record(self, **more: str) -> NumericMention:
        """The record of `paper_claim_links.json`, with further fields."""
        percent = self.number.unit is not None and self.number.unit.kind == "percent"
        return NumericMention(
            value=self.number.value,
            unit="%" if percent else "",
            type=self.type,
            requires_assertion=self.requires_assertion,
            section=self.section,
            line=self.place.line,
            column=self.place.column,
            text=self.text,
            **more,
        )


_REFERENCE_WORDS = frozenset(
    {
        *(
            "table",
            "tables",
            "tab",
            "tabs",
            "figure",
            "figures",
            "fig",
            "figs",
            "section",
            "sections",
            "sec",
            "secs",
        ),
        *("subsection", "subsections", "equation", "equations", "eq", "eqs", "eqn", "eqns", "appendix"),
        *(
            "appendices",
            "chapter",
            "chapters",
            "algorithm",
            "algorithms",
            "alg",
            "theorem",
            "theorems",
            "lemma",
        ),
        *(
            "lemmas",
            "proposition",
            "propositions",
            "definition",
            "definitions",
            "corollary",
            "listing",
            "listings",
        ),
        *(
            "line",
            "lines",
            "page",
            "pages",
            "pp",
            "p",
            "part",
            "parts",
            "item",
            "items",
            "footnote",
            "footnotes",
        ),
        *(
            "reference",
            "references",
            "ref",
            "refs",
            "panel",
            "panels",
            "step",
            "steps",
            "stage",
            "stages",
            "no",
        ),
        *("number", "vol", "volume", "issue", "question", "rq", "s"),
    }
)
_LISTED = re.compile(r"[a-z]?[\s~)\],]*(?:,|and|or|to|--|–|-|\\&)[\s~]*[(\[]*$")
_BRACKETED = re.compile(r"\[(?:\s*\d+\s*[,;–-]+)*\s*$")
_SETTING_NOUN = re.compile(
    r"[\s~-]*(?:\\[,;:! ])?\$?[\s~]*"
    r"(?:(?:independent|different|random|worker|hardware|physical|logical"
    r"|OpenMP|CPU|GPU|training|validation|test"
    r"|sealed|hidden|repeated|further|warm-up|timed|distinct|parallel|input"
    r"|simulated|separate|compute|virtual)"
    r"[\s~-]+){0,2}"
    r"(?:threads?|cores?|runs?|repeats?|repetitions?|trials?|seeds?|epochs?|iterations?|steps?|layers?|batch"
    r"|batches|ranks?|processes|processors?|workers?|sockets?|CPUs?|GPUs?|machines?|rows?|columns?|samples?"
    r"|points?|observations?|folds?|splits?|neurons?|units?|heads?|dimensions?|features?|variables?|inputs?"
    r"|parameters?|generations?|restarts?|evaluations?|levels?|bits?|-bit"
    r"|warm-ups?|retries|tokens|degrees)\b",
    re.IGNORECASE,
)
_SETTING_AFTER = {
    "percent": re.compile(
        r"[\s~]*(?:of[\s~]+(?:(?:the|all)[\s~]+)?(?:rows|data|samples|points|observations|training)\b"
        r"|confidence\b|CI\b|(?:prediction|credible)[\s~]+interval|quantile|percentile|split\b"
        r"|training\b|validation\b|hold-?out|significance\b|dropout\b)",
        re.IGNORECASE,
    ),
    "size": re.compile(
        r"[\s~]*(?:(?:of[\s~]+)?(?:RAM|DRAM|VRAM|main[\s~]+memory|memory|cache|storage|disk|L[123]\b)"
        r"|last-level\b|limit\b|budget\b)",
        re.IGNORECASE,
    ),
}
_SETTING_WORDS = frozenset(
    {
        *(
            "seed",
            "seeds",
            "size",
            "rate",
            "tolerance",
            "threshold",
            "budget",
            "limit",
            "limited",
            "timeout",
            "out",
        ),
        *(
            "temperature",
            "level",
            "split",
            "withheld",
            "aside",
            "sampled",
            "version",
            "versions",
            "python",
            "gcc",
        ),
        *("clang", "cuda", "numpy", "release", "stride", "alpha", "beta", "gamma", "delta", "epsilon", "eta"),
        "lambda",
    }
)
_SETTING_BEFORE = re.compile(
    r"(?:\b(?:seeds?|(?:batch|tile|block|step|kernel) size|learning rate|tolerance|threshold|budget|limit"
    r"|limited to|time-?out|temperature|confidence level|split|hold out|held out|set aside|withheld"
    r"|sampled at"
    r"|versions?|Python|gcc|clang|CUDA|NumPy|release|stride)"
    r"[\s~]*(?:of|is|was|to|=|:|at|:=|set to)?[\s~$]*(?:at least|at most|about|up to)?[\s~$]*"
    r"|\\(?:alpha|beta|gamma|delta|epsilon|eta|lambda)\s*=\s*)$",
    re.IGNORECASE,
)
_WORDS_BEFORE = re.compile(r"[A-Za-z]+")
_YEAR_BEFORE = re.compile(
    r"(?:\b(?:in|since|from|by|of|until|till|before|after|during|year|circa"
    r"|early|late|mid|between|and|to|al\.,?"
    r"|[A-Z][a-z]+,?)|[(,;'’–-]|et~al\.)[\s~(]*$"
)
_FACTOR = re.compile(
    r"(?:[\s~]|\\[,;:! ])*(?:\\cdot\b|\\left|\*)?\s*"
    r"(?:[A-Za-z(]|\\(?!(?:times|pm|to|mathrm|text|le|leq|ge|geq|ll|gg|approx|sim|quad|right|in)\b)[A-Za-z]+)"
)
_WORD_AFTER = re.compile(r"[\s~]*([A-Za-z]+)")
_WINDOW = 60


def read_mentions(paper: PaperText, sections: Sections) -> list[Mention]:
    """Read and classify every number of a paper.

    Args:
        paper: The paper.
        sections: Its sections.

    Returns:
        The numbers in order of place.
    """
    mentions: list[Mention] = []
    for number in find_numbers(paper):
        section = sections.at(number.span.start)
        if section == "references":
            continue
        start = number.span.start
        in_table = start in paper.tables
        mentions.append(
            Mention(
                number=number,
                type=_classify(paper, number, mentions[-1] if mentions else None),
                section=section,
                line=paper.line(start),
                place=paper.place(start),
                text=_shown(paper.source, Span(start, number.end)),
                in_table=in_table,
                in_caption=start in paper.captions,
                label_cell=in_table and _is_first_cell(paper, start),
            )
        )
    return mentions


def _shown(source: str, span: Span) -> str:
    text = source[span.start : span.end].rstrip("$ ~")
    if text.isascii() and not text.isalnum():
        text = " ".join(text.split()).replace("}{", " ")
    while text.count("}") > text.count("{"):
        text = text[::-1].replace("}", "", 1)[::-1]
    return text


def _is_first_cell(paper: PaperText, start: int) -> bool:
    table = paper.tables.find(start)
    head = paper.plain[table.start if table else 0 : start]
    row = re.split(r"\\\\|\\(?:hline|toprule|midrule|bottomrule)\b", head)[-1]
    return "&" not in row


def _classify(paper: PaperText, number: Number, previous: Mention | None) -> MentionType:
    before = paper.plain[max(paper.body.start, number.span.start - _WINDOW) : number.span.start]
    after = paper.plain[number.end : number.end + _WINDOW]
    if number.word:
        return "result_claim" if number.unit is not None else "ambiguous"
    if number.unit is None and _is_reference(paper.plain, before, number, previous):
        return "figure_table_ref"
    if _is_setting(before, after, number):
        return "experimental_setting"
    if _is_coefficient(paper, number, after):
        return "ambiguous"
    if (number.unit is not None and number.unit.marks_result) or number.power:
        return "result_claim"
    if number.inherited is not None and number.inherited.marks_result and _is_plus_minus(after):
        return "result_claim"
    return "citation_year" if _is_year(before, after, number) else "ambiguous"


def _is_reference(text: str, before: str, number: Number, previous: Mention | None) -> bool:
    """Whether a number names a part of the paper, a source in brackets, or goes on with a list of such."""
    head = before.rstrip(" \t\n~([")
    if head.endswith(("§", "\\#")):
        return True
    word = _last_word(head.removesuffix("."))
    if word.lower() in _REFERENCE_WORDS and (word.lower() != "s" or head.endswith("\\S")):
        return True
    if previous is not None and previous.type == "figure_table_ref":
        between = text[previous.number.span.end : number.span.start]
        if len(between) < 12 and _LISTED.fullmatch(between):
            return True
    return "[" in before and _BRACKETED.search(before) is not None


def _last_word(text: str) -> str:
    start = len(text)
    while start and text[start - 1].isalpha():
        start -= 1
    return text[start:]


def _is_setting(before: str, after: str, number: Number) -> bool:
    if number.unit is None or number.unit.kind not in ("rate", "ratio"):
        words = {word.lower() for word in _WORDS_BEFORE.findall(before[-36:])[-4:]}
        if words & _SETTING_WORDS and _SETTING_BEFORE.search(before):
            return True
    if number.unit is None:
        return number.value == int(number.value) and _SETTING_NOUN.match(after) is not None
    if number.unit.dimensions == (("Hz", 1),):
        return True
    pattern = _SETTING_AFTER.get(number.unit.kind)
    return pattern is not None and pattern.match(after) is not None


def _is_coefficient(paper: PaperText, number: Number, after: str) -> bool:
    """Whether a number multiplies a symbol of a formula: its truth is that of the formula."""
    if number.span.start not in paper.formulas:
        return False
    return _FACTOR.match(after) is not None


def _is_plus_minus(after: str) -> bool:
    return re.match(r"[\s~$}]*(?:\\pm|±)", after) is not None


def _is_year(before: str, after: str, number: Number) -> bool:
    value = number.value
    if number.unit is not None or number.quantum != 1.0 or not 1900 <= value <= 2099:
        return False
    if number.span.end - number.span.start != 4:
        return False
    if not _YEAR_BEFORE.search(before):
        return False
    word = _WORD_AFTER.match(after)
    return (
        word is None or not word.group(1).endswith("s") or word.group(1) in ("was", "is", "uses", "has", "as")
    )
