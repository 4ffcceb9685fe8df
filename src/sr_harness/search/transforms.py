"""Outer functions u and their inverses: y = u(t) is sought as t = u⁻¹(y).

A transform promises that `wrap` undoes `peel` wherever the peeled target is finite.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sr_harness.engine import Expression, build

Floats = NDArray[np.float64]


LEAST_WEIGHT = 1e-4
"""No row counts less than this."""

SMALLEST, LARGEST = 1e-140, 1e140
"""Beyond these a square of the peeled target is no number."""


@dataclass(frozen=True)
class Transform:
    """One outer function.

    Attributes:
        name: For messages.
        peel: From the target to what the inner formula must give; not finite where it has no inverse.
        wrap: From the inner formula to the whole.
    """

    name: str
    peel: Callable[[Floats], Floats]
    wrap: Callable[[Expression], Expression]

    def target(self, y: Floats) -> Floats | None:
        """The peeled target, or None if some row has none or all are equal."""
        with np.errstate(all="ignore"):
            values = self.peel(y)
        if not np.isfinite(values).all():
            return None
        height = float(np.max(np.abs(values)))
        if not SMALLEST < height < LARGEST or np.ptp(values) <= 1e-12 * height:
            return None
        return values

    def weights(self, y: Floats, scale: Floats | None = None) -> Floats:
        """What an error of the peeled target is multiplied by to be one of the original target, largest 1.

        Args:
            y: The target that was peeled.
            scale: What it was divided by before, if anything.
        """
        step = 1e-6 * (float(np.ptp(y)) or 1.0)
        with np.errstate(all="ignore"):
            slope = np.abs(self.peel(y + step) - self.peel(y - step)) / (2 * step)
            one_sided = np.fmax(
                np.abs(self.peel(y + step) - self.peel(y)), np.abs(self.peel(y) - self.peel(y - step))
            )
            slope = np.where(np.isfinite(slope), slope, one_sided / step)
            result: Floats = (1.0 if scale is None else np.abs(scale)) / slope
        finite = result[np.isfinite(result)]
        most = float(np.max(finite, initial=0.0)) or 1.0
        return np.clip(np.where(np.isfinite(result), result / most, 1.0), LEAST_WEIGHT, 1.0)


def _call(name: str) -> Callable[[Expression], Expression]:
    return lambda inner: build.call(name, inner)


def _root(y: Floats) -> Floats:
    return np.where(y >= 0, np.sqrt(np.abs(y)), np.nan)


IDENTITY = Transform("y", lambda y: y, lambda inner: inner)

RECIPROCAL = Transform("1/y", lambda y: 1.0 / y, lambda inner: build.div(build.num(1.0), inner))

EXPONENTIAL = Transform("exp y", np.exp, _call("log"))

TRANSFORMS: tuple[Transform, ...] = (
    IDENTITY,
    Transform("y²", lambda y: np.where(y >= 0, y * y, np.nan), _call("sqrt")),
    RECIPROCAL,
    Transform("log y", np.log, _call("exp")),
    EXPONENTIAL,
    Transform("√y", _root, lambda inner: build.pow_(inner, build.num(2.0))),
    Transform(
        "1/y²",
        lambda y: np.where(y > 0, 1.0 / (y * y), np.nan),
        lambda inner: build.div(build.num(1.0), build.call("sqrt", inner)),
    ),
    Transform("sin y", lambda y: np.where(np.abs(y) <= np.pi / 2, np.sin(y), np.nan), _call("arcsin")),
    Transform("cos y", lambda y: np.where((y >= 0) & (y <= np.pi), np.cos(y), np.nan), _call("arccos")),
    Transform(
        "1/√y",
        lambda y: 1.0 / _root(y),
        lambda inner: build.div(build.num(1.0), build.pow_(inner, build.num(2.0))),
    ),
    Transform("y³", lambda y: y**3, lambda inner: build.pow_(inner, build.num(1 / 3))),
)
"""Outer functions, the most usual first."""
