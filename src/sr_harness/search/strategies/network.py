"""Dynamics on a graph: what a node does by itself plus a sum over its neighbours.

y_i = f(x_i) + Σ_j A_ij g(x_i, x_j) with f and g sparse combinations from a dictionary of usual couplings;
for relations of three nodes likewise with two sources.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sr_harness.engine import Expression, build
from sr_harness.errors import ExpressionError
from sr_harness.search.forms import weighted_sum
from sr_harness.search.monomials import fingerprint, varies
from sr_harness.search.problem import GraphView, Problem
from sr_harness.search.sparse import fit_columns, forward
from sr_harness.search.strategies.base import Strategy
from sr_harness.search.workspace import Workspace

Floats = NDArray[np.float64]

MOST_ROWS = 4000
"""Node states used for the regression; the result is measured on all."""

MOST_TERMS = 6
MOST_FEATURES = 400


class Network(Strategy):
    """Sparse regression over local terms and sums over neighbours."""

    name: ClassVar[str] = "network"
    summary: ClassVar[str] = "y_i = f(x_i) + Σ_j A_ij g(x_i, x_j)"
    share: ClassVar[float] = 0.5

    def obstacle(self, problem: Problem) -> str | None:
        """It needs a relation and a field on its nodes."""
        return None if problem.graph is not None else "the data hold no relation between nodes"

    def propose(self, space: Workspace) -> Iterator[Expression]:
        """Each coupling alone with the local terms, then free choice among all."""
        graph = space.problem.graph
        assert graph is not None
        terms, matrix, local = _features(space, graph)
        if not terms:
            return
        y = space.problem.target[_rows(space)]
        for fit in forward(matrix, y, MOST_TERMS, start=(), charge=space.charge):
            yield weighted_sum(fit.coefficients, [terms[c] for c in fit.columns])
        for column in range(local, len(terms)):
            space.charge(4)
            yield _sum(terms, matrix, y, (column,))
            yield _sum(terms, matrix, y, (0, column))
        for fit in forward(matrix, y, MOST_TERMS, start=(0,), charge=space.charge):
            yield weighted_sum(fit.coefficients, [terms[c] for c in fit.columns])


def _sum(terms: list[Expression], matrix: Floats, y: Floats, columns: tuple[int, ...]) -> Expression:
    fit = fit_columns(matrix, y, columns)
    return weighted_sum(fit.coefficients, [terms[c] for c in fit.columns])


def _rows(space: Workspace) -> NDArray[np.int64]:
    count = space.problem.rows
    if count <= MOST_ROWS:
        return np.arange(count)
    return np.sort(space.rng("network rows").choice(count, MOST_ROWS, replace=False))


def _features(space: Workspace, graph: GraphView) -> tuple[list[Expression], Floats, int]:
    """Terms with their values on the chosen rows, the constant first, and how many of them are local."""
    rows = _rows(space)
    terms: list[Expression] = [build.num(1.0)]
    columns: list[Floats] = [np.ones(rows.size)]
    seen: set[bytes] = set()
    local = 1
    for number, term in enumerate(itertools.chain(_local_terms(space.problem), _coupled_terms(graph))):
        if number >= MOST_FEATURES:
            break
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
        local += term.op != "sum" and not _mentions_sum(term)
    return terms, np.column_stack(columns), local


def _mentions_sum(term: Expression) -> bool:
    return any(node.op == "sum" for node in term.args) or any(_mentions_sum(node) for node in term.args)


def _local_terms(problem: Problem) -> Iterator[Expression]:
    """Powers, products and usual functions of what a node knows by itself."""
    nodes = [build.var(name) for name in problem.names]
    for x in nodes:
        yield x
    for x in nodes:
        yield build.pow_(x, build.num(2.0))
        yield build.pow_(x, build.num(3.0))
        for function in ("sin", "cos", "tanh", "exp"):
            yield build.call(function, x)
    for a, b in itertools.combinations(nodes, 2):
        yield build.mul(a, b)


def _coupled_terms(graph: GraphView) -> Iterator[Expression]:
    """Sums over neighbours, plain, weighted by each edge field, and averaged over the neighbours."""
    for relation in graph.relations:
        width = graph.fields[relation].shape[1]
        letters = ("i", "j", "k")[:width]
        bodies = list(_pair_bodies(graph) if width == 2 else _triple_bodies(graph))
        count = build.graph_sum(relation, letters, build.num(1.0))
        weights = [name for name, owner in graph.edge_fields.items() if owner == relation]
        for body in bodies:
            yield build.graph_sum(relation, letters, body)
        for weight in weights:
            yield build.graph_sum(relation, letters, build.var(weight))
            for body in bodies:
                yield build.graph_sum(relation, letters, build.mul(build.var(weight), body))
        for body in bodies:
            yield build.div(build.graph_sum(relation, letters, body), count)


def _pair_bodies(graph: GraphView) -> Iterator[Expression]:
    """Couplings of a node i with one neighbour j."""
    for name in graph.node_fields:
        here, there = build.var(name, ("i",)), build.var(name, ("j",))
        difference = build.sub(there, here)
        yield there
        yield difference
        yield build.call("sin", difference)
        yield build.mul(here, there)
        yield build.mul(build.sub(build.num(1.0), here), there)
        yield build.pow_(there, build.num(2.0))
        yield build.pow_(difference, build.num(2.0))
        yield build.pow_(difference, build.num(3.0))
        for function in ("sin", "cos", "tanh", "exp", "sigmoid"):
            yield build.call(function, there)
        yield build.call("cos", difference)
        yield build.call("tanh", difference)
        yield build.div(there, build.add(build.num(1.0), there))
        yield build.mul(here, build.pow_(there, build.num(2.0)))
    for a, b in itertools.permutations(graph.node_fields, 2):
        yield build.mul(build.var(a, ("i",)), build.var(b, ("j",)))


def _triple_bodies(graph: GraphView) -> Iterator[Expression]:
    """Couplings of a node i with two neighbours j and k at once."""
    for name in graph.node_fields:
        i, j, k = (build.var(name, (letter,)) for letter in "ijk")
        yield build.mul(j, k)
        yield build.mul(build.sub(build.num(1.0), i), build.mul(j, k))
        yield build.call("sin", build.sub(build.add(j, k), build.mul(build.num(2.0), i)))
        yield build.call("sin", build.sub(build.sub(build.mul(build.num(2.0), j), k), i))
        yield build.add(j, k)
        yield build.mul(i, build.mul(j, k))
