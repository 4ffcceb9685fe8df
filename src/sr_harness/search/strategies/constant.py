"""The simplest hypothesis: the target does not depend on anything."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from sr_harness.engine import Expression, build
from sr_harness.search.problem import Problem
from sr_harness.search.strategies.base import Strategy
from sr_harness.search.workspace import Workspace


class Constant(Strategy):
    """A single number: the mean, and the nearby round numbers."""

    ahead: ClassVar[bool] = False  # it is done in no time, and looks at all rows
    name: ClassVar[str] = "constant"
    summary: ClassVar[str] = "y = c"

    def obstacle(self, problem: Problem) -> str | None:
        """It needs nothing."""
        return None

    def propose(self, space: Workspace) -> Iterator[Expression]:
        """The mean, exact where all values are equal."""
        y = space.problem.target
        if np.ptp(y) == 0:
            yield build.num(float(y[0]))
            return
        scale = space.problem.magnitude
        yield build.num(float(np.mean(y / scale)) * scale)
