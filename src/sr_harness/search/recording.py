"""What a strategy does, written down, so that a search can do the same without the computing.

What a strategy proposes and charges depends on the problem and the seed alone. So it can run ahead in another
process on a `Recorder` in place of the workspace; the search then charges and offers what the records say,
in their order. The two things that a strategy may learn about the state of the search, whether the smaller
views were affordable and how much work it may still spend, are records as well: where they turn out
otherwise, what follows is void and the search runs the strategy itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sr_harness.engine import Expression
from sr_harness.search.budget import AllotmentSpent, Budget, Halt, Meter
from sr_harness.search.problem import Problem
from sr_harness.search.scaling import smaller_views
from sr_harness.search.strategies.base import Strategy
from sr_harness.search.view import View
from sr_harness.search.workspace import Workspace


class Charged(NamedTuple):
    """The strategy charged so many units of work."""

    units: float


class Viewed(NamedTuple):
    """The strategy looked at the views, and there were so many."""

    number: int


class Allowed(NamedTuple):
    """The strategy asked for an allowance (see `Workspace.allowance`) and was given all that it asked for."""

    most: int
    spare: int


class Finished(NamedTuple):
    """The part ended, by itself or by an error that ends a strategy and not the search."""

    error: Exception | None = None


class Cut(NamedTuple):
    """The part was abandoned, could not foresee its allowance, or spent the most it could be let spend."""


Step = Charged | Viewed | Allowed | Expression
Record = Step | Finished | Cut


class Recorder(Workspace):
    """A workspace for a strategy that runs ahead: it has no front, and it notes what the strategy does.

    Args:
        sample: The rows that strategies work on; see `Workspace.sample`.
        seed: Seed of the search.
        note: Called with each record.
    """

    def __init__(self, sample: Problem, seed: int, note: Callable[[Record], None]) -> None:
        super().__init__(sample, Meter(Budget()), seed)
        self._note = note
        self._likely = 0

    @property
    def views(self) -> list[View]:
        """As `Workspace.views`; the search pays for them, once."""
        if self._views is None:
            self._views = smaller_views(self.view, lambda _units: self.meter.check())
        self._note(Viewed(len(self._views)))
        return self._views

    def charge(self, units: float = 1) -> None:
        """Note the work, then stop where the search would surely stop."""
        self._note(Charged(float(units)))
        self.meter.charge(units)

    def allowance(self, most: int, spare: int) -> int:
        """All that was asked for; where the search will hardly have so much nobody can say how much it is."""
        if self._likely - self.meter.used < most + spare:
            raise Halt("cancelled")
        self._note(Allowed(most, spare))
        return most

    def run(
        self, strategy: Strategy, part: int, *, work: int, likely: int, should_stop: Callable[[], bool]
    ) -> None:
        """Run one part of a strategy to its end.

        Args:
            strategy: The strategy.
            part: Which of its parts, from 0.
            work: The most work that the search can let it spend.
            likely: What the search will probably have left for it.
            should_stop: Asked before each piece of work; True abandons the part.
        """
        self.meter, self._likely = Meter(Budget(work), should_stop), likely
        try:
            for expression in strategy.propose_part(self, part):
                self._note(expression)
        except (AllotmentSpent, Halt):
            self._note(Cut())
        except (ArithmeticError, np.linalg.LinAlgError) as error:
            self._note(Finished(error))
        else:
            self._note(Finished())
