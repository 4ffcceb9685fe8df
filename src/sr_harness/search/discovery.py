"""The driver of a search: strategies in turn under one budget, one front, an early end when nothing is left.

Promises: the same problem, seed, work budget and strategies give the same candidates; a cancelled or
    exhausted
search returns what it has; an earlier result handed in as `start` is never lost to a worse one.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from sr_harness.errors import ExpressionError, UnknownChoiceError
from sr_harness.search.ahead import Ahead, Place, Stream, Void
from sr_harness.search.budget import AllotmentSpent, Budget, Halt, Meter, StopReason
from sr_harness.search.candidate import Candidate, ParetoFront
from sr_harness.search.jobs import effective_jobs
from sr_harness.search.outliers import discover_robustly
from sr_harness.search.polish import on_all_rows, refit, variants
from sr_harness.search.problem import Problem
from sr_harness.search.recording import Allowed, Charged, Viewed
from sr_harness.search.strategies import STRATEGIES
from sr_harness.search.strategies.base import Strategy
from sr_harness.search.threads import one_thread
from sr_harness.search.workspace import Workspace

if TYPE_CHECKING:
    from sr_harness.engine import Expression

PATIENCE, PATIENCE_SHARE = 1_000, 0.1
"""Work after which a search ends when only noise is left, and the same as a share of that used so far."""

NOISE_FACTOR = 20.0
"""The more noise, the more formulas leave nothing else: patience grows with its share of the target."""

USUAL_WEIGHT, WEIGHT_SCALE = 16, 5.0
"""Patience grows e-fold with every so many nodes beyond the usual: long formulas imitate."""

WORTH_FITTING = 0.05
"""Fast fits leave at most this part of the variance before they are worth an exact one at once."""

MOST_PATIENT = 20.0
"""Exponent from which on patience is without end."""

SHORTER = 3.0
"""Nats by which a description must be shorter to count as another one."""

POLISHED = 2
"""How many members of the front are polished after each strategy, those with the shortest descriptions."""

EventKind = Literal["strategy", "improved", "skipped", "failed", "refused", "worker", "stopped"]


@dataclass(frozen=True)
class Event:
    """Something that happened during a search.

    Attributes:
        kind: A strategy began, the front improved, a strategy was skipped or failed, a start formula was
            refused, a worker process was lost, the search stopped.
        origin: The strategy.
        message: For people.
        work: Work used so far.
        candidate: The new member of the front, if that is what happened.
    """

    kind: EventKind
    origin: str
    message: str
    work: int
    candidate: Candidate | None = None


@dataclass(frozen=True)
class Discovery:
    """What a search found.

    Attributes:
        front: Candidates that nothing simpler beats.
        best: The one to believe (see `sr_harness.search.selection`); None only if the search was stopped
            at once.
        events: What happened, in order.
        work_used: Units of work.
        stop_reason: `exact`, `explained` (what the best formula leaves is noise, and none better was found
            for a while), `finished` (every strategy ended by itself or spent its part), `work`, `time` or
            `cancelled`.
        outliers: Rows of the data, counted from 0, that were set aside (see `sr_harness.search.outliers`).
    """

    front: ParetoFront
    best: Candidate | None
    events: tuple[Event, ...]
    work_used: int
    stop_reason: StopReason
    outliers: tuple[int, ...] = ()


class _Exact(Exception):  # noqa: N818 - control flow: nothing is left to explain
    """Unwinds the search when a formula explains everything."""


def discover(
    problem: Problem,
    *,
    budget: Budget,
    seed: int = 0,
    strategies: Sequence[str | Strategy] | None = None,
    start: Sequence[Candidate | Expression] = (),
    on_event: Callable[[Event], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
    jobs: int | None = 1,
    robust: bool = False,
) -> Discovery:
    """Search for formulas.

    A large table is searched on a sample of its rows. Unless an exact formula was found, or the search was
    cancelled or ran out of time, the constants of every formula of the front are then fitted to all rows.
    That is not counted as work. A formula is replaced only by one that errs less on these rows.

    Args:
        problem: Data and target.
        budget: Work, and a ceiling in seconds.
        seed: Seed of everything random.
        strategies: Names from `STRATEGIES`, or strategies, in the order to run; default: all.
        start: Formulas from earlier searches. They are measured again on this problem and compete like any
            other. Without strategies nothing is fitted to all rows.
        on_event: Called at each event, in this thread.
        should_stop: Asked before each piece of work; True cancels.
        jobs: Most worker processes, in scikit-learn's sense (see `effective_jobs`). They run later strategies
            ahead once the search has taken half a second. What is found, and the work, do not depend on it.
        robust: Set rows aside that lie far from all that is found, and search again without them (see
            `sr_harness.search.outliers`). Candidates are then measured on the rows that were kept.

    Raises:
        ProblemError: A strategy that does not exist.
        ProblemError: `robust` with a network or too few rows.
        ValueError: 0 jobs.
    """
    if robust:
        search = partial(
            discover, seed=seed, strategies=strategies, on_event=on_event, should_stop=should_stop, jobs=jobs
        )
        return discover_robustly(problem, budget, start, search)
    chosen = select_strategies(strategies)
    run = _Run(
        problem,
        chosen,
        budget,
        seed=seed,
        jobs=effective_jobs(jobs),
        on_event=on_event,
        should_stop=should_stop,
    )
    with one_thread():
        with run.ahead:
            reason = run.all(start)
        if chosen:
            reason = run.fit_on_all_rows(reason)
    front = run.space.front
    used = run.space.meter.used
    run.report("stopped", "search", f"{reason} after {used} units of work")
    return Discovery(front, front.best(), tuple(run.events), used, reason)


def select_strategies(names: Sequence[str | Strategy] | None) -> list[Strategy]:
    """The strategies of these names, in this order; all where none are given.

    Raises:
        UnknownChoiceError: A name that does not exist.
    """
    if names is None:
        return list(STRATEGIES.values())
    return [name if isinstance(name, Strategy) else _strategy(name) for name in names]


def _strategy(name: str) -> Strategy:
    if name not in STRATEGIES:
        near = difflib.get_close_matches(name, list(STRATEGIES), n=1)
        hint = f"did you mean {near[0]!r}? Known: " if near else "choose from "
        raise UnknownChoiceError(f"there is no strategy {name!r}; {hint}{', '.join(STRATEGIES)}")
    return STRATEGIES[name]


def _agree(here: int, recorded: int) -> None:
    """Refuse records of a strategy that went by something that is otherwise here."""
    if here != recorded:
        raise Void


class _Run:
    """The state of one search that is not the strategies' business."""

    def __init__(
        self,
        problem: Problem,
        chosen: Sequence[Strategy],
        budget: Budget,
        *,
        seed: int,
        jobs: int,
        on_event: Callable[[Event], None] | None,
        should_stop: Callable[[], bool] | None,
    ) -> None:
        self.space = Workspace(problem, Meter(budget, self._cancelled), seed)
        self.chosen = chosen
        self.shares = [strategy.share for strategy in chosen[:-1]] + [1.0]
        self.ahead = Ahead(jobs, self.space, chosen, self.shares)
        self._should_stop = should_stop
        self.events: list[Event] = []
        self._on_event = on_event
        self._polished: set[Expression] = set()
        self._settled = 0.0

    def report(self, kind: EventKind, origin: str, message: str, candidate: Candidate | None = None) -> None:
        event = Event(kind, origin, message, self.space.meter.used, candidate)
        self.events.append(event)
        if self._on_event is not None:
            self._on_event(event)

    def _cancelled(self) -> bool:
        self.ahead.tick()
        return self._should_stop is not None and self._should_stop()

    def all(self, start: Sequence[Candidate | Expression]) -> StopReason:
        """Measure the start, run the strategies in turn, and say why it ended."""
        try:
            self.begin(start)
            for place, strategy in enumerate(self.chosen):
                self.strategy(place, strategy)
        except _Exact:
            return "exact"
        except Halt as halt:
            return halt.reason
        return "finished"

    def begin(self, start: Sequence[Candidate | Expression]) -> None:
        """Measure the formulas of earlier searches."""
        for item in start:
            expression = item.expression if isinstance(item, Candidate) else item
            origin = item.origin if isinstance(item, Candidate) else "start"
            try:
                self.offer(expression, origin)
            except ExpressionError as error:
                self.report("refused", origin, f"a start formula does not fit these data: {error}")

    def strategy(self, place: int, strategy: Strategy) -> None:
        """Run one strategy within its part of the budget, then polish what it found."""
        obstacle = strategy.obstacle(self.space.problem)
        if obstacle is not None:
            self.report("skipped", strategy.name, f"skipped: {obstacle}")
            return
        self.report("strategy", strategy.name, strategy.summary)
        try:
            with self.space.meter.allot(self.shares[place]):
                for part in range(strategy.parts):
                    self.part(strategy, Place(place, part))
        except AllotmentSpent:
            pass
        except (ArithmeticError, np.linalg.LinAlgError) as error:
            # Numbers that no strategy foresaw, an overflow for example, end this strategy and not the search.
            self.report("failed", strategy.name, f"stopped by {type(error).__name__}: {error}")
        finally:
            self.ahead.leave(place)
        self.polish()

    def part(self, strategy: Strategy, place: Place) -> None:
        """Offer what one part of a strategy proposes, as a worker recorded it if one did."""
        stream = self.ahead.claim(place)
        for trouble in self.ahead.troubles():
            self.report("worker", strategy.name, trouble)
        if stream is not None and self.follow(stream, strategy.name):
            return
        for expression in strategy.propose_part(self.space, place.part):
            self.offer(expression, strategy.name)

    def follow(self, stream: Stream, origin: str) -> bool:
        """Charge and offer what a worker recorded; whether that is the whole of the part.

        Where it is not, the part must run here from its beginning. Then the work that it will charge again is
        taken back; the formulas that it will propose again are known and cost nothing.
        """
        meter, charged = self.space.meter, 0
        granted: list[int] = []
        try:
            for record in stream.records(meter.check):
                if isinstance(record, Charged):
                    before = meter.used
                    self.space.charge(record.units)
                    charged += meter.used - before
                elif isinstance(record, Viewed):
                    _agree(len(self.space.views), record.number)
                elif isinstance(record, Allowed):
                    _agree(self.space.allowance(record.most, record.spare), record.most)
                    granted.append(record.most)
                else:
                    self.offer(record, origin)
        except Void as reason:
            meter.refund(charged)
            self.space.grant(granted)
            if str(reason):
                self.report("worker", origin, str(reason))
            return False
        finally:
            stream.abandon()
        return True

    def offer(self, expression: Expression, origin: str) -> None:
        """Measure one formula; end the search if it is exact, and soon if it leaves nothing but noise."""
        candidate = self.space.consider(expression, origin)
        if candidate is None:
            return
        self.report("improved", origin, candidate.formula(digits=6), candidate)
        if candidate.exact:
            self._polish_one(candidate)
            raise _Exact
        if candidate.nmse < WORTH_FITTING and candidate is self.space.front.best():
            self._fit_at_once(candidate)
            self._settle()

    def _fit_at_once(self, candidate: Candidate) -> None:
        """Fit the constants of the best formula where a strategy has chosen them by a cheaper measure."""
        fitted = refit(candidate.expression, self.space)
        if fitted is not None:
            self._accept(fitted, candidate)

    def _settle(self) -> None:
        """Let the search end soon if what the best formula leaves is noise."""
        best = self.space.front.best()
        if best is None or best.length > self._settled - SHORTER or not self.space.leaves_noise(best):
            return
        self._settled = best.length
        patience = (
            PATIENCE * (1.0 + NOISE_FACTOR * np.sqrt(best.nmse)) + PATIENCE_SHARE * self.space.meter.used
        )
        weight = best.weight + 2 * len(best.parts.free)
        beyond = min(max(0.0, (weight - USUAL_WEIGHT) / WEIGHT_SCALE), MOST_PATIENT)
        self.space.meter.settle(int(patience * np.exp(beyond)))
        self._polish_one(best)

    def polish(self) -> None:
        """Polish the most credible members of the front that have not been polished yet."""
        ranked = sorted(self.space.front.candidates, key=lambda kept: (kept.length, kept.complexity))
        for candidate in ranked[:POLISHED]:
            if candidate.expression not in self._polished:
                self._polish_one(candidate)
        best = self.space.front.best()
        if best is not None and best.exact:
            raise _Exact
        self._settle()

    def _polish_one(self, candidate: Candidate) -> None:
        """Polish a candidate, then what became of it, while the description gets shorter."""
        current: Candidate | None = candidate
        while current is not None and current.expression not in self._polished:
            self._polished.add(current.expression)
            if current.expression.op == "num":
                return
            accepted = [
                better
                for form in variants(current.expression, self.space)
                if (better := self._accept(form, current))
            ]
            best = min(accepted, key=lambda kept: kept.length, default=None)
            current = best if best is not None and best.length < current.length - SHORTER else None

    def fit_on_all_rows(self, reason: StopReason) -> StopReason:
        """Fit the constants of the front of a large table to all rows, the best formula's first.

        Args:
            reason: Why the search ended.

        Returns:
            Why it ended now: time may have run out, or it was cancelled.
        """
        space = self.space
        best = space.front.best()
        if space.sample is space.problem or best is None or best.exact or reason in ("time", "cancelled"):
            return reason
        for candidate in sorted(space.front.candidates, key=lambda kept: (kept.length, kept.complexity)):
            try:
                space.meter.check()
            except Halt as halt:
                return halt.reason
            for expression in on_all_rows(candidate.expression, space.problem, plain=candidate is best):
                better = space.improve(expression, candidate.origin)
                if better is not None:
                    self.report("improved", better.origin, better.formula(digits=6), better)
        return reason

    def _accept(self, expression: Expression, source: Candidate) -> Candidate | None:
        """Measure a form of a candidate; it if the front takes it."""
        better = self.space.consider(expression, source.origin)
        if better is not None:
            self.report("improved", source.origin, better.formula(digits=6), better)
        return better
