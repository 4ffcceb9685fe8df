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
import math
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
from .build import var
from .evaluation import evaluate
from .expression import Expression, fold, parameters, postorder, relations, variables, with_args
from .graph_points import NODES, random_graph
from .kernels import Array
from .precision import DIGITS, relative_difference
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
_NODES_A_SECOND: Final = 2_000
"""Size per second of the limit up to which formulas are simplified first, which is sure not to use it up."""
_NODES_TO_COMPARE: Final = 10_000
"""Size of both per second of the limit up to which values are computed at all."""
_SPECK: Final = 1e3
"""Numbers smaller than this many tolerances may be the remains of a fit: they count beyond it only."""


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
    if max(a.size, b.size) <= _NODES_A_SECOND * time_limit:
        short_a, short_b = simplify(a), simplify(b)
    else:
        short_a, short_b = a, b
    if short_a == short_b:
        return Equivalence("equivalent", None, "both simplify to the same formula", 0.0)
    if parameters(a) or parameters(b):
        raise ExpressionError("a formula with free parameters has no values to compare; fit or bind it first")
    if a.size + b.size > _NODES_TO_COMPARE * time_limit:
        how = f"formulas of {a.size} and {b.size} nodes are too large to compare in {time_limit:g} s"
        return Equivalence("unknown", None, how)
    names = tuple(dict.fromkeys([*variables(a), *variables(b)]))
    limits = {name: _range(name, ranges) for name in names}
    if any(node.op in ("delay", "group") for formula in (a, b) for node in postorder(formula)):
        return _with_opaque_parts(a, b, ranges, started + time_limit - time.monotonic(), tolerance)
    if relations(a) or relations(b):
        return _on_graphs(a, b, limits, tolerance)
    comparison = _compare(a, b, names, limits, tolerance)
    found = _confirmed(a, b, comparison, tolerance, deadline=started + time_limit)
    if found is not None:
        return Equivalence("different", found, _explanation(a, b, found), comparison.largest)
    digits = _agreement(a, b, comparison, deadline=started + time_limit)
    if digits.agree:
        how = (
            f"they agree to {_SURE_DIGITS} digits at {_SURE_POINTS} points, "
            f"and in float64 at {comparison.compared}"
        )
        return Equivalence("equivalent", None, how, comparison.largest)
    if digits.apart is not None:
        if not (_has_rounded_numbers(a, tolerance) or _has_rounded_numbers(b, tolerance)):
            how = _explanation(a, b, digits.apart)
            return Equivalence("different", digits.apart, how, comparison.largest)
        # what is not zero at a point does not simplify to zero
        return _from_points(comparison, has_variables=bool(names), late=False)
    zero, late = _symbolic_zero(short_a, short_b, names, limits, started + time_limit - time.monotonic())
    if zero:
        return Equivalence("equivalent", None, "their difference simplifies to zero", comparison.largest)
    return _from_points(comparison, has_variables=bool(names), late=late)


def _with_opaque_parts(
    a: Expression,
    b: Expression,
    ranges: Mapping[str, tuple[float, float]] | None,
    seconds: float,
    tolerance: float,
) -> Equivalence:
    """Compare formulas with a symbol in place of each delayed series and grouped parameter.

    If they agree whatever these are, they are the same; if not, the parts could still make up for it.
    """
    names: dict[Expression, Expression] = {}

    def swap(node: Expression, args: list[Expression]) -> Expression:
        if node.op not in ("delay", "group"):
            return with_args(node, tuple(args))
        part = node if node.op == "group" else with_args(node, tuple(args))
        return names.setdefault(part, var(f"part {len(names) + 1}: {render(part)}"))

    opaque_a, opaque_b = fold(a, swap), fold(b, swap)
    answer = equivalent(opaque_a, opaque_b, ranges=ranges, time_limit=max(0.0, seconds), tolerance=tolerance)
    if answer.verdict == "equivalent":
        how = f"whatever the delayed series and grouped parameters are, {answer.how}"
        return Equivalence("equivalent", None, how, answer.largest_difference)
    how = "formulas with different delays or grouped parameters are compared as written only"
    return Equivalence("unknown", None, how)


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
    # where both have vanished, by underflow for instance, they say nothing
    telling = both & ((u != 0.0) | (v != 0.0)) if names else both
    mixed = np.arange(count).reshape(-1, count // 2 or 1).T.reshape(-1)
    samples = [
        {name: float(points[name][k]) for name in names} for k in mixed[telling[mixed]][: 2 * _SURE_POINTS]
    ]
    return _Comparison(suspects, samples, int(telling.sum()), largest, floor)


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


class _Digits(NamedTuple):
    """Whether the formulas agree far beyond float64, and a point at which they do not."""

    agree: bool
    apart: dict[str, float] | None


def _agreement(a: Expression, b: Expression, comparison: _Comparison, *, deadline: float) -> _Digits:
    """Compare with many digits, in which two different formulas do not agree by chance."""
    agreeing = 0
    doubtful = len(comparison.suspects)
    for position, point in enumerate([*comparison.suspects, *comparison.samples]):
        if time.monotonic() > deadline:
            break
        difference = relative_difference(a, b, point, comparison.floor)
        if difference is None:
            if position < doubtful:
                break
            continue
        if difference > 10.0**-_SURE_DIGITS:
            return _Digits(agree=False, apart=point)
        agreeing += 1
        if agreeing == _SURE_POINTS:
            return _Digits(agree=True, apart=None)
    return _Digits(agree=False, apart=None)


def _has_rounded_numbers(expr: Expression, tolerance: float) -> bool:
    """Whether a number of the formula may stand for another one: it is long, or very small.

    Rounding a number to fewer digits than the tolerance has would show in float64 already.
    """
    digits = max(3, math.ceil(-math.log10(max(tolerance, 1e-300))) - 1)
    for node in postorder(expr):
        if node.op == "num" and node.value:
            short = float(f"{node.value:.{digits}g}") == node.value
            if not short or abs(node.value) < _SPECK * tolerance:
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
    if f"{u:.10g}" != f"{v:.10g}":
        return f"at {place} one is {u:.10g}, the other {v:.10g}"
    difference = relative_difference(a, b, witness, 0.0)
    return (
        f"at {place} both are about {u:.10g}, but with {DIGITS} digits they differ by {difference:.2g}, "
        "relatively"
    )
