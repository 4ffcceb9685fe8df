"""Candidate formulas and the front of those that nothing simpler beats.

A `Candidate` is a measured formula. A `ParetoFront` promises that no kept candidate is both at least as
complex and at least as wrong as another, that an equal newcomer never displaces an older one, and that its
order depends only on what was added.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from sr_harness.search.selection import EXACT, FLOOR, Weight, description_length, judged_error, weigh

if TYPE_CHECKING:
    from sr_harness.engine import Expression

SHORT = 40
LONG_EXACT = 1e-23
FEW_CONSTANTS = 6
"""What a formula of more than `SHORT` nodes may leave, and its most arbitrary constants, to be exact."""

SEVERAL = 3
"""With so many arbitrary constants a formula is exact only if it leaves no more than rounding (`FLOOR`)."""


@dataclass(frozen=True)
class Candidate:
    """A formula with what was measured about it on the training rows.

    Attributes:
        expression: The formula with its numbers in place.
        loss: Mean squared error, in squared units of the target.
        complexity: Node count.
        r2: 1 - nmse.
        origin: Strategy that found it.
        parameters: Its fitted constants (those that are not plain numbers), `c1`, `c2`, … in order.
        nmse: Mean squared error over the target's variance; keeps its digits where `r2` rounds to 1.
        validation_nmse: The same on validation rows, or None where there are none.
        validation_rows: Validation rows.
        rows: Training rows.
        effective_rows: Rows that the mean square really weighs; see `Problem.effective_rows`.
    """

    expression: Expression
    loss: float
    complexity: int
    r2: float
    origin: str
    parameters: Mapping[str, float] = field(hash=False)
    nmse: float
    validation_nmse: float | None = None
    rows: int = 0
    validation_rows: int = 0
    effective_rows: float | None = None

    @cached_property
    def parts(self) -> Weight:
        """Size and constants as selection counts them."""
        return weigh(self.expression)

    @property
    def weight(self) -> int:
        """What the front goes by: size, an arbitrary constant counting more than a plain one."""
        return self.parts.weight

    @cached_property
    def judged_nmse(self) -> float:
        """The error on training and validation rows together: what selection goes by."""
        if self.validation_nmse is None or not self.validation_rows:
            return max(self.nmse, self.validation_nmse or 0.0)
        return judged_error(self.nmse, self.validation_nmse, self.rows, self.validation_rows)

    @cached_property
    def length(self) -> float:
        """Description length in nats; see `sr_harness.search.selection`."""
        rows = self.effective_rows or self.rows
        return description_length(self.judged_nmse, self.parts.size, self.parts.costs, rows)

    @property
    def exact(self) -> bool:
        """Whether nothing but rounding is left on training and validation rows, and not by interpolation.

        A long formula must leave less and hold few arbitrary constants: with enough of them a quotient meets
        anything smooth to the last digits. A short one with several constants must leave rounding only: over
        a narrow range an imitation comes close.
        """
        worst = max(self.nmse, self.validation_nmse or 0.0)
        if len(self.parameters) >= SEVERAL and worst > FLOOR:
            return False
        if self.complexity > SHORT and (worst > LONG_EXACT or len(self.parameters) > FEW_CONSTANTS):
            return False
        return worst < EXACT and self.length < 0

    def formula(self, digits: int | None = None) -> str:
        """The formula as text."""
        from sr_harness import engine

        return engine.render(self.expression, digits=digits)

    def to_row(self) -> dict[str, object]:
        """JSON-able summary: finite numbers or None."""
        return {
            "formula": self.formula(),
            "complexity": self.complexity,
            "loss": finite(self.loss),
            "nrmse": finite(math.sqrt(self.nmse)),
            "r2": finite(self.r2),
            "validation_r2": None if self.validation_nmse is None else finite(1.0 - self.validation_nmse),
            "description_length": finite(self.length),
            "exact": self.exact,
            "origin": self.origin,
        }


def measured(
    expression: Expression,
    nmse: float,
    *,
    variance: float,
    origin: str,
    rows: int,
    effective_rows: float | None = None,
    validation: float | None = None,
    validation_rows: int = 0,
) -> Candidate:
    """A candidate from its normalised error; `variance` turns that into the target's units."""
    from sr_harness import engine

    constants = {f"c{place}": value for place, value in enumerate(weigh(expression).free, start=1)}
    return Candidate(
        expression=expression,
        loss=nmse * variance,
        complexity=engine.complexity(expression),
        r2=1.0 - nmse,
        origin=origin,
        parameters=constants,
        nmse=nmse,
        validation_nmse=validation,
        validation_rows=validation_rows,
        rows=rows,
        effective_rows=effective_rows,
    )


class ParetoFront:
    """Candidates of which none is beaten in both weight and error, lightest first."""

    def __init__(self, candidates: Iterable[Candidate] = ()) -> None:
        self._kept: list[Candidate] = []
        for candidate in candidates:
            self.add(candidate)

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The front, simplest first."""
        return tuple(self._kept)

    def __len__(self) -> int:
        return len(self._kept)

    def admits(self, weight: int, nmse: float) -> bool:
        """Whether a formula with these figures would enter."""
        return math.isfinite(nmse) and not any(
            kept.weight <= weight and kept.nmse <= max(nmse, FLOOR) for kept in self._kept
        )

    def add(self, candidate: Candidate) -> bool:
        """Offer a candidate; True if it is kept."""
        if not self.admits(candidate.weight, candidate.nmse):
            return False
        beaten = [
            kept
            for kept in self._kept
            if kept.weight >= candidate.weight and max(kept.nmse, FLOOR) >= candidate.nmse
        ]
        stay = [kept for kept in self._kept if not any(kept is other for other in beaten)]
        self._kept = sorted([*stay, candidate], key=lambda kept: (kept.weight, -kept.nmse))
        return True

    def best(self) -> Candidate | None:
        """The candidate with the shortest description; None if the front is empty."""
        return min(self._kept, key=lambda c: (c.length, c.complexity), default=None)

    def to_rows(self) -> list[dict[str, object]]:
        """JSON-able rows, simplest first."""
        return [candidate.to_row() for candidate in self._kept]


def finite(value: float) -> float | None:
    """The value, or None where it is not finite."""
    return float(value) if math.isfinite(value) else None
