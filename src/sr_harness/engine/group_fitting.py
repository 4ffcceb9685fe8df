"""Fit formulas with grouped parameters: where the labels' own values start from, and the fit of all.

Values that enter linearly need no start. For others there are two: one value for all labels, fitted first;
and, on a table, each label by itself, the ungrouped parameters taken from the label with most rows. The
better one is followed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ..errors import FitError
from .binding import label_text
from .build import bind
from .expression import Expression, parameters, postorder
from .grouping import Shared, labels_of, shared, ungroup
from .linearity import linear_parameters

if TYPE_CHECKING:
    from .fitting import FitResult, Task

Values = dict[str, dict[str, float]]
"""Group -> label -> value."""
_NEARLY_EXACT: Final = 1e-20
"""Share of the variance that is left where no other start can matter."""
_MOST_SINGLE: Final = 50
_FEWEST_ROWS: Final = 3


class PlainFit(Protocol):
    """Fits a formula without grouped parameters."""

    def __call__(self, expr: Expression, task: Task, max_evaluations: int) -> FitResult:
        """As `engine.fit`."""
        ...


def fit_groups(expr: Expression, task: Task, max_evaluations: int, plain: PlainFit) -> FitResult:
    """Give every label a parameter of its own and fit all together."""
    one = shared(expr)
    linear = len(linear_parameters(one.expression)) == len(parameters(one.expression))
    if task.local or linear:
        return _together(expr, task, max_evaluations, plain, {})
    common = plain(one.expression, task, max_evaluations // 4)
    options = [_spread(expr, task.data, one, common)]
    if task.structure is None:
        options.append(_label_by_label(expr, one, task, max_evaluations // 4, plain))
    trials = [
        _together(expr, task._replace(local=True), max_evaluations // 4, plain, option)
        for option in options
        if option
    ]
    best = min(trials, key=lambda trial: trial.loss, default=None)
    spent = common.evaluations + sum(trial.evaluations for trial in trials)
    if best is None or 1.0 - best.r2 > _NEARLY_EXACT:
        left = max(1, max_evaluations - spent)
        wide = _together(expr, task, left, plain, best.groups if best else {})
        spent += wide.evaluations
        best = wide if best is None or wide.loss < best.loss else best
    return replace(best, evaluations=spent)


def _together(
    expr: Expression,
    task: Task,
    max_evaluations: int,
    plain: PlainFit,
    starts: Mapping[str, Mapping[str, float]],
) -> FitResult:
    """One fit of all labels, told in terms of the formula with groups."""
    parts = ungroup(expr, task.data, task.structure, starts)
    inner = task._replace(data=parts.data, structure=parts.structure)
    found = plain(parts.expression, inner, max_evaluations)
    values = {name: value for name, value in found.parameters.items() if name not in parts.members}
    groups: Values = {}
    for name, (group, label) in parts.members.items():
        groups.setdefault(group, {})[label] = found.parameters[name]
    bound = bind(expr, {**values, **groups})
    return replace(found, expression=bound, template=expr, parameters=values, groups=groups)


def _sources(expr: Expression) -> dict[str, str]:
    """Group -> its column of labels."""
    return {node.name or "": node.args[0].name or "" for node in postorder(expr) if node.op == "group"}


def _tables(expr: Expression) -> dict[str, dict[str, float]]:
    return {node.name or "": dict(node.table) for node in postorder(expr) if node.op == "group"}


def _spread(expr: Expression, data: Mapping[str, ArrayLike], one: Shared, common: FitResult) -> Values:
    """The common value for every label."""
    if not np.isfinite(common.loss):
        return {}
    value = {group: common.parameters[name] for name, group in one.groups.items()}
    tables = _tables(expr)
    return {
        group: {
            label_text(kind, tables[group]): value[group] for kind in labels_of(group, source, data).kinds
        }
        for group, source in _sources(expr).items()
    }


def _label_by_label(
    expr: Expression, one: Shared, task: Task, max_evaluations: int, plain: PlainFit
) -> Values:
    """The values that the rows of each label give by themselves; none where groups have different labels."""
    sources = _sources(expr)
    if len(set(sources.values())) != 1:
        return {}
    group, source = next(iter(sources.items()))
    kinds, codes = labels_of(group, source, task.data)
    if len(kinds) > _MOST_SINGLE or codes.ndim != 1:
        return {}
    fixed: dict[str, float] = {}
    found: Values = {name: {} for name in sources}
    tables = _tables(expr)
    order = np.argsort(-np.bincount(codes, minlength=len(kinds)), kind="stable").tolist()
    for position, code in enumerate(order):
        rows = np.flatnonzero(codes == code)
        if len(rows) < _FEWEST_ROWS:
            break
        part = {name: _rows(array, rows, len(codes)) for name, array in task.data.items()}
        weights = None if task.weights is None else np.asarray(task.weights)[rows]
        own = task._replace(data=part, target=np.asarray(task.target)[rows], weights=weights)
        try:
            result = plain(bind(one.expression, fixed), own, max_evaluations)
        except FitError:
            # the formula has no value on these rows with these parameters; other starts remain
            continue
        if not np.isfinite(result.loss):
            continue
        if position == 0:
            fixed = {name: v for name, v in result.parameters.items() if name not in one.groups}
        for name, owner in one.groups.items():
            found[owner][label_text(kinds[code], tables[owner])] = result.parameters[name]
    return found


def _rows(array: ArrayLike, rows: np.ndarray[tuple[int], np.dtype[np.intp]], length: int) -> ArrayLike:
    whole = np.asarray(array)
    return whole[rows] if whole.shape == (length,) else whole
