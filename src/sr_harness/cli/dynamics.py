"""What `sr-harness discover` does for derivatives and for systems of differential equations."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sr_harness.cli.output import print_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from sr_harness.core import AgentContext
    from sr_harness.search import Budget, Event
    from sr_harness.search.systems import DerivativeDiscovery, SystemCandidate, SystemDiscovery

GOOD = 0.5
"""A trajectory error below this is better than staying at the mean."""

SHOWN = 8
TEXT_WIDTH = 120
DIGITS = 8


@dataclass(frozen=True)
class Request:
    """What was asked for on the command line."""

    budget: Budget
    seed: int
    inputs: Sequence[str]
    strategies: Sequence[str]
    time_axis: str | None
    jobs: int
    as_json: bool


def search_derivative(
    context: AgentContext, target: str, request: Request, show: Callable[[Event], None]
) -> int:
    """Find a formula for `dx_dt` and print it; the exit status."""
    from sr_harness.search.systems import discover_derivative

    found = discover_derivative(
        context,
        target,
        request.inputs or None,
        budget=request.budget,
        seed=request.seed,
        strategies=request.strategies or None,
        time=request.time_axis,
        on_event=show,
        jobs=request.jobs,
    )
    troubles = [event.message for event in found.discovery.events if event.kind == "worker"]
    for note in (*found.notes, *troubles):
        print(f"note: {note}", file=sys.stderr)
    if request.as_json:
        print_json(_derivative_document(target, found))
    else:
        print("\n".join(_derivative_lines(target, found)))
    return 0 if found.best is not None and found.best.judged.error < GOOD else 1


def search_system(context: AgentContext, states: Sequence[str], request: Request) -> int:
    """Find a system for some states and print it; the exit status."""
    from sr_harness.evaluator.dynamics import TrajectorySet
    from sr_harness.search.systems import discover_system

    runs = TrajectorySet.from_context(context, states, request.inputs or None, time=request.time_axis)
    quiet = request.as_json or not sys.stderr.isatty()
    found = discover_system(
        runs,
        budget=request.budget,
        seed=request.seed,
        strategies=request.strategies or None,
        on_event=None if quiet else lambda text: print(f"  {text}", file=sys.stderr),
        jobs=request.jobs,
    )
    for note in found.notes:
        print(f"note: {note}", file=sys.stderr)
    if request.as_json:
        print_json({"system": None if found.best is None else _formulas(found.best), **found.to_document()})
    else:
        print("\n".join(_system_lines(found)))
    return 0 if found.best is not None and found.best.judged.error < GOOD else 1


def _formulas(system: SystemCandidate, digits: int | None = None) -> dict[str, str]:
    from sr_harness import engine

    return {state: engine.render(formula, digits=digits) for state, formula in system.formulas.items()}


def _rows(systems: Sequence[SystemCandidate]) -> list[str]:
    lines = [f"{'size':>4}  {'trajectory error':>16}  formulas"]
    for place, system in enumerate(systems[:SHOWN]):
        text = "; ".join(f"d{state}_dt = {formula}" for state, formula in _formulas(system, DIGITS).items())
        lines.append(
            f"{system.complexity:>4}{'*' if place == 0 else ' '} {system.judged.error:>16.2e}  {text}"
        )
    return lines


def _derivative_document(target: str, found: DerivativeDiscovery) -> dict[str, Any]:
    ranked = [_ranked_row(found.state, system) for system in found.ranked]
    return {
        "target": target,
        "inputs": list(found.problem.names),
        "rows": found.problem.rows,
        "notes": list(found.notes),
        "best": ranked[0] if ranked else None,
        "ranked_by_trajectories": ranked,
        "held_out": found.held_out,
        "front": found.discovery.front.to_rows(),
        "work_used": found.discovery.work_used,
        "stop_reason": found.discovery.stop_reason,
    }


def _ranked_row(state: str, system: SystemCandidate) -> dict[str, Any]:
    row = system.to_row()
    formula = row.pop("formulas")[state]
    by_state = row.pop("trajectory_error_by_state")
    residual = row.pop("residual")
    return {
        "formula": formula,
        **row,
        "trajectory_error": by_state[state],
        "residual": None if residual is None else residual[state],
    }


def _derivative_lines(target: str, found: DerivativeDiscovery) -> list[str]:
    lines = ["front on the estimated derivative:", f"{'size':>4}  {'1 - R²':>9}  formula"]
    for candidate in found.discovery.front.candidates:
        text = candidate.formula(digits=5)
        text = text if len(text) <= TEXT_WIDTH else text[: TEXT_WIDTH - 1] + "…"
        lines.append(f"{candidate.complexity:>4}  {candidate.nmse:>9.2e}  {text}  [{candidate.origin}]")
    lines.append(f"ranked by integrated trajectories; held out: {found.held_out}")
    lines += _rows(found.ranked)
    result = found.discovery
    lines.append(
        f"stopped: {result.stop_reason}, {result.work_used} units of work, {found.problem.rows} rows"
    )
    if found.best is not None:
        lines.append(f"best: {target} = {_formulas(found.best)[found.state]}")
    return lines


def _system_lines(found: SystemDiscovery) -> list[str]:
    noise = ", ".join(f"{name} {share:.1e}" for name, share in found.noise.items())
    lines = [
        f"noise as a share of the standard deviation: {noise}",
        f"judged by integrated trajectories; held out: {found.held_out}",
        *_rows(found.candidates),
        f"stopped: {found.stop_reason}, {found.work_used} units of work, {found.samples[0]} samples",
    ]
    if found.best is not None:
        lines.append(f"best, with a trajectory error of {found.best.judged.error:.2e}:")
        lines += [f"  d{state}_dt = {formula}" for state, formula in _formulas(found.best).items()]
    return lines
