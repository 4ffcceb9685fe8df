"""Rows that contradict the law of all others: a search that sets them aside, and says which.

Least squares follows a few wild values. Which rows are wild cannot be told from the data alone: a value near
a pole lies far from any smooth surface and is right. So rows are judged by a formula that was found: those
far from it, by a scale of the residuals that wild values hardly move (the median of their sizes), are set
aside, and the search begins again without them, until the same rows stay outside (iterated trimming;
P. Rousseeuw and A. Leroy, "Robust Regression and Outlier Detection", 1987). All rows are judged each time, so
one that a first, poor formula set aside comes back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sr_harness.errors import ProblemError
from sr_harness.search.budget import Budget
from sr_harness.search.problem import Problem

if TYPE_CHECKING:
    from sr_harness.engine import Expression
    from sr_harness.search.candidate import Candidate
    from sr_harness.search.discovery import Discovery, Event

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

FAR = 8.0
"""Robust standard deviations from the formula beyond which a row is set aside."""

MOST_SHARE = 0.2
"""If more rows than this lie so far away, the formula is wrong, not they."""

FEWEST_ROWS = 20
"""With fewer rows nobody can say which of them are wild."""

ROUNDS = 5
"""Most searches that only find out which rows are wild."""

SHARE = 0.25
"""Part of the work still left that each of them may spend."""

ROUNDING = 1e-9
"""Least robust standard deviation, as a part of the median size of the target."""

TO_DEVIATION = 1.4826
"""Standard deviations of a normal distribution in one median of the sizes of its values."""


class Search(Protocol):
    """A search with everything settled but these."""

    def __call__(
        self, problem: Problem, *, budget: Budget, start: Sequence[Candidate | Expression]
    ) -> Discovery:
        """Search; as `sr_harness.search.discover`."""
        ...


class Scale(NamedTuple):
    """Robust standard deviation of residuals, and of residuals as parts of the prediction."""

    absolute: float
    relative: float


def discover_robustly(
    problem: Problem,
    budget: Budget,
    start: Sequence[Candidate | Expression],
    search: Search,
    clock: Callable[[], float] = time.monotonic,
) -> Discovery:
    """Search, setting aside the rows that lie far from what is found.

    Args:
        problem: Data and target, at least `FEWEST_ROWS` rows, no network.
        budget: For all searches together.
        start: Formulas from earlier searches.
        search: Searches a problem.
        clock: Seconds.

    Returns:
        The last search, on the rows that were kept, with the work and the events of all and the row numbers
        of the outliers.

    Raises:
        ProblemError: A network, or too few rows.
    """
    if problem.graph is not None:
        raise ProblemError("rows of network data cannot be set aside one by one; search without robust")
    if problem.rows < FEWEST_ROWS:
        raise ProblemError(
            f"{problem.rows} rows are too few to tell outliers; give at least {FEWEST_ROWS} "
            "or search without robust"
        )
    rounds = _Rounds(problem, budget, search, list(start), clock)
    for _ in range(ROUNDS):
        found = rounds.search(SHARE)
        if found.stop_reason in ("time", "cancelled"):
            return rounds.result(found)
        changed = rounds.judge(found)
        if not changed:
            break
    if rounds.left and (changed or found.stop_reason not in ("exact", "explained")):
        found = rounds.search(1.0)
    return rounds.result(found)


class _Rounds:
    """Searches in turn, and which rows the next one leaves out."""

    def __init__(
        self,
        problem: Problem,
        budget: Budget,
        search: Search,
        start: list[Candidate | Expression],
        clock: Callable[[], float],
    ) -> None:
        self._problem, self._budget, self._search, self._start = problem, budget, search, start
        self._clock, self._began = clock, clock()
        self._used = 0
        self._events: list[Event] = []
        self._aside = _masks(problem, _none)

    @property
    def left(self) -> int:
        """Work that is left."""
        return self._budget.work - self._used

    def search(self, share: float) -> Discovery:
        """Search the rows that are kept, with a part of what is left."""
        seconds = self._budget.seconds
        if seconds is not None:
            seconds = max(1e-3, seconds - (self._clock() - self._began))
        budget = Budget(max(1, int(share * self.left)), seconds)
        found = self._search(_without(self._problem, self._aside), budget=budget, start=self._start)
        self._events += [replace(event, work=event.work + self._used) for event in found.events]
        self._used += found.work_used
        self._start = list(found.front.candidates) or self._start
        return found

    def judge(self, found: Discovery) -> bool:
        """Judge all rows by what was found; whether others are set aside now."""
        if found.best is None:
            return False
        kept = _without(self._problem, self._aside)
        scales = [(residual_scale(kept, each.expression), each) for each in found.front.candidates]
        scale, judge = min(scales, key=lambda pair: pair[0].absolute)
        aside = _masks(self._problem, lambda part: far_rows(part, judge.expression, scale))
        if aside[0].mean() > MOST_SHARE:
            aside = _masks(self._problem, _none)
        changed = any(np.any(new != old) for new, old in zip(aside, self._aside, strict=True))
        self._aside = aside
        return changed

    def result(self, found: Discovery) -> Discovery:
        """The last search, with what all of them did."""
        parts = [self._problem, self._problem.validation]
        numbers = [
            part.row_numbers[mask] for part, mask in zip(parts, self._aside, strict=False) if part is not None
        ]
        rows = tuple(int(number) for number in np.sort(np.concatenate(numbers)))
        return replace(found, work_used=self._used, events=tuple(self._events), outliers=rows)


def described(rows: Sequence[int], total: int) -> str:
    """A sentence for people on the rows that were set aside, counted from 0."""
    if not rows:
        return f"none of {total} rows was set aside as an outlier"
    shown = ", ".join(map(str, rows[:10])) + (", …" if len(rows) > 10 else "")
    verb = "lies" if len(rows) == 1 else "lie"
    return (
        f"{len(rows)} of {total} rows {verb} more than {FAR:g} robust standard deviations from the formula "
        f"and {'was' if len(rows) == 1 else 'were'} set aside as outliers (counted from 0): {shown}"
    )


def residual_scale(problem: Problem, expression: Expression) -> Scale:
    """How far rows usually lie from a formula; infinite where it has no finite value in half of them."""
    prediction = problem.predict(expression)
    with np.errstate(all="ignore"):
        sizes = np.abs(problem.target - prediction)
        relative = sizes / np.abs(prediction)
    least = ROUNDING * float(np.median(np.abs(problem.target)))
    absolute = TO_DEVIATION * float(np.median(np.where(np.isfinite(sizes), sizes, np.inf)))
    share = TO_DEVIATION * float(np.median(np.where(np.isfinite(relative), relative, np.inf)))
    return Scale(max(absolute, least), max(share, ROUNDING))


def far_rows(problem: Problem, expression: Expression, scale: Scale) -> Mask:
    """Rows far from a formula both by the usual distance and by the usual part of the prediction.

    Where errors grow with the values, as near a pole, large ones are no sign of a wild value.
    """
    prediction = problem.predict(expression)
    with np.errstate(all="ignore"):
        near = np.abs(problem.target - prediction) <= FAR * np.maximum(
            scale.absolute, scale.relative * np.abs(prediction)
        )
    return np.asarray(~near, dtype=bool)


def _none(problem: Problem) -> Mask:
    return np.zeros(problem.rows, dtype=bool)


def _masks(problem: Problem, judge: Callable[[Problem], Mask]) -> tuple[Mask, ...]:
    """One mask for the training rows, and one for the validation rows where there are any."""
    held_out = problem.validation
    return (judge(problem),) if held_out is None else (judge(problem), judge(held_out))


def _without(problem: Problem, aside: tuple[Mask, ...]) -> Problem:
    """The problem without these rows; itself where there are none."""
    if not any(mask.any() for mask in aside):
        return problem
    kept = problem.take(np.flatnonzero(~aside[0]))
    if problem.validation is None:
        return kept
    rest = np.flatnonzero(~aside[1])
    return replace(kept, validation=problem.validation.take(rest) if rest.size else None)
