"""Are two formulas the same function?

Promises: an answer within the time limit, whatever SymPy does, because what can hang runs in a child process
that is killed. *Different* always comes with a point at which the formulas differ, confirmed with 60 digits,
so rounding cannot produce it. *Equivalent* says how that is known. Everything else is *unknown*.

The order: the same tree after `simplify`; fresh points inside and outside the ranges, in float64; those that
disagree once more with 60 digits; agreement to 40 digits; and where all of this leaves a doubt (numbers that
are rounded, too few points) the symbolic difference.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from ..errors import AlignmentError, ExpressionError
from .evaluation import evaluate
from .expression import Expression, parameters, postorder, relations, variables
from .graph_points import NODES, random_graph
from .kernels import Array
from .precision import relative_difference
from .rendering import render
from .simplification import simplify

Verdict = Literal["equivalent", "different", "unknown"]
_SEED: Final = 20_240_229
_POINTS: Final = 512
_GRAPHS: Final = 20
_SURE_IN_FLOAT64: Final = 1e-6
"""Relative difference that rounding does not produce in sums of a few dozen terms."""
_DEFAULT_RANGE: Final = (-5.0, 5.0)
_WITNESSES: Final = 6
_ENOUGH: Final = 16
_SURE_POINTS: Final = 12
_SURE_DIGITS: Final = 40
_LARGEST_FOR_ALGEBRA: Final = 2_000


@dataclass(frozen=True)
class Equivalence:
    """The answer of `equivalent`.

    Attributes:
        verdict: `equivalent`, `different` or `unknown`.
        witness: Where the verdict is `different`: the value of each variable at a point of difference (for
            formulas with graph terms: the arrays of a graph on which they differ).
        how: How the verdict was reached, in words.
        largest_difference: Largest relative difference met on the points; None where none was finite.
    """

    verdict: Verdict
    witness: dict[str, Any] | None
    how: str
    largest_difference: float | None = None


def equivalent(
    a: Expression,
    b: Expression,
    *,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    time_limit: float = 5.0,
    tolerance: float = 1e-9,
) -> Equivalence:
    """Decide whether `a` and `b` are the same function.

    Args:
        a: A formula without free parameters.
        b: Another one; graph terms are compared on random graphs, in float64 only.
        ranges: Where each variable lives, as (low, high); by default -5 to 5. The formulas must agree there
            in value and in domain, and must agree in value on wider ranges (of unchanged sign where the low
            end is not negative).
        time_limit: Seconds after which the answer is given with what is known.
        tolerance: Relative difference up to which values are the same; it allows for the rounding of the
            formulas' own numbers.

    Returns:
        An `Equivalence`.
    """
    started = time.monotonic()
    short_a, short_b = simplify(a), simplify(b)
    if short_a == short_b:
        return Equivalence("equivalent", None, "both simplify to the same formula", 0.0)
    if parameters(a) or parameters(b):
        raise ExpressionError("a formula with free parameters has no values to compare; fit or bind it first")
    names = tuple(dict.fromkeys([*variables(a), *variables(b)]))
    limits = {name: _range(name, ranges) for name in names}
    if any(node.op in ("delay", "group") for formula in (a, b) for node in postorder(formula)):
        return Equivalence(
            "unknown", None, "formulas with delay or grouped parameters are compared as written only"
        )
    if relations(a) or relations(b):
        return _on_graphs(a, b, limits, tolerance)
    comparison = _compare(a, b, names, limits, tolerance)
    found = _confirmed(a, b, comparison, tolerance, deadline=started + time_limit)
    if found is not None:
        return Equivalence("different", found, _explanation(a, b, found), comparison.largest)
    if _agree_to_many_digits(a, b, comparison, deadline=started + time_limit):
        how = (
            f"they agree to {_SURE_DIGITS} digits at {_SURE_POINTS} points, "
            f"and in float64 at {comparison.compared}"
        )
        return Equivalence("equivalent", None, how, comparison.largest)
    zero, late = _symbolic_zero(short_a, short_b, names, limits, started + time_limit - time.monotonic())
    if zero:
        return Equivalence("equivalent", None, "their difference simplifies to zero", comparison.largest)
    return _from_points(comparison, has_variables=bool(names), late=late)


def _on_graphs(
    a: Expression, b: Expression, limits: Mapping[str, tuple[float, float]], tolerance: float
) -> Equivalence:
    """Compare formulas with graph terms on small random graphs, in float64."""
    rng = np.random.default_rng(_SEED)
    largest, compared = 0.0, 0
    for _ in range(_GRAPHS):
        try:
            data, structure = random_graph((a, b), limits, rng)
            u, v = evaluate(a, data, structure=structure), evaluate(b, data, structure=structure)
        except AlignmentError as error:
            return Equivalence("unknown", None, f"the formulas cannot be put on one graph: {error}")
        if u.shape != v.shape:
            return Equivalence("unknown", None, "one formula has a value per node, the other has not")
        both = np.isfinite(u) & np.isfinite(v)
        size = np.maximum(np.maximum(np.abs(u[both]), np.abs(v[both])), _floor(u[both], v[both]))
        apart = np.abs(u[both] - v[both]) / np.where(size > 0.0, size, 1.0)
        worst = float(apart.max(initial=0.0))
        compared += int(both.sum())
        if worst > max(tolerance, _SURE_IN_FLOAT64):
            how = f"on a random graph with {NODES} nodes they differ by {worst:.2g}, relatively"
            return Equivalence(
                "different", {name: value.tolist() for name, value in data.items()}, how, worst
            )
        largest = max(largest, worst)
    if compared < _ENOUGH or largest > tolerance:
        return Equivalence("unknown", None, "float64 does not decide on random graphs", largest)
    how = f"they agree at {compared} nodes of {_GRAPHS} random graphs (largest difference {largest:.1e})"
    return Equivalence("equivalent", None, how, largest)


def _range(name: str, ranges: Mapping[str, tuple[float, float]] | None) -> tuple[float, float]:
    low, high = (ranges or {}).get(name, _DEFAULT_RANGE)
    if not (np.isfinite(low) and np.isfinite(high) and low <= high):
        raise ExpressionError(
            f"the range of {name!r} must be two finite numbers, low first, not {(low, high)}"
        )
    return float(low), float(high)


def _widened(low: float, high: float) -> tuple[float, float]:
    """A wider range that does not cross zero where the given one does not."""
    width = high - low
    if low >= 0.0:
        return low / 2.0, high + width
    if high <= 0.0:
        return low - width, high / 2.0
    return low - width, high + width


class _Comparison(NamedTuple):
    """What float64 says on the points: where the formulas seem to differ, worst first.

    `samples` are points at which both have values, from inside and outside the ranges in turn.
    """

    suspects: list[dict[str, float]]
    samples: list[dict[str, float]]
    compared: int
    largest: float | None
    floor: float


def _compare(
    a: Expression,
    b: Expression,
    names: Sequence[str],
    limits: Mapping[str, tuple[float, float]],
    tolerance: float,
) -> _Comparison:
    rng = np.random.default_rng(_SEED)
    inside = {name: rng.uniform(*limits[name], size=_POINTS) for name in names}
    outside = {name: rng.uniform(*_widened(*limits[name]), size=_POINTS) for name in names}
    points = {name: np.concatenate([inside[name], outside[name]]) for name in names}
    count = 2 * _POINTS if names else 1
    u = np.broadcast_to(evaluate(a, points), (count,))
    v = np.broadcast_to(evaluate(b, points), (count,))
    is_inside = np.arange(count) < _POINTS
    both = np.isfinite(u) & np.isfinite(v)
    floor = _floor(u[both], v[both])
    difference = np.zeros(count)
    with np.errstate(all="ignore"):
        size = np.maximum(np.maximum(np.abs(u), np.abs(v)), floor)
        difference[both] = np.where(size[both] > 0.0, np.abs(u[both] - v[both]) / size[both], 0.0)
    domain = is_inside & (np.isnan(u) != np.isnan(v))
    order = np.argsort(-difference, kind="stable")
    worst = [k for k in order[:_WITNESSES] if difference[k] > tolerance]
    worst += np.flatnonzero(domain)[: _WITNESSES - len(worst) // 2].tolist()
    suspects = [{name: float(points[name][k]) for name in names} for k in worst]
    largest = float(difference.max()) if both.any() else None
    mixed = np.arange(count).reshape(-1, count // 2 or 1).T.reshape(-1)
    samples = [
        {name: float(points[name][k]) for name in names} for k in mixed[both[mixed]][: 2 * _SURE_POINTS]
    ]
    return _Comparison(suspects, samples, int(both.sum()), largest, floor)


def _floor(u: Array, v: Array) -> float:
    """Values far below the typical size are compared relative to that size."""
    sizes = np.maximum(np.abs(u), np.abs(v))
    return 1e-3 * float(np.median(sizes)) if sizes.size else 0.0


def _confirmed(
    a: Expression, b: Expression, comparison: _Comparison, tolerance: float, *, deadline: float
) -> dict[str, float] | None:
    """The first suspect at which the formulas differ also with many digits."""
    for point in comparison.suspects:
        if time.monotonic() > deadline:
            return None
        difference = relative_difference(a, b, point, comparison.floor)
        if difference is not None and difference > tolerance:
            return point
    return None


def _agree_to_many_digits(a: Expression, b: Expression, comparison: _Comparison, *, deadline: float) -> bool:
    """Whether the formulas agree far beyond float64, which two different formulas do not do by chance."""
    if comparison.suspects:
        return False
    agreeing = 0
    for point in comparison.samples:
        if time.monotonic() > deadline:
            return False
        difference = relative_difference(a, b, point, comparison.floor)
        if difference is None:
            continue
        if difference > 10.0**-_SURE_DIGITS:
            return False
        agreeing += 1
        if agreeing == _SURE_POINTS:
            return True
    return False


def _symbolic_zero(
    a: Expression,
    b: Expression,
    names: Sequence[str],
    limits: Mapping[str, tuple[float, float]],
    seconds: float,
) -> tuple[bool, bool]:
    """Whether SymPy shows the difference to be zero, and whether the time limit ended the attempt."""
    if max(a.size, b.size) > _LARGEST_FOR_ALGEBRA:
        return False, False
    if seconds <= 0.0:
        return False, True
    request = {
        "a": render(a, names=names),
        "b": render(b, names=names),
        "names": list(names),
        "positive": [name for name in names if limits[name][0] >= 0.0],
    }
    answer = _run_worker(json.dumps(request), seconds)
    return answer == "true", answer is None


def _run_worker(request: str, seconds: float) -> str | None:
    """The child's answer; None where it had to be killed."""
    root = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(part for part in (root, os.environ.get("PYTHONPATH", "")) if part)
    with subprocess.Popen(
        [sys.executable, "-m", "sr_harness.engine.algebra_worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": path},
    ) as child:
        try:
            return child.communicate(request, timeout=seconds)[0].strip()
        except subprocess.TimeoutExpired:
            child.kill()
            return None


def _from_points(comparison: _Comparison, *, has_variables: bool, late: bool) -> Equivalence:
    """The verdict where neither a difference nor a proof was found."""
    largest = comparison.largest
    note = "; the time limit ended the symbolic comparison" if late else ""
    if comparison.suspects:
        how = f"float64 values differ, which more digits did not confirm{note}"
        return Equivalence("unknown", None, how, largest)
    if comparison.compared < _ENOUGH and has_variables:
        return Equivalence("unknown", None, f"they have values together at too few points{note}", largest)
    how = (
        f"they agree at {comparison.compared} points inside and outside the ranges "
        f"(largest relative difference {largest or 0.0:.1e}){note}"
    )
    return Equivalence("equivalent", None, how, largest)


def _explanation(a: Expression, b: Expression, witness: Mapping[str, float]) -> str:
    u, v = (float(evaluate(e, witness)) for e in (a, b))
    place = ", ".join(f"{name} = {value:.6g}" for name, value in witness.items()) or "everywhere"
    return f"at {place} one is {u:.10g}, the other {v:.10g}"
