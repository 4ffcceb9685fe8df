"""Metrics of a prediction against a target.

Owns the definitions. Every value is a finite float, or `None` where the quantity does not exist (R² of a
constant target) or is not finite (a prediction with NaN); never NaN or infinity.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

Metrics = dict[str, float | None]


def regression_metrics(y: ArrayLike, yhat: ArrayLike) -> Metrics:
    """Judge predictions.

    Args:
        y: Target, any shape.
        yhat: Prediction; the target's shape or a scalar.

    Returns:
        `n` rows; `mse`, `rmse`, `mae`, `max_abs_error` in the target's unit (squared for `mse`);
        `r2` = 1 - SSE/SST; `nrmse` = rmse / standard deviation of the target; `max_rel_error` = largest
        |error| / |target| over the rows whose target is not 0. If any prediction is not finite, everything
        but `n` is None.

    Raises:
        ValueError: The shapes differ.
    """
    truth = np.asarray(y, dtype=np.float64)
    guess = np.asarray(yhat, dtype=np.float64)
    if guess.ndim and guess.shape != truth.shape:
        raise ValueError(
            f"prediction of shape {guess.shape} cannot be judged against target of shape {truth.shape}"
        )
    truth, guess = truth.ravel(), np.broadcast_to(guess, truth.shape).ravel()
    names = ("r2", "mse", "rmse", "nrmse", "mae", "max_abs_error", "max_rel_error")
    metrics: Metrics = dict.fromkeys(names)
    metrics["n"] = float(truth.size)
    if truth.size and np.isfinite(truth).all() and np.isfinite(guess).all():
        metrics.update(_measure(truth, guess))
    return {name: _finite(value) for name, value in metrics.items()}


def _measure(truth: np.ndarray, guess: np.ndarray) -> Metrics:
    with np.errstate(all="ignore"):
        error = guess - truth
        scale = float(np.max(np.abs(error)))
        # Scaled before squaring, so that errors of 1e-200 or 1e200 neither vanish nor overflow.
        relative = float(np.sqrt(np.mean(np.square(error / scale)))) if scale > 0 else 0.0
        rmse = scale * relative
        spread = _standard_deviation(truth)
        ratio = rmse / spread if spread > 0 else math.nan
        nonzero = truth != 0
        largest = np.max(np.abs(error[nonzero] / truth[nonzero])) if nonzero.any() else math.nan
        return {
            "r2": 1.0 - ratio * ratio,
            "mse": rmse * rmse,
            "rmse": rmse,
            "nrmse": ratio,
            "mae": float(np.mean(np.abs(error))),
            "max_abs_error": scale,
            "max_rel_error": float(largest),
        }


def _standard_deviation(values: np.ndarray) -> float:
    """Standard deviation without overflow; exactly 0 for equal values."""
    if np.all(values == values.flat[0]):
        return 0.0
    scale = float(np.max(np.abs(values)))
    return scale * float(np.std(values / scale)) if scale > 0 else 0.0


def _finite(value: float | None) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None
