"""What the residuals of a formula look like: bias, growth, pattern, outliers; in words, without numbers.

The rules are simple and stated: a bias when nearly all residuals have one sign; growth when the rank
correlation of their size with the measured value is strong (Spearman); a pattern when neighbours in the order
of predictions have the same sign too often (Wald-Wolfowitz runs, normal approximation); an outlier when one
lies beyond five times the median absolute one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ari.findings.predictions import Prediction

ROUNDING = 1e-12
STRONG_RANK = 0.6
ONE_SIDED = 0.9
FEW_RUNS = -2.6
OUTLIER = 5.0
ENOUGH = 8


@dataclass(frozen=True)
class ResidualView:
    """What was seen.

    Attributes:
        exact: No residual exceeds rounding.
        enough: There are enough values to say more.
        bias: `over` or `under` where the formula nearly always predicts too much or too little.
        grows: The residuals grow with the measured value; `shrinks` the reverse; empty for neither.
        pattern: Neighbouring residuals share their sign more often than chance allows.
        outliers: Parts in which single residuals stand out.
        worse_sealed: The typical residual of the sealed rows is more than twice that of the training rows.
    """

    exact: bool
    enough: bool
    bias: str = ""
    grows: str = ""
    pattern: bool = False
    outliers: tuple[str, ...] = ()
    worse_sealed: bool = False


def look_at(parts: Mapping[str, Prediction]) -> ResidualView:
    """Look at the residuals of all parts together, and at the sealed ones against the training rows."""
    measured = np.concatenate([part.measured.ravel() for part in parts.values()])
    predicted = np.concatenate([part.predicted.ravel() for part in parts.values()])
    residual = measured - predicted
    scale = float(np.max(np.abs(measured), initial=0.0)) or 1.0
    if np.all(np.abs(residual) <= ROUNDING * scale):
        return ResidualView(exact=True, enough=True)
    if len(residual) < ENOUGH:
        return ResidualView(exact=False, enough=False)
    size = np.abs(residual)
    return ResidualView(
        exact=False,
        enough=True,
        bias=_bias(residual, scale),
        grows=_growth(measured, size),
        pattern=_runs(residual[np.argsort(predicted, kind="stable")]) < FEW_RUNS,
        outliers=tuple(name for name, part in parts.items() if _has_outlier(part, size)),
        worse_sealed=_typical(parts.get("sealed")) > 2 * _typical(parts.get("train")) > 0,
    )


def _bias(residual: np.ndarray, scale: float) -> str:
    clear = residual[np.abs(residual) > ROUNDING * scale]
    if len(clear) < ENOUGH:
        return ""
    below = float(np.mean(clear < 0))
    return "over" if below >= ONE_SIDED else "under" if below <= 1 - ONE_SIDED else ""


def _growth(measured: np.ndarray, size: np.ndarray) -> str:
    ranks = [
        np.argsort(np.argsort(values, kind="stable"), kind="stable") for values in (np.abs(measured), size)
    ]
    if np.ptp(size) == 0 or np.ptp(measured) == 0:
        return ""
    correlation = float(np.corrcoef(ranks[0], ranks[1])[0, 1])
    return "grows" if correlation > STRONG_RANK else "shrinks" if correlation < -STRONG_RANK else ""


def _runs(ordered: np.ndarray) -> float:
    """Standard score of the number of sign runs; strongly negative for a pattern."""
    signs = np.sign(ordered)
    signs = signs[signs != 0]
    plus, minus = int(np.sum(signs > 0)), int(np.sum(signs < 0))
    total = plus + minus
    if plus < 4 or minus < 4:
        return 0.0
    runs = 1 + int(np.sum(signs[1:] != signs[:-1]))
    mean = 2 * plus * minus / total + 1
    variance = (mean - 1) * (mean - 2) / (total - 1)
    return float((runs - mean) / np.sqrt(variance)) if variance > 0 else 0.0


def _has_outlier(part: Prediction, every: np.ndarray) -> bool:
    middle = float(np.median(every))
    largest = float(np.max(np.abs(part.measured - part.predicted), initial=0.0))
    return middle > 0 and largest > OUTLIER * middle


def _typical(part: Prediction | None) -> float:
    if part is None or part.measured.size == 0:
        return 0.0
    return float(np.median(np.abs(part.measured - part.predicted)))
