"""Time derivatives of measured series by local polynomials.

Around every sample a polynomial in time is fitted by least squares to the samples nearest to it; its value
there is the smoothed state and its slope the derivative. This is the filter of A. Savitzky and M. Golay
(Analytical Chemistry 36, 1964), for steps of any length and up to the ends, where the window no longer lies
around the sample but beside it. Degree and width are those with the least generalised cross-validation score
(P. Craven and G. Wahba, Numerische Mathematik 31, 1979): clean series get a narrow window and a high degree,
noisy ones a wide window. One choice holds for all series given together.

Promises: the same input gives the same output; nothing is read beyond the given samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sr_harness.errors import ProblemError

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

DEGREES = (2, 4, 6, 8)
WIDEST = 801
GROWTH = 1.5
"""Each width tried is this factor above the last one."""

SPARE = 2
"""Samples in a window beyond the coefficients of the polynomial, at least."""

CHOICE_ROWS, CHOICE_SERIES = 250, 24
"""Samples and series by which degree and width are chosen where there are more."""

SMALLEST = 4
"""Samples of a series from which a derivative is estimated."""

CHUNK = 400_000
"""Numbers in the windows that are worked on at once."""


@dataclass(frozen=True)
class Derivative:
    """Smoothed values and slopes of one or more series.

    Attributes:
        values: The smoothed series, in the shape that was given.
        slopes: Their derivatives by time, in units of the series over that of time.
        noise: Standard deviation of the measurements about the smoothed series, one entry a series (the
            shape that was given without the time axis).
        degree: Degree of the polynomials.
        width: Samples in a window.
    """

    values: Floats
    slopes: Floats
    noise: Floats
    degree: int
    width: int


class _Fit(NamedTuple):
    """Local fits at some samples: values, slopes [sample, series] and each sample's weight in its own fit."""

    values: Floats
    slopes: Floats
    leverage: Floats


def estimate_derivative(
    values: ArrayLike,
    times: ArrayLike,
    *,
    axis: int = 0,
    degree: int | None = None,
    width: int | None = None,
) -> Derivative:
    """Estimate d values / d times.

    Args:
        values: One or more series, with time along `axis`.
        times: Strictly increasing, one entry a sample; steps may differ.
        axis: The axis of `values` along time.
        degree: Degree of the local polynomials; default: chosen by cross-validation.
        width: Samples in a window, above `degree`; default: chosen by cross-validation.

    Raises:
        ProblemError: Fewer than 4 samples, times that do not increase, or values that are not finite.
    """
    series = np.moveaxis(np.asarray(values, dtype=np.float64), axis, 0)
    moments = checked_times(times, len(series))
    flat = series.reshape(len(series), -1)
    if not np.isfinite(flat).all():
        raise ProblemError(
            "a series with NaN or infinite values has no derivative there; "
            "leave these samples out, with their times, or fill them first"
        )
    scale = np.max(np.abs(flat), axis=0)
    scale[~(scale > 0)] = 1.0
    scaled = flat / scale
    chosen = _choose(scaled, moments, degree, width)
    fit = _fit(scaled, moments, np.arange(len(moments)), *chosen)
    free = max(len(moments) - float(fit.leverage.sum()), 1.0)
    noise = np.sqrt(np.sum(np.square(scaled - fit.values), axis=0) / free)

    def shaped(array: Floats) -> Floats:
        return np.moveaxis((array * scale).reshape(series.shape), 0, axis)

    return Derivative(
        values=shaped(fit.values),
        slopes=shaped(fit.slopes),
        noise=(noise * scale).reshape(series.shape[1:]),
        degree=chosen[0],
        width=chosen[1],
    )


def checked_times(times: ArrayLike, count: int) -> Floats:
    """Times as float64, if a derivative can be taken along them.

    Raises:
        ProblemError: Too few, not as many as samples, not finite, or not increasing.
    """
    moments = np.asarray(times)
    if moments.dtype.kind not in "biuf":
        raise ProblemError("the time axis does not hold numbers; state times as numbers in one unit")
    moments = moments.astype(np.float64)
    if moments.shape != (count,):
        raise ProblemError(f"there are {count} samples but times of shape {moments.shape}; give one a sample")
    if count < SMALLEST:
        raise ProblemError(f"{count} samples along time are too few for a derivative; {SMALLEST} are needed")
    steps = np.diff(moments)
    if not (np.isfinite(moments).all() and (steps > 0).all()):
        place = int(np.argmin(np.where(np.isfinite(steps), steps, -np.inf)))
        raise ProblemError(
            f"times must increase from sample to sample; {moments[place]:g} is followed by "
            f"{moments[place + 1]:g} at sample {place + 1}. Sort the samples, or give each run on its own"
        )
    return moments


