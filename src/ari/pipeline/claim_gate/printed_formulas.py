r"""Formulas that stand in the text as they are, `\path{0.55*x}` or `\texttt{0.55*x}`: each must be recorded.

Where a row of a table names a node, one of its formulas must be that of the node. Elsewhere a formula must be
that of a node (of one that is named, where the sentence names any), or a part of one, as an ablation takes it
out. Numbers may be rounded to three digits or more and operands may be reordered; the recorded formula,
rounded as the printed one is, must simplify to the same. What is no formula of the study's variables (a file
name, a command, a message) is not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from ari.formats.gate_report import Evidence, GateFinding
from ari.latex.escape import typewritten
from ari.pipeline.claim_gate.findings import finding
from ari.pipeline.claim_gate.formula_checks import submitted
from ari.pipeline.claim_gate.links import ClaimLinks
from ari.pipeline.claim_gate.study import StudyFiles
from ari.pipeline.claim_gate.tex import PaperText, Span

if TYPE_CHECKING:
    from sr_harness.engine import Expression

_PATH = re.compile(r"\\path\s*\{([^{}]*)\}")
_TYPED = re.compile(r"\\texttt\s*\{((?:[^{}]|\{\})*)\}")
_ESCAPES = {r"\allowbreak{}": "", r"\textasciicircum{}": "^", r"\_": "_", r"\%": "%"}
_ROW_END = re.compile(r"\\\\|\\(?:top|mid|bottom)rule\b|\\hline\b")
_SENTENCE_END = re.compile(r"[.!?][)\]}'\"]*\s|\n[ \t]*\n|\\item\b|\\(?:sub)*section\b|\\begin\b|\\end\b")
_OPERATOR = re.compile(r"[-+*/(]|\\textasciicircum")
_TARGET = re.compile(r"^\s*[^\W\d]\w*\s*=(?!=)\s*")
_LITERAL = re.compile(r"(?<![\w.])(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_NAME = re.compile(r"[\w.:-]*\w")
LEAST_DIGITS = 3
"""Digits that a number of a printed formula may be rounded to at least."""

_MOST_DIGITS = 17


class _Shown(NamedTuple):
    r"""A text in `\path` or `\texttt` that may be a formula.

    Attributes:
        text: The text as it stands in the file, without the left side of an equation.
        start: Where the command begins.
        nodes: Nodes that its row or sentence names.
        row: Where its row begins, in a table, where that names one node; None for what is typed.
        typed: Whether it stands in `\texttt`, as names and values do.
    """

    text: str
    start: int
    nodes: tuple[str, ...]
    row: int | None
    typed: bool


def check_texts(links: ClaimLinks, study: StudyFiles, science_data: Mapping[str, Any]) -> list[GateFinding]:
    r"""Compare every formula in a `\path` or `\texttt` with what the nodes recorded.

    Args:
        links: The links of the paper.
        study: The study's files.
        science_data: The parsed `science_data.json`; it names the inputs, and the formulas where a bundle
            holds no reports of the nodes.

    Returns:
        One `numeric_mismatch` per formula that is another.
    """
    if not any(command in links.paper.source for command in ("\\path", "\\texttt")):
        return []
    recorded = recorded_formulas(study, science_data)
    if not recorded:
        return []
    library = _Library(recorded, _inputs(science_data), study)
    shown = list(_shown(links.paper, recorded))
    return [_wrong(links, *fault) for fault in library.wrong(shown)]


def _wrong(links: ClaimLinks, shown: _Shown, node_id: str, formula: str) -> GateFinding:
    return finding(
        "numeric_mismatch",
        f"the printed formula {shown.text!r} differs from the recorded one: {node_id} has {formula!r}",
        **links.paper.where(shown.start),
        printed=shown.text,
        evidence=Evidence(node_id=node_id, metric_path="submission.formula", formula=formula),
        fix="Write the paper again; formulas are generated, not edited.",
    )


def recorded_formulas(study: StudyFiles, science_data: Mapping[str, Any]) -> dict[str, str]:
    """Read every node's formula: what the reports hold, else the configurations.

    Args:
        study: The study's files.
        science_data: The parsed `science_data.json`.

    Returns:
        Node to formula, where there is one.
    """
    found: dict[str, str] = {}
    configurations = science_data.get("configurations")
    for configuration in configurations if isinstance(configurations, list) else []:
        parameters = configuration.get("parameters") if isinstance(configuration, Mapping) else None
        text = parameters.get("formula") if isinstance(parameters, Mapping) else None
        if isinstance(text, str) and isinstance(configuration.get("node_id"), str):
            found[configuration["node_id"]] = text
    found |= {node: text for node in study.nodes if (text := submitted(study, node)) is not None}
    return {node: text for node, text in found.items() if text}


def _inputs(science_data: Mapping[str, Any]) -> tuple[str, ...]:
    context = science_data.get("experiment_context")
    listed = context.get("inputs") if isinstance(context, Mapping) else None
    return tuple(name for name in listed if isinstance(name, str)) if isinstance(listed, list) else ()


def _shown(paper: PaperText, recorded: Mapping[str, str]) -> Iterator[_Shown]:
    for match in _candidates(paper):
        start = match.start()
        typed = match.re is _TYPED
        hidden = paper.verbatim.find(start)
        if hidden != Span(*match.span()) and paper.uncommented[start : match.end()] != match.group():
            continue  # in a comment or in verbatim text
        table = paper.tables.find(start)
        unit = _around(paper, start, table or paper.body, _ROW_END if table is not None else _SENTENCE_END)
        text = _unescaped(paper.source[unit.start : unit.end])
        named = tuple(dict.fromkeys(name for name in _NAME.findall(text) if name in recorded))
        row = unit.start if not typed and table is not None and len(named) == 1 else None
        shown = _unescaped(match.group(1)) if typed else match.group(1)
        yield _Shown(_TARGET.sub("", shown).strip(), start, named, row, typed)


def _candidates(paper: PaperText) -> Iterator[re.Match[str]]:
    yield from _PATH.finditer(paper.source, paper.body.start, paper.body.end)
    for match in _TYPED.finditer(paper.source, paper.body.start, paper.body.end):
        if _OPERATOR.search(match.group(1)):
            yield match


def _unescaped(text: str) -> str:
    for escape, meaning in _ESCAPES.items():
        text = text.replace(escape, meaning)
    return text


def _around(paper: PaperText, place: int, within: Span, end: re.Pattern[str]) -> Span:
    """The row of a table or the sentence that a place lies in."""
    text = paper.plain
    before = max(
        (m.end() for m in end.finditer(text, _reach(text, within.start, place), place)), default=None
    )
    after = end.search(text, place, within.end)
    return Span(
        before if before is not None else _reach(text, within.start, place),
        after.start() if after is not None else within.end,
    )


def _reach(text: str, start: int, place: int) -> int:
    """Where to begin looking back for the end of what comes before: no further than is needed."""
    return max(start, text.rfind("\n\n", 0, place), place - 4000)


class _Library:
    """The recorded formulas in typewriter letters, as a paper prints them; each is read when asked for."""

    def __init__(self, recorded: Mapping[str, str], inputs: Iterable[str], study: StudyFiles) -> None:
        self._study = study
        self._submitted = recorded
        self._recorded = {node: typewritten(text).text for node, text in recorded.items()}
        self._inputs = tuple(typewritten(name).text for name in inputs)
        self._read: dict[str, Expression | None] = {}
        self._rounded: dict[tuple[str, int], Expression | None] = {}

    def wrong(self, shown: Iterable[_Shown]) -> Iterator[tuple[_Shown, str, str]]:
        """Find the texts that are another formula than they should be, each with the node and what it has."""
        rows: dict[int, list[_Shown]] = {}
        for text in shown:
            if text.row is not None:
                rows.setdefault(text.row, []).append(text)
            elif (node := self._right(text)) is not None:
                yield text, node, self._submitted[node]
        for texts in rows.values():
            yield from self._wrong_in_row(texts)

    def _wrong_in_row(self, texts: Sequence[_Shown]) -> Iterator[tuple[_Shown, str, str]]:
        (node,) = texts[0].nodes
        formula = self._recorded[node]
        read = [text for text in texts if self._is_formula(text)]
        if self._parse(formula) is None or not read:
            return
        other = [text for text in read if not self._same(text.text, formula)]
        if len(other) == len(read):
            yield min(read, key=lambda text: _distance(text.text, formula)), node, self._submitted[node]
            return
        part = self._part(node) if other else None
        for text in other:
            if part is not None and not self._same(text.text, part):
                yield text, node, part
            elif part is None and (right := self._right(text._replace(row=None))) is not None:
                yield text, right, self._submitted[right]

    def _part(self, node: str) -> str | None:
        """What an ablation took out of its parent's formula; None for any other node."""
        from sr_harness.tools.parts import parts_of

        report = self._study.report(node)
        plan = report.get("plan")
        identity = plan.get("part") if isinstance(plan, Mapping) else None
        parent = self._parse(self._recorded.get(str(report.get("parent_id")), ""))
        if not isinstance(identity, str) or parent is None:
            return None
        return next((part.text for part in parts_of(parent) if part.id == identity), None)

    def _right(self, shown: _Shown) -> str | None:
        """The node whose formula a text should be; None where it is one, a part of one, or no formula."""
        from sr_harness.engine import variables

        printed = self._parse(shown.text)
        if printed is None or not self._is_formula(shown):
            return None
        pool = self._named(shown) or list(self._recorded)
        if any(self._same(shown.text, self._recorded[node]) for node in pool):
            return None
        texts = dict.fromkeys(self._recorded.values())
        if variables(printed) and any(self._holds(text, shown.text) for text in texts):
            return None
        return min(pool, key=lambda node: _distance(shown.text, self._recorded[node]))

    def _named(self, shown: _Shown) -> list[str]:
        return [node for node in shown.nodes if self._parse(self._recorded[node]) is not None]

    def _is_formula(self, shown: _Shown) -> bool:
        """Whether a text can be read as a formula and is meant as one."""
        from sr_harness.engine import variables

        printed = self._parse(shown.text)
        if printed is None:
            return False
        names = set(variables(printed))
        if shown.row is not None:
            return not names or bool(names & self._names)
        if not names and shown.typed:
            return False
        if not names:  # a number, such as that of a seed, unless a node was left with nothing but a number
            return any(self._is_number(node) for node in self._named(shown))
        return printed.op != "var" and names <= self._names

    @cached_property
    def _names(self) -> set[str]:
        from sr_harness.engine import variables

        expressions = (self._parse(text) for text in dict.fromkeys(self._recorded.values()))
        return {*self._inputs, *(name for e in expressions if e is not None for name in variables(e))}

    def _is_number(self, node: str) -> bool:
        from sr_harness.engine import variables

        expression = self._parse(self._recorded[node])
        return expression is not None and not variables(expression)

    def _parse(self, text: str) -> Expression | None:
        from sr_harness.engine import parse
        from sr_harness.errors import ExpressionError

        if text not in self._read:
            try:
                self._read[text] = parse(text.replace("^", "**"))
            except ExpressionError:
                self._read[text] = None
        return self._read[text]

    def _same(self, text: str, recorded: str) -> bool:
        from sr_harness.engine import simplify

        printed, exact = self._parse(text), self._parse(recorded)
        rounded = self._round(recorded, shown_digits(text))
        if printed is None or exact is None or rounded is None:
            return False
        if printed in (exact, rounded):
            return True
        return any(
            sorted(_leaves(printed)) == sorted(_leaves(right)) and simplify(printed) == simplify(right)
            for right in (exact, rounded)
        )

    def _round(self, text: str, digits: int) -> Expression | None:
        from sr_harness.engine import render

        key = (text, digits)
        if key not in self._rounded:
            exact = self._parse(text)
            self._rounded[key] = self._parse(render(exact, digits=digits)) if exact is not None else None
        return self._rounded[key]

    def _holds(self, recorded: str, text: str) -> bool:
        """Whether a text is a part of a formula: a term or factor, or anything below one."""
        from sr_harness.tools.parts import parts_of

        part = self._parse(text)
        if part is None:
            return False
        bare = part.args[0] if part.op == "neg" else part
        for whole in (self._parse(recorded), self._round(recorded, shown_digits(text))):
            if whole is None:
                continue
            if bare != whole and bare in _below(whole):
                return True
            if part in (self._parse(one.text) for one in parts_of(whole)):
                return True
        return False


def _below(expression: Expression) -> Iterator[Expression]:
    pending = [expression]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(node.args)


def _leaves(expression: Expression) -> Iterator[str]:
    """Names and numbers of a formula without their signs: what no reordering changes."""
    return (str(node.name or abs(node.value or 0.0)) for node in _below(expression) if not node.args)


def shown_digits(text: str) -> int:
    """The digits that the numbers of a formula are rounded to: the most that one of them shows."""
    shown = (re.split("[eE]", literal)[0].replace(".", "").lstrip("0") for literal in _LITERAL.findall(text))
    return min(max(LEAST_DIGITS, *map(len, shown), 0), _MOST_DIGITS)


def _distance(text: str, formula: str) -> float:
    from difflib import SequenceMatcher

    return -SequenceMatcher(None, text, formula, autojunk=False).ratio()
