"""What solves a problem: our own search, and the shape that every other method takes.

A method gets a `Task`, reports its best formula whenever that changes, and must stop by itself when
`Task.clock` says so. It knows inputs and target only: no range, no true formula, no id.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Protocol

from sr_harness.errors import BenchmarkError

if TYPE_CHECKING:
    from sr_harness.bench.sampling import Rows
    from sr_harness.engine import Expression
    from sr_harness.search import Candidate, Event, ParetoFront, Problem

OURS: Final = "sr_harness"
VALIDATION_SHARE: Final = 0.2
SMALLEST_VALIDATED: Final = 40
LISTED: Final = 12
"""Members of the front that a result lists at most."""


def processor_seconds() -> float:
    """Processor time of this process and of the children that it has waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


@dataclass
class Clock:
    """The time a method may use: wall seconds, and processor seconds on its threads.

    Attributes:
        seconds: Ceiling in seconds of wall time.
        threads: Threads a method may use; the processor may be busy for `seconds · threads` in all.
    """

    seconds: float
    threads: int = 1
    _began: float = field(default_factory=time.monotonic, init=False)
    _processor: float = field(default_factory=processor_seconds, init=False)

    @property
    def wall(self) -> float:
        """Wall seconds so far."""
        return time.monotonic() - self._began

    @property
    def processor(self) -> float:
        """Processor seconds so far."""
        return processor_seconds() - self._processor

    @property
    def left(self) -> float:
        """Wall seconds until the first of the two ceilings, if every thread is busy; at least 0."""
        processor = (self.seconds * self.threads - self.processor) / self.threads
        return max(0.0, min(self.seconds - self.wall, processor))

    @property
    def is_up(self) -> bool:
        """Whether the method must stop."""
        return self.left <= 0.0


@dataclass(frozen=True)
class Task:
    """What a method is given."""

    train: Rows
    target_name: str
    seed: int
    work: int
    clock: Clock


@dataclass(frozen=True)
class Answer:
    """What a method found.

    Attributes:
        front: Candidates that nothing simpler beats.
        best: The one to be judged, or None.
        work_used: Work, in the method's own unit.
        work_unit: What that unit is.
        stop_reason: Why it stopped.
    """

    front: ParetoFront
    best: Candidate | None
    work_used: int
    work_unit: str
    stop_reason: str

    def front_rows(self) -> list[dict[str, Any]]:
        """The most precise members of the front as JSON, simplest first."""
        return self.front.to_rows()[-LISTED:]


Progress = Callable[["Candidate"], None]
"""Called with the best formula so far whenever it changes."""


class Method(Protocol):
    """A method as a function."""

    def __call__(self, task: Task, progress: Progress) -> Answer:
        """Solve one task."""
        ...


def method(name: str) -> Method:
    """The method of this name.

    Raises:
        BenchmarkError: There is no such method.
    """
    from sr_harness.bench.peers import PEERS

    if name == OURS:
        return solve
    if name not in PEERS:
        raise BenchmarkError(f"there is no method {name!r}; choose from {', '.join([OURS, *PEERS])}")
    return PEERS[name].load()


class Incumbent:
    """The front of a method and the best of it, reported when it changes."""

    def __init__(self, progress: Progress) -> None:
        from sr_harness.search import ParetoFront

        self.front: ParetoFront = ParetoFront()
        self.best: Candidate | None = None
        self._progress = progress

    def add(self, candidates: Sequence[Candidate]) -> None:
        """Offer candidates to the front."""
        for candidate in candidates:
            self.front.add(candidate)
        best = self.front.best()
        if best is not None and best is not self.best:
            self.best = best
            self._progress(best)

    @property
    def is_exact(self) -> bool:
        """Whether nothing is left to explain."""
        return self.best is not None and self.best.exact


def solve(task: Task, progress: Progress) -> Answer:
    """Our own search, as `sr-harness discover` runs it."""
    from sr_harness.search import Budget, discover

    incumbent = Incumbent(progress)

    def show(event: Event) -> None:
        if event.candidate is not None:
            incumbent.add([event.candidate])

    result = discover(
        make_problem(task),
        budget=Budget(task.work, task.clock.seconds),
        seed=task.seed,
        on_event=show,
        should_stop=lambda: task.clock.is_up,
    )
    reason = "time" if result.stop_reason == "cancelled" else result.stop_reason
    return Answer(result.front, result.best, result.work_used, "units of work", reason)


def make_problem(task: Task) -> Problem:
    """The task as a discovery problem, with some rows held out for validation where there are enough."""
    from sr_harness.evaluator import make_split
    from sr_harness.search import Problem

    problem = Problem.from_arrays(task.train.columns, task.train.target, target_name=task.target_name)
    if problem.rows < SMALLEST_VALIDATED:
        return problem
    shares = (1 - VALIDATION_SHARE, VALIDATION_SHARE, 0.0)
    split = make_split(problem.rows, seed=task.seed, fractions=shares)
    return replace(problem.take(split.train), validation=problem.take(split.validation))


def measure_all(problem: Problem, formulas: Sequence[Expression], origin: str) -> list[Candidate]:
    """Formulas found elsewhere, each as it is and with its constants fitted again in float64."""
    from sr_harness.bench.refitting import refitted
    from sr_harness.search.candidate import measured

    found = []
    for formula in formulas:
        better = refitted(formula, problem.data, problem.target)
        versions = [formula] if better is None else [formula, better]
        held = problem.validation
        found += [
            measured(
                version,
                problem.error(version),
                variance=float(problem.target.var()) or 1.0,
                origin=origin,
                rows=problem.rows,
                effective_rows=problem.effective_rows,
                validation=None if held is None else held.error(version),
                validation_rows=0 if held is None else held.rows,
            )
            for version in versions
        ]
    return found
