"""Families of terms for dynamics on graphs and hypergraphs: what a node does by itself, and messages.

A message on an edge is a function of the source alone, of target and source as a product, or of their
difference; on a triple likewise with two sources. Messages are summed plain, weighted by each edge field, and
averaged over the neighbours. Terms come simplest first; a term that the data cannot carry is left out later.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from sr_harness.engine import Expression, build
from sr_harness.search.problem import GraphView, Problem

ONE, TWO, THREE = build.num(1.0), build.num(2.0), build.num(3.0)

MOST_FEATURES = 500


def network_terms(problem: Problem) -> list[Expression]:
    """The constant, what a node knows by itself, and sums over its neighbours, in this order."""
    assert problem.graph is not None
    terms = itertools.chain(local_terms(problem.names), coupled_terms(problem.graph))
    return [ONE, *itertools.islice(terms, MOST_FEATURES)]


def local_terms(names: Sequence[str]) -> Iterator[Expression]:
    """Powers, products and usual functions of what a node knows by itself."""
    fields = [build.var(name) for name in names]
    yield from fields
    for x in fields:
        yield build.pow_(x, TWO)
        yield build.pow_(x, THREE)
    for a, b in itertools.combinations(fields, 2):
        yield build.mul(a, b)
    for x in fields:
        for function in ("sin", "cos", "tanh", "exp"):
            yield build.call(function, x)
        yield _saturating(x, 1)
        yield _saturating(x, 2)
    for a, b in itertools.permutations(fields, 2):
        yield build.mul(build.pow_(a, TWO), b)


def coupled_terms(graph: GraphView) -> Iterator[Expression]:
    """Sums over neighbours: all messages plain, then weighted, then averaged."""
    for relation in graph.relations:
        letters = ("i", "j", "k")[: graph.fields[relation].shape[1]]
        bodies = list(pair_messages(graph) if len(letters) == 2 else triple_messages(graph))
        count = build.graph_sum(relation, letters, ONE)
        yield count
        for body in bodies:
            yield build.graph_sum(relation, letters, body)
        for weight in (name for name, owner in graph.edge_fields.items() if owner == relation):
            yield build.graph_sum(relation, letters, build.var(weight))
            for body in bodies:
                yield build.graph_sum(relation, letters, build.mul(build.var(weight), body))
        for body in bodies:
            yield build.div(build.graph_sum(relation, letters, body), count)


def pair_messages(graph: GraphView) -> Iterator[Expression]:
    """Messages to a node i from one neighbour j."""
    for name in graph.node_fields:
        here, there = build.var(name, ("i",)), build.var(name, ("j",))
        difference = build.sub(there, here)
        yield there
        yield difference
        yield build.call("sin", difference)
        free = build.sub(ONE, here)
        yield build.mul(free, there)
        yield build.mul(here, there)
        yield from _source(there)
        yield from _difference(difference)
        for outer in (free, here):
            for inner in (build.pow_(there, TWO), build.call("tanh", there), _saturating(there, 1)):
                yield build.mul(outer, inner)
        for inner in (build.call("sin", difference), difference, build.pow_(difference, TWO)):
            yield build.mul(here, inner)
        yield build.mul(build.pow_(here, TWO), there)
        yield build.mul(here, _saturating(there, 2))
    for a, b in itertools.permutations(graph.node_fields, 2):
        yield build.mul(build.var(a, ("i",)), build.var(b, ("j",)))
        yield build.mul(build.var(a, ("j",)), build.var(b, ("j",)))
        yield build.mul(build.var(a, ("i",)), build.sub(build.var(b, ("j",)), build.var(b, ("i",))))


def triple_messages(graph: GraphView) -> Iterator[Expression]:
    """Messages to a node i from two neighbours j and k at once."""
    for name in graph.node_fields:
        i, j, k = (build.var(name, (letter,)) for letter in "ijk")
        both = build.mul(j, k)
        mean = build.sub(build.add(j, k), build.mul(TWO, i))
        yield both
        yield build.mul(build.sub(ONE, i), both)
        yield build.call("sin", mean)
        yield build.call("sin", build.sub(build.sub(build.mul(TWO, j), k), i))
        yield build.add(j, k)
        yield mean
        yield build.mul(i, both)
        yield build.mul(build.sub(j, i), build.sub(k, i))
        yield build.call("cos", mean)
        yield build.mul(i, build.add(j, k))
        yield build.pow_(mean, TWO)
        yield build.pow_(mean, THREE)
        yield build.call("tanh", both)
        yield build.call("sin", build.add(j, k))
        yield build.mul(build.call("sin", build.sub(j, i)), build.call("sin", build.sub(k, i)))
        yield build.mul(build.call("cos", build.sub(j, i)), build.call("sin", build.sub(k, i)))
        yield build.mul(build.pow_(j, TWO), k)
        yield build.mul(j, build.pow_(k, TWO))
        yield build.mul(build.sub(ONE, i), build.add(j, k))
        yield build.mul(build.pow_(i, TWO), both)
        yield build.call("max", j, k)
        yield build.call("min", j, k)


def _source(x: Expression) -> Iterator[Expression]:
    yield build.pow_(x, TWO)
    yield build.pow_(x, THREE)
    for function in ("sin", "cos", "tanh", "exp", "sigmoid"):
        yield build.call(function, x)
    yield _saturating(x, 1)
    yield _saturating(x, 2)


def _difference(difference: Expression) -> Iterator[Expression]:
    yield build.pow_(difference, TWO)
    yield build.pow_(difference, THREE)
    yield build.call("cos", difference)
    yield build.call("tanh", difference)
    yield build.call("sin", build.mul(TWO, difference))
    yield build.call("abs", difference)


def _saturating(x: Expression, power: int) -> Expression:
    """Hill's function xᵖ/(1 + xᵖ)."""
    raised = x if power == 1 else build.pow_(x, build.num(float(power)))
    return build.div(raised, build.add(ONE, raised))
