"""What is to be explained, and from what.

A `Problem` owns the numbers of one discovery task as flat float64 columns and promises that they are usable:
equal lengths, every value finite, every input numeric. What was left out stands in `notes`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sr_harness.errors import ProblemError, UnknownChoiceError

if TYPE_CHECKING:
    from sr_harness.core import AgentContext
    from sr_harness.engine import Expression, Structure

Floats = NDArray[np.float64]
Missing = Literal["refuse", "drop"]


@dataclass(frozen=True)
class GraphView:
    """The same data with their network shape, for formulas with sums over edges.

    Attributes:
        fields: Every array a formula may name: node fields (…, node), edge fields (…, edge), relations
            (edge, 2).
        structure: What the engine needs to align them.
        node_fields: Names of the inputs that live on nodes.
        edge_fields: Name of an edge field to the relation it belongs to.
        relations: Names of the relations, whose columns are target and one or two sources.
        shape: Shape of the target, last axis the nodes.
    """

    fields: Mapping[str, NDArray[Any]]
    structure: Structure
    node_fields: tuple[str, ...]
    edge_fields: Mapping[str, str]
    relations: tuple[str, ...]
    shape: tuple[int, ...]


class Arrays(NamedTuple):
    """Inputs by name, the target, and how they are aligned (None: flat columns of equal length)."""

    data: Mapping[str, NDArray[Any]]
    target: Floats
    structure: Structure | None


@dataclass(frozen=True)
class Problem:
    """Columns, a target, and what is known about them.

    Attributes:
        data: One flat float64 array an input, all as long as the target.
        target: Flat float64 array.
        names: Inputs in the order they were given.
        target_name: Name of the target, for messages and output.
        structure: Alignment of network data for the engine, else None.
        graph: The same data in network shape, else None.
        notes: What was left out or changed, one sentence each.
        validation: The same inputs and target on other rows, never used for fitting, else None.
        numbers: Which row of the data each row is, counted from 0, where some were left out, else None.
    """

    data: Mapping[str, Floats]
    target: Floats
    names: tuple[str, ...]
    target_name: str = "y"
    structure: Structure | None = None
    graph: GraphView | None = None
    notes: tuple[str, ...] = ()
    validation: Problem | None = field(default=None, repr=False)
    numbers: NDArray[np.int64] | None = field(default=None, repr=False)

    @classmethod
    def from_arrays(
        cls,
        data: Mapping[str, ArrayLike],
        target: ArrayLike,
        *,
        target_name: str = "y",
        missing: Missing = "refuse",
        validation: Problem | None = None,
    ) -> Problem:
        """Build a problem from one-dimensional columns.

        Args:
            data: Inputs by name; text columns are left out with a note.
            target: Numbers, one a row.
            target_name: Name of the target.
            missing: What to do with rows that hold NaN or infinity: name them in an error, or drop them.
            validation: Other rows of the same problem.

        Raises:
            ProblemError: No rows, unequal lengths, a target without numbers, or values that are not finite.
        """
        y = _numeric(target_name, target)
        if y is None:
            raise ProblemError(f"target {target_name!r} does not hold numbers; choose a numeric column")
        y = y.ravel()
        if y.size == 0:
            raise ProblemError(f"target {target_name!r} has no rows; there is nothing to explain")
        columns, notes = _columns(data, y.size)
        columns, y, numbers, dropped = _finite_rows(columns, y, target_name, missing)
        return cls(
            columns,
            y,
            tuple(columns),
            target_name,
            notes=(*notes, *dropped),
            validation=validation,
            numbers=numbers,
        )

    @classmethod
    def from_context(
        cls,
        context: AgentContext,
        target: str,
        inputs: Sequence[str] | None = None,
        *,
        missing: Missing = "refuse",
    ) -> Problem:
        """Build a problem from loaded `context.data`.

        Args:
            context: The data.
            target: Variable to explain.
            inputs: Variables and axes to explain it by; default: every numeric variable that lies on the
                target's axes, and every axis with stated numeric values.
            missing: As in `from_arrays`.

        Raises:
            ProblemError: An unknown name, an input that does not lie on the target's axes, or unusable
                values.
        """
        from sr_harness.search.from_context import problem_from_context

        return problem_from_context(context, target, inputs, missing)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.target.size)

    @property
    def row_numbers(self) -> NDArray[np.int64]:
        """Which row of the data each row is, counted from 0."""
        return np.arange(self.rows) if self.numbers is None else self.numbers

    @property
    def effective_rows(self) -> float:
        """Rows that a mean square really weighs: few where the target spans decades and a handful dominates.

        The geometric mean of the number of rows and of (Σ d²)² / Σ d⁴ with d the deviations from the mean.
        """
        scale = self.magnitude
        deviations = np.square(self.target / scale - np.mean(self.target / scale))
        total = float(np.sum(deviations))
        if total <= 0:
            return float(self.rows)
        return float(np.sqrt(self.rows * total**2 / np.sum(np.square(deviations))))

    @property
    def magnitude(self) -> float:
        """Largest absolute target value, or 1 where all are 0."""
        return float(np.max(np.abs(self.target))) or 1.0

    def take(self, index: NDArray[np.int64]) -> Problem:
        """The same problem on some rows; network shape is lost."""
        columns = {name: column[index] for name, column in self.data.items()}
        target, numbers = self.target[index], self.row_numbers[index]
        return replace(self, data=columns, target=target, numbers=numbers, graph=None, structure=None)

    def arrays_for(self, expression: Expression) -> Arrays:
        """What the engine needs to fit a formula: the network where it sums over edges, else flat columns."""
        from sr_harness import engine

        if self.graph is None or not engine.relations(expression):
            return Arrays(self.data, self.target, None)
        return Arrays(self.graph.fields, self.target.reshape(self.graph.shape), self.graph.structure)

    def predict(self, expression: Expression) -> Floats:
        """Values of a formula on every row; not finite where it is undefined."""
        from sr_harness import engine

        arrays = self.arrays_for(expression)
        values = engine.evaluate(expression, arrays.data, structure=arrays.structure)
        return np.broadcast_to(np.asarray(values, dtype=np.float64), arrays.target.shape).ravel()

    def error(self, expression: Expression) -> float:
        """Mean squared error in units of the target's variance (see `normalised_error`)."""
        return normalised_error(self.target, self.predict(expression))


