from __future__ import annotations

import pytest
from search_problems import problem, table

from sr_harness.engine import equivalent, evaluate, parse
from sr_harness.search import Budget, discover


@pytest.mark.parametrize(
    "law",
    [
        "0.4*sin(v - u) - 1.5*sin(v)",
        "3*cos(u)/sin(v)",
        "sin(u)*(1 - 0.7*sin(v)**2)",
        "u - 2*cos(v)/u",
        "1.2 + 0.5*u*sin(v)**2 - v**2",
    ],
)
def test_sums_of_products_with_angles_are_found(law: str) -> None:
    data = table(4, 120, u=(0.4, 2.6), v=(0.3, 2.8))
    found = discover(
        problem(data, evaluate(parse(law), data)), budget=Budget(3000), strategies=["trigonometric"]
    )
    assert found.stop_reason == "exact", found.best.formula(6)
    ranges = {"u": (0.4, 2.6), "v": (0.3, 2.8)}
    assert equivalent(found.best.expression, parse(law), ranges=ranges).verdict == "equivalent"
