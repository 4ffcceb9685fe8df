r"""Finding the numbers of a text: their value, sign, power of ten, last printed digit and unit.

Read are `312.4`, `1,234`, `1{,}234`, `1\,234`, `4.44e-16`, `$4.44\times10^{-16}$`, `10^{-6}`, `-3.2` with any
kind of minus, numbers in `\SI`, `\num`, `\qty`, and the number words of `number_words`. Not read are digits
that belong to a name (`x1`, `GPT-4`, `3D`), to an index or an exponent of a symbol, to a version, a date, an
identifier of a document, or to markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ari.pipeline.claim_gate.number_words import find_number_words
from ari.pipeline.claim_gate.tex import PaperText, Span, Spans, argument, read_paper
from ari.pipeline.claim_gate.units import SEPARATOR, Unit, parse_unit, unit_after


class Number(NamedTuple):
    """A number of the text.

    Attributes:
        span: Where it stands, its sign and power of ten included, its unit not.
        value: Its value.
        quantum: Value of one unit in the last printed place.
        unit: The unit behind it.
        inherited: The unit that the second number of a range or after plus-minus carries for both.
        power: Whether it is written as a × 10^n.
        word: Whether it is a number word.
        end: Where its unit ends.
    """

    span: Span
    value: float
    quantum: float
    unit: Unit | None
    inherited: Unit | None
    power: bool
    word: bool
    end: int


_NUMBER = re.compile(
    r"(?:(?P<int>[0-9]{1,3}(?:(?:,|\{,\}|\\,|\\;|['\u2009\u202f\u00a0])[0-9]{3})+(?![0-9])|[0-9]+)"
    r"(?P<frac>\.[0-9]+)?|(?P<dot>\.[0-9]+))(?P<exp>[eEdD][-+−–]?\d+(?![\w.]\d))?"
)
_POWER = (
    SEPARATOR + r"(?:\^\s*(?:\{\s*([-+−–]?\s*\d+)\s*\}|([-+−–]?\d+))"
    r"|\\textsuperscript\{\s*\$?([-+−–]?\d+)\$?\s*\}|([⁻⁺]?[⁰¹²³⁴-⁹]+))"
)
_TIMES_TEN = re.compile(f"{SEPARATOR}(?:\\\\times|\\\\cdot|×|·|⋅|x|\\*){SEPARATOR}10{_POWER}")
_TEN_POWER = re.compile(_POWER)
_DIGIT = re.compile("[0-9]")
_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?)"
)
_MONTH_BEFORE = re.compile(rf"\b{_MONTH}\.?[\s~]+$")
_MONTH_AFTER = re.compile(rf"(?:st|nd|rd|th|\.)?[\s~]+{_MONTH}\b")
_EDGES = " \t\n~{}$&()[]"
_JOINING = frozenset(":/-.abcdef")
_TOKEN_AFTER = re.compile(r"[^\s{}~$&()\[\]]*")
_IDENTIFIER = re.compile(
    r"https?://|^www\.|^10\.\d{4,9}/|^doi:|^arxiv:|^isbn|^\d{4}-\d{2}-\d{2}|^\d{1,2}[/.]\d{1,2}[/.]\d{4}"
    r"|^\d{1,2}:\d{2}|^v?\d+\.\d+\.\d+|^v\d|^(?=[0-9]*[a-f])[0-9a-f]{12,64}\W*$",
    re.IGNORECASE,
)
_GROUPING = re.compile(r"\{,\}|\\[,;]|[,'\u2009\u202f\u00a0]")
_COMMAND_BEFORE = re.compile(r"\\[A-Za-z]+$")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_SIGN = re.compile(r"(?P<sign>[-+−]|\$[-+−]\$|\\textminus(?:\{\})?\s*)\s?\$?$")
_MINUS = re.compile("[-+−]|nus")
_INDEX = re.compile(r"[\^_]\s*\{[^{}]*\}")
_SI = re.compile(
    r"\\(?P<name>SIrange|SIlist|SI|qtyrange|qtylist|qty|numrange|numlist|num|ang)(?:\[[^\]]*\])?(?=\s*\{)"
)
_MACRO = re.compile(
    r"\\(?:(?:re|provide)?newcommand\*?\s*\{?\s*|def\s*)(\\[A-Za-z]+)\s*\}?(?=\s*\{[^{}]{0,40}\d)"
)
_VALUES = {"SIrange": 2, "qtyrange": 2, "numrange": 2}
_WITHOUT_UNIT = frozenset({"num", "numrange", "numlist", "ang"})
_JOINED = re.compile(SEPARATOR + r"(?:\\pm|±|--?|–|\bto\b|\band\b|/)" + SEPARATOR + r"[-+−]?\$?")
_PREVIOUS_WINDOW = 16


class _SiArguments(NamedTuple):
    """Arguments of siunitx: the unit that goes with each stretch of numbers, and what is a unit's text."""

    values: Spans
    units: dict[Span, tuple[Unit | None, int]]
    hidden: Spans


