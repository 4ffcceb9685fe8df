"""The one catalogue of symbolic tools: plain typed functions, one file each.

A tool takes a `ToolContext` and JSON types, and returns JSON types; numbers are finite or None. Its docstring
is its documentation wherever it is offered: in Python, on the command line, over MCP.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from sr_harness.tools.compare_formulas import compare_formulas
from sr_harness.tools.context import ToolContext
from sr_harness.tools.describe_data import describe_data
from sr_harness.tools.discover import discover
from sr_harness.tools.dynamics import discover_system, estimate_derivative, judge_trajectories
from sr_harness.tools.evaluate_formula import evaluate_formula
from sr_harness.tools.fit_family import fit_family
from sr_harness.tools.parts import ablate_formula, list_parts
from sr_harness.tools.refine_formula import refine_formula
from sr_harness.tools.relationships import relationships
from sr_harness.tools.snap_formula import snap_formula
from sr_harness.tools.submit_formula import submit_formula
from sr_harness.tools.validate_context_data import validate_context_data


@dataclass(frozen=True)
class ToolSpec:
    """One tool of the catalogue.

    Attributes:
        name: How it is called everywhere.
        function: The tool itself.
        read_only: Whether it leaves every file as it was.
    """

    name: str
    function: Callable[..., dict[str, Any]]
    read_only: bool = True

    @property
    def summary(self) -> str:
        """The first line of the tool's docstring."""
        return (self.function.__doc__ or "").strip().splitlines()[0]


_ALL = (
    ToolSpec("describe_data", describe_data),
    ToolSpec("relationships", relationships),
    ToolSpec("fit_family", fit_family),
    ToolSpec("discover", discover),
    ToolSpec("refine_formula", refine_formula),
    ToolSpec("snap_formula", snap_formula),
    ToolSpec("list_parts", list_parts),
    ToolSpec("ablate_formula", ablate_formula),
    ToolSpec("evaluate_formula", evaluate_formula),
    ToolSpec("compare_formulas", compare_formulas),
    ToolSpec("estimate_derivative", estimate_derivative),
    ToolSpec("discover_system", discover_system),
    ToolSpec("judge_trajectories", judge_trajectories),
    ToolSpec("submit_formula", submit_formula, read_only=False),
    ToolSpec("validate_context_data", validate_context_data),
)

CATALOGUE: Mapping[str, ToolSpec] = MappingProxyType({spec.name: spec for spec in _ALL})

__all__ = ["CATALOGUE", "ToolContext", "ToolSpec"]
