"""Data for the tests of the symbolic-regression agent: a law that no simple family has."""

from __future__ import annotations

from functools import cache

import numpy as np

from ari.agents.symbolic_regression import Workbench
from sr_harness.core import AgentContext

LAW = "2.5*exp(-x)*v**2 + 1.7*sin(x*v)"


@cache
def context(rows: int = 120) -> AgentContext:
    rng = np.random.default_rng(4)
    x, v = rng.uniform(1, 3, rows), rng.uniform(1, 3, rows)
    y = 2.5 * np.exp(-x) * v**2 + 1.7 * np.sin(x * v)
    data = {"x": x, "v": v, "y": y, "row": np.arange(rows)}
    axes = dict.fromkeys(("x", "v", "y"), ("row",))
    return AgentContext(data, axes, axis_metadata={"row": {"size": rows}})


@cache
def bench(rows: int = 120) -> Workbench:
    return Workbench.of(context(rows), "y", seed=1)
