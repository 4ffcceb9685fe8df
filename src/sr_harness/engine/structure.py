"""Which axes an array lies on: the part of `context.data` that expressions need.

Owns the alignment rules. Arrays are aligned by the *names* of their axes, never by guessing from shapes:
node arrays end in the node axis, the fields of a relation end in its row axis, and leading axes such as
time are shared by name. What does not align is an `AlignmentError` that names both sides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import AlignmentError


class ContextLike(Protocol):
    """What `Structure.from_context` reads of an `AgentContext`."""

    @property
    def data(self) -> Mapping[str, Any]:
        """Arrays of variables and axes by name."""
        ...

    @property
    def variable_axes(self) -> Mapping[str, Sequence[str]]:
        """The axes of every variable."""
        ...

    @property
    def variable_structures(self) -> Mapping[str, str]:
        """The relation of every field of a relation."""
        ...

    @property
    def relation_names(self) -> Sequence[str]:
        """Names of the relations."""
        ...

    @property
    def num_nodes(self) -> int | None:
        """Number of nodes, where there is a relation."""
        ...


@dataclass(frozen=True)
class Structure:
    """How the arrays of a data set are aligned.

    Attributes:
        variable_axes: Axis names of each variable, in the order of its dimensions. An axis may itself be
            used as a variable; it lies on itself.
        variable_structures: Field of a relation -> the relation on whose rows its last axis lies.
        relation_names: The relations, arrays of shape (rows, 2) or (rows, 3) with the target first.
        num_nodes: Number of nodes.
        node_axis: Name of the axis of the nodes.
        time_axis: Name of the axis along which `delay` looks back.
    """

    variable_axes: Mapping[str, tuple[str, ...]]
    variable_structures: Mapping[str, str] = field(default_factory=dict)
    relation_names: tuple[str, ...] = ()
    num_nodes: int | None = None
    node_axis: str | None = None
    time_axis: str | None = None

    @classmethod
    def from_context(cls, context: ContextLike) -> Structure:
        """The structure of a loaded `context.data`."""
        axes = {name: tuple(names) for name, names in context.variable_axes.items()}
        relations = tuple(context.relation_names)
        fields = dict(context.variable_structures)
        return cls(
            variable_axes=axes,
            variable_structures=fields,
            relation_names=relations,
            num_nodes=context.num_nodes,
            node_axis=_find_node_axis(axes, fields, relations, context),
            time_axis=_find_time_axis(axes),
        )

    def axes_of(self, name: str) -> tuple[str, ...]:
        """Axes of a variable, or of an axis used as a variable."""
        found = self.variable_axes.get(name)
        if found is not None:
            return found
        if any(name in axes for axes in self.variable_axes.values()):
            return (name,)
        raise AlignmentError(
            f"the structure does not say on which axes {name!r} lies; declare it in the manifest"
        )

    def kind(self, name: str) -> str | None:
        """`node`, the name of a relation for its fields, or None for an array without such an axis."""
        if name in self.variable_structures:
            return self.variable_structures[name]
        axes = self.axes_of(name)
        return "node" if axes and axes[-1] == self.node_axis else None

    def leading(self, name: str) -> tuple[str, ...]:
        """The axes of a variable before its node or row axis."""
        axes = self.axes_of(name)
        return axes if self.kind(name) is None else axes[:-1]

    def layout(self, names: Iterable[str]) -> tuple[str, ...]:
        """The leading axes of several variables together, in one order for all of them."""
        order: dict[str, None] = {}
        for name in sorted(names, key=lambda n: -len(self.axes_of(n))):
            for axis in self.leading(name):
                order.setdefault(axis)
        return tuple(order)

    def arrange(self, name: str, array: NDArray[Any], layout: tuple[str, ...]) -> NDArray[Any]:
        """`array` with one dimension per axis of `layout` and one for nodes or rows, 1 where it has none."""
        axes = self.axes_of(name)
        if array.ndim != len(axes):
            raise AlignmentError(
                f"{name!r} has {array.ndim} dimension(s) of shape {array.shape}, but is declared on the "
                f"axes {list(axes)}; give the array as it stands in the manifest"
            )
        leading = self.leading(name)
        order = [axes.index(axis) for axis in layout if axis in leading]
        if len(leading) < len(axes):
            order.append(len(axes) - 1)
        moved = array.transpose(order)
        lengths = iter(moved.shape)
        shape = [next(lengths) if axis in leading else 1 for axis in layout]
        shape.append(1 if len(leading) == len(axes) else next(lengths))
        return moved.reshape(shape)


def _find_node_axis(
    axes: Mapping[str, tuple[str, ...]],
    fields: Mapping[str, str],
    relations: Sequence[str],
    context: ContextLike,
) -> str | None:
    """The axis of the nodes: as long as there are nodes, and last in some plain variable."""
    if not relations or context.num_nodes is None:
        return None
    candidates: dict[str, None] = {}
    for name, names in axes.items():
        if name in relations or name in fields or not names:
            continue
        if np.shape(context.data[name])[-1] == context.num_nodes:
            candidates.setdefault(names[-1])
    for preferred in ("node", "nodes"):
        if preferred in candidates:
            return preferred
    if len(candidates) > 1:
        # a leading axis such as time can be as long as there are nodes; the axis that never leads is meant
        leading = {axis for names in axes.values() for axis in names[:-1]}
        narrowed = [axis for axis in candidates if axis not in leading]
        if len(narrowed) == 1:
            return narrowed[0]
        raise AlignmentError(
            f"any of the axes {list(candidates)} could be the axis of the {context.num_nodes} nodes; "
            "call the axis of the nodes 'node'"
        )
    return next(iter(candidates), None)


_TIME_NAMES: Final = ("time", "t")
_TIME_UNITS: Final = frozenset(
    {"year", "month", "week", "day", "date", "hour", "minute", "second", "timestep", "step", "tick", "frame"}
)


def _find_time_axis(axes: Mapping[str, tuple[str, ...]]) -> str | None:
    """The axis called `time` or `t`, else the only one that is called by a unit of time."""
    names = list(dict.fromkeys(axis for row in axes.values() for axis in row))
    for preferred in _TIME_NAMES:
        if preferred in names:
            return preferred
    for wanted in (frozenset(_TIME_NAMES), _TIME_UNITS):
        found = [name for name in names if name.casefold() in wanted or name.casefold().rstrip("s") in wanted]
        if len(found) == 1:
            return found[0]
    return None
