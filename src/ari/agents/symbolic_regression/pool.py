"""The one pool of candidates: every formula that was proposed anywhere, as it was measured here.

Promises: a formula is judged by what the engine computes from it and by nothing else; names that are no
column are constants to be fitted, the target itself is refused; the same formulas in the same order give the
same front.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ari.agents.symbolic_regression.formulas import LONGEST, spellings
from sr_harness import engine
from sr_harness.engine import build
from sr_harness.errors import ExpressionError, FitError
from sr_harness.search.budget import Budget, Meter
from sr_harness.search.polish import refit, variants
from sr_harness.search.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sr_harness.engine import Expression
    from sr_harness.search import Candidate, ParetoFront, Problem

MOST_CONSTANTS = 10
"""Names of a formula that are no columns are taken for constants, up to this many."""

ENDLESS = 10**15
"""The pool measures what was proposed, however much that is; proposals are what is bounded."""

ROUNDS = 2
"""How often the best formula is polished and what came of it polished again."""


@dataclass(frozen=True)
class Measured:
    """A proposal and what came of it.

    Attributes:
        text: As it was written.
        origin: Where.
        candidate: The best form that it led to: as written, fitted, or polished. None where it has none.
        fault: Why not.
    """

    text: str
    origin: str
    candidate: Candidate | None = None
    fault: str | None = None

    def row(self) -> dict[str, Any]:
        """What the model is told of it."""
        if self.candidate is None:
            return {"proposed": self.text, "error": self.fault}
        found = self.candidate.to_row()
        return {
            "proposed": self.text,
            "fitted": self.candidate.formula(digits=8),
            **{name: found[name] for name in ("nrmse", "validation_r2", "complexity", "description_length")},
        }


class CandidatePool:
    """Measures proposals and keeps those that nothing simpler beats.

    Args:
        problem: Training rows, and validation rows where there are any.
        seed: Seed of every fit.
        hidden: Columns of the data that are no inputs, the target among them; they may not be named.
    """

    def __init__(self, problem: Problem, *, seed: int, hidden: Iterable[str] = ()) -> None:
        self._space = Workspace(problem, Meter(Budget(work=ENDLESS)), seed)
        self._problem = problem
        self._seed = seed
        self._known: dict[Expression, Measured] = {}
        self._names = frozenset(problem.names if problem.graph is None else problem.graph.fields)
        self._hidden = (frozenset(hidden) | {problem.target_name}) - self._names

    @property
    def front(self) -> ParetoFront:
        """The front."""
        return self._space.front

    @property
    def best(self) -> Candidate | None:
        """The formula to believe: that with the shortest description."""
        return self.front.best()

    @property
    def size(self) -> int:
        """How many different formulas were proposed."""
        return len(self._known)

    def offer(self, text: str, origin: str) -> Measured:
        """Measure a formula as it was written by a model."""
        try:
            template = self._read(text)
        except ExpressionError as error:
            return Measured(text, origin, fault=str(error).splitlines()[0])
        if template not in self._known:
            self._known[template] = self._measure(template, text, origin)
        return self._known[template]

    def looks_like_one(self, text: str) -> bool:
        """Whether a piece of prose is a formula: it parses, computes something, and names an input."""
        try:
            expression = self._read(text)
        except ExpressionError:
            return False
        return expression.size > 1 and bool(set(engine.variables(expression)) & self._names)

    def _read(self, text: str) -> Expression:
        """The formula with a parameter for each name that is no column.

        Raises:
            ExpressionError: When no spelling of the text can be read, or it names what it may not.
        """
        first: ExpressionError | None = None
        for spelling in spellings(text):
            try:
                return self._template(spelling)
            except ExpressionError as error:
                first = first or error
        long = f"the formula has {len(text)} characters; at most {LONGEST} are read"
        raise first or ExpressionError(long if text.strip() else "the formula is empty")

    def _template(self, text: str) -> Expression:
        free = [name for name in engine.variables(engine.parse(text)) if name not in self._names]
        hidden = [name for name in free if name in self._hidden]
        if hidden:
            raise ExpressionError(f"{hidden[0]!r} is no input; use {', '.join(sorted(self._names))}")
        odd = [name for name in free if not name.isidentifier()]
        if odd:
            raise ExpressionError(f"there is no column {odd[0]!r}; use {', '.join(sorted(self._names))}")
        if len(free) > MOST_CONSTANTS:
            raise ExpressionError(f"{', '.join(free)} are no inputs, and too many for constants")
        expression = engine.parse(text, names=[*self._names, *free])
        return engine.substitute(expression, {name: build.param(name) for name in free})

    def _measure(self, template: Expression, text: str, origin: str) -> Measured:
        try:
            expression = self._bound(template)
            forms = [self._add(expression, origin)]
            again = refit(expression, self._space)
            if again is not None:
                forms.append(self._add(again, origin))
        except (ExpressionError, FitError) as error:
            return Measured(text, origin, fault=str(error).splitlines()[0])
        usable = [form for form in forms if form.nmse < float("inf")]
        if not usable:
            return Measured(text, origin, fault="it is not finite on every row")
        found = min(usable, key=_preference)
        if found is self.best:
            found = self._polished(found)
        return Measured(text, origin, found)

    def _bound(self, template: Expression) -> Expression:
        """The template with its constants fitted."""
        if not engine.parameters(template):
            return template
        arrays = self._space.sample.arrays_for(template)
        fitted = engine.fit(template, arrays.data, arrays.target, seed=self._seed, structure=arrays.structure)
        return fitted.expression

    def _add(self, expression: Expression, origin: str) -> Candidate:
        candidate = self._space.measure(expression, self._problem.error(expression), origin)
        self.front.add(candidate)
        return candidate

    def _polished(self, candidate: Candidate) -> Candidate:
        """The candidate in its plainest form: constants snapped, terms pruned, where the data agree."""
        for _ in range(ROUNDS):
            forms = variants(candidate.expression, self._space)
            accepted = [form for form in (self._space.consider(f, candidate.origin) for f in forms) if form]
            better = min([candidate, *accepted], key=_preference)
            if better is candidate:
                break
            candidate = better
        return candidate


def _preference(candidate: Candidate) -> tuple[float, int]:
    return candidate.length, candidate.complexity
