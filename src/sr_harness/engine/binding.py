"""A compiled formula tied to its data: the arrays of its leaves found, checked and aligned.

Promises: arrays of a table have one shape, and scalars stand for themselves; with a `Structure` arrays are
aligned by the names of their axes; nothing else is accepted. Long data are handed out in parts, so that
what is computed from them needs bounded memory.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import AlignmentError, ExpressionError, UnknownNameError
from .expression import Expression
from .graph import GraphBinding, bind_graph
from .kernels import Array, Value
from .program import Leaf, Program, Step
from .structure import Structure

BLOCK: Final = 65_536
"""Rows of a table computed at a time: a few such blocks fit the second-level cache of common processors.

Measured with `benchmarks/expression_speed.py`: half as many cost 10 % more in overhead, four times as many
as much in cache misses.
"""
GRAPH_CELLS: Final = 1_000_000
"""Values per intermediate array of a graph formula, reached by taking fewer steps of the first axis."""


def parameter_values(program: Program, given: Mapping[str, Value]) -> dict[str, Value]:
    """The value of every parameter of the program: given, or its start value."""
    values: dict[str, Value] = {}
    for leaf in program.leaves:
        if leaf.node.op != "param":
            continue
        name = leaf.node.name or ""
        if name in given:
            values[name] = np.float64(given[name]) if np.ndim(given[name]) == 0 else given[name]
        elif leaf.node.value is not None:
            values.setdefault(name, np.float64(leaf.node.value))
        elif name not in values:
            raise UnknownNameError(
                name,
                f"the parameter {name!r} has no value; pass params={{{name!r}: …}} or fit the formula first",
            )
    return values


def column(name: str, data: Mapping[str, ArrayLike]) -> NDArray[Any]:
    """A column of the data as an array, by name."""
    if name not in data:
        close = difflib.get_close_matches(name, [str(k) for k in data], n=1)
        cure = f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(map(str, data)) or 'none'}"
        raise UnknownNameError(name, f"the data have no column {name!r}; {cure}", close[0] if close else None)
    return np.asarray(data[name])


def numeric(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """Refuse arrays that are not real numbers."""
    if array.dtype.kind not in "fiub":
        what = "complex numbers" if array.dtype.kind == "c" else f"values of type {array.dtype}"
        raise ExpressionError(f"the column {name!r} holds {what}; a formula computes with real numbers only")
    return array


def label_text(kind: object, table: Mapping[str, float]) -> str:
    """How a label is written in a `grouped_param`; 3.0 is `3` unless the formula itself writes `3.0`."""
    label = str(kind)
    if label not in table and isinstance(kind, float) and kind.is_integer():
        return str(int(kind))
    return label


def group_values(node: Expression, labels: NDArray[Any]) -> Array:
    """The value of a `grouped_param` for each label."""
    table = dict(node.table)
    kinds, inverse = np.unique(labels, return_inverse=True)
    values = np.empty(len(kinds))
    for position, kind in enumerate(kinds.tolist()):
        label = label_text(kind, table)
        if label in table:
            values[position] = table[label]
        elif node.value is not None:
            values[position] = node.value
        else:
            raise UnknownNameError(
                node.name or "",
                f"grouped_param {node.name!r} has no value for the label {label!r} and no default",
            )
    return values[inverse].reshape(labels.shape)


class Part(NamedTuple):
    """Rows `start` to `stop` of the flattened result, and the binding that computes them."""

    start: int
    stop: int
    binding: Binding


@dataclass
class Binding:
    """A program with the arrays of its leaves; parameters are still open.

    Attributes:
        program: The compiled formula.
        arrays: Per leaf an array or a number; None for a parameter.
        shape: The shape of the result.
        graph: Where the data are not one table: relations and axes.
        lengths: On a graph, the shape that results have while computing: one dimension per leading axis
            and a last one for nodes or rows, even where there is only one.
    """

    program: Program
    arrays: list[Value]
    shape: tuple[int, ...]
    graph: GraphBinding | None = None
    lengths: tuple[int, ...] = ()

    @property
    def full_shape(self) -> tuple[int, ...]:
        """The shape that results have while computing."""
        return self.shape if self.graph is None else self.lengths

    @property
    def rows(self) -> int:
        """Number of values of the result."""
        return math.prod(self.shape)

    def leaf_values(self, params: Mapping[str, Value]) -> list[Value]:
        """The values of the leaves, with node arrays read at the end points where they stand in a sum."""
        values = []
        for leaf, array in zip(self.program.leaves, self.arrays, strict=True):
            if array is None:
                values.append(params[leaf.node.name or ""])
            elif self.graph is None or leaf.context is None:
                values.append(as_float(array))
            else:
                values.append(self.graph.at_end_point(leaf, as_float(array)))
        return values

    def graph_step(self, step: Step, value: Value) -> Value:
        """How graph steps are computed; `bind` has made sure that a table has none."""
        assert self.graph is not None
        return self.graph.step(step, value)

    def finish(self, value: Value) -> Array:
        """The raw result in the shape that the caller sees, in memory of its own."""
        full = np.broadcast_to(np.asarray(value, dtype=np.float64), self.full_shape)
        return np.array(full).reshape(self.shape)

    def parts(self) -> Iterator[Part]:
        """The data in pieces of bounded size; in one piece where they are small or cannot be cut."""
        rows = self.rows
        length = self.shape[0] if self.graph is not None and self.graph.layout else rows
        step = self._graph_step_length() if self.graph is not None else self.block()
        if step >= length:
            yield Part(0, rows, self)
            return
        graph = self.graph
        flat = self.arrays if graph is not None else [_flattened(a) for a in self.arrays]
        per_step = rows // length
        for start in range(0, length, step):
            stop = min(start + step, length)
            arrays = [_cut(a, start, stop) for a in flat]
            if graph is None:
                piece = Binding(self.program, arrays, (stop - start,))
            else:
                shape, lengths = (stop - start, *self.shape[1:]), (stop - start, *self.lengths[1:])
                piece = Binding(self.program, arrays, shape, graph, lengths)
            yield Part(start * per_step, stop * per_step, piece)

    def flat_leaf_values(self, params: Mapping[str, Value]) -> list[Value]:
        """The values of a table's leaves in one dimension, to be cut into blocks of rows.

        Arrays keep their type: each block is made float64 by itself, so that no copy of the table is needed.
        """
        return [
            params[leaf.node.name or ""] if array is None else _flattened(array)
            for leaf, array in zip(self.program.leaves, self.arrays, strict=True)
        ]

    def block(self) -> int:
        """Rows of a table to compute at a time."""
        rows = self.rows
        # a single operation that writes straight into the result needs no blocks at all
        if len(self.program.steps) == 1 and all(_is_float64(array) for array in self.arrays):
            return rows
        # two operations hold one array beside their operands, but many blocks would cost overhead
        block = BLOCK if len(self.program.steps) > 2 else 4 * BLOCK
        return rows if rows <= 2 * block else block

    def _graph_step_length(self) -> int:
        """Steps of the first leading axis at a time; all of them where the formula looks along an axis."""
        graph = self.graph
        assert graph is not None
        if not graph.layout or any(step.op == "delay" for step in self.program.steps):
            return self.rows
        widest = max([self.lengths[-1], *(graph.row_count(name) for name in graph.ends)])
        cells = widest * math.prod(self.lengths[1:-1])
        return max(1, GRAPH_CELLS // max(1, cells))


def _is_float64(array: Value) -> bool:
    return array is None or np.ndim(array) == 0 or array.dtype == np.float64


def _flattened(array: Value) -> Value:
    return array if array is None or np.ndim(array) == 0 else array.reshape(-1)


def _cut(array: Value, start: int, stop: int) -> Value:
    """Entries `start` to `stop` of the first dimension; what has only one entry there is shared by all."""
    if array is None or np.ndim(array) == 0 or len(array) == 1:
        return array
    return array[start:stop]


def as_float(array: Value) -> Value:
    """float64 without a copy where it is already."""
    return np.asarray(array, dtype=np.float64) if np.ndim(array) else np.float64(array)


def bind(program: Program, data: Mapping[str, ArrayLike], structure: Structure | None = None) -> Binding:
    """Find and check the arrays of a program's leaves."""
    if structure is None and program.has_graph:
        raise AlignmentError(
            "the formula has graph terms or delay(…); pass structure=Structure.from_context(context)"
        )
    arrays: list[Value] = []
    axes: set[tuple[str, ...]] = set()
    for leaf in program.leaves:
        arrays.append(_leaf_array(leaf, data))
        if structure is not None and arrays[-1] is not None:
            axes.add(structure.axes_of(leaf.column))
    axes.discard(())
    if structure is None or (len(axes) <= 1 and not program.has_graph):
        return Binding(program, arrays, _common_shape(program, arrays, data))
    return _bind_structured(program, arrays, data, structure)


