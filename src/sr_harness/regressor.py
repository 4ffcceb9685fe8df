"""`SymbolicRegressor`: discovery of formulas as a scikit-learn estimator.

Owns the way from a table to a problem and back: columns become variables by one stated mapping
(`sr_harness.data.column_mapping`), the same at fit and predict. Promises: a fit that fails or is interrupted
leaves the estimator as it was; with `warm_start` a formula that an earlier fit found is never lost to a
worse one; the same data, `random_state` and `work` give the same formulas.
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sr_harness.data import column_mapping
from sr_harness.errors import ProblemError
from sr_harness.evaluator import make_split
from sr_harness.search import STRATEGIES, Budget, Candidate, ParetoFront, Problem, discover

try:
    from sklearn.base import BaseEstimator, RegressorMixin
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as _error:
    raise ImportError(
        f"SymbolicRegressor needs scikit-learn ({_error}). Install it: pip install 'ari-research[sklearn]'"
    ) from _error

if TYPE_CHECKING:
    from typing import Self

    import pandas as pd
    import sympy as sp

SMALLEST_VALIDATED = 40
"""From this many rows on a share of them is held out: a formula must hold there too."""

ROWS_A_UNIT = 1_000
"""Rows a unit of work is sure to pay for when formulas are only measured, not searched."""

Floats = NDArray[np.float64]


class SymbolicRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn has no types
    """Regression by a formula that is found, not given.

    Parameters:
        work: Units of work that a fit may spend; see `sr_harness.search.Budget`. The same work gives the same
            formulas on every machine.
        time_limit: Ceiling in seconds for a fit, or None. Where it ends the search, `stop_reason_` is "time"
            and another machine may find other formulas.
        strategies: Names from `sr_harness.search.STRATEGIES`, tried in this order; None for all.
        random_state: Seed, a `numpy.random.RandomState`, or None for NumPy's global random numbers. The
            default is a seed, so that a fit can be repeated.
        warm_start: Whether `fit` goes on from the formulas of the fit before. They are measured again on the
            new data, and those that stand are kept.
        n_jobs: Worker processes that run later strategies ahead: None for none, a number, or -1 for all
            available cores. Formulas do not depend on it. None are started for a fit of less than half a
            second, nor in a process that is itself a worker, such as those of a parallel grid search.
        robust: Whether to set rows aside that lie far from all that is found, see
            `sr_harness.search.outliers`; `outliers_` says which. It needs 20 rows beside those held out.
        validation_fraction: Share of the rows that is held out from 40 rows on. Constants are not fitted on
            them, and a formula is judged by the worse of both parts. At most 0.5; 0 uses every row to fit.

    Attributes:
        formula_: The chosen formula as text, with all digits; `sr_harness.engine.parse` reads it back.
        expression_: The same as `sr_harness.engine.Expression`.
        candidates_: Every formula that is kept, simplest first.
        pareto_front_: The same as a pandas data frame.
        variables_: Column to the variable that stands for it in formulas. An identifier of any script stands
            for itself; `wind speed` becomes `wind_speed`. Without column names they are `x0`, `x1`, ….
        target_name_: Name of `y` if it has one, else "y".
        stop_reason_: Why the search ended: "exact", "explained" (only noise is left), "finished",
            "work" or "time".
        outliers_: Rows of `X` that were set aside, none unless `robust`.
        work_used_: Units of work that the last fit spent.
        n_features_in_: Number of columns.
        feature_names_in_: Column names exactly as they were given; absent where `X` has none.

    Example:
        >>> import numpy as np
        >>> from sr_harness import SymbolicRegressor
        >>> x = np.linspace(1.0, 3.0, 30)
        >>> SymbolicRegressor(work=5_000).fit(x[:, None], 3 * x**2).formula_
        '3*x0**2'
    """

    def __init__(
        self,
        *,
        work: int = 100_000,
        time_limit: float | None = None,
        strategies: Sequence[str] | None = None,
        random_state: int | np.random.RandomState | None = 0,
        warm_start: bool = False,
        validation_fraction: float = 0.2,
        n_jobs: int | None = None,
        robust: bool = False,
    ) -> None:
        self.work = work
        self.time_limit = time_limit
        self.strategies = strategies
        self.random_state = random_state
        self.warm_start = warm_start
        self.validation_fraction = validation_fraction
        self.n_jobs = n_jobs
        self.robust = robust

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Search for a formula of the columns of `X` that gives `y`.

        Args:
            X: Numbers, shape (rows, columns): an array or a data frame. At least 2 rows, every value finite.
            y: Numbers, shape (rows,).

        Returns:
            This estimator.

        Raises:
            ProblemError: A parameter or the data cannot be used; the message names columns and rows.
            ImportDataError: Column names are repeated, collide, or cannot be supported.
            ValueError: scikit-learn's checks of shapes and types.
        """
        # All is done on a copy: a failure half way must not mix two fits.
        draft = copy.copy(self)
        draft._fit(X, y)
        self.__dict__.clear()
        self.__dict__.update(draft.__dict__)
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """Values of the chosen formula.

        Args:
            X: Shape (rows, columns), the columns of the fit in the same order and under the same names.

        Returns:
            Shape (rows,). NaN or infinite where the formula has no finite value, with a `RuntimeWarning`
            that says in how many rows.

        Raises:
            NotFittedError: There is no formula yet.
            ProblemError: Values that are not finite; the message names columns and rows.
            ImportDataError: Repeated or unusable column names.
            ValueError: Other columns than those of the fit.
        """
        from sr_harness import engine

        result = self._values(X)
        undefined = np.flatnonzero(~np.isfinite(result))
        if undefined.size:
            warnings.warn(
                f"the formula {engine.render(self.expression_, digits=4)} has no finite value in "
                f"{_rows(undefined)} of X; those predictions are NaN or infinite",
                RuntimeWarning,
                stacklevel=2,
            )
        return result

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """R² of the chosen formula, 1 at best.

        Args:
            X: As in `predict`.
            y: Measured values, shape (rows,).
            sample_weight: Weight of each row in the score; None for equal weights.

        Raises:
            ProblemError: The formula has no finite value in some row, so there is no R²; or as in `predict`.
        """
        from sklearn.metrics import r2_score

        result = self._values(X)
        undefined = np.flatnonzero(~np.isfinite(result))
        if undefined.size:
            raise ProblemError(
                f"there is no R²: the formula {self.formula_} has no finite value in {_rows(undefined)} "
                "of X; leave these rows out, or fit on data that cover them"
            )
        return float(r2_score(y, result, sample_weight=sample_weight))

    def sympy(self) -> sp.Expr:
        """The chosen formula as a SymPy expression.

        Its symbols are the variables and assume nothing, so that `subs({"x0": 2})` finds them by name.
        """
        check_is_fitted(self)
        from sr_harness import engine

        return engine.to_sympy(self.expression_, real=False)

    def latex(self, digits: int | None = None) -> str:
        """The chosen formula as LaTeX mathematics, without delimiters.

        Args:
            digits: Significant digits of the numbers; None for all.
        """
        check_is_fitted(self)
        from sr_harness import engine

        return engine.latex(self.expression_, digits=digits)

    @property
    def pareto_front_(self) -> pd.DataFrame:
        """The formulas that are kept, simplest first.

        Columns: `formula`, `complexity` (nodes), `nrmse` (root mean square error over the standard deviation
        of the target) and `r2`, both on the rows used for fitting, `description_length` in nats (what
        selection goes by, lower is better), `origin` (the strategy) and `selected`.
        """
        check_is_fitted(self)
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                f"pareto_front_ needs pandas ({error}). Install it: pip install 'ari-research[sklearn]'. "
                "Without it, candidates_ holds the same formulas"
            ) from error
        return pd.DataFrame(self._front_rows())

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 - scikit-learn has no types
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.time_limit is not None
        return tags

    def _html_repr(self) -> str:
        """What notebooks show: the formula and the front; before a fit scikit-learn's diagram."""
        if not hasattr(self, "expression_"):
            return str(super()._html_repr())
        from sr_harness import engine
        from sr_harness.notebook import fitted_html

        name = engine.latex(engine.build.var(self.target_name_))
        renamed = {column: variable for column, variable in self.variables_.items() if column != variable}
        return fitted_html(repr(self), f"{name} = {self.latex(digits=4)}", self._front_rows(4), renamed)

    def _front_rows(self, digits: int | None = None) -> list[dict[str, object]]:
        return [
            {
                "formula": candidate.formula(digits),
                "complexity": candidate.complexity,
                "nrmse": math.sqrt(candidate.nmse),
                "r2": candidate.r2,
                "description_length": candidate.length,
                "origin": candidate.origin,
                "selected": candidate.expression == self.expression_,
            }
            for candidate in self.candidates_
        ]

    def _fit(self, X: ArrayLike, y: ArrayLike) -> None:
        self._check_parameters()
        earlier: tuple[Candidate, ...] = getattr(self, "candidates_", ()) if self.warm_start else ()
        before = getattr(self, "variables_", {})
        values, target = self._training_data(X, y)
        self.variables_ = self._name_columns()
        if earlier and set(before.values()) != set(self.variables_.values()):
            raise ProblemError(
                f"a warm start goes on from formulas of the columns {_listed(before)}, but these data have "
                f"{_listed(self.variables_)}; set warm_start=False to begin afresh"
            )
        self.target_name_ = _series_name(y) or "y"
        seed = self._seed()
        pool = self._search(self._problem(values, target, seed), seed, earlier)
        best = min(pool, key=lambda kept: (kept.length, kept.complexity))
        self.candidates_ = _front(pool, best)
        self.expression_, self.formula_ = best.expression, best.formula()

    def _check_parameters(self) -> None:
        if not isinstance(self.work, Integral) or self.work < 1:
            raise ProblemError(f"work must be a whole number of at least 1, got {self.work!r}")
        if self.time_limit is not None and not (isinstance(self.time_limit, Real) and self.time_limit > 0):
            raise ProblemError(f"time_limit must be seconds above 0 or None, got {self.time_limit!r}")
        if isinstance(self.strategies, str) or (self.strategies is not None and not len(self.strategies)):
            raise ProblemError(
                f"strategies must be a list of names ({', '.join(STRATEGIES)}) or None for all, "
                f"got {self.strategies!r}"
            )
        if isinstance(self.random_state, Integral) and self.random_state < 0:
            raise ProblemError(f"random_state must be a seed of at least 0, got {self.random_state!r}")
        if self.n_jobs is not None and (not isinstance(self.n_jobs, Integral) or self.n_jobs == 0):
            raise ProblemError(
                "n_jobs must be None, a number of at least 1, or -1 for all available cores, "
                f"got {self.n_jobs!r}"
            )
        if not isinstance(self.validation_fraction, Real) or not 0 <= self.validation_fraction <= 0.5:
            raise ProblemError(
                f"validation_fraction must be a share from 0 to 0.5, got {self.validation_fraction!r}"
            )

    def _seed(self) -> int:
        """The seed of the search: an integer `random_state` itself, else a number drawn from it."""
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _training_data(self, X: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
        """Values of `X` and `y`; the number and names of columns are noted."""
        _refuse_headers(X)
        with _failing_column_named(X):
            values, target = validate_data(
                self,
                X,
                y,
                dtype=np.float64,
                ensure_all_finite=False,
                ensure_min_samples=2,
                y_numeric=True,
            )
        _refuse_missing(values, self._labels())
        return values, target

    def _values(self, X: ArrayLike) -> Floats:
        """Values of the formula on `X`, not finite where it has none."""
        check_is_fitted(self)
        from sr_harness import engine

        _refuse_headers(X)
        with _failing_column_named(X):
            values = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite=False)
        _refuse_missing(values, self._labels())
        columns = _columns(values, self.variables_)
        return np.array(np.broadcast_to(engine.evaluate(self.expression_, columns), len(values)))

    def _labels(self) -> list[str]:
        """What messages call the columns: their names as they were given, else `x0`, `x1`, …."""
        names = getattr(self, "feature_names_in_", None)
        return [f"x{place}" for place in range(self.n_features_in_)] if names is None else list(names)

    def _name_columns(self) -> dict[str, str]:
        return dict(column_mapping(self._labels()).columns)

    def _problem(self, values: Floats, target: Floats, seed: int) -> Problem:
        """The problem, with some rows held out for validation where there are enough."""
        columns = _columns(values, self.variables_)
        problem = Problem.from_arrays(columns, target, target_name=self.target_name_)
        share = float(self.validation_fraction)
        if share == 0 or problem.rows < SMALLEST_VALIDATED:
            return problem
        split = make_split(problem.rows, seed=seed, fractions=(1 - share, share, 0.0))
        return replace(problem.take(split.train), validation=problem.take(split.validation))

    def _search(self, problem: Problem, seed: int, earlier: Sequence[Candidate]) -> list[Candidate]:
        """Earlier formulas that stand on this problem, then those found now; at least one."""
        kept = [found for candidate in earlier for found in _measured_again(candidate, problem)]
        result = discover(
            problem,
            budget=Budget(int(self.work), self.time_limit),
            seed=seed,
            strategies=self.strategies,
            start=kept,
            jobs=self.n_jobs,
            robust=self.robust,
        )
        for event in result.events:
            if event.kind == "worker":
                warnings.warn(event.message, RuntimeWarning, stacklevel=4)
        self.stop_reason_, self.work_used_ = result.stop_reason, result.work_used
        self.outliers_ = np.array(result.outliers, dtype=np.int64)
        # with outliers left out, what was measured on all rows is no match for the front
        pool = [*(() if self.robust else kept), *result.front.candidates]
        if pool:
            return pool
        # The search was over before it measured anything, or its strategies do not apply.
        constant = discover(problem, budget=_measuring(problem), strategies=["constant"])
        return list(constant.front.candidates)


