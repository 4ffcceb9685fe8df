"""The symbolic-regression agent: a model proposes formulas over many short conversations; each is measured.

There are R restarts that know nothing of each other; in each C conversations that begin with what the restart
has found; in each L steps of refinement; for each step K replies, of which the best is taken up. Whatever
formula occurs in a reply, in whatever shape, is parsed, fitted and measured here; what the model says of it
never counts. All formulas of all restarts compete in one pool with one Pareto front; an exact one ends the
search.
"""

from __future__ import annotations

from ari.agents.symbolic_regression.agent import AgentResult, find_formula
from ari.agents.symbolic_regression.pool import CandidatePool, Measured
from ari.agents.symbolic_regression.shape import Shape
from ari.agents.symbolic_regression.workbench import Workbench

__all__ = ["AgentResult", "CandidatePool", "Measured", "Shape", "Workbench", "find_formula"]
