"""Discovery of formulas: problems, budgets, strategies, candidates and the front that is left.

`discover` runs a portfolio of strategies under one budget of work. The same problem, seed and budget give
the same candidates.
"""

from __future__ import annotations

from sr_harness.search.budget import DEFAULT_WORK, Budget
from sr_harness.search.candidate import Candidate, ParetoFront
from sr_harness.search.discovery import Discovery, Event, discover
from sr_harness.search.problem import GraphView, Problem
from sr_harness.search.strategies import STRATEGIES, Strategy

__all__ = [
    "DEFAULT_WORK",
    "STRATEGIES",
    "Budget",
    "Candidate",
    "Discovery",
    "Event",
    "GraphView",
    "ParetoFront",
    "Problem",
    "Strategy",
    "discover",
]
