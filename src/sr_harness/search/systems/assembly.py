"""Whole systems: constants fitted together, judged on held-out trajectories, made plain at no loss."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from sr_harness.evaluator.dynamics import TrajectorySet, trajectory_error
from sr_harness.evaluator.dynamics.derivative import SMALLEST
from sr_harness.search.systems.candidates import length_of
from sr_harness.search.systems.model import Constant, SystemCandidate
from sr_harness.search.systems.rounding import freed, short_decimal, without_zeros
from sr_harness.search.systems.samples import SystemSamples
from sr_harness.search.systems.shooting import Shot, shoot
from sr_harness.search.systems.weak import WeakEquation

if TYPE_CHECKING:
    from sr_harness.engine import Expression

SHOT_WORK, JUDGE_WORK = 150, 100
"""Units of work of one fit by shooting, and of judging one system."""

LEFT_OVER = 1.3
"""A residual up to this factor of the noise is noise."""

NEGLIGIBLE = 1e-4
"""A term that moves a slope by less than this share of its spread is left out: estimates are no better."""

CLEAN = 1e-6
"""Noise, as a share of a standard deviation, below which a residual counts as explained in any case."""


class Assembly:
    """The runs of a system, split into what is fitted and what judges, and the systems tried on them."""

    def __init__(self, runs: TrajectorySet, charge: Callable[[float], None]) -> None:
        self.runs, self.charge = runs, charge
        self.train, held = runs.held_out()
        self.judging = any(len(run) >= SMALLEST for run in held.runs)
        self.held = held if self.judging else self.train
        self.samples = SystemSamples.of(self.train)
        self.held_samples = SystemSamples.of(held) if self.judging else None
        self.spread = {name: self.train.spread(name) for name in runs.states}
        self.systems: list[SystemCandidate] = []
        self._tried: set[str] = set()

    @property
    def held_out(self) -> str:
        """What was held out, in words."""
        if not self.judging:
            return "nothing: the runs are too short"
        if len(self.train.runs) < len(self.runs.runs):
            return f"{len(self.held.runs)} of {len(self.runs.runs)} runs"
        return "the last quarter of each run"

    @property
    def noise(self) -> dict[str, float]:
        """Estimated noise of each state as a share of its standard deviation."""
        return {name: self.samples.noise[name] / self.spread[name] for name in self.runs.states}

    def explained(self, state: str, nmse: float) -> bool:
        """Whether a residual of a state is no more than noise."""
        return nmse <= max(LEFT_OVER * self.noise[state], CLEAN) ** 2

    def all_explained(self, system: SystemCandidate) -> bool:
        """Whether a system leaves no more than noise in any state."""
        return system.nmse is not None and all(
            self.explained(state, nmse) for state, nmse in system.nmse.items()
        )

    def best(self) -> SystemCandidate | None:
        """The system with the shortest description so far."""
        return min(self.systems, key=lambda item: (item.length, item.complexity), default=None)

    def ordered(self) -> tuple[SystemCandidate, ...]:
        """All systems, the best first; of several that differ in the order of their terms only, the first."""
        kept: list[SystemCandidate] = []
        for system in sorted(self.systems, key=lambda item: (item.length, item.complexity)):
            alike = kept and kept[-1].complexity == system.complexity
            if not (alike and abs(kept[-1].length - system.length) <= 1e-4):
                kept.append(system)
        return tuple(kept)

    def add(self, formulas: Mapping[str, Expression]) -> None:
        """Fit the constants of a system together, judge it, try plain constants; nothing is tried twice."""
        from sr_harness import engine

        formulas = self._without_negligible(formulas)
        name = "; ".join(engine.render(formula, digits=4) for formula in formulas.values())
        if name in self._tried:
            return
        self._tried.add(name)
        self.charge(SHOT_WORK * len(formulas) + JUDGE_WORK)
        templates, values = freed(dict(formulas))
        if self.runs.network is not None:
            self._add_network(templates, values)
            return
        shot = shoot(templates, values, self.train, self.samples.noise)
        if shot is None:
            self.systems.append(self.judge(formulas, None, {}))
            return
        self.systems.append(
            self.judge(bound(templates, shot.values), shot, _constants(templates, shot.values, shot.errors))
        )
        plain = self._plain(templates, shot)
        if plain is not None:
            self.systems.append(plain)

    def _without_negligible(self, formulas: Mapping[str, Expression]) -> dict[str, Expression]:
        """The formulas without terms that move no slope noticeably."""
        from sr_harness import engine

        templates, values = freed(dict(formulas))
        for template in templates.values():
            slopes = self.samples.values(engine.bind(template, values))
            bound_to = NEGLIGIBLE * float(np.std(slopes))
            for name in engine.parameters(template):
                without = self.samples.values(engine.bind(template, {**values, name: 0.0}))
                with np.errstate(all="ignore"):
                    moved = float(np.sqrt(np.mean(np.square(without - slopes))))
                if moved <= bound_to:
                    values[name] = 0.0
        return {state: without_zeros(engine.bind(template, values)) for state, template in templates.items()}

    def _add_network(self, templates: Mapping[str, Expression], values: Mapping[str, float]) -> None:
        """The same for a network, whose constants come from the weak form."""
        from sr_harness import engine

        errors: dict[str, float] = {}
        for state, template in templates.items():
            own = {name: values[name] for name in engine.parameters(template)}
            errors.update(WeakEquation(state, self.samples, self.held_samples).errors(template, own))
        self.systems.append(self.judge(bound(templates, values), None, _constants(templates, values, errors)))
        short = {name: short_decimal(value, errors[name]) for name, value in values.items()}
        fixed = {name: value for name, value in short.items() if value is not None}
        if fixed:
            self.charge(JUDGE_WORK)
            errors |= dict.fromkeys(fixed, 0.0)
            mended = {**values, **fixed}
            self.systems.append(
                self.judge(bound(templates, mended), None, _constants(templates, mended, errors))
            )

    def _plain(self, templates: Mapping[str, Expression], shot: Shot) -> SystemCandidate | None:
        """The same system with short decimals where the errors allow, the other constants fitted again."""
        short = {name: short_decimal(value, shot.errors[name]) for name, value in shot.values.items()}
        fixed = {name: value for name, value in short.items() if value is not None}
        if not fixed:
            return None
        self.charge(SHOT_WORK + JUDGE_WORK)
        rest = {name: value for name, value in shot.values.items() if name not in fixed}
        partly = bound(templates, fixed)
        again = shoot(partly, rest, self.train, self.samples.noise)
        if again is None:
            return None
        values = {**again.values, **fixed}
        errors = {**again.errors, **dict.fromkeys(fixed, 0.0)}
        return self.judge(bound(partly, again.values), again, _constants(templates, values, errors))

    def judge(
        self,
        formulas: Mapping[str, Expression],
        shot: Shot | None,
        constants: Mapping[str, tuple[Constant, ...]],
    ) -> SystemCandidate:
        """A system with its trajectory error and description length."""
        from sr_harness import engine

        tidy = {state: engine.simplify(formula) for state, formula in formulas.items()}
        judged = trajectory_error(tidy, self.held, spread=self.spread)
        length = 0.0
        rows = (shot.samples if shot is not None else judged.samples) / len(tidy)
        for state, formula in tidy.items():
            nmse = judged.by_state[state] ** 2
            if shot is not None:
                nmse = max(nmse, shot.nmse[state])
            length += length_of(formula, nmse, rows)
        return SystemCandidate(
            formulas=tidy,
            nmse=None if shot is None else dict(shot.nmse),
            constants=tuple(itertools.chain.from_iterable(constants.values())),
            judged=judged,
            length=length,
            complexity=sum(engine.complexity(formula) for formula in tidy.values()),
        )


def bound(templates: Mapping[str, Expression], values: Mapping[str, float]) -> dict[str, Expression]:
    """Templates with numbers in place of the parameters that have a value."""
    from sr_harness import engine

    return {state: engine.bind(template, dict(values)) for state, template in templates.items()}


def _constants(
    templates: Mapping[str, Expression], values: Mapping[str, float], errors: Mapping[str, float]
) -> dict[str, tuple[Constant, ...]]:
    """Constants of each state with their standard errors."""
    from sr_harness import engine

    return {
        state: tuple(
            Constant(state, values[name], errors[name] if np.isfinite(errors[name]) else None)
            for name in engine.parameters(template)
        )
        for state, template in templates.items()
    }
