"""Evaluate a formula on data: float64, no warnings, no silent broadcasting, bounded memory.

Promises: integers are computed as floats; NaN and infinity are ordinary results; arrays must have one
shape (or be aligned by a `Structure`) and scalars stand for themselves; large tables are worked through
in blocks of rows, so that the memory needed beyond the result does not grow with their length.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from .binding import Binding, as_float, bind, parameter_values
from .expression import Expression, parameters, relations, variables
from .kernels import Array, Value
from .program import Scratch, compile_program, differentiate, execute
from .structure import Structure

_WORTH_SCRATCH: Final = 8_192
"""Rows from which on memory is handed on between steps; short tables are faster without the bookkeeping."""


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
    return _run(bind(program, data, structure), parameter_values(program, params or {}))


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
        return _run(bind(program, data, structure), parameter_values(program, given))

    return run


def to_callable(
    expr: Expression, names: Sequence[str] | None = None, *, structure: Structure | None = None
) -> Callable[..., Array]:
    """The formula as a function of arrays.

    Args:
        expr: The formula; parameters must have start values or be passed by keyword.
        names: Order of the positional arguments; by default the order of `variables(expr)`, then that of
            `relations(expr)`.
        structure: As in `evaluate`.

    Returns:
        `f(*arrays, **by_name)`, where keywords give further columns, relations, axes or parameters.
    """
    order = tuple((*variables(expr), *relations(expr)) if names is None else names)
    free = frozenset(parameters(expr))

    def function(*arrays: ArrayLike, **by_name: ArrayLike) -> Array:
        if len(arrays) > len(order):
            raise TypeError(
                f"{len(arrays)} arrays given, but the formula takes {len(order)}: {', '.join(order)}"
            )
        data = dict(zip(order, arrays, strict=False))
        params = {name: float(np.asarray(value)) for name, value in by_name.items() if name in free}
        data.update({name: value for name, value in by_name.items() if name not in free})
        return evaluate(expr, data, params, structure=structure)

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


_kept = threading.local()


def _scratch() -> Scratch:
    """The calling thread's memory for intermediate results."""
    try:
        scratch: Scratch = _kept.scratch
    except AttributeError:
        scratch = _kept.scratch = Scratch()
    return scratch


def _run(binding: Binding, params: Mapping[str, Value]) -> Array:
    """Compute part by part, each straight into its place of the result."""
    rows = binding.rows
    result = np.empty(rows)
    with np.errstate(all="ignore"):
        if binding.graph is None:
            _run_table(binding, params, result)
        else:
            for start, stop, part in binding.parts():
                out = result[start:stop].reshape(part.full_shape)
                value = execute(binding.program, part.leaf_values(params), part.graph_step, out=out)
                if value is not out:
                    out[...] = value
    return result.reshape(binding.shape)


def _run_table(binding: Binding, params: Mapping[str, Value], result: Array) -> None:
    """A table is flat: its blocks are slices, and need no binding of their own."""
    leaves = binding.flat_leaf_values(params)
    scalars = [None if np.ndim(leaf) else as_float(leaf) for leaf in leaves]
    rows, block = len(result), max(1, binding.block())
    scratch = _scratch() if rows >= _WORTH_SCRATCH else None
    for start in range(0, rows, block):
        cut = slice(start, start + block)
        out = result[cut]
        values = [
            np.asarray(leaf[cut], dtype=np.float64) if scalar is None else scalar
            for leaf, scalar in zip(leaves, scalars, strict=True)
        ]
        value = execute(binding.program, values, out=out, scratch=scratch)
        if value is not out:
            out[...] = value
