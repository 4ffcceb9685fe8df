"""What a strategy may see and do during a search.

Owns the sample of rows that stands for a large table, the meter, the front, and the one way in for a formula:
`consider` measures it on all training rows and on the validation rows. Nothing a strategy claims is believed.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sr_harness.search.budget import AllotmentSpent, Meter
from sr_harness.search.candidate import Candidate, ParetoFront, measured
from sr_harness.search.noise import FEWEST_ROWS, is_noise
from sr_harness.search.plain import tidied
from sr_harness.search.problem import Problem
from sr_harness.search.scaling import smaller_views
from sr_harness.search.selection import weigh
from sr_harness.search.view import View, whole

if TYPE_CHECKING:
    from sr_harness.engine import Expression

SAMPLE_ROWS = 1000
"""A larger table is searched on this many rows, drawn once; what enters the front is measured on all."""

ROWS_A_UNIT = 10_000
"""Rows on which a formula is measured for one unit of work: long arrays cost less a row than short ones."""

MOST_UNEXPLAINED = 0.25
"""A formula that leaves more of the variance than this is never taken for the whole truth."""

LONG_DESCRIPTION = -20.0
"""Nor is one whose description is hardly shorter than the data."""

SAME = 1e-9
"""Relative difference of errors within which two fits of a formula are the same but for rounding."""

NEAR = 1.25
"""A formula whose error on the sample is this factor above the front's is still measured on all rows."""


class Workspace:
    """One search: its problem, its meter, its random numbers, its front."""

    def __init__(self, problem: Problem, meter: Meter, seed: int) -> None:
        self.problem = problem
        self.meter = meter
        self.seed = seed
        self.front = ParetoFront()
        self.sample = self._draw_sample()
        self.variance = _variance(problem)
        self.effective_rows = problem.effective_rows
        self.view = whole(self.sample.data, self.sample.target)
        self._known: dict[Expression, Candidate | None] = {}
        self._views: list[View] | None = None
        self._granted: list[int] = []

    def rng(self, label: str) -> np.random.Generator:
        """Random numbers that depend on the seed and the label alone."""
        return np.random.default_rng([self.seed, zlib.crc32(label.encode())])

    @property
    def views(self) -> list[View]:
        """The problem and the smaller ones inside it, the smallest first (see `scaling`)."""
        if self._views is None:
            self._views = [self.view]
            try:
                self._views = smaller_views(self.view, self.charge)
            except AllotmentSpent:
                return self._views
        return self._views

    def charge(self, units: float = 1) -> None:
        """Count work; see `Meter.charge`."""
        self.meter.charge(units)

    def allowance(self, most: int, spare: int) -> int:
        """Units of at most `most` that the strategy may spend so that `spare`, or half of the rest, is left.

        The one way for a strategy to learn about the budget (see `sr_harness.search.recording`).
        """
        if self._granted:
            return self._granted.pop(0)
        left = self.meter.left
        return min(most, left - min(spare, left // 2))

    def grant(self, allowances: Sequence[int]) -> None:
        """Give these at the next questions for an allowance: a part that begins again must hear the same."""
        self._granted = list(allowances)

    def consider(self, expression: Expression, origin: str) -> Candidate | None:
        """Measure a formula and offer it to the front.

        Args:
            expression: A formula without parameters.
            origin: Name of the strategy.

        Returns:
            The candidate if it entered the front, else None.
        """
        from sr_harness import engine

        expression = tidied(engine.without_rounding(expression), self.problem.names)
        if expression in self._known:
            return None
        self.charge()
        weight = weigh(expression).weight
        nmse = self.sample.error(expression)
        self._known[expression] = None
        if not self.front.admits(weight, nmse / NEAR):
            return None
        if self.sample is not self.problem:
            self.meter.charge(1 + self.problem.rows / ROWS_A_UNIT, allotted=False)
            nmse = self.problem.error(expression)
        if not self.front.admits(weight, nmse):
            return None
        candidate = self.measure(expression, nmse, origin)
        self._known[expression] = candidate
        return candidate if self.front.add(candidate) else None

    def improve(self, expression: Expression, origin: str) -> Candidate | None:
        """Offer a formula fitted to all rows, for no work; the candidate if it enters the front.

        It must be better by more than rounding, so that a front stays as it is when it is fitted again.
        """
        from sr_harness import engine

        expression = tidied(engine.without_rounding(expression), self.problem.names)
        nmse = self.problem.error(expression)
        if not self.front.admits(weigh(expression).weight, nmse * (1.0 + SAME)):
            return None
        candidate = self.measure(expression, nmse, origin)
        return candidate if self.front.add(candidate) else None

    def measure(self, expression: Expression, nmse: float, origin: str) -> Candidate:
        """The candidate of a formula whose error on the training rows is known."""
        held_out = self.problem.validation
        return measured(
            expression,
            nmse,
            variance=self.variance,
            origin=origin,
            rows=self.problem.rows,
            effective_rows=self.effective_rows,
            validation=None if held_out is None else held_out.error(expression),
            validation_rows=0 if held_out is None else held_out.rows,
        )

    def leaves_noise(self, candidate: Candidate) -> bool:
        """Whether a formula describes the data and leaves nothing but noise, also on the validation rows."""
        if candidate.nmse > MOST_UNEXPLAINED or candidate.length > LONG_DESCRIPTION:
            return False
        parts = [self.sample] if self.problem.validation is None else [self.sample, self.problem.validation]
        for part in parts:
            prediction = part.predict(candidate.expression)
            if not is_noise(part.target - prediction, list(part.data.values()), prediction):
                return part.rows < FEWEST_ROWS and part is not self.sample
        return True

    def _draw_sample(self) -> Problem:
        problem = self.problem
        if problem.rows <= SAMPLE_ROWS or problem.graph is not None:
            return problem
        index = np.sort(self.rng("sample").choice(problem.rows, SAMPLE_ROWS, replace=False))
        return problem.take(index)


def _variance(problem: Problem) -> float:
    """What a normalised error is multiplied by to be in the target's units (see `normalised_error`)."""
    y = problem.target / problem.magnitude
    spread = float(np.var(y))
    if spread <= 1e-30:
        spread = float(np.mean(np.square(y))) or 1.0
    with np.errstate(all="ignore"):
        return spread * problem.magnitude * problem.magnitude
