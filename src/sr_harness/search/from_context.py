"""From loaded `context.data` to a `Problem`: which variables can explain a target, and in which shape.

A variable is an input of a target if its axes are among the target's axes; it is then repeated along the
others. Fields of edges and relations are no columns: they are kept in the problem's `GraphView`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sr_harness.errors import ProblemError
from sr_harness.search.problem import GraphView, Missing, Problem, check_names

if TYPE_CHECKING:
    from sr_harness.core import AgentContext


def problem_from_context(
    context: AgentContext, target: str, inputs: Sequence[str] | None, missing: Missing
) -> Problem:
    """Build the problem; see `Problem.from_context`.

    Raises:
        ProblemError: An unknown name, an input off the target's axes, or unusable values.
    """
    check_names([target], context.variables, "variable")
    if inputs is not None:
        check_names(inputs, [*context.variables, *context.variable_axes, *context.data], "input")
        if target in inputs:
            raise ProblemError(
                f"{target!r} is the target and cannot explain itself; leave it out of the inputs"
            )
    if target in context.relation_names:
        raise ProblemError(
            f"{target!r} lists the pairs of a relation; choose a variable that holds measurements"
        )
    shape = np.shape(context.data[target])
    columns, notes = _inputs(context, target, inputs)
    graph = _graph(context, target, columns, inputs)
    flat = {name: np.broadcast_to(values, shape).ravel() for name, values in columns.items()}
    if graph is not None and missing == "drop":
        notes.append("rows of network data cannot be dropped one by one; missing values are refused")
        missing = "refuse"
    problem = Problem.from_arrays(
        flat, np.asarray(context.data[target]).ravel(), target_name=target, missing=missing
    )
    return Problem(
        problem.data,
        problem.target,
        problem.names,
        target,
        structure=graph.structure if graph else None,
        graph=graph,
        notes=(*notes, *problem.notes),
        numbers=problem.numbers,
    )


def _inputs(
    context: AgentContext, target: str, inputs: Sequence[str] | None
) -> tuple[dict[str, NDArray[Any]], list[str]]:
    """Inputs shaped so that they broadcast to the target, and notes on those left out."""
    columns: dict[str, NDArray[Any]] = {}
    notes: list[str] = []
    wanted = list(inputs) if inputs is not None else [name for name in context.variables if name != target]
    if inputs is None:
        wanted += _measured_axes(context, target, notes)
    for name in wanted:
        if name in context.relation_names or name in context.variable_structures:
            continue
        shaped = _aligned(context, name, target)
        if shaped is not None:
            columns[name] = shaped
        elif inputs is not None:
            raise ProblemError(
                f"input {name!r} lies on axes {list(_axes(context, name))}, which are not all among those of "
                f"the target {target!r}: {list(_axes(context, target))}"
            )
        else:
            notes.append(f"variable {name!r} does not lie on the axes of {target!r} and was left out")
    return columns, notes


def _measured_axes(context: AgentContext, target: str, notes: list[str]) -> list[str]:
    """Axes of the target whose values are decimal numbers; whole numbers may only count the rows."""
    names = []
    for axis in context.variable_axes[target]:
        kind = np.asarray(context.data[axis]).dtype.kind
        if kind == "f":
            names.append(axis)
        elif kind in "iu" and context.axis_metadata.get(axis, {}).get("source") != "size":
            notes.append(f"axis {axis!r} holds whole numbers and was left out; name it as an input to use it")
    return names


def _axes(context: AgentContext, name: str) -> tuple[str, ...]:
    return tuple(context.variable_axes.get(name, (name,)))


def _aligned(context: AgentContext, name: str, target: str) -> NDArray[Any] | None:
    """The variable with its axes moved to the places they have in the target, or None."""
    own, other = _axes(context, name), _axes(context, target)
    if any(axis not in other for axis in own) or len(set(own)) != len(own):
        return None
    values = np.asarray(context.data[name])
    order = sorted(range(len(own)), key=lambda place: other.index(own[place]))
    values = np.transpose(values, order)
    sizes = {own[place]: np.shape(context.data[name])[place] for place in range(len(own))}
    return values.reshape([sizes.get(axis, 1) for axis in other])


def _graph(
    context: AgentContext,
    target: str,
    columns: Mapping[str, NDArray[Any]],
    inputs: Sequence[str] | None,
) -> GraphView | None:
    """The network view, if the target is a field of nodes."""
    shape = np.shape(context.data[target])
    relations = tuple(context.relation_names)
    if not relations or not shape or shape[-1] != context.num_nodes or target in context.variable_structures:
        return None
    from sr_harness.engine import Structure

    edges = {
        name: relation
        for name, relation in context.variable_structures.items()
        if relation in relations and (inputs is None or name in inputs)
    }
    numeric = {name: values for name, values in columns.items() if values.dtype.kind in "biuf"}
    on_nodes = tuple(name for name, values in numeric.items() if values.shape[-1] == shape[-1])
    fields = {name: np.asarray(context.data[name]) for name in (*numeric, *edges, *relations)}
    return GraphView(fields, Structure.from_context(context), on_nodes, edges, relations, tuple(shape))
