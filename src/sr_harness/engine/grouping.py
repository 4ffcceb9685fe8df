"""Grouped parameters while they are fitted: one ordinary parameter per label.

`grouped_param(site, name='k')` becomes `k[a]*(site is a) + k[b]*(site is b) + …`, where each bracket is a
column of zeros and ones. The fit so needs no notion of groups: values that enter linearly are solved for like
any other. Promises: labels that do not occur in the data keep the value that the formula gives them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import FitError
from .binding import column, label_text
from .build import add, mul, param, var
from .expression import Expression, fold, parameters, postorder, with_args
from .structure import Structure

MOST_LABELS: Final = 500
"""Labels per grouped parameter that are fitted; each is a dense column of derivatives."""


class Ungrouped(NamedTuple):
    """A formula without grouped parameters, and what it needs.

    `members` says of each parameter that was made here which group and label it belongs to.
    """

    expression: Expression
    data: Mapping[str, ArrayLike]
    structure: Structure | None
    members: Mapping[str, tuple[str, str]]


def has_groups(expr: Expression) -> bool:
    """Whether the formula has a grouped parameter."""
    return any(node.op == "group" for node in postorder(expr))


class Shared(NamedTuple):
    """A formula in which each grouped parameter has one value for all labels.

    `groups` says of each parameter that was made here which group it stands for.
    """

    expression: Expression
    groups: Mapping[str, str]


def shared(expr: Expression) -> Shared:
    """Put one plain parameter in place of each grouped parameter."""
    taken = set(parameters(expr))
    groups: dict[str, str] = {}

    def swap(node: Expression, args: list[Expression]) -> Expression:
        if node.op != "group":
            return with_args(node, tuple(args))
        name = _unused(f"{node.name}[]", taken)
        groups[name] = node.name or ""
        return param(name, node.value)

    return Shared(fold(expr, swap), groups)


def ungroup(
    expr: Expression,
    data: Mapping[str, ArrayLike],
    structure: Structure | None,
    starts: Mapping[str, Mapping[str, float]],
) -> Ungrouped:
    """Replace each grouped parameter by one parameter per label.

    Args:
        expr: The formula.
        data: Columns by name, those of the labels among them.
        structure: Axes of the data, if they are not one table.
        starts: Group -> start values of labels that the formula gives no value.

    Raises:
        FitError: a label is missing, or there are too many of them.
    """
    columns: dict[str, ArrayLike] = dict(data)
    members: dict[str, tuple[str, str]] = {}
    names = set(parameters(expr))
    ours: dict[tuple[str, str], str] = {}
    indicators: dict[tuple[str, str], str] = {}
    labels: dict[str, Labels] = {}

    def member(group: str, label: str) -> str:
        if (group, label) not in ours:
            name = _unused(f"{group}[{label}]", names)
            names.add(name)
            ours[group, label] = name
            members[name] = (group, label)
        return ours[group, label]

    def indicator(source: str, label: str, flags: NDArray[np.bool_]) -> str:
        if (source, label) not in indicators:
            name = _unused(f"{source} is {label}", set(columns))
            indicators[source, label] = name
            columns[name] = flags
        return indicators[source, label]

    def swap(node: Expression, args: list[Expression]) -> Expression:
        if node.op != "group":
            return with_args(node, tuple(args))
        group, source = node.name or "", node.args[0].name or ""
        if source not in labels:
            labels[source] = labels_of(group, source, data)
        kinds, codes = labels[source]
        table = dict(node.table)
        total: Expression | None = None
        for code, kind in enumerate(kinds):
            label = label_text(kind, table)
            start = table.get(label, starts.get(group, {}).get(label, node.value))
            flag = var(indicator(source, label, codes == code), node.args[0].index)
            term = mul(param(member(group, label), start), flag)
            total = term if total is None else add(total, term)
        assert total is not None
        return total

    expanded = fold(expr, swap)
    if structure is not None:
        homes = {name: source for (source, _), name in indicators.items()}
        structure = replace(
            structure,
            variable_axes={
                **structure.variable_axes,
                **{name: structure.axes_of(source) for name, source in homes.items()},
            },
            variable_structures={
                **structure.variable_structures,
                **{
                    name: structure.variable_structures[source]
                    for name, source in homes.items()
                    if source in structure.variable_structures
                },
            },
        )
    return Ungrouped(expanded, columns, structure, members)


class Labels(NamedTuple):
    """The distinct labels of a column, and which of them each row has."""

    kinds: list[Any]
    codes: NDArray[np.intp]


def labels_of(group: str, source: str, data: Mapping[str, ArrayLike]) -> Labels:
    """The labels in the column `source` of a grouped parameter.

    Raises:
        FitError: a label is missing, or there are too many of them.
    """
    array = column(source, data)
    if array.size == 0:
        raise FitError("there are no rows to fit; give at least one")
    if array.dtype.kind == "O":
        missing = np.array([item is None or bool(item != item) for item in array.reshape(-1)])  # noqa: PLR0124
    else:
        missing = np.reshape(array != array, -1)  # noqa: PLR0124 - only NaN and NaT differ from themselves
    if np.any(missing):
        row = int(np.flatnonzero(missing)[0])
        raise FitError(
            f"the labels {source!r} of grouped_param {group!r} are missing in row {row} (counted from 0); "
            "fill them or leave these rows out"
        )
    kinds, codes = np.unique(array, return_inverse=True)
    if len(kinds) > MOST_LABELS:
        raise FitError(
            f"grouped_param {group!r} has {len(kinds)} labels in the column {source!r}; at most "
            f"{MOST_LABELS} can be fitted together: merge labels, or fit parts of the data"
        )
    return Labels(kinds.tolist(), codes.reshape(array.shape))


def _unused(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "'"
    return name