def find_numbers(paper: PaperText) -> list[Number]:
    """Find the numbers of the body.

    Args:
        paper: The paper.

    Returns:
        The numbers in order of place.
    """
    found = list(_Scanner(paper).scan())
    found += _macro_uses(paper)
    taken = Spans([number.span for number in found])
    for word in find_number_words(paper.plain, paper.body):
        if word.span.start not in taken:
            unit = word.unit
            found.append(Number(word.span, word.value, word.quantum, unit, unit, False, True, word.span.end))
    found.sort()
    return _inherit(paper.plain, found)


def _macro_uses(paper: PaperText) -> Iterator[Number]:
    """Read the number that a macro without arguments stands for wherever it is used."""
    for match in _MACRO.finditer(paper.uncommented):
        body = argument(paper.uncommented, match.end())
        if body is None:
            continue
        meaning = list(_Scanner(read_paper(paper.uncommented[body.start : body.end].strip())).scan())
        if len(meaning) != 1:
            continue
        use = re.compile(re.escape(match.group(1)) + r"(?![A-Za-z])(?:\{\})?")
        for place in use.finditer(paper.plain, paper.body.start, paper.body.end):
            after = unit_after(paper.plain, place.end(), math=place.start() in paper.formulas)
            unit = meaning[0].unit or (after.unit if after is not None else None)
            end = after.end if after is not None and meaning[0].unit is None else place.end()
            yield meaning[0]._replace(span=Span(*place.span()), unit=unit, inherited=unit, end=end)


class _Scanner:
    def __init__(self, paper: PaperText) -> None:
        self._text = paper.plain
        self._body = paper.body
        self._formulas = paper.formulas
        self._indices = Spans([Span(m.start(), m.end()) for m in _INDEX.finditer(paper.plain)])
        self._si = _si_arguments(paper.plain)

    def scan(self) -> Iterator[Number]:
        text, position, end = self._text, self._body.start, self._body.end
        while True:
            digit = _DIGIT.search(text, position, end)
            if digit is None:
                return
            start = digit.start()
            dotted = start > position and text[start - 1] == "." and not text[start - 2 : start - 1].isalnum()
            match = _NUMBER.match(text, start - 1 if dotted else start, end)
            if match is None:  # never: a digit begins a number
                return
            position = match.end()
            if self._is_no_number(match):
                continue
            name = _identifier_end(text, match)
            if name is not None:
                position = max(position, name)
                continue
            number = self._read(match)
            if number is not None:
                position = max(number.span.end, match.end())
                yield number

    def _is_no_number(self, match: re.Match[str]) -> bool:
        text, start, end = self._text, match.start(), match.end()
        if start in self._indices or start in self._si.hidden:
            return True
        before = text[max(0, start - _PREVIOUS_WINDOW) : start]
        if before[-1:] in ("@", "#") or before.rstrip()[-1:] in ("_", "^"):
            return True
        if before[-1:].isdigit() or (before[-1:] == "." and before[-2:-1].isdigit()):
            return True
        if before[-1:].isalpha():
            return _COMMAND_BEFORE.search(before) is None
        if before[-1:] == "-" and before[-2:-1].isalpha() and start not in self._formulas:
            return _COMMAND_BEFORE.search(before[:-1]) is None  # GPT-4, top-5
        tail = text[end : end + 12]
        if (tail[:1].isalpha() or tail[:1] == "_") and unit_after(
            text, end, math=start in self._formulas
        ) is None:
            return start not in self._formulas and re.match(r"-?fold|-?bit", tail) is None
        return False

    def _read(self, match: re.Match[str]) -> Number | None:
        text = self._text
        whole = match.group("int") or "0"
        if not whole.isdigit():
            whole = _GROUPING.sub("", whole)
        fraction = match.group("frac") or match.group("dot") or ""
        exponent, end, power = 0, match.end(), False
        if match.group("exp"):
            exponent = int(re.sub("[−–]", "-", match.group("exp")[1:]))
        else:
            times = _TIMES_TEN.match(text, end) if "10" in text[end : end + 30] else None
            ten = _TEN_POWER.match(text, end) if whole == "10" and not fraction else None
            if times is not None:
                exponent, end, power = _exponent(times), times.end(), True
            elif ten is not None:
                whole, exponent, end = "1", _exponent(ten), ten.end()
        value = _float(f"{whole}{fraction}e{exponent}")
        if value is None:
            return None
        quantum = _float(f"1e{exponent - max(0, len(fraction) - 1)}") or 0.0
        start, negative = self._sign(match.start())
        unit, unit_end = self._unit(match.start(), end)
        return Number(
            Span(start, end), -value if negative else value, quantum, unit, unit, power, False, unit_end
        )

    def _sign(self, start: int) -> tuple[int, bool]:
        before = self._text[max(0, start - _PREVIOUS_WINDOW) : start]
        match = _SIGN.search(before) if _MINUS.search(before, max(0, len(before) - 4)) else None
        if match is None:
            return start, False
        ahead = before[: match.start()].rstrip(" \t\n$~")
        if ahead and (ahead[-1].isalnum() or ahead[-1] in ")]}%-−–.,'"):
            joined = before[: match.start()]
            if not joined or joined[-1] not in " \t\n~($" or ahead[-1] in ")]}" or self._in_formula(start):
                return start, False  # a difference, a range or a hyphen
            if match.group("sign") != "+" and before[match.end("sign") :].strip("$"):
                return start, False  # a dash between words
        place = start - len(before) + match.start("sign")
        return place, match.group("sign").strip("$ ") != "+"

    def _in_formula(self, start: int) -> bool:
        span = self._formulas.find(start)
        return span is not None and self._text[span.start : start].strip("$\\([ -+−") != ""

    def _unit(self, start: int, end: int) -> tuple[Unit | None, int]:
        inside = self._si.values.find(start)
        if inside is not None:
            return self._si.units[inside]
        after = unit_after(self._text, end, math=start in self._formulas)
        return (after.unit, after.end) if after is not None else (None, end)


