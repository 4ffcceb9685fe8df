"""Dynamics on a graph or hypergraph: what a node does by itself plus sums of messages from its neighbours.

y_i = f(x_i) + Σ_j A_ij g(x_i, x_j) with f and g sparse combinations of the terms in
`sr_harness.search.network_terms`; for relations of three nodes likewise with two sources. The scale inside a
function of a good formula is then fitted as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sr_harness.engine import Expression, build
from sr_harness.errors import ExpressionError
from sr_harness.search.forms import weighted_sum
from sr_harness.search.monomials import fingerprint, varies
from sr_harness.search.network_terms import network_terms
from sr_harness.search.polish import fit_template, loosened
from sr_harness.search.problem import Problem
from sr_harness.search.sparse import SparseFit, fit_columns, forward
from sr_harness.search.strategies.base import Strategy
from sr_harness.search.workspace import Workspace

Floats = NDArray[np.float64]

MOST_ROWS = 4000
"""Node states used for the regression; the result is measured on all."""

MOST_TERMS = 6
COUPLINGS = 8
"""Couplings that are each joined with a free choice of local terms: those that leave the least beside all of
them."""

SCALED_TERMS = 3
"""Terms of the fits in which the scale inside a function is fitted as well."""

NOTHING = 1e-12
"""A term below this share of the target is rounding."""

WORTH = 0.8
"""A scale must lower the error at least to this share: a small one makes any function a straight line."""

SCALES = tuple(float(scale) for scale in np.geomspace(0.247, 4.11, 11))
SCALABLE = ("sin", "cos", "tanh", "exp", "sigmoid")


class Network(Strategy):
    """Sparse regression over local terms and sums over neighbours."""

    name: ClassVar[str] = "network"
    summary: ClassVar[str] = "y_i = f(x_i) + Σ_j A_ij g(x_i, x_j)"
    share: ClassVar[float] = 0.5

    def obstacle(self, problem: Problem) -> str | None:
        """It needs a relation and a field on its nodes."""
        return None if problem.graph is not None else "the data hold no relation between nodes"

    def propose(self, space: Workspace) -> Iterator[Expression]:
        """Free choice among all terms, then each coupling with local terms, then scales inside functions."""
        terms, matrix, local = _features(space)
        y = space.problem.target[_rows(space)]
        least = np.inf
        for rough in _fits(space, matrix, y, local):
            fit = _without_rounding(matrix, y, rough)
            formula = weighted_sum(fit.coefficients, [terms[c] for c in fit.columns])
            if len(fit.columns) <= SCALED_TERMS:
                least = min(least, fit.residual)
            yield formula
        for scaled in _scaled(space, terms, matrix, y, local=local):
            rest = space.problem.predict(scaled)[_rows(space)] - y
            if float(rest @ rest) < WORTH * least * float(y @ y):
                yield scaled


def _fits(space: Workspace, matrix: Floats, y: Floats, local: int) -> Iterator[SparseFit]:
    yield from forward(matrix, y, MOST_TERMS, start=(), charge=space.charge)
    space.charge(1 + matrix.shape[1] / 16)
    promising = _beside_all_local(matrix, y, local)[:COUPLINGS]
    for column in promising:
        space.charge(4)
        yield fit_columns(matrix, y, (column,))
        yield fit_columns(matrix, y, (0, column))
        beside = np.column_stack([matrix[:, :local], matrix[:, column]])
        for fit in forward(beside, y, MOST_TERMS, start=(local,), charge=space.charge):
            places = tuple(column if c == local else c for c in fit.columns)
            yield SparseFit(places, fit.coefficients, fit.residual)
    yield from forward(matrix, y, MOST_TERMS, start=(0,), charge=space.charge)


def _without_rounding(matrix: Floats, y: Floats, fit: SparseFit) -> SparseFit:
    """The fit without terms that add no more than rounding."""
    parts = np.max(np.abs(matrix[:, list(fit.columns)]), axis=0) * np.abs(fit.coefficients)
    kept = [c for c, part in zip(fit.columns, parts, strict=True) if part > NOTHING * np.max(np.abs(y))]
    return fit if len(kept) in (0, len(fit.columns)) else fit_columns(matrix, y, kept)


def _beside_all_local(matrix: Floats, y: Floats, local: int) -> list[int]:
    """Couplings by what they leave of the target beside all local terms, the least first."""
    scale = np.max(np.abs(matrix), axis=0)
    basis, triangle = np.linalg.qr(matrix[:, :local] / scale[:local])
    size = np.abs(np.diag(triangle))
    basis = basis[:, size > 1e-10 * size.max()]
    rest = y - basis @ (basis.T @ y)
    free = matrix[:, local:] / scale[local:]
    free = free - basis @ (basis.T @ free)
    length = np.linalg.norm(free, axis=0)
    with np.errstate(all="ignore"):
        gain = np.where(length > 1e-9, np.abs(rest @ free) / length, 0.0)
    return [local + int(place) for place in np.argsort(-gain, kind="stable")]


def _scaled(
    space: Workspace, terms: list[Expression], matrix: Floats, y: Floats, *, local: int
) -> Iterator[Expression]:
    """The most promising plain sum of each function, with a factor inside it and few local terms."""
    promising: dict[str, Expression] = {}
    for column in _beside_all_local(matrix, y, local):
        term = terms[column]
        if term.op == "sum" and term.args[0].op in SCALABLE:
            promising.setdefault(term.args[0].op, term)
    for term in promising.values():
        found: tuple[float, Expression] | None = None
        for scale in SCALES:
            space.charge(2)
            scaled = _with_scale(term, scale)
            values = space.problem.predict(scaled)[_rows(space)]
            if not varies(values):
                continue
            beside = np.column_stack([matrix[:, :local], values])
            for fit in forward(beside, y, SCALED_TERMS - 1, start=(local,), charge=space.charge):
                if found is None or fit.residual < found[0]:
                    chosen = [scaled if c == local else terms[c] for c in fit.columns]
                    found = (fit.residual, weighted_sum(fit.coefficients, chosen))
        template = None if found is None else loosened(found[1])
        fitted = None if template is None else fit_template(template, space)
        if fitted is not None:
            yield fitted


def _with_scale(term: Expression, scale: float) -> Expression:
    """`Σ f(x)` with a factor: `Σ f(scale · x)`."""
    body = term.args[0]
    return build.graph_sum(
        term.name or "", term.index, build.call(body.op, build.mul(build.num(scale), body.args[0]))
    )


def _rows(space: Workspace) -> NDArray[np.int64]:
    count = space.problem.rows
    if count <= MOST_ROWS:
        return np.arange(count)
    return np.sort(space.rng("network rows").choice(count, MOST_ROWS, replace=False))


def _features(space: Workspace) -> tuple[list[Expression], Floats, int]:
    """Terms with their values on the chosen rows, the constant first, and how many of them are local."""
    rows = _rows(space)
    terms: list[Expression] = [build.num(1.0)]
    columns: list[Floats] = [np.ones(rows.size)]
    seen: set[bytes] = set()
    local = 1
    for term in network_terms(space.problem)[1:]:
        space.charge()
        try:
            values = space.problem.predict(term)[rows]
        except ExpressionError:
            # A field that does not lie where the term needs it: the term is no hypothesis for these data.
            continue
        if not varies(values):
            continue
        key = fingerprint(values)
        if key in seen:
            continue
        seen.add(key)
        terms.append(term)
        columns.append(values)
        local += not _couples(term)
    return terms, np.column_stack(columns), local


def _couples(term: Expression) -> bool:
    return term.op == "sum" or any(_couples(node) for node in term.args)
