"""Discovery of dynamical systems from trajectories: `discover_system`, and fronts ranked by trajectories."""

from __future__ import annotations

from sr_harness.search.systems.discovery import DEFAULT_WORK, discover_system
from sr_harness.search.systems.model import Constant, SystemCandidate, SystemDiscovery
from sr_harness.search.systems.shooting import Shot, shoot
from sr_harness.search.systems.single import DerivativeDiscovery, discover_derivative

__all__ = [
    "DEFAULT_WORK",
    "Constant",
    "DerivativeDiscovery",
    "Shot",
    "SystemCandidate",
    "SystemDiscovery",
    "discover_derivative",
    "discover_system",
    "shoot",
]
