"""Whether a printed number is the computed one: units, signs, tolerance and rounding."""

from __future__ import annotations

import re
from typing import NamedTuple

from ari.pipeline.claim_gate.assertions import Assertion
from ari.pipeline.claim_gate.mentions import Mention

_EPSILON = 1e-12
_SINKS = (
    r"(?:fall(?:s|en|ing)?|fell|drop(?:s|ped|ping)?|decreas\w*|declin\w*|shr[aiu]nk\w*|los(?:es?|ing|t)|cuts?"
    r"|cutting|down)"
)
_SINKING = (
    r"(?:reduc\w*|lower\w*|less\w*|slow\w*|worse\w*|diminish\w*|below|behind|short\w*|under|smaller|fewer)"
)
_DECLINE = r"(?:reductions?|decreases?|drops?|declines?|falls?|cuts?|shrinkage|slow-?downs?)"
_RISE = r"\b(?:ris|rose|increas|gr[oe]w|climb|gain|higher|greater|larger|more)"
_AMONG = rf"(?:(?!{_RISE})(?![.!?;]\s).)*?"
_FILL = (
    r"(?:[\s~${(]|\\[,;: ]|≈|[-+−]?\d[\d.]*(?:\\?%)?(?=[^\d])|[,}%–-]|\\[A-Za-z]+"
    r"|\b(?:about|almost|an|another|around|approximately|between|further|nearly|only|or|and|roughly|some)\b)*+"
)
_DECREASE_BY = re.compile(
    rf"\b(?:(?:{_SINKS}|{_SINKING})\b{_AMONG}\bby\b|{_DECLINE}\b{_AMONG}\bof\b|{_SINKS}\b){_FILL}$",
    re.IGNORECASE | re.DOTALL,
)
"""How a text goes that says by how much something sinks: `falls by`, `lower by about`, `a drop of`."""


class Reading(NamedTuple):
    """A printed number in the unit of an assertion.

    Attributes:
        value: The number; None when the units cannot be converted.
        quantum: One unit in its last printed place.
        fault: What is wrong with the unit; empty when nothing is.
    """

    value: float | None
    quantum: float
    fault: str = ""


def read_as(mention: Mention, assertion: Assertion) -> Reading:
    """Read a printed number in the unit of an assertion.

    Args:
        mention: The number.
        assertion: The assertion it is compared with.

    Returns:
        The number converted. A percentage is the hundredth of a plain number; a number without a unit is
        taken in the assertion's, but a percentage has to say that it is one, save in a table, whose head may.
    """
    printed, expected = mention.unit, assertion.unit
    value, quantum = mention.number.value, mention.number.quantum
    if printed is None:
        if expected is not None and expected.kind == "percent" and not mention.in_table:
            return Reading(value, quantum, "the percent sign is missing")
        return Reading(value, quantum)
    if expected is None:
        factor = printed.scale if printed.kind == "percent" else 1.0
        return Reading(value * factor, quantum * factor)
    if printed.dimensions != expected.dimensions:
        return Reading(None, quantum, "the unit is another")
    factor = printed.scale / expected.scale
    return Reading(value * factor, quantum * factor)


def agrees(mention: Mention, assertion: Assertion, computed: float, context: str = "") -> bool:
    """Say whether a printed number is the computed one.

    Args:
        mention: The printed number.
        assertion: The assertion.
        computed: Its value, computed anew.
        context: The text before the number in its sentence. Where it says by how much something decreases, a
            number printed without a sign may stand for a negative change; a level keeps its sign.

    Returns:
        Whether they agree within the tolerance, or to the printed digits where these decide.
    """
    reading = read_as(mention, assertion)
    if reading.value is None or reading.fault:
        return False
    if within(reading, assertion, computed):
        return True
    unsigned = computed < 0 < reading.value and within(reading, assertion, -computed)
    return unsigned and _DECREASE_BY.search(context) is not None


def within(reading: Reading, assertion: Assertion, computed: float) -> bool:
    """Compare a converted number with the computed one under the assertion's tolerance.

    Args:
        reading: The number in the assertion's unit.
        assertion: The assertion.
        computed: Its value.

    Returns:
        Whether they agree.
    """
    if reading.value is None:
        return False
    off = abs(reading.value - computed)
    slack = _EPSILON * abs(computed)
    if assertion.printed:
        vanished = reading.value == 0.0 and computed != 0.0
        return not vanished and off <= 0.5 * reading.quantum * (1 + 1e-9) + slack
    return off <= max(assertion.absolute, assertion.relative * abs(computed)) + slack
