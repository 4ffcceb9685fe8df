"""Evaluate a formula on data: float64, no warnings, no silent broadcasting, bounded memory.

Promises: integers are computed as floats; NaN and infinity are ordinary results; arrays must have one
shape (or be aligned by a `Structure`) and scalars stand for themselves; large tables are worked through
in blocks of rows, so that the memory needed beyond the result does not grow with their length.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import AlignmentError, ExpressionError, UnknownNameError
from .expression import Expression, parameters, variables
from .graph import GraphBinding, bind_graph
from .kernels import Array, Value
from .program import Leaf, Program, Step, compile_program, differentiate, execute
from .structure import Structure

BLOCK: Final = 16_384
"""Rows computed at a time: a handful of such blocks fits the second-level cache of common processors."""


def evaluate(
    expr: Expression,
    data: Mapping[str, ArrayLike],
    params: Mapping[str, float] | None = None,
    *,
    structure: Structure | None = None,
) -> Array:
    """Compute `expr` on `data`.

    Args:
        expr: The formula.
        data: Column name -> array or number. All arrays that the formula reads have one shape, unless
            `structure` aligns them by the names of their axes.
        params: Value of each free parameter; one that is missing takes its start value.
        structure: Axes and relations of the data; needed for graph terms and `delay`.

    Returns:
        A float64 array of the common shape of what the formula reads. A formula that reads no array has
        the common shape of all `data`, or shape () if they have none. NaN and infinity are results.

    Raises:
        UnknownNameError: a column or parameter value is missing.
        AlignmentError: the arrays do not lie on the same axes.
    """
    program = compile_program(expr)
    binding = bind(program, data, structure)
    return binding.run(parameter_values(program, params or {}))


def compile_(
    expr: Expression, param_names: Sequence[str], *, structure: Structure | None = None
) -> Callable[[Mapping[str, ArrayLike], ArrayLike], Array]:
    """A function `f(data, values)` for repeated evaluation.

    Args:
        expr: The formula.
        param_names: Which parameter each entry of `values` is; the others take their start values.
        structure: As in `evaluate`.
    """
    program = compile_program(expr)
    names = tuple(param_names)

    def run(data: Mapping[str, ArrayLike], values: ArrayLike) -> Array:
        given = dict(zip(names, np.asarray(values, dtype=np.float64).tolist(), strict=True))
        return bind(program, data, structure).run(parameter_values(program, given))

    return run


def to_callable(expr: Expression, names: Sequence[str] | None = None) -> Callable[..., Array]:
    """The formula as a function of arrays.

    Args:
        expr: The formula; parameters must have start values or be passed by keyword.
        names: Order of the positional arguments; by default the order of `variables(expr)`.

    Returns:
        `f(*arrays, **by_name)`, where keywords give further columns or parameters.
    """
    order = tuple(variables(expr) if names is None else names)
    free = frozenset(parameters(expr))

    def function(*arrays: ArrayLike, **by_name: ArrayLike) -> Array:
        if len(arrays) > len(order):
            raise TypeError(
                f"{len(arrays)} arrays given, but the formula takes {len(order)}: {', '.join(order)}"
            )
        data = dict(zip(order, arrays, strict=False))
        params = {name: float(np.asarray(value)) for name, value in by_name.items() if name in free}
        data.update({name: value for name, value in by_name.items() if name not in free})
        return evaluate(expr, data, params)

    function.__doc__ = f"{expr} as a function of {', '.join(order) or 'nothing'}."
    return function


def jacobian(
    expr: Expression,
    data: Mapping[str, ArrayLike],
    params: Mapping[str, float],
    *,
    structure: Structure | None = None,
) -> tuple[Array, Array]:
    """Values and their derivatives by the parameters.

    Returns:
        The values, and an array of one more, last, dimension: one entry per `parameters(expr)`.
    """
    program = compile_program(expr)
    binding = bind(program, data, structure)
    names = parameters(expr)
    seeds = {
        position: names.index(leaf.node.name or "")
        for position, leaf in enumerate(program.leaves)
        if leaf.node.op == "param"
    }
    leaves = binding.leaf_values(parameter_values(program, params))
    with np.errstate(all="ignore"):
        value, tangents = differentiate(program, leaves, seeds, binding.graph_step)
        columns = [binding.finish(tangents.get(k, np.float64(0.0))) for k in range(len(names))]
        values = binding.finish(value)
    return values, np.stack(columns, axis=-1) if columns else np.empty((*values.shape, 0))


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


def group_values(node: Expression, labels: NDArray[Any]) -> Array:
    """The value of a `grouped_param` for each label."""
    table = dict(node.table)
    kinds, inverse = np.unique(labels, return_inverse=True)
    values = np.empty(len(kinds))
    for position, kind in enumerate(kinds.tolist()):
        label = str(kind)
        if label not in table and isinstance(kind, float) and kind.is_integer():
            label = str(int(kind))
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


@dataclass
class Binding:
    """A program with the arrays of its leaves, checked; parameters are still open."""

    program: Program
    arrays: list[Value]  # per leaf: an array or a number; None for a parameter
    shape: tuple[int, ...]
    graph: GraphBinding | None = None
    lengths: tuple[int, ...] = ()

    def leaf_values(self, params: Mapping[str, Value]) -> list[Value]:
        """The values of the leaves on all rows at once."""
        return [
            params[leaf.node.name or ""] if array is None else as_float(array)
            for leaf, array in zip(self.program.leaves, self.arrays, strict=True)
        ]

    @property
    def full_shape(self) -> tuple[int, ...]:
        """The shape that results have while computing: on a graph, a last one is for nodes or rows."""
        return self.shape if self.graph is None else self.lengths

    def graph_step(self, step: Step, value: Value) -> Value:
        """How graph steps are computed; `bind` has made sure that a table has none."""
        assert self.graph is not None
        return self.graph.step(step, value)

    def run(self, params: Mapping[str, Value]) -> Array:
        """Evaluate with these parameter values."""
        with np.errstate(all="ignore"):
            if self.graph is not None:
                return self.finish(execute(self.program, self.leaf_values(params), self.graph.step))
            if int(np.prod(self.shape)) <= 2 * BLOCK:
                return self.finish(execute(self.program, self.leaf_values(params)))
            return self.run_in_blocks(params)

    def run_in_blocks(self, params: Mapping[str, Value]) -> Array:
        """Work through a long table block by block, writing into the result."""
        total = int(np.prod(self.shape))
        flat = [a if a is None or np.ndim(a) == 0 else a.reshape(-1) for a in self.arrays]
        result = np.empty(total)
        fixed = [
            params[leaf.node.name or ""] if a is None else (as_float(a) if np.ndim(a) == 0 else None)
            for leaf, a in zip(self.program.leaves, flat, strict=True)
        ]
        for start in range(0, total, BLOCK):
            stop = min(start + BLOCK, total)
            leaves = [
                as_float(a[start:stop]) if value is None else value
                for a, value in zip(flat, fixed, strict=True)
            ]
            out = result[start:stop]
            value = execute(self.program, leaves, out=out)
            if value is not out:
                out[...] = value
        return result.reshape(self.shape)

    def finish(self, value: Value) -> Array:
        """The raw result in the shape that the caller sees, in memory of its own."""
        full = np.broadcast_to(np.asarray(value, dtype=np.float64), self.full_shape)
        return np.array(full).reshape(self.shape)


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
        arranged = structure.arrange(name, array, graph.layout)
        index = leaf.node.args[0].index if leaf.node.op == "group" else leaf.node.index
        if leaf.context is not None and structure.kind(name) == "node":
            arranged = graph.place(arranged, leaf.context, index[0])
        placed.append(arranged)
    full = [lengths[axis][0] for axis in graph.layout]
    kind = graph.kinds.get(program.result)
    last = () if kind is None else ((structure.num_nodes or 0) if kind == "node" else len(_rows(kind, data)),)
    return Binding(program, placed, (*full, *last), graph, (*full, *(last or (1,))))


def _rows(relation: str, data: Mapping[str, ArrayLike]) -> NDArray[Any]:
    return np.asarray(data[relation])


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
    if kind in graph.rows and np.shape(array)[-1:] != (len(graph.rows[kind]),):
        raise AlignmentError(f"{name!r} must have one entry per row of {kind!r} ({len(graph.rows[kind])})")