def normalised_error(target: Floats, prediction: Floats) -> float:
    """Mean squared error over the variance of the target: 1 - R².

    Infinite where a prediction is not finite. A constant target has no variance: there the mean square
    takes its place, so that 0 is still exact and 1 still useless.
    """
    scale = float(np.max(np.abs(target))) or 1.0
    with np.errstate(all="ignore"):
        y = target / scale
        spread = float(np.var(y))
        if spread <= 1e-30:
            spread = float(np.mean(np.square(y))) or 1.0
        value = float(np.mean(np.square(prediction / scale - y))) / spread
    return value if np.isfinite(value) else float("inf")


def _columns(data: Mapping[str, ArrayLike], rows: int) -> tuple[dict[str, Floats], list[str]]:
    columns: dict[str, Floats] = {}
    notes: list[str] = []
    for name, values in data.items():
        column = _numeric(name, values)
        if column is None:
            notes.append(f"column {name!r} does not hold numbers and was left out")
            continue
        if column.shape != (rows,):
            raise ProblemError(
                f"column {name!r} has shape {column.shape} but the target has {rows} rows; "
                "give one value a row"
            )
        columns[name] = column
    return columns, notes


def _numeric(name: str, values: ArrayLike) -> Floats | None:
    """Values as float64, or None for text; integers and booleans are computed as floats."""
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        return None
    if array.dtype.itemsize > 8:
        array = array.astype(np.float64)
    return np.ascontiguousarray(array, dtype=np.float64)


def _finite_rows(
    columns: dict[str, Floats], y: Floats, target_name: str, missing: Missing
) -> tuple[dict[str, Floats], Floats, NDArray[np.int64] | None, list[str]]:
    bad = {name: ~np.isfinite(column) for name, column in {**columns, target_name: y}.items()}
    bad = {name: mask for name, mask in bad.items() if mask.any()}
    if not bad:
        return columns, y, None, []
    if missing == "refuse":
        raise ProblemError(describe_bad_rows(bad))
    keep = ~np.logical_or.reduce(list(bad.values()))
    if not keep.any():
        raise ProblemError(f"no row is left without them. {describe_bad_rows(bad)}")
    note = (
        f"{int((~keep).sum())} rows with NaN or infinite values in {', '.join(map(repr, bad))} were dropped"
    )
    rows = np.flatnonzero(keep)
    return {name: column[rows] for name, column in columns.items()}, y[rows], rows, [note]


def describe_bad_rows(bad: Mapping[str, NDArray[np.bool_]]) -> str:
    """A sentence that names columns and rows (counted from 0) whose values are not finite."""
    parts = []
    for name, mask in bad.items():
        rows = np.flatnonzero(mask)
        shown = ", ".join(map(str, rows[:5])) + (", …" if rows.size > 5 else "")
        parts.append(f"{name!r} in {rows.size} row{'s' if rows.size != 1 else ''} ({shown})")
    return f"NaN or infinite values: {'; '.join(parts)}. Repair these rows or drop them (missing='drop')"


def check_names(names: Collection[str], known: Collection[str], what: str) -> None:
    """Refuse names that do not exist, naming those that do.

    Raises:
        UnknownChoiceError: With the unknown name, the nearest known one, and all that are known.
    """
    import difflib

    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, list(known), n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            listed = ", ".join(map(repr, sorted(set(known))))
            raise UnknownChoiceError(f"there is no {what} {name!r}.{hint} Known: {listed}")
