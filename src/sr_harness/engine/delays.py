"""`delay(x, lag)`: a series as it was `lag` earlier along the time axis.

The lag is in the units of the axis and need not be a multiple of its steps: between two samples the series is
interpolated linearly, before the first one it is NaN. An axis without numbers is counted in samples, so a lag
along it is a whole number. A lag that reaches back further than the series is long is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import AlignmentError
from .structure import Structure


def sample_times(data: Mapping[str, Any], structure: Structure) -> NDArray[np.float64] | None:
    """The numbers along the time axis; None where there is no such axis or it has no numbers."""
    axis = structure.time_axis
    if axis is None or axis not in data or np.asarray(data[axis]).dtype.kind not in "fiub":
        return None
    return np.asarray(data[axis], dtype=np.float64)


def delayed(
    value: NDArray[np.float64], lag: float, times: NDArray[np.float64] | None, axis: int, name: str
) -> NDArray[np.float64]:
    """`value` as it was `lag` earlier.

    Args:
        value: The series.
        lag: How far to look back, at least 0.
        times: Where the samples lie along the time axis; None counts them.
        axis: Which dimension of `value` is the time axis.
        name: What the time axis is called.

    Raises:
        AlignmentError: the lag does not fit the axis, or the axis does not increase.
    """
    if times is None:
        if not lag.is_integer():
            raise AlignmentError(
                f"the axis {name!r} has no numbers, so a lag counts samples and must be a whole number, "
                f"not {lag:g}; give the axis numeric values to interpolate between samples"
            )
        times = np.arange(value.shape[axis], dtype=np.float64)
    if len(times) != value.shape[axis]:
        raise AlignmentError(
            f"{value.shape[axis]} samples lie along the axis {name!r}, which has {len(times)}"
        )
    if not (np.isfinite(times).all() and np.all(np.diff(times) > 0.0)):
        raise AlignmentError(f"delay(…) needs increasing values along the axis {name!r}; sort the samples")
    span = float(times[-1] - times[0])
    if lag > span:
        raise AlignmentError(
            f"delay(…, {lag:g}) looks back further than the series is long: the axis {name!r} runs from "
            f"{times[0]:g} to {times[-1]:g}; use a lag of at most {span:g}"
        )
    return interpolate(value, times, times - lag, axis)


def interpolate(
    value: NDArray[np.float64], times: NDArray[np.float64], at: NDArray[np.float64], axis: int
) -> NDArray[np.float64]:
    """`value` sampled at `times` along `axis`, read at the times `at` by linear interpolation."""
    along = [-1 if k == axis % value.ndim else 1 for k in range(value.ndim)]
    if len(times) < 2:
        return np.where(np.equal(at, times).reshape(along), value, np.nan)
    upper = np.clip(np.searchsorted(times, at, side="left"), 1, len(times) - 1)
    lower = upper - 1
    part = (at - times[lower]) / (times[upper] - times[lower])
    part = np.where((at < times[0]) | (at > times[-1]), np.nan, part)
    part = part.reshape(along)
    low, high = np.take(value, lower, axis=axis), np.take(value, upper, axis=axis)
    # exact at the samples, also beside a NaN
    return np.where(part == 0.0, low, np.where(part == 1.0, high, low + part * (high - low)))