def _leaf_array(leaf: Leaf, data: Mapping[str, ArrayLike]) -> Value:
    if leaf.node.op == "param":
        return None
    array = column(leaf.column, data)
    return group_values(leaf.node, array) if leaf.node.op == "group" else numeric(leaf.column, array)


def _common_shape(program: Program, arrays: list[Value], data: Mapping[str, ArrayLike]) -> tuple[int, ...]:
    first: tuple[str, tuple[int, ...]] | None = None
    for leaf, array in zip(program.leaves, arrays, strict=True):
        if array is None or np.ndim(array) == 0:
            continue
        if first is None:
            first = (leaf.column, np.shape(array))
        elif np.shape(array) != first[1]:
            raise AlignmentError(
                f"{first[0]!r} has shape {first[1]} but {leaf.column!r} has shape {np.shape(array)}; "
                "nothing is broadcast silently: give columns of one shape, or numbers"
            )
    if first is not None:
        return first[1]
    if any(array is not None for array in arrays):
        return ()
    shapes = {np.shape(value) for value in data.values()} - {()}
    return shapes.pop() if len(shapes) == 1 else ()


def _bind_structured(
    program: Program, arrays: list[Value], data: Mapping[str, ArrayLike], structure: Structure
) -> Binding:
    names = list(dict.fromkeys(leaf.column for leaf in program.leaves if leaf.node.op != "param"))
    graph = bind_graph(program, data, structure, names)
    lengths: dict[str, tuple[int, str]] = {}
    placed: list[Value] = []
    for leaf, array in zip(program.leaves, arrays, strict=True):
        if array is None:
            placed.append(None)
            continue
        name = leaf.column
        _check_lengths(name, array, structure, graph, lengths)
        placed.append(structure.arrange(name, array, graph.layout))
    leading = [lengths[axis][0] for axis in graph.layout]
    last = _last_length(graph, program, placed)
    shape = tuple(leading) if last is None else (*leading, last)
    return Binding(program, placed, shape, graph, (*leading, 1 if last is None else last))


