"""Laws on graphs and hypergraphs, each family of messages once."""

from __future__ import annotations

import numpy as np
import pytest

from sr_harness.core import AgentContext
from sr_harness.engine import Structure, equivalent, evaluate, parse
from sr_harness.search import Budget, Problem, discover
from sr_harness.search.network_terms import coupled_terms, network_terms

NODES = 10


def context(law: str) -> AgentContext:
    rng = np.random.default_rng(3)
    pairs = np.array([(i, j) for i in range(NODES) for j in range(NODES) if i != j])
    data = {
        "x": rng.uniform(0.1, 1.5, (25, NODES)),
        "a": rng.uniform(0.5, 2.0, NODES),
        "A": pairs[np.sort(rng.choice(len(pairs), 30, replace=False))],
        "w": rng.uniform(0.2, 2.0, 30),
        "T": np.array([rng.choice(NODES, 3, replace=False) for _ in range(24)]),
        "time": np.arange(25.0),
        "node": np.arange(NODES),
    }
    built = AgentContext(
        data=data,
        variable_axes={
            "x": ("time", "node"),
            "y": ("time", "node"),
            "a": ("node",),
            "A": ("edge", "end"),
            "w": ("edge",),
            "T": ("triple", "place"),
        },
        variable_structures={"w": "A"},
        relation_names=("A", "T"),
        num_nodes=NODES,
        axis_metadata={
            "time": {"source": "file", "size": 25},
            "node": {"source": "size", "size": NODES},
            "edge": {"source": "size", "size": 30},
            "end": {"source": "size", "size": 2},
            "triple": {"source": "size", "size": 24},
            "place": {"source": "size", "size": 3},
        },
    )
    structure = Structure(
        variable_axes=dict(built.variable_axes),
        variable_structures={"w": "A"},
        relation_names=("A", "T"),
        num_nodes=NODES,
        node_axis="node",
        time_axis="time",
    )
    data["y"] = evaluate(parse(law, names=list(data)), data, structure=structure)
    return built


@pytest.mark.parametrize(
    "law",
    [
        "a - x + 0.7*sum[j](A[i,j], tanh(x[j]))",
        "1.5*sum[j](A[i,j], x[j]/(1 + x[j])) - 0.3*x**3",
        "0.4*sum[j](A[i,j], (1 - x[i])*x[j]**2) - 0.2*x",
        "0.8*sum[j](A[i,j], w[i,j]*(x[j] - x[i])) + a*x",
        "2*sum[j](A[i,j], sin(x[j] - x[i]))/sum[j](A[i,j], 1) + a",
        "0.6*sum[j](A[i,j], a[i]*(x[j] - x[i]))",
        "0.5*sum[j](A[i,j], x[i]*sin(x[j] - x[i])) - 1",
        "a + 0.3*sum[j,k](T[i,j,k], sin(x[j] + x[k] - 2*x[i]))",
        "0.3*sum[j,k](T[i,j,k], x[j]*x[k]) - 0.5*sum[j](A[i,j], x[j] - x[i])",
        "0.9*sum[j,k](T[i,j,k], max(x[j], x[k])) - x",
    ],
)
def test_a_law_of_each_family_is_found(law: str) -> None:
    problem = Problem.from_context(context(law), "y", ["x", "a", "w"])
    found = discover(problem, budget=Budget(4000), strategies=["network"])
    assert found.stop_reason == "exact", found.best.formula(6)
    names = list(problem.graph.fields)
    assert equivalent(found.best.expression, parse(law, names=names)).verdict == "equivalent"


def test_a_scale_inside_a_function_is_fitted() -> None:
    law = "0.8*sum[j](A[i,j], tanh(2.4*x[j])) - x"
    problem = Problem.from_context(context(law), "y", ["x"])
    found = discover(problem, budget=Budget(6000), strategies=["network"])
    assert "tanh(2.4*x[j])" in found.best.formula(6)


def test_terms_are_distinct_and_begin_with_the_constant() -> None:
    problem = Problem.from_context(context("x"), "y", ["x", "a", "w"])
    terms = network_terms(problem)
    assert terms[0].value == 1.0
    assert len(set(terms)) == len(terms)
    assert any("T[i,j,k]" in str(term) for term in coupled_terms(problem.graph))


def test_a_part_that_lies_on_fewer_axes_than_the_target_does_not_end_the_search() -> None:
    law = "a + 0.5*sum[j](A[i,j], sin(x[j] - x[i]))"
    data = context(law)
    y = np.asarray(data.data["y"])
    y += 0.02 * y.std() * np.random.default_rng(0).standard_normal(y.shape)
    found = discover(Problem.from_context(data, "y", ["x", "a"]), budget=Budget(5000), strategies=["network"])
    assert found.stop_reason == "finished"
    assert "sin(x[j] - x[i])" in found.best.formula()
