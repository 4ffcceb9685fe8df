"""Statistics over measurements: which configuration is best, and whether two of them really differ."""

from __future__ import annotations

from ari.statistics.comparison import CORRECTIONS, TESTS, compare
from ari.statistics.configurations import Observation, analyse, observations

__all__ = ["CORRECTIONS", "TESTS", "Observation", "analyse", "compare", "observations"]
