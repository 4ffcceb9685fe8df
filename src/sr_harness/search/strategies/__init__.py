"""The portfolio: every search strategy, cheapest first.

A strategy is one module with one class that follows `sr_harness.search.strategies.base.Strategy`; to add
one, write the module and name it here.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from sr_harness.search.strategies.base import Strategy
from sr_harness.search.strategies.blocks import TwoBlocks
from sr_harness.search.strategies.composite import Composite
from sr_harness.search.strategies.constant import Constant
from sr_harness.search.strategies.exponential import Exponential
from sr_harness.search.strategies.genetic import Genetic
from sr_harness.search.strategies.linear import Linear
from sr_harness.search.strategies.meeting import Meeting, MeetingFar
from sr_harness.search.strategies.network import Network
from sr_harness.search.strategies.polynomial import Polynomial
from sr_harness.search.strategies.power_law import PowerLaw
from sr_harness.search.strategies.rational import Rational
from sr_harness.search.strategies.root import Root
from sr_harness.search.strategies.sinusoid import Sinusoid
from sr_harness.search.strategies.trigonometric import Trigonometric

_ALL: tuple[Strategy, ...] = (
    Constant(),
    Linear(),
    PowerLaw(),
    Meeting(),
    Polynomial(),
    Rational(),
    Root(),
    MeetingFar(),
    Exponential(),
    Sinusoid(),
    Trigonometric(),
    TwoBlocks(),
    Composite(),
    Network(),
    Genetic(),
)

STRATEGIES: Mapping[str, Strategy] = MappingProxyType({strategy.name: strategy for strategy in _ALL})

__all__ = ["STRATEGIES", "Strategy"]