def _choose(series: Floats, times: Floats, degree: int | None, width: int | None) -> tuple[int, int]:
    """Degree and width with the least score of generalised cross-validation."""
    count = len(times)
    degrees = [d for d in (DEGREES if degree is None else (degree,)) if d + SPARE < count]
    degrees = degrees or [max(1, min(count - 2, degree or 2))]
    step = max(1, series.shape[1] // CHOICE_SERIES)
    shown = series[:, ::step]
    spread = np.var(shown, axis=0)
    shown, spread = shown[:, spread > 0], spread[spread > 0]
    rows = np.unique(np.linspace(0, count - 1, min(count, CHOICE_ROWS)).astype(np.int64))
    best = (degrees[0], min(count, width or degrees[0] + 1 + SPARE))
    least = np.inf
    for d in degrees:
        for w in _widths(d, count) if width is None else (min(count, max(width, d + 1)),):
            if not shown.shape[1] or (degree is not None and width is not None):
                return d, w
            fit = _fit(shown, times, rows, d, w)
            share = 1.0 - float(fit.leverage.mean())
            if share <= 1e-9:
                continue
            error = np.mean(np.square(shown[rows] - fit.values), axis=0)
            score = float(np.mean(error / spread)) / (share * share)
            if score < least:
                best, least = (d, w), score
    return best


def _widths(degree: int, count: int) -> list[int]:
    """Widths from the narrowest that smooths, each a factor wider, to the widest that fits."""
    widths: list[int] = []
    width = float(degree + 1 + SPARE)
    while width <= min(count, WIDEST):
        widths.append(int(width))
        width = max(width * GROWTH, width + 2)
    return widths or [count]


def _fit(series: Floats, times: Floats, rows: Places, degree: int, width: int) -> _Fit:
    """Local polynomials at the samples `rows`."""
    values, slopes = np.empty((rows.size, series.shape[1])), np.empty((rows.size, series.shape[1]))
    leverage = np.empty(rows.size)
    size = max(1, CHUNK // (width * (degree + 1 + series.shape[1])))
    for start in range(0, rows.size, size):
        part = slice(start, start + size)
        values[part], slopes[part], leverage[part] = _fit_some(series, times, rows[part], degree, width)
    return _Fit(values, slopes, leverage)


def _fit_some(series: Floats, times: Floats, rows: Places, degree: int, width: int) -> _Fit:
    """The same for few rows: weights of the samples in a window for value and slope, then their sums.

    The basis is Legendre's on the window scaled to [-1, 1]: that keeps the equations well conditioned.
    """
    from numpy.polynomial import legendre

    first = np.clip(rows - width // 2, 0, len(times) - width)
    window = first[:, None] + np.arange(width)
    moments = times[window]
    centre = (moments[:, 0] + moments[:, -1]) / 2
    half = (moments[:, -1] - moments[:, 0]) / 2
    basis = legendre.legvander((moments - centre[:, None]) / half[:, None], degree)
    inverse = np.linalg.solve(np.swapaxes(basis, 1, 2) @ basis, np.swapaxes(basis, 1, 2))
    at = (times[rows] - centre) / half
    here = legendre.legvander(at, degree)
    derived = np.column_stack([legendre.legval(at, legendre.legder(row)) for row in np.eye(degree + 1)])
    weights = np.einsum("rk,rkw->rw", here, inverse)
    slope_weights = np.einsum("rk,rkw->rw", derived, inverse) / half[:, None]
    samples = series[window]
    own = weights[np.arange(rows.size), rows - first]
    return _Fit(
        np.einsum("rw,rws->rs", weights, samples), np.einsum("rw,rws->rs", slope_weights, samples), own
    )