def _front(pool: Sequence[Candidate], best: Candidate) -> tuple[Candidate, ...]:
    """The candidates that nothing simpler beats, and the chosen one.

    The front goes by the error on training rows alone; the chosen one may owe its place to validation rows.
    """
    front = ParetoFront(pool).candidates
    if any(candidate.expression == best.expression for candidate in front):
        return front
    return tuple(sorted([*front, best], key=lambda kept: (kept.weight, -kept.nmse)))


def _measured_again(candidate: Candidate, problem: Problem) -> tuple[Candidate, ...]:
    """An earlier formula with its error on this problem (and plainer forms of it, if it is exact).

    Nothing if it has no finite value in some row. Each is measured alone, so that none can displace another,
    and on its own account, so that a small budget cannot lose it.
    """
    return discover(problem, budget=_measuring(problem), strategies=(), start=[candidate]).front.candidates


def _measuring(problem: Problem) -> Budget:
    """A budget that is sure to suffice for measuring a formula."""
    return Budget(100 + problem.rows // ROWS_A_UNIT)


def _columns(values: Floats, variables: Mapping[str, str]) -> dict[str, Floats]:
    return {name: np.ascontiguousarray(values[:, place]) for place, name in enumerate(variables.values())}


def _headers(table: object) -> list[Any] | None:
    """The names of a data frame's columns, or None where these are no names (scikit-learn's rule)."""
    columns = getattr(table, "columns", None)
    headers = [] if columns is None else list(columns)
    return headers if headers and all(isinstance(header, str) for header in headers) else None


def _refuse_headers(table: object) -> None:
    """Refuse names before values are looked at, so that values are never blamed for names."""
    headers = _headers(table)
    if headers is not None:
        column_mapping(headers)


@contextmanager
def _failing_column_named(table: Any) -> Iterator[None]:  # noqa: ANN401 - any kind of table
    """Say which column of a data frame is no numbers, where that is why a check failed."""
    try:
        yield
    except (TypeError, ValueError) as error:
        headers = _headers(table) if hasattr(table, "iloc") else None
        for place, header in enumerate(headers or ()):
            try:
                np.asarray(table.iloc[:, place], dtype=np.float64)
            except (TypeError, ValueError) as reason:
                raise ProblemError(
                    f"column {header!r} does not hold numbers ({reason}); "
                    "turn it into numbers or leave it out"
                ) from error
        raise


def _refuse_missing(values: Floats, labels: Sequence[str]) -> None:
    finite = np.isfinite(values)
    if finite.all():
        return
    parts = [
        f"{labels[place]!r} in {_rows(np.flatnonzero(~finite[:, place]))}"
        for place in np.flatnonzero(~finite.all(axis=0)).tolist()
    ]
    raise ProblemError(
        f"X holds NaN or infinite values: column {'; '.join(parts)}. Repair these rows or leave them out"
    )


def _rows(index: NDArray[np.int64]) -> str:
    """A count of rows with the first few numbers, counted from 0."""
    shown = ", ".join(map(str, index[:5])) + (", …" if index.size > 5 else "")
    return f"{index.size} row{'' if index.size == 1 else 's'} ({shown})"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))


def _series_name(y: object) -> str | None:
    name = getattr(y, "name", None)
    return name if isinstance(name, str) and name.strip() else None
