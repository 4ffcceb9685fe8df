"""`metric_contract.json`: what the reported metric must satisfy, owned by the idea.

All expressions are restricted (see `restricted_expression`). The flags `correctness_required` and
`ceiling_must_be_measured` are met by tagged evidence, not by a name the agent chose.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from pydantic import Field

from ari.formats.base import FiniteNumber, FormatModel
from ari.formats.jsonio import Json, pointer
from ari.formats.restricted_expression import refusal


class Tolerance(FormatModel):
    """How far a reported number may be from the recomputed one."""

    absolute: FiniteNumber = 0.0
    relative: FiniteNumber = 0.0


class Correctness(FormatModel):
    """The check that the result is right, and the values it needs."""

    expr: str
    requires: list[str] = Field(default_factory=list)


class ContractClaim(FormatModel):
    """A claim and the evidence without which it may not be made."""

    claim: str
    required_evidence: list[str] = Field(default_factory=list)


class MetricContract(FormatModel):
    """The whole file."""

    key: str = Field(min_length=1)
    formula: str | None = None
    ceiling_select: str | None = None
    invariants: list[str] = Field(default_factory=list)
    correctness: Correctness | None = None
    required_measured: list[str] = Field(default_factory=list)
    claims: list[ContractClaim] = Field(default_factory=list)
    correctness_required: bool = False
    ceiling_must_be_measured: bool = False
    tolerance: Tolerance | None = None


class ForbiddenExpression(NamedTuple):
    """An expression that may not stand in a contract.

    Attributes:
        where: JSON pointer to it.
        reason: Why not.
    """

    where: str
    reason: str


def forbidden_expressions(document: Json) -> Iterator[ForbiddenExpression]:
    """Find the expressions of a contract that are not allowed.

    Args:
        document: The parsed contract; its shape need not be sound.

    Returns:
        The expressions, in document order. An empty formula or selection means there is none.
    """
    if not isinstance(document, Mapping):
        return
    for key in ("formula", "ceiling_select"):
        text = document.get(key)
        if isinstance(text, str) and text.strip():
            yield from _refused(text, key)
    invariants = document.get("invariants")
    for index, text in enumerate(invariants if isinstance(invariants, list) else []):
        yield from _refused(text, "invariants", index)
    correctness = document.get("correctness")
    if isinstance(correctness, Mapping) and "expr" in correctness:
        yield from _refused(correctness["expr"], "correctness", "expr")


def _refused(text: Json, *place: str | int) -> Iterator[ForbiddenExpression]:
    if not isinstance(text, str):  # a wrong type is reported as such
        return
    reason = refusal(text)
    if reason:
        yield ForbiddenExpression(pointer(*place), reason)
