"""The protocol that every search strategy follows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from sr_harness.engine import Expression
    from sr_harness.search.problem import Problem
    from sr_harness.search.workspace import Workspace


class Strategy(ABC):
    """One way to come by formulas.

    A strategy keeps no state between searches. It charges the workspace's meter before each batch of work,
    and it yields formulas in an order that depends only on the problem and the seed. It does not catch
    `Halt` or `AllotmentSpent`: they unwind it. It knows no particular problem.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    """One line for people."""
    share: ClassVar[float] = 0.5
    """The part of the work still left that it may spend."""
    parts: ClassVar[int] = 1
    """How many pieces it falls into that do not depend on each other; several can run side by side."""
    ahead: ClassVar[bool] = True
    """Whether it may run in a worker process. There `space.problem` is the sample."""

    def obstacle(self, problem: Problem) -> str | None:
        """Why it cannot run on this problem, or None."""
        return None if problem.names else "no inputs"

    @abstractmethod
    def propose(self, space: Workspace) -> Iterator[Expression]:
        """Yield formulas without parameters, the most promising early: those of all parts in turn."""

    def propose_part(self, space: Workspace, part: int) -> Iterator[Expression]:
        """The formulas of one part, counted from 0. To override where there are several."""
        if self.parts != 1 or part != 0:
            raise NotImplementedError(f"{self.name} has {self.parts} parts but no propose_part")
        return self.propose(space)
