"""What the agent works on: tools that see the training rows, and a problem that is judged on others too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from sr_harness.evaluator import make_split
from sr_harness.tools import ToolContext

if TYPE_CHECKING:
    from sr_harness.core import AgentContext
    from sr_harness.search import Problem

VALIDATION_SHARE = 0.2
SMALLEST_VALIDATED = 40
"""From this many rows on a share of them is held out: a formula must hold there too."""


@dataclass(frozen=True)
class Workbench:
    """The two views of the data.

    Attributes:
        tools: What the tools work on: the rows that formulas are fitted to.
        problem: The same rows; with the held-out ones as `validation` where there are enough.
    """

    tools: ToolContext
    problem: Problem

    @classmethod
    def of(
        cls,
        context: AgentContext,
        target: str,
        *,
        inputs: Sequence[str] = (),
        seed: int = 0,
        work_dir: Path = Path(),
        time: str | None = None,
    ) -> Workbench:
        """Divide the data. Networks and derivatives stay whole: a row of theirs means nothing alone.

        Args:
            context: The data; whatever is in them may be seen.
            target: Variable to explain, or `dx_dt`.
            inputs: Variables it may be explained by; default: all that fit.
            seed: Seed of the division and of every tool.
            work_dir: Where `submit_formula` writes.
            time: Axis or variable of the times, for derivatives.

        Raises:
            ToolError: When the data do not make a problem.
        """
        whole = ToolContext(context, target, tuple(inputs), seed, work_dir, time)
        axes = context.variable_axes.get(target, ())
        length = context.axis_length(axes[0]) if axes else 0
        if context.relation_names or whole.derived is not None or length < SMALLEST_VALIDATED:
            return cls(whole, whole.problem)
        shares = (1 - VALIDATION_SHARE, VALIDATION_SHARE, 0.0)
        split = make_split(length, seed=seed, fractions=shares, blocked=len(axes) > 1)
        train = replace(whole, context=context.take(axes[0], split.train))
        held_out = replace(whole, context=context.take(axes[0], split.validation))
        return cls(train, replace(train.problem, validation=held_out.problem))
