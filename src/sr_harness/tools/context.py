"""What a symbolic tool works on, and how formulas enter and leave it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sr_harness.errors import ExpressionError, ProblemError, ToolError
from sr_harness.search.candidate import Candidate, finite, measured
from sr_harness.search.problem import Missing, Problem

if TYPE_CHECKING:
    from sr_harness.core import AgentContext
    from sr_harness.engine import Expression
    from sr_harness.evaluator.dynamics import DerivedContext

MAX_FORMULA = 20_000
"""Characters of a formula that a tool reads; a longer one is a mistake."""

Result = dict[str, Any]
"""A tool's answer: JSON types only, numbers finite or None."""


@dataclass(frozen=True)
class ToolContext:
    """The data and the place that the tools of one caller work on.

    Attributes:
        context: The data; what is in here may be looked at without restriction.
        target: The variable to be explained; `dx_dt` is the derivative of a variable `x` by time.
        inputs: The variables it may be explained by.
        seed: Seed of everything random.
        work_dir: Where `submit_formula` writes.
        time: Axis or variable that holds the times, for derivatives; default: `time` or `t`.
    """

    context: AgentContext
    target: str
    inputs: tuple[str, ...]
    seed: int
    work_dir: Path
    time: str | None = None

    @cached_property
    def problem(self) -> Problem:
        """The data as a discovery problem.

        Raises:
            ToolError: When they do not make one.
        """
        try:
            if self.derived is None:
                return Problem.from_context(self.context, self.target, self.inputs or None)
            return self._derivative_problem(self.derived)
        except ProblemError as error:
            raise ToolError(str(error)) from error

    @cached_property
    def derived(self) -> DerivedContext | None:
        """The data with the target among them where it is a derivative to be estimated, else None.

        Raises:
            ToolError: The derivative of something that has none.
        """
        from sr_harness.evaluator.dynamics import derivative_target, with_derivative

        try:
            if derivative_target(self.context, self.target) is None:
                return None
            return with_derivative(self.context, self.target, time=self.time)
        except ProblemError as error:
            raise ToolError(str(error)) from error

    def _derivative_problem(self, derived: DerivedContext) -> Problem:
        """The estimated derivative explained by everything but time, or by the inputs that are named."""
        context = derived.context
        inputs = list(self.inputs)
        if not inputs:
            axes = set(context.variable_axes[self.target])
            inputs = [
                name
                for name, own in context.variable_axes.items()
                if name not in (self.target, derived.time, *context.relation_names)
                and name not in context.variable_structures
                and set(own) <= axes
                and np.asarray(context.data[name]).dtype.kind in "biuf"
            ]
        missing: Missing = "refuse" if context.relation_names else "drop"
        problem = Problem.from_context(context, self.target, inputs, missing=missing)
        return replace(problem, notes=(*derived.notes, *problem.notes))

    @property
    def names(self) -> list[str]:
        """Every name that a formula may use."""
        return [name for name in self.context.data if name != self.target]

    def read(self, formula: str) -> Expression:
        """Parse a formula over the names of the data.

        Raises:
            ToolError: With what is wrong and where.
        """
        from sr_harness import engine

        if not isinstance(formula, str) or not formula.strip():
            raise ToolError("the formula is empty; write one over the inputs " + ", ".join(self.inputs))
        if len(formula) > MAX_FORMULA:
            raise ToolError(f"the formula has {len(formula)} characters; at most {MAX_FORMULA} are read")
        try:
            expression = engine.parse(formula, names=self.names)
        except ExpressionError as error:
            raise ToolError(str(error)) from error
        unbound = engine.parameters(expression)
        if unbound:
            raise ToolError(f"the formula has parameters without a value: {', '.join(unbound)}; use numbers")
        return expression

    def measure(self, expression: Expression, origin: str) -> Candidate:
        """A formula with its error on the rows of the context.

        Raises:
            ToolError: When its arrays do not align.
        """
        try:
            nmse = self.problem.error(expression)
        except ExpressionError as error:
            raise ToolError(str(error)) from error
        variance = float(self.problem.target.var())
        return measured(
            expression,
            nmse,
            variance=variance,
            origin=origin,
            rows=self.problem.rows,
            effective_rows=self.problem.effective_rows,
        )

    def row(self, candidate: Candidate) -> Result:
        """A candidate as tools report it."""
        return {
            "formula": candidate.formula(),
            "complexity": candidate.complexity,
            "nrmse": finite(candidate.nmse**0.5),
            "r2": finite(candidate.r2),
            "description_length": finite(candidate.length),
            "exact": candidate.exact,
            "origin": candidate.origin,
        }


def search_answer(context: ToolContext, found: Any, kept: int = 12) -> Result:  # noqa: ANN401 - a Discovery
    """The answer of a tool that searched: the front's best members, the one to believe first."""
    ordered = sorted(found.front.candidates, key=lambda candidate: (candidate.length, candidate.complexity))
    return {
        "candidates": [context.row(candidate) for candidate in ordered[:kept]],
        "best": context.row(found.best) if found.best is not None else None,
        "work_used": found.work_used,
        "stop_reason": found.stop_reason,
        "notes": [event.message for event in found.events if event.kind in ("skipped", "refused")],
    }


def checked_work(work: int) -> int:
    """The work budget, if it can be one.

    Raises:
        ToolError: When it is not a positive whole number.
    """
    if isinstance(work, bool) or not isinstance(work, int) or work < 1:
        raise ToolError(f"work must be a whole number of model evaluations from 1, not {work!r}")
    return work
