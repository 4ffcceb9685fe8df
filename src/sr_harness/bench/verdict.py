"""Was the true formula found? The rule by which a benchmark counts.

A formula is *strict* if it is the same function as the true one: the engine says so, or both agree at fresh
points in the ranges and far outside them, and the remainder is shown to be rounded numbers: the agreement is
near machine precision, or becomes so when the numbers of the formula are moved by less than the data could
tell (1e-4 of the output without noise, three times its level with noise). The last part keeps out close
imitations. *Recovered* also counts a formula that differs from the true one by a constant offset or factor,
as is usual for published recovery rates.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from sr_harness.bench.refitting import refitted
from sr_harness.bench.sampling import Floats, Fresh, Rows, values_of
from sr_harness.errors import ExpressionError

if TYPE_CHECKING:
    from sr_harness.engine import Expression

AGREE: Final = 1e-6
SURE: Final = 1e-10
REFITTED: Final = 1e-9
MOVED: Final = 1e-4
NOISE_FACTOR: Final = 3.0
FLOOR: Final = 1e-3
"""Values smaller than this share of the root mean square are compared with that instead of themselves."""

FEWEST_OUTSIDE: Final = 20
NEAR: Final = 0.05
STEADY: Final = 1e-2

How = Literal["same formula", "numbers agree", "numbers agree after refit", "offset", "factor", "no"]


@dataclass(frozen=True)
class Verdict:
    """The verdict on one formula.

    Attributes:
        recovered: Whether it is the true formula up to a constant offset or factor.
        strict: Whether it is the true formula.
        how: What the verdict rests on.
        error_inside: Largest relative error at fresh points in the ranges, None where it has no value.
        error_outside: The same far outside the ranges; None too where the true formula is not real there.
    """

    recovered: bool
    strict: bool
    how: How
    error_inside: float | None
    error_outside: float | None


def judge(
    found: Expression, truth: Expression, points: Fresh, *, noise: float = 0.0, time_limit: float = 10.0
) -> Verdict:
    """Compare a formula with the true one.

    Args:
        found: The formula, its numbers in place.
        truth: The true formula.
        points: From `fresh_points`.
        noise: Level of the noise on the data that it was found in.
        time_limit: Seconds for the comparison.
    """
    bench = _Bench(truth, points, noise, time.monotonic() + time_limit)
    inside, outside = bench.errors(found)
    how = bench.how(found)
    if how == "no":
        how = bench.up_to_a_constant(found)
    return Verdict(
        recovered=how != "no",
        strict=how not in ("no", "offset", "factor"),
        how=how,
        error_inside=_finite(inside),
        error_outside=None if outside is None else _finite(outside),
    )


def largest_relative_error(values: Floats, truth: Floats) -> float:
    """Largest |error| relative to |truth|, or to a floor where that is small; inf without a value."""
    with np.errstate(all="ignore"):
        floor = FLOOR * float(np.sqrt(np.mean(np.square(truth)))) + 1e-300
        error = np.abs(values - truth) / np.maximum(np.abs(truth), floor)
    return float(np.max(np.where(np.isfinite(error), error, np.inf)))


class _Bench:
    """The true formula and the points, for as many comparisons as are needed."""

    def __init__(self, truth: Expression, points: Fresh, noise: float, deadline: float) -> None:
        self.truth, self.inside = truth, points.inside
        self.outside = points.outside if points.outside.target.size >= FEWEST_OUTSIDE else None
        self.ranges: Mapping[str, tuple[float, float]] = points.ranges
        self.movable = max(MOVED, NOISE_FACTOR * noise)
        self.deadline = deadline

    def errors(self, formula: Expression) -> tuple[float, float | None]:
        """Largest relative errors inside and outside the ranges."""
        inside = largest_relative_error(_values(formula, self.inside), self.inside.target)
        if self.outside is None:
            return inside, None
        return inside, largest_relative_error(_values(formula, self.outside), self.outside.target)

    def within(self, formula: Expression, tolerance: float) -> bool:
        """Whether both errors are below the tolerance."""
        inside, outside = self.errors(formula)
        return inside < tolerance and (outside is None or outside < tolerance)

    def how(self, formula: Expression) -> How:
        """What shows that the formula is the true one, or `no`."""
        if not self._near(formula):
            return "no"
        if self._equivalent(formula):
            return "same formula"
        if self.within(formula, SURE):
            return "numbers agree"
        if self._refitted(formula):
            return "numbers agree" if self.within(formula, AGREE) else "numbers agree after refit"
        return "no"

    def up_to_a_constant(self, formula: Expression) -> How:
        """`offset` or `factor` where taking one away leaves the true formula."""
        from sr_harness.engine import build

        values, truth = _values(formula, self.inside), self.inside.target
        with np.errstate(all="ignore"):
            shift, ratio = values - truth, values / truth
        offset, factor = _steady(shift, _spread(truth)), _steady(ratio, None)
        if offset is not None and self.how(build.sub(formula, build.num(offset))) != "no":
            return "offset"
        if factor and self.how(build.div(formula, build.num(factor))) != "no":
            return "factor"
        return "no"

    def _near(self, formula: Expression) -> bool:
        """A cheap refusal of what is far away on half of the points."""
        truth = self.inside.target
        with np.errstate(all="ignore"):
            away = np.abs(_values(formula, self.inside) - truth)
        away = np.where(np.isfinite(away), away, np.inf)
        return bool(np.median(away) <= NEAR * max(_spread(truth), float(np.median(np.abs(truth)))))

    def _equivalent(self, formula: Expression) -> bool:
        from sr_harness import engine

        left = self.deadline - time.monotonic()
        if left <= 0:
            return False
        try:
            answer = engine.equivalent(formula, self.truth, ranges=self.ranges, time_limit=left)
        except ExpressionError:
            return False
        return answer.verdict == "equivalent"

    def _refitted(self, formula: Expression) -> bool:
        """Whether moving the formula's numbers imperceptibly makes it the true one."""
        fitted = refitted(formula, self.inside.columns, self.inside.target)
        if fitted is None or not self.within(fitted, REFITTED):
            return False
        before, after = _values(formula, self.inside), _values(fitted, self.inside)
        moved = float(np.sqrt(np.mean(np.square(after - before))))
        return moved <= self.movable * float(np.sqrt(np.mean(np.square(self.inside.target))))


def _values(formula: Expression, rows: Rows) -> Floats:
    return values_of(formula, rows.columns, rows.target.size)


def _spread(values: Floats) -> float:
    return float(np.median(np.abs(values - np.median(values)))) + 1e-300


def _steady(values: Floats, scale: float | None) -> float | None:
    """The constant that the values are, near enough, or None."""
    values = values[np.isfinite(values)]
    if values.size == 0:
        return None
    middle = float(np.median(values))
    limit = STEADY * (abs(middle) if scale is None else scale)
    return middle if _spread(values) <= limit else None


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