def _identifier_end(text: str, match: re.Match[str]) -> int | None:
    """Where the address, date, version or hash ends that digits belong to; None when they are a number."""
    start, end = match.span()
    if text[start - 1 : start] not in _EDGES or text[end : end + 1] in _JOINING:
        head = text[max(0, start - 80) : start]
        head = head[max(map(head.rfind, _EDGES)) + 1 :]
        after = _TOKEN_AFTER.match(text, end)
        tail = after.group() if after is not None else ""
        if _IDENTIFIER.search(head + match.group() + tail):
            return end + len(tail)
    if end - start <= 2 and (
        _MONTH_AFTER.match(text, end) or _MONTH_BEFORE.search(text[max(0, start - 14) : start])
    ):
        return end
    return None


def _exponent(match: re.Match[str]) -> int:
    digits = next(group for group in match.groups() if group)
    return int(re.sub("[−–]", "-", digits.translate(_SUPERSCRIPTS)).replace(" ", ""))


def _float(text: str) -> float | None:
    """A finite float; None for what none can hold."""
    value = float(text) if len(text) < 400 else float("inf")
    return value if value != float("inf") else None


def _si_arguments(text: str) -> _SiArguments:
    values: list[Span] = []
    hidden: list[Span] = []
    units: dict[Span, tuple[Unit | None, int]] = {}
    for match in _SI.finditer(text):
        name, position = match.group("name"), match.end()
        stretches: list[Span] = []
        for _ in range(_VALUES.get(name, 1)):
            span = argument(text, position)
            if span is None:
                break
            stretches.append(span)
            position = span.end + 1
        unit: Unit | None = None
        if name in _WITHOUT_UNIT:
            after = unit_after(text, position, math=False)
            unit, position = (after.unit, after.end) if after is not None else (None, position)
        else:
            written = argument(text, position)
            if written is not None:
                hidden.append(written)
                unit = parse_unit(text[written.start : written.end])
                position = written.end + 1
        values.extend(stretches)
        units.update(dict.fromkeys(stretches, (unit, position)))
    return _SiArguments(Spans(values), units, Spans(hidden))


def _inherit(text: str, numbers: list[Number]) -> list[Number]:
    """Give the first number of a range, and the one before plus-minus, the unit that follows the second."""
    for index in range(len(numbers) - 2, -1, -1):
        first, second = numbers[index], numbers[index + 1]
        if first.unit is None and second.inherited is not None and second.span.start - first.end < 24:
            joined = _JOINED.match(text, first.end)
            if joined is not None and joined.end() >= second.span.start:
                numbers[index] = first._replace(inherited=second.inherited)
    return numbers
