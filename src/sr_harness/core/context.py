"""`AgentContext`: the data of a study as every tool sees them.

It is built directly from what `load_context_data` returns, is never changed in place, and takes rows
lazily, so that a split of a large data set costs memory only for the columns that are used.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from sr_harness.core.lazy import Array, LazyArrays, Source
from sr_harness.core.reader import load_context_data
from sr_harness.core.writer import Axis, Variable, write_context_data
from sr_harness.errors import AlignmentError


@dataclass(frozen=True)
class AgentContext:
    """Variables, axes and structure of one `context.data` directory.

    Attributes:
        data: name to array, for all variables and all axes.
        variable_axes: variable to the names of its axes, one a dimension.
        variable_descriptions: variable to description.
        variable_structures: variable to the relation that its last dimension follows.
        relation_names: the relation variables; rows are (target, source) or (target, source1, source2).
        num_nodes: number of nodes that all relations share; None without relations.
        axis_metadata: axis to description, source (`values`, `file` or `size`) and size.
    """

    data: Mapping[str, Array]
    variable_axes: Mapping[str, tuple[str, ...]]
    variable_descriptions: Mapping[str, str] = field(default_factory=dict)
    variable_structures: Mapping[str, str] = field(default_factory=dict)
    relation_names: tuple[str, ...] = ()
    num_nodes: int | None = None
    axis_metadata: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def from_loaded(cls, loaded: Mapping[str, Any]) -> AgentContext:
        """Build the context from what `load_context_data` returned."""
        return cls(
            data=loaded["data"],
            variable_axes={name: tuple(axes) for name, axes in loaded["variable_axes"].items()},
            variable_descriptions=dict(loaded["variable_descriptions"]),
            variable_structures=dict(loaded["variable_structures"]),
            relation_names=tuple(loaded["relation_names"]),
            num_nodes=loaded["num_nodes"],
            axis_metadata={name: dict(entry) for name, entry in loaded["axis_metadata"].items()},
        )

    @classmethod
    def from_directory(cls, directory: str | os.PathLike[str]) -> AgentContext:
        """Load a `context.data` directory.

        Raises:
            ContextManifestError: the directory is not valid.
        """
        return cls.from_loaded(load_context_data(directory))

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the variables, axes excluded, in manifest order."""
        return tuple(self.variable_axes)

    @property
    def axes(self) -> tuple[str, ...]:
        """Names of the axes, in manifest order."""
        return tuple(self.axis_metadata)

    def axis_length(self, axis: str) -> int:
        """Number of positions along an axis.

        Raises:
            KeyError: there is no such axis.
        """
        size = self.axis_metadata[axis].get("size")
        return len(self.data[axis]) if size is None else int(size)

    def take(self, axis: str, index: Array | Sequence[int]) -> AgentContext:
        """Return the same context with some positions of one axis only.

        Args:
            axis: the axis to index; every variable is indexed along each dimension that lies on it.
            index: positions (integers, negative ones count from the end) or a mask of the axis's length.

        Raises:
            KeyError: there is no such axis.
            IndexError: a position lies outside the axis.
            AlignmentError: the selection would break a relation.
        """
        positions = _positions(index, axis, self.axis_length(axis))
        self._check_selection(axis, len(positions))
        sources: dict[str, Source] = {}
        for name, axes in self.variable_axes.items():
            on_axis = [dimension for dimension, other in enumerate(axes) if other == axis]
            sources[name] = _selection(self.data, name, on_axis, positions)
        for name in self.axis_metadata:
            sources[name] = _selection(self.data, name, [0] if name == axis else [], positions)
        meta: dict[str, Any] = dict(self.axis_metadata[axis]) | {"size": len(positions)}
        if meta.get("source") == "size":
            meta["source"] = "values"  # the positions of the selection are no longer 0 … size-1
        return replace(self, data=LazyArrays(sources), axis_metadata={**self.axis_metadata, axis: meta})

    def _check_selection(self, axis: str, length: int) -> None:
        for name in self.relation_names:
            edges, endpoint = self.variable_axes[name]
            if axis == endpoint:
                raise AlignmentError(
                    f"the axis {axis!r} holds the endpoints of the relation {name!r}; take edges"
                )
            for other, target in self.variable_structures.items():
                if target == name and (self.variable_axes[other][-1] == axis) != (edges == axis):
                    raise AlignmentError(
                        f"{other!r} follows the relation {name!r} but lies on another axis than {edges!r}; "
                        f"taking {length} positions of {axis!r} would misalign them"
                    )

    def to_directory(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the context as a `context.data` directory; see `write_context_data`."""
        variables = {
            name: Variable(
                values=self.data[name],
                description=self.variable_descriptions.get(name, ""),
                axes=axes,
                kind="relation" if name in self.relation_names else None,
                structure=self.variable_structures.get(name),
            )
            for name, axes in self.variable_axes.items()
        }
        axes = {name: self._axis_to_write(name) for name in self.axis_metadata}
        return write_context_data(
            path, variables=variables, axes=axes, num_nodes=self.num_nodes, overwrite=overwrite
        )

    def _axis_to_write(self, name: str) -> Axis:
        meta = self.axis_metadata[name]
        description = meta.get("description", "")
        if meta.get("source") == "size":
            return Axis(description=description, size=self.axis_length(name))
        return Axis(description=description, values=self.data[name])


def _positions(index: Array | Sequence[int], axis: str, length: int) -> Array:
    chosen = np.asarray(index)
    if chosen.dtype == np.bool_:
        if chosen.shape != (length,):
            raise IndexError(f"a mask for the axis {axis!r} has shape ({length},), not {chosen.shape}")
        return np.flatnonzero(chosen)
    if chosen.size == 0:
        return np.zeros(0, dtype=np.intp)
    if chosen.ndim != 1 or chosen.dtype.kind not in "iu":
        raise IndexError(f"positions of the axis {axis!r} are a one-dimensional array of integers")
    if int(chosen.min()) < -length or int(chosen.max()) >= length:
        raise IndexError(f"a position lies outside the axis {axis!r} of length {length}")
    positions = chosen.astype(np.intp)
    return np.where(positions < 0, positions + length, positions)


def _selection(data: Mapping[str, Array], name: str, dimensions: list[int], positions: Array) -> Source:
    def make() -> Array:
        array = data[name]
        for dimension in dimensions:
            array = np.take(array, positions, axis=dimension)
            array.flags.writeable = False
        return array

    return make
