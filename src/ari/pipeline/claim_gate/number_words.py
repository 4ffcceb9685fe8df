"""Numbers written as words, where they claim a result: three-fold, twice as fast, half the time, a dozen.

Counts of what a study produces (`a dozen configurations`) are read as bare numbers. Words that merely count
something at hand (`two figures`, `one of them`) are not read.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ari.pipeline.claim_gate.tex import Span
from ari.pipeline.claim_gate.units import PERCENT, RATIO, Unit

_UNITS = (
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
VALUES: dict[str, float] = {
    **{word: index + 1.0 for index, word in enumerate(_UNITS)},
    **{word: 10.0 * (index + 2) for index, word in enumerate(_TENS)},
    "hundred": 100.0,
    "a hundred": 100.0,
}
"""Word to value."""

_WORD = "(?:" + "|".join([*_TENS, *sorted(_UNITS, key=len, reverse=True), "a hundred", "hundred"]) + ")"
_COMPOUND = f"(?P<word>(?:{'|'.join(_TENS)})-(?:{'|'.join(_UNITS[:9])})|{_WORD})"
_BETTER = (
    r"(?:faster|slower|higher|lower|larger|smaller|bigger|better|worse|more|less|fewer|longer|shorter|cheaper"
    r"|greater|as)\b"
)
COUNTED = (
    r"(?:(?:different|distinct|successful|failed|candidate|competing|promising|valid|new|further|novel)"
    r"[\s~]+){0,2}(?:configurations?|candidates?|variants?|nodes?|experiments?|formulas?|formulae|hypotheses"
    r"|failures?|crashes|attempts?)\b"
)
"""What a study produces and a paper counts."""


class _Form(NamedTuple):
    """A way to say a number in words.

    Attributes:
        triggers: Lower-case texts, one of which stands in every occurrence: they are looked for first.
        pattern: The whole form.
        spoken: Whether one of the words in `_SPOKEN` stands in every occurrence.
    """

    triggers: tuple[str, ...]
    pattern: re.Pattern[str]
    spoken: bool


def _form(triggers: str, pattern: str, *, spoken: bool = False) -> _Form:
    return _Form(tuple(triggers.split("|")), re.compile(pattern, re.IGNORECASE), spoken)


_COUNT = _form(
    "dozen|configuration|candidate|variant|node|experiment|formula|hypothes|failure|crash|attempt",
    rf"\b(?:(?P<dozen>(?:a\s+)?dozen)|{_COMPOUND})(?=[\s~]+{COUNTED})",
    spoken=True,
)
_FORMS = (
    _form("fold", rf"\b{_COMPOUND}(?P<fold>-?\s?fold)\b", spoken=True),
    _form("times", rf"\b{_COMPOUND}(?P<times>\s+times)\s+(?:the\b|{_BETTER})", spoken=True),
    _form(
        "factor",
        rf"\bfactor\s+of\s+(?:about\s+|nearly\s+|almost\s+|roughly\s+)?{_COMPOUND}\b",
        spoken=True,
    ),
    _form(
        "percent|per cent",
        rf"\b{_COMPOUND}(?P<percent>\s+(?:per\s?cent|percentage\s+points?))\b",
        spoken=True,
    ),
    _form("twice|thrice", r"\b(?P<twice>twice|thrice)\s+(?:the\b|as\b|that\b)"),
    _form(
        "half",
        r"\b(?P<half>half)\s+(?:the|as|that\s+of|of\s+the)\s+(?!cases\b|rows\b|data\b|runs\b)"
        r"(?=(?:\w+\s+){0,2}?(?:time|cost|error|memory|throughput|energy|latency|size|speed|work|fast|much|many"
        r"|large|long|loss|complexity|runtime)\b)",
    ),
    _form("half", r"\bby\s+(?P<byhalf>half)\b"),
    _form(
        "doubl|tripl|quadrupl|halv",
        r"\b(?P<verb>doubl|tripl|quadrupl|halv)(?:es|ed)\s+(?:the|its|our|their|throughput|performance|speed|in)\b",
    ),
    _form("magnitude", rf"\b(?:(?P<order>an)|{_COMPOUND})\s+orders?\s+of\s+magnitude\b"),
    _COUNT,
)
_BEFORE, _AFTER = 40, 90
_SPOKEN = (*_TENS, *_UNITS, "hundred", "dozen")
_CASES = (("ſ", "s"), ("ı", "i"), ("İ", "i"))
"""Letters that a pattern without case takes for the ASCII one and `str.lower` does not, or makes two of."""
_FIXED = {
    "twice": 2.0, "thrice": 3.0, "half": 0.5, "doubl": 2.0, "tripl": 3.0, "quadrupl": 4.0, "halv": 0.5,
}  # fmt: skip


class NumberWord(NamedTuple):
    """A number word.

    Attributes:
        span: Where it stands.
        value: Its value.
        quantum: How finely such a word speaks.
        unit: Ratio or percent; None for a count.
    """

    span: Span
    value: float
    quantum: float
    unit: Unit | None


def find_number_words(text: str, body: Span) -> Iterator[NumberWord]:
    """Find the number words of a text.

    Args:
        text: The text.
        body: Where to look.

    Yields:
        The words, not in order.
    """
    for letter, plain in _CASES:
        text = text.replace(letter, plain)
    lowered = text.lower()
    spoken = _spoken_places(lowered, body)
    seen: set[int] = set()
    for form in _FORMS:
        for place in _places(lowered, form.triggers, body):
            window = max(body.start, place - _BEFORE), min(body.end, place + _AFTER)
            if form.spoken and not _any_within(spoken, window):
                continue
            for match in form.pattern.finditer(text, *window):
                word = _read(match)
                if word is not None and word.span.start not in seen:
                    seen.add(word.span.start)
                    yield word


def _spoken_places(text: str, body: Span) -> list[int]:
    """Where words begin as those of `_SPOKEN` do, in order."""
    places = _places(text, _SPOKEN, body)
    return sorted(p for p in places if p == 0 or not (text[p - 1].isalnum() or text[p - 1] == "_"))


def _any_within(places: Sequence[int], window: tuple[int, int]) -> bool:
    index = bisect_left(places, window[0])
    return index < len(places) and places[index] < window[1]


def _places(text: str, triggers: tuple[str, ...], body: Span) -> Iterator[int]:
    for trigger in triggers:
        place = text.find(trigger, body.start, body.end)
        while place >= 0:
            yield place
            place = text.find(trigger, place + 1, body.end)


def _read(match: re.Match[str]) -> NumberWord | None:
    groups = {name: text for name, text in match.groupdict().items() if text is not None}
    magnitude = "magnitude" in match.group().lower()
    for name in ("twice", "half", "byhalf", "verb"):
        if name in groups:
            value = _FIXED[groups[name].lower()]
            return NumberWord(Span(*match.span(name)), value, 1.0 if value >= 1 else 0.1, RATIO)
    if "dozen" in groups:
        return NumberWord(Span(*match.span("dozen")), 12.0, 1.0, None)
    if "order" in groups:
        return NumberWord(Span(*match.span()), 10.0, 10.0, RATIO)
    value = _value(groups["word"].lower())
    if magnitude:
        return NumberWord(Span(*match.span()), 10.0**value, 10.0**value, RATIO)
    if match.re is _COUNT.pattern:
        # a few of something may be at hand; larger counts are findings
        return NumberWord(Span(*match.span("word")), value, 1.0, None) if value > 3 else None
    last = next((name for name in ("fold", "times", "percent") if name in groups), "word")
    unit = PERCENT if last == "percent" else RATIO
    return NumberWord(Span(match.start("word"), match.end(last)), value, 1.0, unit)


def _value(word: str) -> float:
    if word in VALUES:
        return VALUES[word]
    tens, _, ones = word.partition("-")
    return VALUES[tens] + VALUES[ones]
