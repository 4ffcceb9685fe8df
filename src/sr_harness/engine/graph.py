"""Graph terms: which registers live on nodes and which on the rows of a relation, and how to move between.

Promises: everything is vectorised over the leading axes; a sum costs one pass over the rows of the
relation; arrays that do not live in the same place are refused before anything is computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import AlignmentError
from .delays import delayed, sample_times
from .kernels import Value
from .program import Context, Leaf, Program, Step
from .structure import Structure

_COMBINED_LIMIT = 4096


def end_points(name: str, data: Mapping[str, Value], structure: Structure, columns: int) -> NDArray[np.intp]:
    """The checked end points of a relation, shape (columns, rows): each column lies together in memory."""
    if name not in structure.relation_names or name not in data:
        known = ", ".join(structure.relation_names) or "none"
        raise AlignmentError(f"{name!r} is not a relation of these data; relations: {known}")
    rows = np.asarray(data[name])
    if rows.ndim != 2 or not np.issubdtype(rows.dtype, np.integer):
        raise AlignmentError(f"the relation {name!r} must be an integer array of shape (rows, {columns})")
    if rows.shape[1] != columns:
        raise AlignmentError(
            f"the relation {name!r} has {rows.shape[1]} columns, but is written with {columns} indices"
        )
    count = structure.num_nodes or 0
    if rows.size and (rows.min() < 0 or rows.max() >= count):
        raise AlignmentError(f"the relation {name!r} has end points outside 0 … {count - 1}")
    return np.ascontiguousarray(rows.T, dtype=np.intp)


@dataclass
class GraphBinding:
    """A program tied to the relations and axes of a data set; `ends` has the end points of each relation."""

    structure: Structure
    layout: tuple[str, ...]
    ends: dict[str, NDArray[np.intp]]
    kinds: dict[int, str | None]
    times: NDArray[np.float64] | None

    def row_count(self, relation: str) -> int:
        """Number of rows of a relation."""
        return int(self.ends[relation].shape[1])

    def place(self, value: Value, context: Context, letter: str) -> Value:
        """A node array on the rows of the relation of `context`, read at the end point `letter`."""
        if context is None or np.ndim(value) == 0 or np.shape(value)[-1] == 1:
            return value
        relation, index = context
        return np.take(value, self.ends[relation][index.index(letter)], axis=-1)

    def at_end_point(self, leaf: Leaf, array: Value) -> Value:
        """The values of a leaf inside a graph term: a node array is read at the end point of its index."""
        if self.structure.kind(leaf.column) != "node":
            return array
        label = leaf.node.args[0] if leaf.node.op == "group" else leaf.node
        return self.place(array, leaf.context, label.index[0])

    def step(self, step: Step, value: Value) -> Value:
        """Compute a `sum`, `gather` or `delay`."""
        if step.op == "delay":
            return self.delayed(step, value)
        relation = step.node.name or ""
        if step.op == "gather":
            rows = self.row_count(relation)
            shape = np.shape(value) or (1,) * (len(self.layout) + 1)
            return np.broadcast_to(value, (*shape[:-1], rows))
        summed = segment_sum(
            value, self.ends[relation][0], self.structure.num_nodes or 0, len(self.layout) + 1
        )
        return self.place(summed, step.context, step.node.index[0])

    def delayed(self, step: Step, value: Value) -> Value:
        """A value as it was earlier along the time axis."""
        name = self.structure.time_axis
        if name is None or name not in self.layout:
            raise AlignmentError(
                "delay(…) needs a time axis that its operand lies on: an axis called 'time' or 't', or by a "
                "unit of time such as 'year'"
            )
        axis = self.layout.index(name) - len(self.layout) - 1
        if np.ndim(value) == 0 or np.shape(value)[axis] == 1:
            return value
        return delayed(value, step.node.value or 0.0, self.times, axis, name)


def segment_sum(value: Value, target: NDArray[np.intp], nodes: int, dimensions: int) -> NDArray[np.float64]:
    """Sum the last axis of `value` into `nodes` bins given by `target`."""
    array = np.asarray(value, dtype=np.float64)
    lead = array.shape[:-1] if array.ndim else (1,) * (dimensions - 1)
    flat = np.broadcast_to(array, (*lead, len(target))).reshape(-1, len(target))
    count = len(flat)
    if len(target) >= _COMBINED_LIMIT or count == 1:
        result = np.empty((count, nodes))
        for row in range(count):
            result[row] = np.bincount(target, weights=flat[row], minlength=nodes)
        return result.reshape(*lead, nodes)
    result = np.empty((count, nodes))
    block = max(1, 4_000_000 // max(1, len(target)))
    for start in range(0, count, block):
        part = flat[start : start + block]
        bins = (np.arange(len(part))[:, None] * nodes + target).ravel()
        total = np.bincount(bins, weights=part.ravel(), minlength=len(part) * nodes)
        result[start : start + block] = total.reshape(len(part), nodes)
    return result.reshape(*lead, nodes)


def bind_graph(
    program: Program, data: Mapping[str, Value], structure: Structure, names: list[str]
) -> GraphBinding:
    """Tie a program to the data, checking that everything lives where it is used."""
    ends: dict[str, NDArray[np.intp]] = {}
    for step in program.steps:
        if step.op in ("sum", "gather"):
            name = step.node.name or ""
            columns = len(step.node.index)
            ends[name] = end_points(name, data, structure, columns)
    layout = structure.layout(names)
    binding = GraphBinding(structure, layout, ends, {}, sample_times(data, structure))
    for leaf in program.leaves:
        binding.kinds[leaf.register] = _leaf_kind(leaf, structure)
    for step in program.steps:
        binding.kinds[step.out] = _step_kind(step, binding.kinds)
    return binding


def _leaf_kind(leaf: Leaf, structure: Structure) -> str | None:
    """Where a leaf lives once it has been read in its context."""
    node = leaf.node
    if node.op == "param":
        return None
    name = leaf.column
    kind = structure.kind(name)
    if leaf.context is None or kind is None:
        if leaf.context is not None and node.index and kind is None:
            raise AlignmentError(f"{name!r} has no node axis, so it has no index here; write it without one")
        return kind
    relation, index = leaf.context
    letters = node.args[0].index if node.op == "group" else node.index
    if kind == "node":
        if len(letters) != 1:
            choices = " or ".join(f"{name}[{letter}]" for letter in index)
            raise AlignmentError(
                f"{name!r} is a value per node; inside a sum over {relation!r} write {choices}"
            )
        return relation
    if kind != relation:
        raise AlignmentError(f"{name!r} belongs to the rows of {kind!r}, not to those of {relation!r}")
    if len(letters) == 1:
        raise AlignmentError(f"{name!r} is a value per row of {relation!r}; write {name}[{','.join(index)}]")
    return relation


def _step_kind(step: Step, kinds: dict[int, str | None]) -> str | None:
    if step.op == "sum":
        return "node" if step.context is None else step.context[0]
    if step.op == "gather":
        if step.context is not None and step.context[0] != step.node.name:
            raise AlignmentError("a gather can stand inside a graph term of its own relation only")
        return step.node.name
    a = kinds.get(step.a)
    b = kinds.get(step.b)
    if a is not None and b is not None and a != b:
        first, second = (("nodes" if k == "node" else f"the rows of {k!r}") for k in (a, b))
        raise AlignmentError(
            f"the operands of {step.op!r} do not align: one lives on {first}, the other on {second}; "
            "bring rows to nodes with sum[j](A[i,j], …)"
        )
    return a if a is not None else b
