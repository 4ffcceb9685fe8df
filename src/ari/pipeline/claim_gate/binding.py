"""Which number of the text an anchor stands for.

The anchors of one sentence and its numbers are matched one to one, so that no number serves two different
assertions. An anchor whose value stands nowhere is given the nearest number that is left, which is then the
one that is wrong.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ari.pipeline.claim_gate.anchors import Anchor
from ari.pipeline.claim_gate.assertions import Assertion, Registry
from ari.pipeline.claim_gate.compare import agrees, read_as
from ari.pipeline.claim_gate.mentions import Mention
from ari.pipeline.claim_gate.tex import PaperText

_NO_CLAIM = frozenset({"experimental_setting", "citation_year", "figure_table_ref"})


@dataclass(frozen=True, slots=True)
class Binding:
    """An anchor with its assertion and its number.

    Attributes:
        anchor: The anchor.
        assertion: Its assertion; None when it is not registered.
        mention: Its number; None when there is none.
        agrees: Whether the number is the value of the assertion.
    """

    anchor: Anchor
    assertion: Assertion | None
    mention: Mention | None = None
    agrees: bool = False


def bind(
    paper: PaperText,
    anchors: Sequence[Anchor],
    mentions: Sequence[Mention],
    registry: Registry,
    values: Mapping[str, float | None],
) -> list[Binding]:
    """Bind every anchor to a number.

    Args:
        paper: The paper.
        anchors: Its anchors in order of place.
        mentions: Its numbers in order of place.
        registry: The assertions.
        values: `Cx:NCx` to value; None where it cannot be computed.

    Returns:
        One binding per anchor, in their order.
    """
    starts = [mention.start for mention in mentions]
    bindings: list[Binding] = []
    for group in _groups(anchors):
        low = bisect_left(starts, min(anchor.region.start for anchor in group))
        high = bisect_left(starts, max(anchor.region.end for anchor in group))
        bindings += _Group(paper, group, mentions[low:high], registry, values).bind()
    return bindings


def _groups(anchors: Sequence[Anchor]) -> list[list[Anchor]]:
    """Put anchors together whose stretches of text overlap."""
    groups: list[list[Anchor]] = []
    end = -1
    for anchor in anchors:
        if groups and anchor.region.start < end:
            groups[-1].append(anchor)
        else:
            groups.append([anchor])
        end = max(end, anchor.region.end)
    return groups


class _Group:
    """The anchors and numbers of one sentence, or of several that run into each other."""

    def __init__(
        self,
        paper: PaperText,
        anchors: Sequence[Anchor],
        mentions: Sequence[Mention],
        registry: Registry,
        values: Mapping[str, float | None],
    ) -> None:
        self._paper = paper
        self._mentions = mentions
        self._anchors = anchors
        self._assertions = [registry.assertions.get(f"{a.claim_id}:{a.numeric_id}") for a in anchors]
        self._values = [values.get(f"{a.claim_id}:{a.numeric_id}") for a in anchors]
        self._edges = [self._agreeing(index) for index in range(len(anchors))]
        self._taken: dict[int, int] = {}

    def bind(self) -> list[Binding]:
        for index in range(len(self._anchors)):
            self._match(index, set())
        owner = {anchor: mention for mention, anchor in self._taken.items()}
        used = set(self._taken)
        bindings = []
        for index, anchor in enumerate(self._anchors):
            binding = Binding(anchor, self._assertions[index])
            if self._assertions[index] is None:
                bindings.append(binding)
                continue
            mention, agreed = owner.get(index), index in owner
            if mention is None:
                mention, agreed = self._left_over(index, used)
                used |= {mention} if mention is not None else set()
            if mention is not None:
                binding = replace(binding, mention=self._mentions[mention], agrees=agreed)
            bindings.append(binding)
        return bindings

    def _candidates(self, index: int) -> list[int]:
        """Numbers in the anchor's stretch: those of its own line first, what claims nothing last."""
        anchor = self._anchors[index]
        region = anchor.region
        inside = [n for n, m in enumerate(self._mentions) if region.start <= m.start < region.end]
        return sorted(
            inside,
            key=lambda n: (
                self._mentions[n].type in _NO_CLAIM,
                self._mentions[n].line != anchor.text_line,
                n,
            ),
        )

    def _agreeing(self, index: int) -> list[int]:
        assertion, value = self._assertions[index], self._values[index]
        if assertion is None or value is None:
            return []
        return [n for n in self._candidates(index) if self._agrees(n, assertion, value, index)]

    def _agrees(self, number: int, assertion: Assertion, value: float, index: int) -> bool:
        mention = self._mentions[number]
        context = self._paper.plain[self._anchors[index].region.start : mention.start]
        return agrees(mention, assertion, value, context)

    def _match(self, index: int, seen: set[int]) -> bool:
        """Find a number for an anchor, moving other anchors to other numbers where that helps (Kuhn)."""
        for number in self._edges[index]:
            if number in seen:
                continue
            seen.add(number)
            if number not in self._taken or self._match(self._taken[number], seen):
                self._taken[number] = index
                return True
        return False

    def _left_over(self, index: int, used: set[int]) -> tuple[int | None, bool]:
        """The number of an anchor whose value is not there, or is there but taken by another."""
        assertion, value = self._assertions[index], self._values[index]
        for number in self._edges[index]:
            other = self._assertions[self._taken[number]] if number in self._taken else None
            if other is not None and assertion is not None and _same_evidence(other, assertion):
                return number, True  # two claims rest on one measured number
        candidates = self._candidates(index)
        free = [n for n in candidates if n not in used and self._mentions[n].type not in _NO_CLAIM]
        if not free and self._edges[index]:
            return self._edges[index][0], True
        pool = free or [n for n in candidates if n not in used] or candidates
        if not pool:
            return None, False
        own = [n for n in pool if self._mentions[n].line == self._anchors[index].text_line]
        target = value if value is not None else assertion.declared if assertion is not None else None
        if target is None or assertion is None:
            return (own or pool)[0], False
        return min(own or pool, key=lambda n: _distance(self._mentions[n], assertion, target)), False


def _same_evidence(first: Assertion, second: Assertion) -> bool:
    return first.formula == second.formula and first.operands == second.operands


def _distance(mention: Mention, assertion: Assertion, target: float) -> float:
    """How far a printed number is from a value; slips of the pen (digits swapped, point moved) are near."""
    printed = _digits(mention.number.value)
    wanted = _digits(float(f"{target:.{max(len(printed), 1)}g}"))
    if printed == wanted:
        return 0.0
    if sorted(printed) == sorted(wanted):
        return 0.001
    value = read_as(mention, assertion).value
    value = mention.number.value if value is None else value
    if value == 0.0 or target == 0.0:
        return 10.0
    return abs(math.log(abs(value / target))) + (1.0 if value * target < 0 else 0.0) + 0.01


def _digits(value: float) -> str:
    return f"{abs(value):.15g}".split("e")[0].replace(".", "").strip("0")
