"""Discovery of systems of differential equations from trajectories alone.

Each state gets a list of right-hand sides: sparse ones from the weak form and, where those leave more than
noise, whatever the portfolio finds for the estimated slope. Each is integrated alone, the other states
being given, with its constants fitted by shooting; the best of them are put together, integrated together,
and judged on trajectories that were held out. Constants that are plain within their error are made plain. For
networks constants are fitted in weak form, and systems judged the same way.

Promises: the same runs, seed and work give the same systems; no exact derivative is needed; it ends: work is
counted, and every integration has limits.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sr_harness.evaluator.dynamics import Trajectory, TrajectorySet
from sr_harness.evaluator.dynamics.derivative import SMALLEST
from sr_harness.search.budget import Budget, Halt, Meter, StopReason
from sr_harness.search.discovery import discover, select_strategies
from sr_harness.search.strategies import STRATEGIES
from sr_harness.search.systems.assembly import SHOT_WORK, Assembly, bound
from sr_harness.search.systems.candidates import MOST_TERMS, Ranked, length_of, ranked, terms_of
from sr_harness.search.systems.model import SystemDiscovery
from sr_harness.search.systems.rounding import freed
from sr_harness.search.systems.shooting import shoot
from sr_harness.search.systems.weak import WeakEquation
from sr_harness.search.threads import one_thread

if TYPE_CHECKING:
    from sr_harness.engine import Expression

DEFAULT_WORK = 60_000

TRIED = 6
"""Right-hand sides of a state that are integrated alone."""

ALONE, MOST_ALONE = (12, 36), 1_000
"""Samples in their segments, and of all of them."""

ENOUGH = 3
"""Integrated right-hand sides of a state after which the search ends if one leaves no more than noise."""

KEPT = 3
"""Right-hand sides of a state that are put together with those of the others."""

MOST_SYSTEMS = 12
"""Systems that are integrated as a whole."""

MORE_SYSTEMS = 2
"""Of these, how many are tried that do not improve on one that leaves no more than noise."""

PORTFOLIO_SHARE = 0.5
"""Part of the work for the portfolio, over all states together."""

SLOW = ("genetic",)
"""Strategies left out unless they are asked for: slopes are estimates, on which they spend all their work."""


@dataclass(frozen=True)
class _Alone:
    """A right-hand side that was integrated with the other states given."""

    formula: Expression
    nmse: float
    length: float


def discover_system(
    runs: TrajectorySet,
    *,
    budget: Budget | None = None,
    seed: int = 0,
    strategies: Sequence[str] | None = None,
    should_stop: Callable[[], bool] | None = None,
    on_event: Callable[[str], None] | None = None,
    jobs: int | None = 1,
) -> SystemDiscovery:
    """Find a right-hand side for every state of a system.

    Args:
        runs: Measured trajectories; see `TrajectorySet.from_context` and `from_arrays`.
        budget: Work, and a ceiling in seconds.
        seed: Seed of everything random.
        strategies: Strategies of the portfolio for what the weak form leaves over; default: all but genetic
            programming.
        should_stop: Asked before each piece of work; True cancels.
        on_event: Called with a sentence at each step.
        jobs: Worker processes of the portfolio, as in `sr_harness.search.discover`.

    Raises:
        ProblemError: No run is long enough, or a strategy that does not exist.
    """
    meter = Meter(budget or Budget(DEFAULT_WORK), should_stop)
    search = _Search(runs, meter, seed, strategies, on_event, jobs=jobs)
    reason: StopReason = "finished"
    with one_thread():
        try:
            search.all()
        except Halt as halt:
            reason = halt.reason
    return search.result(reason)


class _Search:
    """The state of one search."""

    def __init__(
        self,
        runs: TrajectorySet,
        meter: Meter,
        seed: int,
        strategies: Sequence[str] | None,
        on_event: Callable[[str], None] | None,
        *,
        jobs: int | None,
    ) -> None:
        self.strategies = select_strategies(strategies or [name for name in STRATEGIES if name not in SLOW])
        self.runs, self.meter, self.seed, self.jobs = runs, meter, seed, jobs
        self.tell = on_event or (lambda _text: None)
        self.systems = Assembly(runs, meter.charge)
        self.samples = self.systems.samples

    def all(self) -> None:
        """Candidates for each state, then systems made of them."""
        choices = {state: self.state(state) for state in self.runs.states}
        vain = 0
        for formulas in _combinations(choices):
            before = self.systems.best()
            self.tell(
                "together: " + "; ".join(f"d{name}_dt = {formula}" for name, formula in formulas.items())
            )
            self.systems.add(formulas)
            after = self.systems.best()
            vain = vain + 1 if after is before else 0
            if vain >= MORE_SYSTEMS and after is not None and self.systems.all_explained(after):
                return

    def state(self, state: str) -> list[_Alone]:
        """The best right-hand sides of one state."""
        equation = WeakEquation(state, self.samples, self.systems.held_samples)
        self.tell(f"{state}: sparse sums in weak form")
        sparse = ranked(equation, equation.sparse(self.terms(state), MOST_TERMS, self.meter.charge))
        found = self.alone(state, sparse)
        if found and _is_polynomial(found[0].formula) and self.systems.explained(state, found[0].nmse):
            return found[:KEPT]
        self.tell(f"{state}: the portfolio on its slope")
        more = ranked(equation, self.portfolio(state))
        return self.alone(state, _merged(sparse, more))[:KEPT]

    def terms(self, state: str) -> list[Expression]:
        """The dictionary of the weak form."""
        if self.runs.network is None:
            return terms_of((*self.runs.states, *self.runs.inputs), self.samples)
        from sr_harness.search.network_terms import network_terms

        return network_terms(self.samples.problem(state))

    def portfolio(self, state: str) -> Iterator[Expression]:
        """The front of a search on the estimated slope."""
        share = PORTFOLIO_SHARE * self.meter.budget.work / len(self.runs.states)
        problem = self.samples.problem(state, self.systems.held_samples)
        found = discover(
            problem,
            budget=Budget(max(1, min(int(share), self.meter.left)), self.meter.seconds_left),
            seed=self.seed,
            strategies=self.strategies,
            should_stop=self.stopped,
            jobs=self.jobs,
        )
        self.meter.charge(max(1, min(found.work_used, self.meter.left)))
        for candidate in found.front.candidates:
            yield candidate.expression

    def stopped(self) -> bool:
        """Whether the whole search must end."""
        try:
            self.meter.check()
        except Halt:
            return True
        return False

    def alone(self, state: str, candidates: Sequence[Ranked]) -> list[_Alone]:
        """The most promising candidates integrated with the other states given, best first."""
        chosen = {item.formula: item for item in candidates[:TRIED]}
        for item in sorted(candidates, key=lambda item: item.nmse)[: TRIED // 2]:
            chosen.setdefault(item.formula, item)
        if self.runs.network is not None:
            return [_Alone(item.formula, item.nmse, item.length) for item in chosen.values()]
        driven = self.driven(state)
        found = []
        for item in chosen.values():
            self.meter.charge(SHOT_WORK)
            templates, values = freed({state: item.formula})
            shot = shoot(
                templates, values, driven, self.samples.noise, lengths=ALONE, most_samples=MOST_ALONE
            )
            if shot is None:
                continue
            formula = bound(templates, shot.values)[state]
            nmse = shot.nmse[state]
            found.append(_Alone(formula, nmse, length_of(formula, nmse, shot.samples)))
            if len(found) >= ENOUGH and any(self.systems.explained(state, item.nmse) for item in found):
                break
        return sorted(found, key=lambda item: item.length)

    def driven(self, state: str) -> TrajectorySet:
        """The runs of one state, the others as smooth inputs."""
        others = [name for name in self.runs.states if name != state]
        usable = [run for run in self.systems.train.runs if len(run) >= SMALLEST]
        runs = tuple(
            Trajectory(
                run.times,
                {state: run.states[state]},
                {**run.inputs, **{name: self.samples.states[name][part] for name in others}},
            )
            for run, part in zip(usable, self.samples.parts, strict=True)
        )
        return replace(
            self.systems.train,
            states=(state,),
            inputs=(*self.runs.inputs, *others),
            runs=runs,
            smooth_inputs=True,
        )

    def result(self, reason: StopReason) -> SystemDiscovery:
        """What was found so far."""
        found = self.systems
        ordered = found.ordered()
        return SystemDiscovery(
            best=ordered[0] if ordered else None,
            candidates=ordered,
            states=self.runs.states,
            inputs=self.runs.inputs,
            noise=found.noise,
            samples=(found.train.samples, found.held.samples if found.judging else 0),
            held_out=found.held_out,
            notes=self.runs.notes,
            work_used=self.meter.used,
            stop_reason=reason,
        )


def _combinations(choices: Mapping[str, list[_Alone]]) -> Iterator[dict[str, Expression]]:
    """Systems made of one choice a state, those of low rank first."""
    if not all(choices.values()):
        return
    ranks = itertools.product(*(range(len(items)) for items in choices.values()))
    ordered = sorted(ranks, key=lambda places: (sum(places), max(places), places))
    for places in ordered[:MOST_SYSTEMS]:
        yield {
            state: items[place].formula for (state, items), place in zip(choices.items(), places, strict=True)
        }


def _is_polynomial(formula: Expression) -> bool:
    """Whether a formula is a sum of monomials: with functions and quotients there is more than one way."""
    from sr_harness.engine.expression import postorder

    return all(
        node.op in ("num", "var", "add", "sub", "mul", "neg")
        or (node.op == "pow" and node.args[1].op == "num" and (node.args[1].value or 0.5).is_integer())
        for node in postorder(formula)
    )


def _merged(first: Sequence[Ranked], second: Sequence[Ranked]) -> list[Ranked]:
    found = {item.formula: item for item in (*first, *second)}
    return sorted(found.values(), key=lambda item: item.length)