def _last_length(graph: GraphBinding, program: Program, placed: list[Value]) -> int | None:
    """Number of nodes or rows on which the result lives; None where it lives on leading axes only."""
    kind = graph.kinds.get(program.result)
    if kind is None:
        return None
    if kind == "node" and graph.structure.num_nodes is not None:
        return graph.structure.num_nodes
    if kind in graph.ends:
        return graph.row_count(kind)
    # a field of a relation that the formula itself does not mention
    return max(int(np.shape(array)[-1]) for array in placed if np.ndim(array))


def _check_lengths(
    name: str,
    array: NDArray[Any],
    structure: Structure,
    graph: GraphBinding,
    lengths: dict[str, tuple[int, str]],
) -> None:
    """Arrays that share an axis have one length on it; node and row axes are as long as what they carry."""
    axes = structure.axes_of(name)
    for axis, length in zip(axes, np.shape(array), strict=False):
        known = lengths.setdefault(axis, (length, name))
        if known[0] != length:
            raise AlignmentError(
                f"{known[1]!r} has {known[0]} entries on the axis {axis!r}, but {name!r} has {length}"
            )
    kind = structure.kind(name)
    if kind == "node" and structure.num_nodes is not None and np.shape(array)[-1:] != (structure.num_nodes,):
        raise AlignmentError(f"{name!r} must have {structure.num_nodes} entries on the node axis")
    if kind in graph.ends and np.shape(array)[-1:] != (graph.row_count(kind),):
        raise AlignmentError(f"{name!r} must have one entry per row of {kind!r} ({graph.row_count(kind)})")
